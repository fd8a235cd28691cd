"""Conversations when the handler or the store that the user gave does not do its part."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider, provider_error

pytestmark = pytest.mark.anyio


class AsyncBadHandler:
    """Raises where it is told to."""

    def __init__(self, *bad: str) -> None:
        self.told: list[str] = []
        self._bad = bad

    async def on_chunk(self, event: kova.StreamEvent) -> None:
        self._tell("on_chunk")

    async def on_complete(self) -> None:
        self._tell("on_complete")

    async def on_error(self, error: Exception) -> None:
        self._tell("on_error")

    def _tell(self, method: str) -> None:
        if self.told[-1:] != [method]:
            self.told.append(method)
        if method in self._bad:
            raise ValueError(f"bad {method}")


async def test_a_handler_that_raises_when_the_turn_is_stored_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """L5: what is stored was a success."""
    handler, store = AsyncBadHandler("on_complete"), kova.AsyncInMemoryStore()
    agent = kova.AsyncAgent(AsyncScriptedProvider("Hello"), memory=store)
    with caplog.at_level(logging.ERROR, logger="kova"):
        assert await agent.chat_stream("c1", "Hi", handler=handler) == "Hello"
    assert handler.told == ["on_chunk", "on_complete"]
    assert "the streaming handler raised method='on_complete'" in caplog.text
    assert len((await store.load("c1"))[0]) == 2


async def test_a_handler_to_which_thinking_is_replayed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """L5."""
    handler, store = AsyncBadHandler("on_chunk"), kova.AsyncInMemoryStore()
    model = AsyncScriptedProvider([kova.ThinkingDelta("Hm."), "42"])
    with caplog.at_level(logging.ERROR, logger="kova"):
        assert await kova.AsyncAgent(model, memory=store, streaming_handler=handler).chat("c1", "Hi") == "42"
    assert "the streaming handler raised method='on_chunk'" in caplog.text
    assert len((await store.load("c1"))[0]) == 2


async def test_a_handler_that_raises_under_way_ends_the_turn() -> None:
    """L5: nothing is stored, the handler is told, and what it raised comes out."""
    handler, store = AsyncBadHandler("on_chunk"), kova.AsyncInMemoryStore()
    agent = kova.AsyncAgent(AsyncScriptedProvider("Hello", "Hello again"), memory=store)
    with pytest.raises(ValueError, match="bad on_chunk"):
        await agent.chat_stream("c1", "Hi", handler=handler)
    assert handler.told == ["on_chunk", "on_error"]
    assert await store.load("c1") == ([], 0)
    assert await agent.chat("c1", "Hi", timeout=30) == "Hello again"


async def test_a_handler_that_raises_about_an_error_does_not_replace_it(caplog: pytest.LogCaptureFixture) -> None:
    agent = kova.AsyncAgent(AsyncScriptedProvider(provider_error(400, "no")))
    with caplog.at_level(logging.ERROR, logger="kova"), pytest.raises(kova.ProviderError, match="no"):
        await agent.chat_stream("c1", "Hi", handler=AsyncBadHandler("on_error"))
    assert "the streaming handler raised method='on_error'" in caplog.text


# ---- stores


class AsyncBadStore:
    """Raises or gives what it is told to, in place of doing its work."""

    def __init__(self, method: str, outcome: object) -> None:
        self._bad, self._outcome = method, outcome

    async def load(self, conversation_id: str) -> tuple[list[kova.ConversationMessage], int]:
        return self._do("load", ([], 0))

    async def append(self, conversation_id: str, messages: Sequence[kova.ConversationMessage], revision: int) -> int:
        return self._do("append", 1)

    async def clear(self, conversation_id: str) -> None:
        """Do nothing."""

    async def list_conversations(self) -> list[str]:
        return []

    async def prune(self, older_than: timedelta) -> int:
        return 0

    def _do(self, method: str, right: Any) -> Any:
        if method != self._bad:
            return right
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("method", "outcome", "message"),
    [
        ("load", PermissionError("locked"), r"'c1' cannot be read: PermissionError: locked"),
        ("append", OSError("disk full"), r"'c1' cannot be written: OSError: disk full"),
        ("load", None, r"'c1' cannot be read: TypeError: load must give a tuple .* not NoneType"),
        ("load", ([kova.user_message("Hi"), "Hello"], 1), r"messages\[1\] must be a ConversationMessage, not str"),
        ("load", (None, 1), "'c1' cannot be read"),
    ],
)
async def test_whatever_a_store_does_wrong_is_an_error_of_the_store(
    method: str, outcome: object, message: str, streamed: bool
) -> None:
    """L10: with what the turn had produced."""
    agent = kova.AsyncAgent(AsyncScriptedProvider("Hello"), memory=AsyncBadStore(method, outcome))
    for _ in range(2 if method == "load" else 1):  # the turn lets the next one begin
        with pytest.raises(kova.MemoryStoreError, match=message) as caught:
            if streamed:
                async with agent.chat_events("c1", "Hi", timeout=30) as stream:
                    async for event in stream:
                        assert not isinstance(event, kova.TurnCompleted)
            else:
                await agent.chat("c1", "Hi", timeout=30)
    assert caught.value.__cause__ is not None
    assert caught.value.partial is not None
    assert caught.value.partial.llm_calls == (1 if method == "append" else 0)


async def test_an_interrupt_in_a_store_comes_out_as_it_is() -> None:
    agent = kova.AsyncAgent(AsyncScriptedProvider("Hello"), memory=AsyncBadStore("load", GeneratorExit()))
    with pytest.raises(GeneratorExit):
        await agent.chat("c1", "Hi")


async def test_a_store_without_weak_references_is_refused_at_construction() -> None:
    class AsyncSlotted(AsyncBadStore):
        __slots__ = ()

    class AsyncStiff:
        __slots__ = ()
        load, append = AsyncBadStore.load, AsyncBadStore.append
        clear, prune = AsyncBadStore.clear, AsyncBadStore.prune
        list_conversations = AsyncBadStore.list_conversations

    kova.AsyncAgent(AsyncScriptedProvider(), memory=AsyncSlotted("", None))
    with pytest.raises(kova.BuildError, match=r"memory: .*AsyncStiff.*: its class needs a slot __weakref__"):
        kova.AsyncAgent(AsyncScriptedProvider(), memory=AsyncStiff())


@pytest.mark.parametrize("conversation_id", [7, None, b"c1", "", "\ud800"])
async def test_a_conversation_is_named_by_a_text(conversation_id: Any) -> None:
    agent = kova.AsyncAgent(AsyncScriptedProvider(), streaming_handler=AsyncBadHandler())
    for say in (agent.chat, agent.chat_response, agent.chat_events, agent.chat_stream):
        with pytest.raises((TypeError, ValueError), match="conversation_id"):
            await say(conversation_id, "Hi")  # type: ignore[operator]


async def test_a_stream_that_was_left_early_says_so() -> None:
    agent = kova.AsyncAgent(AsyncScriptedProvider("Hello there"))
    async with agent.run_stream("Hi") as stream:
        async for _ in stream:
            break
        with pytest.raises(kova.StreamError, match="not over"):
            _ = stream.response
    with pytest.raises(kova.StreamError, match="ended before it was over, and so it has no response"):
        _ = stream.response
