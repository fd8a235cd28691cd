"""A process that serves for long: what a turn has needed is gone after it, however it ended."""

from __future__ import annotations

import asyncio
import gc

import pytest

import kova
from kova import ApprovalDecision
from kova.testing import Answer, AsyncScriptedProvider, ModelRequest, ScriptedProvider, call

TURNS = 10_000
ASYNC_TURNS = 4_000  # which take longer
OTHERS = 500  # streams that are left, and turns that fail
FEW = 100  # objects that caches and the interpreter itself may have more


@kova.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def answer(request: ModelRequest) -> Answer:
    """Calls a tool where the user asks for a sum."""
    said = request.messages[-1]
    return [call("add", a=1, b=2), call("add", a=3, b=4)] if said.text == "sum" else "Hello"


def approve(use: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
    return ApprovalDecision.APPROVED


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def test_ten_thousand_chats_leave_no_objects() -> None:
    """Of a conversation that is trimmed, with tools and approvals."""
    model, store = ScriptedProvider(), kova.InMemoryStore(max_messages=6)
    model.always(answer)
    agent = kova.Agent(model, tools=[add], memory=store, approval_handler=approve)

    def serve(turns: int, others: int) -> None:
        for number in range(turns):
            agent.chat("c1", "sum" if number % 50 == 0 else "Hi")
            model.requests.clear()
        for _ in range(others):
            with agent.chat_events("c1", "sum") as stream:
                next(iter(stream))
            with pytest.raises(kova.TurnCancelledError):
                token = kova.CancellationToken()
                token.cancel()
                agent.chat("c1", "Hi", cancel=token)
            model.requests.clear()

    serve(100, 20)
    before = objects()
    serve(TURNS, OTHERS)
    assert objects() - before < FEW


def test_thousands_of_chats_leave_no_objects_in_the_async_twin() -> None:
    """The same."""
    model, store = AsyncScriptedProvider(), kova.AsyncInMemoryStore(max_messages=6)
    model.always(answer)
    agent = kova.AsyncAgent(model, tools=[add], memory=store, approval_handler=approve)

    async def serve(turns: int, others: int) -> None:
        for number in range(turns):
            await agent.chat("c1", "sum" if number % 50 == 0 else "Hi")
            model.requests.clear()
        for _ in range(others):
            async with agent.chat_events("c1", "sum") as stream:
                await anext(aiter(stream))
            with pytest.raises(kova.TurnCancelledError):
                token = kova.CancellationToken()
                token.cancel()
                await agent.chat("c1", "Hi", cancel=token)
            model.requests.clear()

    async def main() -> int:
        await serve(100, 20)
        before = objects()
        await serve(ASYNC_TURNS, OTHERS)
        return objects() - before

    assert asyncio.run(main()) < FEW
