"""What spans there are, what they say, and how they hang together."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace

import kova
from kova._runtime import aio as rt
from kova.testing import AsyncScriptedProvider, call
from tests import server as play
from tests.server import ModelServer
from tests.spans import recorded

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


# ---- names and attributes


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_with_tools(server: ModelServer, streamed: bool) -> None:
    """O3, and O2: tool spans are children of the agent's."""
    server.play(play.calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), play.text("3 and 7"))
    config = kova.InferenceConfig(max_tokens=50, temperature=0.5, stop_sequences=["x"], seed=7)
    with recorded() as spans:
        async with provider(server) as model:
            agent = kova.AsyncAgent(model, name="adder", tools=[add], inference_config=config)
            await ask(agent, streamed, session="s1")
    assert spans.open == 0
    assert spans.edges() == [
        ("chat m", "invoke_agent adder"),
        ("chat m", "invoke_agent adder"),
        ("execute_tool add", "invoke_agent adder"),
        ("execute_tool add", "invoke_agent adder"),
        ("invoke_agent adder", ""),
    ]
    common = {
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.conversation.id": "s1",
        "status.description": None,
    }
    assert spans.one("invoke_agent adder").attributes == common | {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "adder",
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 14,
        "gen_ai.usage.output_tokens": 6,
        "kova.iterations": 1,
    }
    chat = dict(spans.named("chat m")[0].attributes)
    first = chat.pop("gen_ai.response.time_to_first_chunk", None)
    assert (first is not None, chat.pop("gen_ai.request.stream", False)) == (streamed, streamed)
    assert chat == common | {
        "gen_ai.operation.name": "chat",
        "server.address": "127.0.0.1",
        "server.port": int(server.url.rpartition(":")[2].split("/")[0]),
        "gen_ai.request.max_tokens": 50,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.stop_sequences": ("x",),
        "gen_ai.request.seed": 7,
        "gen_ai.response.model": "m",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    }
    tool_spans = spans.named("execute_tool add")
    assert {span.attributes["gen_ai.tool.call.id"] for span in tool_spans} == {"call_0", "call_1"}
    assert {span.attributes["gen_ai.tool.name"] for span in tool_spans} == {"add"}


async def test_a_conversation_is_named(server: ModelServer) -> None:
    """O3."""
    server.always(play.text("Hello"))
    with recorded() as spans:
        async with provider(server) as model:
            agent = kova.AsyncAgent(model)
            await agent.chat("c7", "Hi")
            async with agent.chat_events("c7", "Hi") as stream:
                async for _ in stream:
                    pass
    assert [span.attributes["gen_ai.conversation.id"] for span in spans.named("invoke_agent")] == ["c7", "c7"]
    assert len(spans.named("chat m")) == 2


async def test_input_tokens_include_what_a_cache_gave() -> None:
    """O3: as the conventions say, though not `UsageStats.input_tokens`."""
    usage = kova.UsageStats(input_tokens=10, output_tokens=2, cache_read_tokens=90)
    with recorded() as spans:
        await kova.AsyncAgent(AsyncScriptedProvider(["Hello", usage])).run("Hi")
    attributes = spans.one("chat").attributes
    assert attributes["gen_ai.usage.input_tokens"] == 100
    assert attributes["gen_ai.usage.cache_read.input_tokens"] == 90


# ---- nesting


@pytest.mark.parametrize("streamed", [False, True])
async def test_spans_of_user_code_and_of_inner_agents_nest(streamed: bool) -> None:
    """O2, T9: below the tool that they are made in, in whatever thread it runs."""
    tracer = None

    @kova.tool
    def work(n: int) -> str:
        """Work."""
        assert tracer is not None
        with tracer.start_as_current_span("mine"):
            return str(n)

    inner = kova.AsyncAgent(AsyncScriptedProvider("inner answer"), name="inner")
    script = AsyncScriptedProvider([call("work", n=1), call("work", n=2), call("helper", message="Do")], "done")
    agent = kova.AsyncAgent(script, name="outer", tools=[work, inner.as_tool("helper", "Helps.")])
    with recorded() as spans:
        tracer = spans.provider.get_tracer("app")
        with tracer.start_as_current_span("request"):
            await ask(agent, streamed)
            assert trace.get_current_span().get_span_context().span_id == int(
                spans.one("invoke_agent outer").parent_id, 16
            )
    assert spans.open == 0
    assert spans.edges() == [
        ("chat", "invoke_agent inner"),
        ("chat", "invoke_agent outer"),
        ("chat", "invoke_agent outer"),
        ("execute_tool helper", "invoke_agent outer"),
        ("execute_tool work", "invoke_agent outer"),
        ("execute_tool work", "invoke_agent outer"),
        ("invoke_agent inner", "execute_tool helper"),
        ("invoke_agent outer", "request"),
        ("mine", "execute_tool work"),
        ("mine", "execute_tool work"),
        ("request", ""),
    ]


async def test_the_users_code_between_events_is_not_below_kovas_spans() -> None:
    """O2: nothing stays attached while a stream is in the user's hands."""
    with recorded() as spans:
        async with kova.AsyncAgent(AsyncScriptedProvider("one two three")).run_stream("Hi") as stream:
            async for _ in stream:
                assert not trace.get_current_span().get_span_context().is_valid
    assert spans.open == 0


async def test_turns_at_once_do_not_mix(server: ModelServer) -> None:
    """O2."""
    server.always(play.text("Hello"))

    async def turn(agent: kova.AsyncAgent, index: int) -> None:
        await ask(agent, bool(index % 2), session=str(index))

    with recorded() as spans:
        async with provider(server) as model:
            agent = kova.AsyncAgent(model)
            async with rt.TaskGroup() as group:
                for index in range(20):
                    group.start_soon(turn, agent, index)
    assert spans.edges() == [("chat m", "invoke_agent")] * 20 + [("invoke_agent", "")] * 20
    assert len({span.trace_id for span in spans.all}) == 20
    for chat in spans.named("chat m"):
        (parent,) = [span for span in spans.all if span.id == chat.parent_id]
        assert parent.attributes["gen_ai.conversation.id"] == chat.attributes["gen_ai.conversation.id"]
