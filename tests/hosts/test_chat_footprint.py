"""T6: what is left of a process after many chats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kova
from kova._runtime import workers
from kova.testing import Answer, AsyncScriptedProvider, ModelRequest, ScriptedProvider, call
from tests.observe import leaves_things_where_they_were

SLOW = [pytest.mark.slow, pytest.mark.timeout(1200)]

CONVERSATIONS = 20
MOST_MESSAGES = 10  # of one, so that all of them are as long as they will ever be after a few turns
# Turns are counted by 140: 7 kinds of turn and 20 conversations are then where they were.


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Script:
    """Calls a tool and then answers; the requests so far are not kept, so that only kova's memory is seen."""

    requests: list[ModelRequest]

    def __init__(self) -> None:
        super().__init__()

        def answer(request: ModelRequest) -> Answer:
            self.requests.clear()
            usage = kova.UsageStats(7, 3)
            is_called = request.messages[-1].role is kova.Role.TOOL
            return ["Hello ", "you", usage] if is_called else [call("add", a=1, b=2), usage]

        self.always(answer)  # type: ignore[attr-defined]


class Model(Script, ScriptedProvider):
    pass


class AsyncModel(Script, AsyncScriptedProvider):
    pass


def blocking_chats(store: Any, count: int) -> None:
    """Turns of all kinds: whole, streamed, broken off; conversations are deleted and begin anew."""
    agent = kova.Agent(Model(), tools=[add], memory=store)
    for number in range(count):
        conversation = f"c{number % CONVERSATIONS}"
        kind = number % 7
        if kind == 0:
            store.clear(conversation)
        if kind in (0, 1, 2):
            assert agent.chat(conversation, "Hi") == "Hello you"
        elif kind in (3, 4):
            with agent.chat_events(conversation, "Hi") as stream:
                list(stream)
        elif kind == 5:
            assert agent.chat_response(conversation, "Hi", timeout=30).llm_calls == 2
        else:
            with agent.chat_events(conversation, "Hi") as stream:
                next(stream)


async def async_chats(store: Any, count: int) -> None:
    agent = kova.AsyncAgent(AsyncModel(), tools=[add], memory=store)
    for number in range(count):
        conversation = f"c{number % CONVERSATIONS}"
        kind = number % 7
        if kind == 0:
            await store.clear(conversation)
        if kind in (0, 1, 2):
            assert await agent.chat(conversation, "Hi") == "Hello you"
        elif kind in (3, 4):
            async with agent.chat_events(conversation, "Hi") as stream:
                async for _ in stream:
                    pass
        elif kind == 5:
            assert (await agent.chat_response(conversation, "Hi", timeout=30)).llm_calls == 2
        else:
            async with agent.chat_events(conversation, "Hi") as stream:
                await anext(stream)


def in_loop(store: Any, count: int) -> None:
    asyncio.run(async_chats(store, count))


MEMORY: dict[str, tuple[Callable[[], Any], Callable[[Any, int], None]]] = {
    "blocking": (lambda: kova.InMemoryStore(MOST_MESSAGES), blocking_chats),
    "asyncio": (lambda: kova.AsyncInMemoryStore(MOST_MESSAGES), in_loop),
}
SQLITE: dict[str, tuple[Callable[[Path], Any], Callable[[Any, int], None]]] = {
    "blocking": (lambda path: kova.SQLiteStore(path, MOST_MESSAGES), blocking_chats),
    "asyncio": (lambda path: kova.AsyncSQLiteStore(path, MOST_MESSAGES), in_loop),
}


@pytest.fixture(autouse=True)
def _idle_threads_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("twin", MEMORY)
def test_10000_chats_in_memory_leave_things_where_they_were(twin: str) -> None:
    """T6, C1."""
    make, chats = MEMORY[twin]
    store = make()
    leaves_things_where_they_were(lambda count: chats(store, count), before=560, then=10_080)


@pytest.mark.parametrize("count", [420, pytest.param(10_080, marks=SLOW)])
@pytest.mark.parametrize("twin", SQLITE)
def test_chats_in_a_file_leave_things_where_they_were(twin: str, count: int, tmp_path: Path) -> None:
    """T6, C1: of which each writes through to the disk."""
    make, chats = SQLITE[twin]
    store = make(tmp_path / "chats.sqlite")
    try:
        leaves_things_where_they_were(lambda turns: chats(store, turns), before=420, then=count)
    finally:
        closed = store.close()
        if closed is not None:
            asyncio.run(closed)
