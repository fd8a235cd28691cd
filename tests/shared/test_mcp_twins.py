"""MCP clients and handlers of the wrong twin."""

from __future__ import annotations

from typing import Any

import pytest

import kova

TRANSPORT = kova.StdioTransport("server")


async def answer(params: dict[str, Any]) -> dict[str, Any]:
    return params


@pytest.mark.parametrize("handler", ["on_elicitation", "on_sampling", "on_log", "on_tools_changed"])
def test_the_blocking_twin_takes_no_async_handler(handler: str) -> None:
    options: dict[str, Any] = {handler: answer}
    with pytest.raises(kova.BuildError, match=handler):
        kova.MCPClient(TRANSPORT, **options)
    kova.AsyncMCPClient(TRANSPORT, **options)


def test_a_model_of_the_other_twin_answers_no_sampling() -> None:
    blocking: Any = kova.testing.ScriptedProvider()
    native: Any = kova.testing.AsyncScriptedProvider()
    with pytest.raises(kova.BuildError, match="on_sampling"):
        kova.MCPClient(TRANSPORT, on_sampling=native)
    with pytest.raises(kova.BuildError, match="on_sampling"):
        kova.AsyncMCPClient(TRANSPORT, on_sampling=blocking)


def test_a_client_of_the_other_twin_is_refused_by_the_builder() -> None:
    blocking: Any = kova.MCPClient(TRANSPORT)
    native: Any = kova.AsyncMCPClient(TRANSPORT)
    with pytest.raises(kova.BuildError, match="mcp_client"):
        kova.AgentBuilder().mcp_client(native, "server")
    with pytest.raises(kova.BuildError, match="mcp_client"):
        kova.AsyncAgentBuilder().mcp_client(blocking, "server")
