"""One store object in several threads and event loops at once."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

import kova
from kova._async.memory import AsyncInMemoryStore, AsyncSQLiteStore, conversation_turn
from kova._memory.store_lines import lines_of
from kova._runtime import threads
from kova._sync.memory import conversation_turn as blocking_turn
from kova.history import check_history

TURNS = 10
TASKS = 3
BACKENDS = ["asyncio", "trio", "asyncio", "trio"]


@pytest.mark.parametrize("kind", ["in memory", "sqlite"])
def test_turns_of_one_conversation_in_several_loops_come_one_after_the_other(kind: str, tmp_path: Path) -> None:
    """C1, C5: no turn is refused, for they queue in whatever loop they wait; and loops may come and go."""
    store: Any = AsyncInMemoryStore() if kind == "in memory" else AsyncSQLiteStore(tmp_path / "chats")
    failures: list[BaseException] = []

    async def work() -> None:
        for _ in range(TURNS):
            async with conversation_turn(store, "shared"):
                messages, revision = await store.load("shared")
                await anyio.sleep(0.001)
                await store.append("shared", [kova.user_message(str(len(messages)))], revision)

    async def work_in_tasks() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(TASKS):
                group.start_soon(work)

    def run(backend: str) -> None:
        try:
            anyio.run(work_in_tasks, backend=backend)
        except BaseException as error:
            failures.append(error)

    running = [threading.Thread(target=run, args=(backend,)) for backend in BACKENDS]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert failures == []
    messages, _ = anyio.run(store.load, "shared")
    assert [message.text for message in messages] == [str(number) for number in range(len(BACKENDS) * TASKS * TURNS)]
    assert check_history(messages) == []
    assert len(lines_of(store)) == 0
    if kind == "sqlite":
        anyio.run(store.close)


def test_a_loop_that_ends_while_it_waits_leaves_the_line() -> None:
    """C1: the others are not held up by it."""
    store = AsyncInMemoryStore()
    is_waiting, is_gone = threading.Event(), threading.Event()

    def wait_and_end() -> None:
        async def wait() -> None:
            async def wait_for_turn() -> None:
                is_waiting.set()
                async with conversation_turn(store, "shared"):
                    pytest.fail("the turn came")

            async with anyio.create_task_group() as group:
                group.start_soon(wait_for_turn)
                await anyio.sleep(0.05)
                group.cancel_scope.cancel()

        anyio.run(wait)
        is_gone.set()

    async def hold() -> None:
        async with conversation_turn(store, "shared"):
            threading.Thread(target=wait_and_end).start()
            await anyio.to_thread.run_sync(is_gone.wait, 20)
        with anyio.fail_after(20):
            async with conversation_turn(store, "shared"):
                pass

    anyio.run(hold)
    assert is_waiting.is_set()
    assert len(lines_of(store)) == 0


def test_a_turn_outlives_the_task_that_has_begun_it() -> None:
    """C1: as where each event of a stream is awaited by another task. Later tasks, which get its id, wait for its end."""
    store = AsyncInMemoryStore()
    turn = conversation_turn(store, "shared")
    waited = 0

    async def begin() -> None:
        await turn.__aenter__()

    async def wait() -> None:
        nonlocal waited
        with anyio.move_on_after(0):
            async with conversation_turn(store, "shared"):
                pytest.fail("the turn came")
        waited += 1

    for runs in (asyncio.run, lambda coroutine: anyio.run(lambda: coroutine, backend="trio")):
        runs(begin())
        for _ in range(50):
            runs(wait())
        turn.end()
    assert waited == 100


def test_a_turn_outlives_the_thread_that_has_begun_it() -> None:
    """C1: likewise."""
    store = kova.InMemoryStore()
    turn = blocking_turn(store, "shared")
    failures: list[BaseException] = []

    def chat() -> None:
        try:
            with threads.move_on_after(0), blocking_turn(store, "shared"):
                failures.append(AssertionError("the turn came"))
        except BaseException as error:
            failures.append(error)

    for work in [turn.__enter__, *[chat] * 20]:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert failures == []
    turn.end()
