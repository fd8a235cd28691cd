"""S1: one question for a tool and session, in whatever event loop or thread the turns of the session run."""

from __future__ import annotations

import asyncio
import threading

import kova
from kova import ApprovalDecision
from kova.testing import Answer, AsyncScriptedProvider, ModelRequest, call

LOOPS = 4
TURNS = 3  # in each loop


@kova.tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def answer(request: ModelRequest) -> Answer:
    return "Done." if request.messages[-1].role is kova.Role.TOOL else call("delete", path="a")


def test_turns_in_several_loops_ask_once() -> None:
    """S1."""
    asked: list[str] = []
    answered = threading.Event()
    texts: list[str] = []

    def decide(use: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
        asked.append(use.name)
        assert answered.wait(20)
        return ApprovalDecision.APPROVED_FOR_SESSION

    model = AsyncScriptedProvider()
    model.always(answer)
    agent = kova.AsyncAgent(model, tools=[delete], approval_handler=decide)

    async def turns() -> None:
        texts.extend(r.text for r in await asyncio.gather(*[agent.run("go", session="ada") for _ in range(TURNS)]))

    threads = [threading.Thread(target=asyncio.run, args=(turns(),)) for _ in range(LOOPS)]
    for thread in threads:
        thread.start()
    while len(model.requests) < LOOPS * TURNS:
        threads[0].join(0.005)
    answered.set()
    for thread in threads:
        thread.join(20)
    assert texts == ["Done."] * LOOPS * TURNS
    assert asked == ["delete"]
