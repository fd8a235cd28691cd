"""What agents count."""

from __future__ import annotations

import pytest

import kova
from kova._runtime import aio as rt
from kova.testing import AsyncScriptedProvider, call, provider_error

pytestmark = pytest.mark.anyio

FAST = kova.RetryConfig(max_retries=1, initial_backoff=0.01)


@kova.tool
def add(a: int, b: int) -> int:
    """Add."""
    if a < 0:
        raise kova.ToolError("negative")
    return a + b


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_is_counted(streamed: bool) -> None:
    metrics = kova.MetricsCollector()
    script = AsyncScriptedProvider(
        provider_error(503),
        [call("add", a=1, b=2), call("add", a=-1, b=2), kova.UsageStats(10, 2)],
        ["done", kova.UsageStats(20, 3)],
    )
    agent = kova.AsyncAgent(script, tools=[add], retry_config=FAST, metrics=metrics)
    if streamed:
        async with agent.run_stream("Hi") as stream:
            async for _ in stream:
                pass
    else:
        await agent.run("Hi")
    now = metrics.snapshot()
    assert (now.llm_requests, now.retries, now.tool_invocations) == (2, 1, 2)
    assert (now.input_tokens, now.output_tokens) == (30, 5)
    assert (now.errors, now.tool_errors) == (0, 1)
    assert (now.llm_latency.count, now.tool_duration.count) == (2, 2)


async def test_a_failed_turn_is_an_error_and_a_cancelled_one_is_none() -> None:
    metrics = kova.MetricsCollector()
    token = kova.CancellationToken()
    token.cancel()
    agent = kova.AsyncAgent(AsyncScriptedProvider(provider_error(401)), metrics=metrics)
    with pytest.raises(kova.ProviderError):
        await agent.run("Hi")
    with pytest.raises(kova.TurnCancelledError):
        await agent.run("Hi", cancel=token)
    assert (metrics.snapshot().errors, metrics.snapshot().llm_requests) == (1, 1)


async def test_a_stream_broken_off_is_a_request() -> None:
    metrics = kova.MetricsCollector()
    async with kova.AsyncAgent(AsyncScriptedProvider("one two"), metrics=metrics).run_stream("Hi") as stream:
        async for _ in stream:
            break
    now = metrics.snapshot()
    assert (now.llm_requests, now.llm_latency.count, now.errors) == (1, 1, 0)


async def test_agents_share_a_collector() -> None:
    metrics = kova.MetricsCollector()
    agents = [
        await kova.AsyncAgentBuilder().provider(AsyncScriptedProvider(*["Hello"] * 10)).metrics(metrics).build()
        for _ in range(8)
    ]

    async def ask(agent: kova.AsyncAgent) -> None:
        for _ in range(10):
            await agent.run("Hi")

    async with rt.TaskGroup() as group:
        for agent in agents:
            group.start_soon(ask, agent)
    assert metrics.snapshot().llm_requests == 80
