"""What was said is in spans and in the log only where that was asked for."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider, call
from tests import server as play
from tests.server import Exchange, ModelServer
from tests.spans import RecordedSpans, recorded

pytestmark = pytest.mark.anyio

FAST = kova.RetryConfig(max_retries=1, initial_backoff=0.01)
SECRET = "the-canary-sings"
KEY = "sk-canary-0123456789"


def echo(status: int) -> Callable[[Exchange], None]:
    """An error in whose text the server says what it was sent."""
    return lambda exchange: exchange.send_json({"error": {"message": f"{SECRET} {KEY}"}}, status)


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


# ---- content


async def test_nothing_that_was_said_is_in_spans_or_in_the_log(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """S3, R7, O3: also where the server and a tool echo it."""
    agent_options: dict[str, Any] = {"tools": [add, fail], "system_prompt": SECRET, "retry_config": FAST}
    with caplog.at_level(logging.DEBUG), recorded() as spans:
        async with provider(server) as model:
            agent = kova.AsyncAgent(model, **agent_options)
            server.play(echo(503), play.calls(("fail", {"text": SECRET}), content=SECRET))
            with pytest.raises(kova.ToolExecutionError):
                await agent.run(SECRET)
            server.play(echo(400))
            with pytest.raises(kova.ProviderError):
                await ask(agent, streamed=True, text=SECRET)
    assert len(spans.all) == 5
    assert [record.getMessage() for record in caplog.records if record.name == "kova"]
    for text in (repr(spans.all), caplog.text):
        assert SECRET not in text
        assert KEY not in text


async def test_content_is_recorded_where_it_is_asked_for_and_redacted() -> None:
    """O3."""
    script = AsyncScriptedProvider([call("add", a=1, b=2)], ["The card 4711 has 3", kova.UsageStats(1, 1)])
    agent = kova.AsyncAgent(script, tools=[add], system_prompt="Be brief.")
    with recorded(capture_content=True, redact=lambda text: text.replace("4711", "****")) as spans:
        await agent.run("How much is on 4711?")
    chat = spans.named("chat")[1].attributes
    assert json.loads(chat["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    asked = json.loads(chat["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["user", "assistant", "tool"]
    assert asked[0]["parts"] == [{"type": "text", "content": "How much is on ****?"}]
    assert asked[1]["parts"] == [{"type": "tool_call", "id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}}]
    assert asked[2]["parts"] == [{"type": "tool_call_response", "id": "call_1", "response": "3"}]
    (answer,) = json.loads(chat["gen_ai.output.messages"])
    assert answer["parts"] == [{"type": "text", "content": "The card **** has 3"}]
    tool_span = spans.one("execute_tool add").attributes
    assert json.loads(tool_span["gen_ai.tool.call.arguments"]) == {"a": 1, "b": 2}
    assert tool_span["gen_ai.tool.call.result"] == "3"


async def test_a_redaction_that_fails_lets_nothing_out(caplog: pytest.LogCaptureFixture) -> None:
    def redact(text: str) -> str:
        raise RuntimeError("no rule")

    with recorded(capture_content=True, redact=redact) as spans:
        await kova.AsyncAgent(AsyncScriptedProvider("Hello")).run(SECRET)
    assert SECRET not in repr(spans.all)
    assert "left out" in spans.one("chat").attributes["gen_ai.input.messages"]
    assert "redact raised" in caplog.text


async def test_without_telemetry_there_are_no_spans() -> None:
    spans = RecordedSpans()
    with spans.provider.get_tracer("app").start_as_current_span("request"):
        await kova.AsyncAgent(AsyncScriptedProvider("Hello")).run("Hi")
    assert [span.name for span in spans.all] == ["request"]
