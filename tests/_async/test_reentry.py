"""What a turn calls may begin other turns, but not one that would wait for the end of the turn itself."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import kova
from kova import ApprovalDecision
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from kova.testing import AsyncScriptedProvider, ModelRequest, call

pytestmark = pytest.mark.anyio

WAITS_FOR_ITSELF = "'c1' waits for itself"
NAMES = ["chat_here", "chat_in_a_child", "ask_the_helper"]


class AsyncFamily:
    """An agent whose tools chat with itself, in one way or another."""

    def __init__(self) -> None:
        self.model = AsyncScriptedProvider()
        store = kova.AsyncInMemoryStore()
        helper_model = AsyncScriptedProvider()
        helper_model.always(self._answer_with("chat_here"))
        helper = kova.AsyncAgent(helper_model, tools=[self.chat_here], memory=store)
        tools = [self.chat_here, self.chat_in_a_child, helper.as_tool("ask_the_helper", "Asks itself.")]
        self.agent = kova.AsyncAgent(self.model, tools=tools, memory=store)
        self.store = store

    @staticmethod
    def _answer_with(name: str) -> Any:
        arguments = {"message": "go"} if name.startswith("ask") else {"conversation": "c1"}

        def answer(request: ModelRequest) -> Any:
            return "Done." if request.messages[-1].role is kova.Role.TOOL else call(name, **arguments)

        return answer

    async def chat_here(self, conversation: str) -> str:
        """Chat in a conversation."""
        return await self.agent.chat(conversation, "And?")

    async def chat_in_a_child(self, conversation: str) -> str:
        """Chat in a conversation, from a task or thread of its own."""
        said: list[str] = []

        async def child() -> None:
            try:
                said.append(await self.agent.chat(conversation, "And?"))
            except kova.KovaError as error:
                said.append(f"failed: {error}")

        async with rt.TaskGroup() as group:
            group.start_soon(child)
        if said[0].startswith("failed"):
            raise ValueError(said[0])
        return said[0]

    async def turn(self, kind: str) -> None:
        if kind == "chat":
            await self.agent.chat("c1", "Go on.", timeout=30)
            return
        async with self.agent.chat_events("c1", "Go on.", timeout=30) as stream:
            async for _ in stream:
                pass


@pytest.mark.parametrize("kind", ["chat", "chat_events"])
@pytest.mark.parametrize("names", [[name] for name in NAMES] + [["chat_here", "chat_in_a_child"]], ids=str)
async def test_a_tool_cannot_chat_in_the_conversation_of_its_turn(names: list[str], kind: str) -> None:
    """C1: it would wait for itself. It is told so, alone or among others, in a child or an agent that is a tool."""
    family = AsyncFamily()
    calls = [call(name, **({"message": "x"} if "ask" in name else {"conversation": "c1"})) for name in names]
    family.model.play(calls, "Never said.", "Hello again")
    with pytest.raises(kova.KovaError, match=WAITS_FOR_ITSELF) as caught:
        await family.turn(kind)
    assert isinstance(caught.value, (kova.MemoryStoreError, kova.ToolExecutionError))
    assert caught.value.partial is not None
    assert await family.store.load("c1") == ([], 0)
    assert await family.agent.chat("c1", "Hi", timeout=30) == "Never said.", "the conversation goes on"


async def test_a_tool_may_chat_in_other_conversations_and_in_its_own_later() -> None:
    """C1."""
    family = AsyncFamily()
    family.model.play(call("chat_here", conversation="c2"), "In another.", "In the first.", "Later.")
    assert await family.agent.chat("c1", "Go on.") == "In the first."
    assert await family.chat_here("c1") == "Later."
    assert (await family.store.load("c2"))[0][-1].text == "In another."


async def test_what_outlives_a_turn_may_chat_in_its_conversation() -> None:
    """C1: a task that a tool has left behind belongs to the turn only as long as there is one."""
    model = AsyncScriptedProvider(call("leave_a_task"), "Done.", "Later.")
    said: list[str] = []
    over = threading.Event()
    background = rt.Background()

    async def later() -> None:
        while not over.is_set():
            await rt.sleep(0.01)
        said.append(await agent.chat("c1", "And?"))

    async def leave_a_task() -> str:
        background.start_soon(later)
        return "left"

    agent = kova.AsyncAgent(model, tools=[kova.tool(leave_a_task)])
    await agent.chat("c1", "Go on.")
    over.set()
    with rt.fail_at(Deadline(30, "the task")):
        while not said:
            await rt.sleep(0.01)
    assert said == ["Later."]


async def test_a_prompt_and_a_handler_cannot_chat_in_the_conversation_of_their_turn() -> None:
    """C1."""

    class AsyncHandler:
        async def on_chunk(self, event: kova.StreamEvent) -> None:
            await agent.chat("c1", "And?")

        async def on_complete(self) -> None:
            raise AssertionError("the turn cannot be completed")

        async def on_error(self, error: Exception) -> None:
            told.append(error)

    async def prompt(context: kova.RunContext) -> str:
        return await agent.chat("c1", "How?") if context.state == "ask" else "Be brief."

    told: list[Exception] = []
    agent = kova.AsyncAgent(AsyncScriptedProvider("Hello", "Hello again"), system_prompt=prompt)
    with pytest.raises(kova.MemoryStoreError, match=WAITS_FOR_ITSELF) as caught:
        await agent.chat_stream("c1", "Hi", handler=AsyncHandler())
    assert told == [caught.value]
    with pytest.raises(kova.MemoryStoreError, match=WAITS_FOR_ITSELF):
        await agent.chat("c1", "Hi", state="ask")
    assert await agent.chat("c1", "Hi") == "Hello again"


async def test_the_block_of_a_stream_cannot_chat_in_its_conversation() -> None:
    """C1: it holds the conversation until it is left. Others may wait for it, and be begun from it."""
    agent = kova.AsyncAgent(AsyncScriptedProvider("Hello there", "In another.", "Later.", "From a task."))
    said: list[str] = []

    async def wait() -> None:
        said.append(await agent.chat("c1", "And I?"))

    background = rt.Background()
    async with agent.chat_events("c1", "Hi") as stream:
        async for event in stream:
            if isinstance(event, kova.TextDelta) and not said:
                with pytest.raises(kova.MemoryStoreError, match=WAITS_FOR_ITSELF):
                    await agent.chat("c1", "And?")
                said.append(await agent.chat("c2", "And?"))
    said.append(await agent.chat("c1", "And now?"))
    assert said == ["In another.", "Later."]
    async with agent.chat_events("c1", "Hi") as stream:
        background.start_soon(wait)
        await rt.sleep(0.02)
    with rt.fail_at(Deadline(30, "the task")):
        while len(said) < 3:
            await rt.sleep(0.005)
    assert said[2] == "From a task.", "the stream was left before it began"


async def test_an_approval_handler_cannot_begin_a_turn_that_asks_it_the_same() -> None:
    """S1."""
    model = AsyncScriptedProvider(call("delete"), call("delete"), "Done.")

    async def delete() -> str:
        return "deleted"

    async def decide(use: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
        await agent.run("May it?", session="s")
        return ApprovalDecision.APPROVED

    agent = kova.AsyncAgent(model, tools=[kova.tool(delete)], approval_handler=decide)
    with pytest.raises(kova.ToolExecutionError, match="'delete' failed: its approval handler waits for itself"):
        await agent.run("Delete it.", session="s", timeout=30)
