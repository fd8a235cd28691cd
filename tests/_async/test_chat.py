"""Conversations of an agent: what is stored, when, and in which order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import kova
from kova._async import turn_frame
from kova._runtime import aio as rt
from tests import server as play
from tests.canary import KEY
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def provider(server: ModelServer) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url)


def contents(exchange: Exchange) -> list[Any]:
    return [message["content"] for message in exchange.json()["messages"]]


async def test_a_conversation_goes_on(server: ModelServer, tmp_path: Path) -> None:
    server.play(play.text("Hello Ada"), play.text("Ada"))
    async with provider(server) as model, kova.AsyncSQLiteStore(tmp_path / "chats.db") as store:
        agent = kova.AsyncAgent(model, memory=store, system_prompt="Be brief.")
        assert await agent.chat("c1", "I am Ada") == "Hello Ada"
        assert (await agent.chat_response("c1", "Who am I?")).text == "Ada"
        history, _ = await store.load("c1")
    assert contents(server.last) == ["Be brief.", "I am Ada", "Hello Ada", "Who am I?"]
    assert [message.text for message in history] == ["I am Ada", "Hello Ada", "Who am I?", "Ada"]
    assert agent.last_turn_input_tokens == 7


async def test_without_a_store_the_agent_has_one_of_its_own(server: ModelServer) -> None:
    server.play(play.text("Hello"), play.text("Hello again"), play.text("Who are you?"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model)
        await agent.chat("c1", "Hi")
        await agent.chat("c1", "Hi again")
        assert contents(server.last) == ["Hi", "Hello", "Hi again"]
        await kova.AsyncAgent(model).chat("c1", "Hi")
        assert contents(server.last) == ["Hi"]


async def test_a_turn_that_fails_stores_nothing(server: ModelServer) -> None:
    """L10."""
    store = kova.AsyncInMemoryStore()
    server.play(play.text("Hello"), play.calls(("add", {"a": 1, "b": 1})), play.error(400))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, memory=store, tools=[add])
        await agent.chat("c1", "Hi")
        before = await store.load("c1")
        with pytest.raises(kova.ProviderError) as caught:
            await agent.chat("c1", "1 + 1?")
        assert await store.load("c1") == before
    assert caught.value.partial is not None
    assert len(caught.value.partial.messages) == 2


async def test_the_stream_of_a_conversation_is_stored_before_its_last_event(server: ModelServer) -> None:
    store = kova.AsyncInMemoryStore()
    server.play(play.calls(("add", {"a": 1, "b": 1})), play.text("It is 2."))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, memory=store, tools=[add])
        async with agent.chat_events("c1", "1 + 1?") as stream:
            async for event in stream:
                stored, _ = await store.load("c1")
                assert bool(stored) == isinstance(event, kova.TurnCompleted)
    assert kova.check_history((await store.load("c1"))[0]) == []


async def test_leaving_a_stream_early_stores_nothing_and_lets_the_next_turn_begin(server: ModelServer) -> None:
    store = kova.AsyncInMemoryStore()
    server.play(play.text("Hello there"), play.text("Hello again"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, memory=store)
        async with agent.chat_events("c1", "Hi") as stream:
            async for _ in stream:
                break
        assert await agent.chat("c1", "Hi again") == "Hello again"
    assert [message.text for message in (await store.load("c1"))[0]] == ["Hi again", "Hello again"]


async def test_two_turns_of_one_conversation_wait_for_one_another(server: ModelServer) -> None:
    """C1: and others do not wait for them."""
    go_on = threading.Event()

    def wait(exchange: Exchange) -> None:
        assert go_on.wait(10)
        play.text("first answer")(exchange)

    server.play(wait, play.text("other answer"), play.text("second answer"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model)

        async def say(conversation: str, text: str) -> None:
            await agent.chat(conversation, text)

        async with rt.TaskGroup() as group:
            group.start_soon(say, "c1", "first")
            while not server.exchanges:
                await rt.sleep(0.01)
            group.start_soon(say, "c1", "second")
            await say("c2", "other")
            assert len(server.exchanges) == 2
            go_on.set()
    assert contents(server.last) == ["first", "first answer", "second"]


class AsyncHandler:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def on_chunk(self, event: kova.StreamEvent) -> None:
        self.told.append(event)

    async def on_complete(self) -> None:
        self.told.append("complete")

    async def on_error(self, error: Exception) -> None:
        self.told.append(error)


async def test_a_handler_is_told_of_the_providers_events(server: ModelServer) -> None:
    handler = AsyncHandler()
    server.play(play.calls(("add", {"a": 1, "b": 1})), play.text("It is 2."))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[add], streaming_handler=handler)
        assert await agent.chat_stream("c1", "1 + 1?") == "It is 2."
    kinds = [type(event).__name__ for event in handler.told]
    assert kinds[0] == "ToolUseDelta"
    assert kinds.count("StopEvent") == 2
    assert [event.text for event in handler.told if isinstance(event, kova.TextDelta)] == ["It ", "is ", "2."]
    assert handler.told[-1] == "complete"


async def test_a_handler_is_told_of_a_failure(server: ModelServer) -> None:
    handler = AsyncHandler()
    server.play(play.error(400))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError) as caught:
            await kova.AsyncAgent(model).chat_stream("c1", "Hi", handler=handler)
    assert handler.told == [caught.value]


async def test_without_a_handler_there_is_no_chat_stream(server: ModelServer) -> None:
    async with provider(server) as model:
        with pytest.raises(kova.BuildError, match="handler is missing"):
            await kova.AsyncAgent(model).chat_stream("c1", "Hi")
    assert server.exchanges == []


async def test_thinking_is_replayed_to_the_handler(server: ModelServer) -> None:
    def think(exchange: Exchange) -> None:
        message = {"role": "assistant", "content": "42", "reasoning_content": "Hmm."}
        exchange.send_json({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    handler = AsyncHandler()
    server.play(think)
    async with provider(server) as model:
        assert await kova.AsyncAgent(model, streaming_handler=handler).chat("c1", "Hi") == "42"
    assert handler.told == [kova.ThinkingDelta("Hmm."), kova.TextDelta("")]


async def test_what_the_user_says_may_be_a_message_with_an_image(server: ModelServer) -> None:
    store = kova.AsyncInMemoryStore()
    message = kova.user_message("What is it?", kova.ImageBlock("image/png", b"png"))
    server.play(play.text("A cat."))
    async with provider(server) as model:
        await kova.AsyncAgent(model, memory=store).chat("c1", message)
    assert (await store.load("c1"))[0][0] == message


class AsyncBrokenStore:
    """A store whose disk is full."""

    async def load(self, conversation_id: str) -> tuple[list[kova.ConversationMessage], int]:
        return [], 0

    async def append(self, conversation_id: str, messages: Sequence[kova.ConversationMessage], revision: int) -> int:
        raise kova.MemoryStoreError("the disk is full")

    async def clear(self, conversation_id: str) -> None:
        """Do nothing."""

    async def list_conversations(self) -> list[str]:
        return []

    async def prune(self, older_than: timedelta) -> int:
        return 0


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_store_that_cannot_write_fails_the_turn(server: ModelServer, streamed: bool) -> None:
    """L5."""
    server.always(play.text("Hello"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, memory=AsyncBrokenStore())
        with pytest.raises(kova.MemoryStoreError, match="disk is full") as caught:
            if streamed:
                async with agent.chat_events("c1", "Hi") as stream:
                    async for event in stream:
                        assert not isinstance(event, kova.TurnCompleted)
            else:
                await agent.chat("c1", "Hi")
        assert caught.value.partial is not None
        with pytest.raises(kova.MemoryStoreError):
            await agent.chat("c1", "Hi", timeout=10)  # which does not wait for the one before


class AsyncSlowStore(AsyncBrokenStore):
    """A store that does not come to an end."""

    async def append(self, conversation_id: str, messages: Sequence[kova.ConversationMessage], revision: int) -> int:
        await rt.sleep(60)
        return 1


async def test_a_turn_that_cannot_be_stored_in_time_is_no_success(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_frame, "COMMIT_SECONDS", 0.1)
    server.play(play.text("Hello"))
    async with provider(server) as model:
        with pytest.raises(kova.MemoryStoreError, match="could not be stored within"):
            await kova.AsyncAgent(model, memory=AsyncSlowStore()).chat("c1", "Hi")


async def test_wrong_arguments_are_refused(server: ModelServer) -> None:
    with pytest.raises(kova.BuildError, match="memory must be"):
        kova.AsyncAgent(provider(server), memory={})  # type: ignore[arg-type]
    with pytest.raises(kova.BuildError, match=r"streaming_handler.on_chunk"):
        kova.AsyncAgent(provider(server), streaming_handler=7)  # type: ignore[arg-type]
    agent = kova.AsyncAgent(provider(server))
    with pytest.raises(ValueError, match="conversation_id"):
        await agent.chat("", "Hi")
    with pytest.raises(TypeError, match="text must be"):
        await agent.chat("c1", 7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="role assistant"):
        await agent.chat("c1", kova.assistant_message("Hi"))
    assert server.exchanges == []
