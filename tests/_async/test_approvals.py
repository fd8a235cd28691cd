"""Who may call a tool, who sees it, and how much of its result the model gets."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest

import kova
from kova import ApprovalDecision
from tests import server as play
from tests.canary import KEY
from tests.server import ModelServer

pytestmark = pytest.mark.anyio


@kova.tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


class AsyncHandler:
    """An approval handler that gives the decisions it was made with, and notes what it was asked."""

    def __init__(self, *decisions: ApprovalDecision) -> None:
        self.asked: list[tuple[str, Any]] = []
        self._decisions = list(decisions)

    async def decide(self, call: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
        self.asked.append((call.name, call.input["path"]))
        return self._decisions.pop(0)


def provider(server: ModelServer) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url)


def results(response: kova.AgentResponse) -> list[tuple[Any, bool]]:
    blocks = [block for message in response.new_messages for block in message.content]
    return [(block.content, block.is_error) for block in blocks if isinstance(block, kova.ToolResultBlock)]


def one_call(path: str = "a") -> list[play.Answer]:
    return [play.calls(("delete", {"path": path})), play.text("done")]


async def test_an_approved_call_runs_and_a_denied_one_tells_the_model(server: ModelServer) -> None:
    handler = AsyncHandler(ApprovalDecision.APPROVED, ApprovalDecision.denied("use staging"), ApprovalDecision.DENIED)
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], approval_handler=handler.decide)
        server.play(*one_call(), *one_call(), *one_call())
        said = [results(await agent.run("go"))[0] for _ in range(3)]
    assert said == [
        ("deleted a", False),
        ("the call of delete was denied: use staging", True),
        ("the call of delete was denied", True),
    ]


@pytest.mark.parametrize(
    ("decision", "is_error"), [(ApprovalDecision.APPROVED_FOR_SESSION, False), (ApprovalDecision.DENIED_ALWAYS, True)]
)
async def test_a_lasting_decision_holds_for_its_session_only(
    server: ModelServer, decision: ApprovalDecision, is_error: bool
) -> None:
    """S1: what one user decides is not another's decision."""
    handler = AsyncHandler(decision, ApprovalDecision.DENIED)
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], approval_handler=handler.decide)
        for path, session in (("a", "ada"), ("b", "ada"), ("c", "bob")):
            server.play(*one_call(path))
            assert results(await agent.run("go", session=session))[0][1] == (is_error or session == "bob")
    assert handler.asked == [("delete", "a"), ("delete", "c")]


async def test_without_a_session_a_decision_holds_for_the_turn(server: ModelServer) -> None:
    handler = AsyncHandler(ApprovalDecision.APPROVED_FOR_SESSION, ApprovalDecision.APPROVED_FOR_SESSION)
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], approval_handler=handler.decide)
        server.play(play.calls(("delete", {"path": "a"})), *one_call("b"))
        await agent.run("go")
        server.play(*one_call("c"))
        await agent.run("go")
    assert handler.asked == [("delete", "a"), ("delete", "c")]


async def test_concurrent_calls_of_one_tool_are_one_question(server: ModelServer) -> None:
    handler = AsyncHandler(ApprovalDecision.APPROVED_FOR_SESSION)
    server.play(play.calls(*[("delete", {"path": path}) for path in "abcdef"]), play.text("done"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], approval_handler=handler.decide)
        response = await agent.run("go")
    assert results(response) == [(f"deleted {path}", False) for path in "abcdef"]
    assert len(handler.asked) == 1


async def test_calls_that_do_not_fit_are_not_asked_about(server: ModelServer) -> None:
    handler = AsyncHandler()
    server.play(play.calls(("delete", {"file": "a"})), play.text("done"))
    async with provider(server) as model:
        await kova.AsyncAgent(model, tools=[delete], approval_handler=handler.decide).run("go")
    assert handler.asked == []


async def test_a_plain_handler_works_in_both_twins(server: ModelServer) -> None:
    server.play(*one_call())
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], approval_handler=lambda call, context: ApprovalDecision.APPROVED)
        assert results(await agent.run("go")) == [("deleted a", False)]


async def test_a_handler_that_fails_or_decides_nothing_ends_the_turn(server: ModelServer) -> None:
    def fail(call: kova.ToolUseBlock, context: kova.ToolContext) -> Any:
        raise OSError("no terminal")

    async with provider(server) as model:
        for handler, message in (
            (fail, "approval handler raised OSError: no terminal"),
            (lambda call, context: True, "no ApprovalDecision"),
        ):
            server.forget()
            server.play(*one_call())
            with pytest.raises(kova.ToolExecutionError, match=message):
                await kova.AsyncAgent(model, tools=[delete], approval_handler=handler).run("go")


async def test_a_token_ends_a_turn_that_waits_for_a_decision(server: ModelServer) -> None:
    """T12: in approval."""
    token, asked, release = kova.CancellationToken(), threading.Event(), threading.Event()

    def wait(call: kova.ToolUseBlock, context: kova.ToolContext) -> ApprovalDecision:
        asked.set()
        release.wait(30)
        return ApprovalDecision.APPROVED

    server.play(*one_call())
    async with provider(server) as model:
        threading.Thread(target=lambda: asked.wait(10) and token.cancel()).start()
        start = time.monotonic()
        with pytest.raises(kova.TurnCancelledError):
            await kova.AsyncAgent(model, tools=[delete], approval_handler=wait).run("go", cancel=token)
        assert time.monotonic() - start < 1.5
    release.set()


# ---- hooks


class AsyncHook:
    """Notes what it sees."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    async def on_tool_start(self, call: kova.ToolUseBlock, context: kova.ToolContext) -> None:
        self.seen.append(("start", call.id))

    async def on_tool_end(self, call: kova.ToolUseBlock, result: kova.ToolResult, context: kova.ToolContext) -> None:
        self.seen.append((str(result.content), call.id))


async def test_a_hook_sees_the_calls_that_are_executed(server: ModelServer) -> None:
    hook = AsyncHook()
    handler = AsyncHandler(ApprovalDecision.APPROVED, ApprovalDecision.DENIED)
    server.play(play.calls(("delete", {"path": "a"})), *one_call("b"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], approval_handler=handler.decide, lifecycle_hook=hook)
        await agent.run("go")
    assert hook.seen == [("start", "call_0"), ("deleted a", "call_0")]


async def test_a_hook_that_raises_is_logged_and_never_fatal(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    class RaisingHook:
        def on_tool_start(self, call: kova.ToolUseBlock, context: kova.ToolContext) -> None:
            raise ValueError("bad hook")

    server.play(*one_call())
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], lifecycle_hook=RaisingHook())
        with caplog.at_level(logging.ERROR, logger="kova"):
            assert results(await agent.run("go")) == [("deleted a", False)]
    assert "a method of the lifecycle hook raised method='on_tool_start'" in caplog.text


# ---- results that are too large


async def test_a_long_result_is_cut_to_head_and_tail(server: ModelServer) -> None:
    """L14."""

    @kova.tool
    def read() -> str:
        """Read a lot."""
        return "a" * 500 + "b" * 500

    server.play(play.calls(("read", {})), play.text("done"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[read], max_tool_result_chars=11).run("go")
    assert results(response) == [("aaaaaa\n[… 989 of 1000 characters left out …]\nbbbbb", False)]


async def test_what_a_tool_says_of_its_failure_is_cut_too_and_the_hook_sees_it(server: ModelServer) -> None:
    @kova.tool
    def fail() -> str:
        """Fail at length."""
        raise kova.ToolError("a" * 100)

    hook = AsyncHook()
    server.play(play.calls(("fail", {})), play.text("done"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[fail], max_tool_result_chars=10, lifecycle_hook=hook)
        response = await agent.run("go")
    cut = "aaaaa\n[… 90 of 100 characters left out …]\naaaaa"
    assert results(response) == [(cut, True)]
    assert hook.seen == [("start", "call_0"), (cut, "call_0")]


async def test_wrong_handlers_are_refused(server: ModelServer) -> None:
    with pytest.raises(kova.BuildError, match="approval_handler must be callable"):
        kova.AsyncAgent(provider(server), approval_handler=7)  # type: ignore[arg-type]
    with pytest.raises(kova.BuildError, match="lifecycle_hook must have on_tool_start or on_tool_end; int has neither"):
        kova.AsyncAgent(provider(server), lifecycle_hook=7)  # type: ignore[arg-type]
    with pytest.raises(kova.BuildError, match="max_tool_result_chars"):
        kova.AsyncAgent(provider(server), max_tool_result_chars=0)
