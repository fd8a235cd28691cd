"""Spans of requests to MCP servers, as a client makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import kova
from kova.telemetry.mcp import MCPWatch, watch_mcp_call
from kova.telemetry.switch import spans_on
from kova.testing import ScriptedProvider, call
from tests.spans import recorded


def watch(method: str, **what: Any) -> MCPWatch:
    """What sees a request while spans are made."""
    tracing = spans_on()
    assert tracing is not None
    return watch_mcp_call(tracing, method, **what)


def request_tool(name: str) -> Mapping[str, Any]:
    """What a client does for a tool; gives the parameters that it sends."""
    with watch(
        "tools/call", tool=name, request_id=7, session_id="s", transport="tcp", url="https://host/mcp?key=k"
    ) as seen:
        return seen.traced({"name": name, "_meta": {"progressToken": 1}})


def test_a_tool_call_is_below_the_tools_span_and_tells_the_server() -> None:
    """O2, O3."""
    sent = []

    @kova.tool
    def search(query: str) -> str:
        """Search, on a server."""
        sent.append(request_tool("find"))
        return "found"

    with recorded() as spans:
        kova.Agent(ScriptedProvider(call("search", query="x"), "done"), tools=[search]).run("Hi")
    span = spans.one("tools/call find")
    assert spans.parent(span) == "execute_tool search"
    (params,) = sent
    assert params["_meta"].keys() == {"progressToken", "traceparent"}
    assert params["_meta"]["traceparent"].startswith(f"00-{span.trace_id}-{span.id}-")
    assert span.attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find",
        "jsonrpc.request.id": "7",
        "mcp.session.id": "s",
        "network.transport": "tcp",
        "server.address": "host",
        "server.port": 443,
        "status.description": None,
    }


def test_failures() -> None:
    with recorded() as spans:
        with pytest.raises(kova.MCPError):
            with watch("tools/list"):
                raise kova.MCPError(-32601, "no such method")
        with pytest.raises(kova.ConnectionError):
            with watch("initialize", transport="pipe"):
                raise kova.ConnectionError("gone")
        with watch("tools/call", tool="find") as seen:
            seen.tool_failed()
    assert spans.one("tools/list").attributes["rpc.response.status_code"] == "-32601"
    kinds = [span.attributes["error.type"] for span in spans.all]
    assert kinds == ["-32601", "ConnectionError", "tool_error"]
    assert all(span.is_error for span in spans.all)
