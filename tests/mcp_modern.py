"""Answers of a server of the stateless protocol, for `MCPHTTPServer`."""

from __future__ import annotations

from typing import Any

from tests.mcp_http_server import Exchange, MCPHTTPServer

TEXT = {"content": [{"type": "text", "text": "sunny"}]}
WEATHER = {
    "name": "weather",
    "description": "The weather somewhere.",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string", "x-mcp-header": "City"}},
        "required": ["city"],
    },
}


def discover(exchange: Exchange, **capabilities: Any) -> None:
    """Answer `server/discover`."""
    exchange.answer(
        {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": capabilities},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "2"}},
            "instructions": "One city at a time.",
        }
    )


def list_weather(exchange: Exchange) -> None:
    """Answer `tools/list` with one tool."""
    exchange.answer({"resultType": "complete", "tools": [WEATHER], "ttlMs": 60_000})


def be_modern(server: MCPHTTPServer) -> None:
    """Have the server speak the stateless protocol, and offer the weather."""
    server.on("server/discover", discover)
    server.on("tools/list", list_weather)
    server.on("tools/call", lambda exchange: exchange.answer(TEXT))
    server.on("initialize", lambda exchange: exchange.refuse(400, -32022, "Unsupported protocol version"))


def be_old(server: MCPHTTPServer) -> None:
    """Have the server speak the protocol of the handshake, and offer the weather."""
    server.on("server/discover", lambda exchange: exchange.refuse(400, -32600, "Bad Request: no session"))
    server.on("tools/list", lambda exchange: exchange.answer({"tools": [WEATHER]}))
    server.on("tools/call", lambda exchange: exchange.answer(TEXT))


def needs_input(exchange: Exchange, *, state: str | None = "s/1=") -> None:
    """Ask for a form to be filled in, whatever was sent."""
    form = {"message": "Sure?", "requestedSchema": {"properties": {"sure": {"type": "boolean", "default": True}}}}
    result: dict[str, Any] = {
        "resultType": "input_required",
        "inputRequests": {"form": {"method": "elicitation/create", "params": form}},
    }
    exchange.answer(result if state is None else {**result, "requestState": state})
