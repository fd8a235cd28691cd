"""Agents by chained calls."""

from __future__ import annotations

import inspect

import pytest

import kova
from tests import server as play
from tests.server import ModelServer

pytestmark = pytest.mark.anyio


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_built_agent_works(server: ModelServer) -> None:
    server.play(play.calls(("add", {"a": 1, "b": 2})), play.text("3"))
    async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as model:
        builder = kova.AsyncAgentBuilder().provider(model).name("adder").system_prompt("Be brief.").tool(add)
        agent = await builder.max_iterations(3).retry_config(kova.RetryConfig.disabled()).context_budget(1000).build()
        assert (await agent.run("1 + 2?")).text == "3"
    assert agent.name == "adder"
    assert server.last.json()["messages"][0] == {"role": "system", "content": "Be brief."}


async def test_its_mistakes_are_those_of_the_constructor() -> None:
    with pytest.raises(kova.BuildError, match="provider is missing"):
        await kova.AsyncAgentBuilder().build()
    with pytest.raises(kova.BuildError, match="max_iterations"):
        await kova.AsyncAgentBuilder().provider("local:smollm2").max_iterations(-1).build()


async def test_every_argument_has_its_call() -> None:
    arguments = set(inspect.signature(kova.AsyncAgent).parameters) - {"tools"}
    calls = {name for name in vars(kova.AsyncAgentBuilder) if not name.startswith("_")} - {
        "tool",
        "mcp_client",
        "build",
    }
    assert calls == arguments
