"""Requests to a real MCP server are spans, and the server is told of them."""

from __future__ import annotations

import json
import sys

import pytest

import kova
from kova.testing import AsyncScriptedProvider, call
from tests.spans import recorded

pytestmark = pytest.mark.anyio

# A server of the handshake era with one tool, which gives back what it was sent beside the request.
SERVER = """
import json, sys
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "tools/call":
        text = json.dumps(message["params"].get("_meta"))
        answer["result"] = {"content": [{"type": "text", "text": text}]}
    elif message["method"] in ANSWERS:
        answer["result"] = ANSWERS[message["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""


async def test_a_tools_request_is_below_the_tools_span() -> None:
    """O2, O3."""
    with recorded() as spans:
        async with kova.AsyncMCPClient(kova.StdioTransport(sys.executable, ["-c", SERVER])) as client:
            script = AsyncScriptedProvider(call("echo"), "done")
            response = await kova.AsyncAgent(script, tools=await client.tools()).run("Hi")
    assert spans.open == 0
    span = spans.one("tools/call echo")
    assert spans.parent(span) == "execute_tool echo"
    assert spans.parent(spans.one("tools/list")) == ""
    assert span.attributes["network.transport"] == "pipe"
    (block,) = response.new_messages[1].content
    assert isinstance(block, kova.ToolResultBlock)
    text = block.content if isinstance(block.content, str) else block.content[0].text  # type: ignore[union-attr]
    assert json.loads(text)["traceparent"].startswith(f"00-{span.trace_id}-{span.id}-")


async def test_without_telemetry_the_server_is_told_nothing() -> None:
    async with kova.AsyncMCPClient(kova.StdioTransport(sys.executable, ["-c", SERVER])) as client:
        result = await client.call_tool("echo")
    assert "null" in str(result)
