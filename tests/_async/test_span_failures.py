"""Spans of turns that fail, are cancelled or are left early: all of them end, and say what became of them."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

import kova
from kova._runtime import aio as rt
from kova.testing import AsyncScriptedProvider, call
from tests import server as play
from tests.server import Exchange, ModelServer
from tests.spans import RecordedSpans, recorded

pytestmark = pytest.mark.anyio

FAST = kova.RetryConfig(max_retries=1, initial_backoff=0.01)
SECRET = "the-canary-sings"
KEY = "sk-canary-0123456789"


@kova.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@kova.tool
def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)


def provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url, **options)


async def ask(agent: kova.AsyncAgent, streamed: bool, text: str = "Hi", **options: Any) -> None:
    if not streamed:
        await agent.run(text, **options)
        return
    async with agent.run_stream(text, **options) as stream:
        async for _ in stream:
            pass


# ---- streams that are left early


def words_for_ever(exchange: Exchange) -> None:
    exchange.start_stream()
    while True:
        exchange.send_delta({"content": "word "})


async def test_streams_broken_off(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    """O2: by break, by an exception, and by a generator around one that is dropped."""

    async def words(agent: kova.AsyncAgent) -> AsyncIterator[str]:
        async with agent.run_stream("Hi") as stream:
            async for text in stream.text_deltas():
                yield text

    server.always(words_for_ever)
    with caplog.at_level(logging.DEBUG), recorded() as spans:
        async with provider(server) as model:
            agent = kova.AsyncAgent(model)
            async with agent.run_stream("Hi") as stream:
                async for _ in stream:
                    break
            with pytest.raises(KeyError):
                async with agent.run_stream("Hi") as stream:
                    async for _ in stream:
                        raise KeyError("mine")
            async with rt.closing(words(agent)) as texts:  # type: ignore[type-var]
                async for _ in texts:
                    break
        gc.collect()
    assert spans.open == 0
    assert spans.edges() == [("chat m", "invoke_agent")] * 3 + [("invoke_agent", "")] * 3
    assert not any(span.is_error for span in spans.all)  # nothing of kova's has failed
    assert [record for record in caplog.records if record.name.startswith(("opentelemetry", "kova"))] == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_that_is_cancelled(server: ModelServer, streamed: bool, caplog: pytest.LogCaptureFixture) -> None:
    """O2: in the middle of tools."""
    token = kova.CancellationToken()

    @kova.tool
    def wait(context: kova.ToolContext) -> None:
        """Wait until told to stop."""
        token.cancel()
        context.cancel.wait(10)

    server.play(play.calls(("wait", {}), ("wait", {})))
    with caplog.at_level(logging.DEBUG), recorded() as spans:
        async with provider(server) as model:
            with pytest.raises(kova.TurnCancelledError):
                await ask(kova.AsyncAgent(model, tools=[wait]), streamed, cancel=token)
    assert spans.open == 0
    turn = spans.one("invoke_agent")
    assert (turn.is_error, turn.attributes["error.type"]) == (True, "TurnCancelledError")
    assert {span.parent_id for span in spans.named("execute_tool wait")} == {turn.id}
    assert caplog.records == []


async def test_a_stream_whose_time_is_over(server: ModelServer) -> None:
    """O2."""
    never = threading.Event()
    server.always(lambda exchange: never.wait(10) and None)
    with recorded() as spans:
        async with provider(server) as model:
            with pytest.raises(kova.TimeoutError):
                await ask(kova.AsyncAgent(model), streamed=True, timeout=0.1)
    never.set()
    assert spans.open == 0
    assert spans.one("invoke_agent").attributes["error.type"] == "TimeoutError"
    assert spans.one("invoke_agent").attributes["status.description"] == "the turn took longer than 0.1 s"
    assert spans.one("chat m").attributes["error.type"] == "cancelled"


# ---- failures and retries


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_retry_is_one_event_with_cause_and_delay(server: ModelServer, streamed: bool) -> None:
    """O4."""
    server.play(play.error(503, f"no room for {SECRET}"), play.text("Hello"))
    with recorded() as spans:
        async with provider(server) as model:
            await ask(kova.AsyncAgent(model, retry_config=FAST), streamed)
    chat = spans.one("chat m")
    assert not chat.is_error
    ((name, event),) = chat.events
    assert name == "kova.retry"
    assert 0 < event["kova.retry.delay"] < 0.1
    assert (event["kova.retry.attempt"], event["error.type"]) == (1, "ProviderError")
    assert (event["http.response.status_code"], event["kova.retry.cause"]) == (503, "overloaded")


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_error_of_the_provider(server: ModelServer, streamed: bool) -> None:
    """O3: status and error.type, of the call and of the turn."""
    server.always(lambda exchange: exchange.send_json({"error": {"message": f"wrong: {SECRET} {KEY}"}}, 401))
    with recorded() as spans:
        async with provider(server) as model:
            with pytest.raises(kova.ProviderError):
                await ask(kova.AsyncAgent(model), streamed)
    assert (spans.open, len(spans.all)) == (0, 2)
    for span in spans.all:
        assert span.is_error
        assert (span.attributes["error.type"], span.attributes["http.response.status_code"]) == ("ProviderError", 401)
        assert span.attributes["status.description"] == "auth_invalid"


async def test_tools_that_fail_or_are_not_run() -> None:
    """O3: what the tool raised is the type; of calls that are not run, why not."""
    script = AsyncScriptedProvider(
        [call("fail", text=SECRET), call("add", a="x", b=1), call("nowhere"), call("add", a=1, b=1)], "done"
    )
    deny = kova.ApprovalDecision.denied("no")
    agent = kova.AsyncAgent(
        script,
        tools=[add, fail],
        tool_errors="report",
        approval_handler=lambda call, context: deny if call.name == "add" else kova.ApprovalDecision.APPROVED,
    )
    with recorded() as spans:
        await agent.run("Hi")
    kinds = {span.attributes["gen_ai.tool.call.id"]: span.attributes["error.type"] for span in _tools(spans)}
    assert list(dict(sorted(kinds.items())).values()) == ["tool_error", "invalid_arguments", "not_found", "denied"]
    assert not spans.one("invoke_agent").is_error

    agent = kova.AsyncAgent(AsyncScriptedProvider(call("fail", text=SECRET)), tools=[fail])
    with recorded() as spans:
        with pytest.raises(kova.ToolExecutionError):
            await agent.run("Hi")
    assert spans.one("execute_tool fail").attributes["error.type"] == "ValueError"
    assert spans.one("invoke_agent").is_error


def _tools(spans: RecordedSpans) -> list[Any]:
    return [span for span in spans.all if span.name.startswith("execute_tool")]
