"""Turns of one session that run at once: one question about a tool, and its answer holds for all of them."""

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


@kova.tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def answer(request: ModelRequest) -> Any:
    return "Done." if request.messages[-1].role is kova.Role.TOOL else call("delete", path="a")


class AsyncDesk:
    """Asks one question after the other, of which each waits until it is answered."""

    def __init__(self) -> None:
        self.asked: list[Any] = []  # the states of the turns
        self._answers: dict[Any, ApprovalDecision] = {}
        model = AsyncScriptedProvider()
        model.always(answer)
        self.agent = kova.AsyncAgent(model, tools=[delete], approval_handler=self.decide)
        self.outcomes: dict[Any, Any] = {}

    async def decide(self, use: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
        self.asked.append(context.state)
        while context.state not in self._answers:
            await rt.sleep(0.005)
        return self._answers[context.state]

    def answer(self, state: Any, decision: ApprovalDecision) -> None:
        self._answers[state] = decision

    async def turn(self, state: Any, session: str, token: kova.CancellationToken | None = None) -> None:
        try:
            response = await self.agent.run("go", session=session, state=state, cancel=token)
            self.outcomes[state] = response.new_messages[1]
        except kova.KovaError as error:
            self.outcomes[state] = type(error)

    async def until_asked(self, *states: Any) -> None:
        with rt.fail_at(Deadline(20, "the question")):
            while self.asked != list(states):
                await rt.sleep(0.005)

    async def settle(self) -> None:
        """Give the others time to ask, if they are going to."""
        for _ in range(20):
            await rt.sleep(0.005)


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        (ApprovalDecision.APPROVED_FOR_SESSION, kova.tool_message("call_1", "deleted a")),
        (
            ApprovalDecision.DENIED_ALWAYS,
            kova.tool_message("call_1", "the call of delete was denied", is_error=True),
        ),
    ],
)
async def test_turns_of_one_session_ask_once(decision: ApprovalDecision, result: kova.ConversationMessage) -> None:
    """S1: and those of another session neither wait for the answer nor have it."""
    desk = AsyncDesk()
    async with rt.TaskGroup() as group:
        group.start_soon(desk.turn, "first", "ada")
        await desk.until_asked("first")
        for number in range(5):
            group.start_soon(desk.turn, number, "ada")
        desk.answer("other", ApprovalDecision.APPROVED)
        await desk.turn("other", "bob")
        assert desk.outcomes == {"other": kova.tool_message("call_1", "deleted a")}
        await desk.settle()
        assert desk.asked == ["first", "other"]
        desk.answer("first", decision)
    assert desk.asked == ["first", "other"]
    assert [desk.outcomes[state] for state in ("first", *range(5))] == [result] * 6


async def test_an_answer_for_one_call_lets_the_next_turn_ask() -> None:
    """S1."""
    desk = AsyncDesk()
    async with rt.TaskGroup() as group:
        group.start_soon(desk.turn, "first", "ada")
        await desk.until_asked("first")
        group.start_soon(desk.turn, "second", "ada")
        await desk.settle()
        desk.answer("first", ApprovalDecision.DENIED)
        await desk.until_asked("first", "second")
        desk.answer("second", ApprovalDecision.APPROVED)
    assert desk.outcomes["second"] == kova.tool_message("call_1", "deleted a")


@pytest.mark.parametrize("who", ["who asks", "who waits"])
async def test_a_turn_that_is_cancelled_hands_its_question_on(who: str) -> None:
    """S1, T12: and one that waits for the answer of another ends as quickly."""
    desk = AsyncDesk()
    tokens = [kova.CancellationToken() for _ in range(3)]
    async with rt.TaskGroup() as group:
        group.start_soon(desk.turn, 0, "ada", tokens[0])
        await desk.until_asked(0)
        for number in (1, 2):
            group.start_soon(desk.turn, number, "ada", tokens[number])
            await desk.settle()
        tokens[0 if who == "who asks" else 1].cancel()
        with rt.fail_at(Deadline(1.5, "the end of the turn")):
            while not desk.outcomes:
                await rt.sleep(0.005)
        if who == "who asks":
            await desk.until_asked(0, 1)
            desk.answer(1, ApprovalDecision.APPROVED_FOR_SESSION)
        else:
            desk.answer(0, ApprovalDecision.APPROVED_FOR_SESSION)
    done = kova.tool_message("call_1", "deleted a")
    ended = kova.TurnCancelledError
    assert desk.outcomes == ({0: ended, 1: done, 2: done} if who == "who asks" else {0: done, 1: ended, 2: done})
    assert len(desk.agent._driver._policy.approvals.questions) == 0


async def test_a_handler_that_fails_hands_the_question_on() -> None:
    """S1."""
    go_on, asked = threading.Event(), []

    async def decide(use: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
        asked.append(context.state)
        while not go_on.is_set():
            await rt.sleep(0.005)
        if len(asked) == 1:
            raise OSError("no terminal")
        return ApprovalDecision.APPROVED_FOR_SESSION

    desk = AsyncDesk()
    model = AsyncScriptedProvider()
    model.always(answer)
    desk.agent = kova.AsyncAgent(model, tools=[delete], approval_handler=decide)
    async with rt.TaskGroup() as group:
        for number in range(4):
            group.start_soon(desk.turn, number, "ada")
        await desk.settle()
        go_on.set()
    assert len(asked) == 2
    assert list(desk.outcomes.values()).count(kova.ToolExecutionError) == 1


@pytest.mark.parametrize(("session", "error"), [("", ValueError), (7, TypeError)])
async def test_a_session_is_named_by_a_text(session: Any, error: type[Exception]) -> None:
    """S1: an empty one would be shared by all who forget to give theirs."""
    desk = AsyncDesk()
    for begin in (desk.agent.run_stream, desk.agent.run, desk.agent.run_structured):
        arguments = ({"type": "object"},) if begin == desk.agent.run_structured else ()
        with pytest.raises(error, match="session"):
            await begin("go", *arguments, session=session)  # type: ignore[operator]
