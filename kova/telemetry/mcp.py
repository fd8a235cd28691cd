"""Spans of requests to MCP servers, for the client that makes them.

    with watch_mcp_call(tracing, "tools/call", tool=name, transport="pipe") as watch:
        result = await connection.request("tools/call", watch.traced(params))
        if result.get("isError"):
            watch.tool_failed()

The block is the current span; what is raised in it is noted. A tool's span is a child of the agent's `execute_tool`
span, which measures kova's part as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

from ..errors import MCPError
from . import names

if TYPE_CHECKING:
    from .spans import OpenSpan, Tracing

__all__ = ["MCPWatch", "watch_mcp_call"]


def watch_mcp_call(
    tracing: Tracing,
    method: str,
    *,
    tool: str | None = None,
    request_id: str | int | None = None,
    session_id: str | None = None,
    protocol_version: str | None = None,
    transport: Literal["pipe", "tcp"] | None = None,
    url: str | None = None,
) -> MCPWatch:
    """What sees a request to an MCP server.

    Args:
        tracing: Makes the span.
        method: The request's method, such as "tools/call".
        tool: The tool that is called, by the server's name for it.
        request_id: The JSON-RPC id.
        session_id: The session, where the transport has one.
        protocol_version: The version that was agreed on.
        transport: "pipe" for a process, "tcp" for HTTP.
        url: Where the server is; only host and port are recorded.
    """
    known: dict[str, str | int | None] = {
        names.MCP_METHOD: method,
        names.OPERATION: names.EXECUTE_TOOL if method == "tools/call" else None,
        names.TOOL_NAME: tool,
        names.JSONRPC_ID: None if request_id is None else str(request_id),
        names.MCP_SESSION: session_id,
        names.MCP_PROTOCOL: protocol_version,
        names.NETWORK_TRANSPORT: transport,
        **_server(url),
    }
    attributes = {name: value for name, value in known.items() if value is not None}
    return MCPWatch(tracing.start(method if tool is None else f"{method} {tool}", names.MCP, attributes))


def _server(url: str | None) -> dict[str, str | int | None]:
    if url is None:
        return {}
    parts = urlsplit(url)
    return {
        names.SERVER_ADDRESS: parts.hostname,
        names.SERVER_PORT: parts.port or (443 if parts.scheme == "https" else 80),
    }


class MCPWatch:
    """Sees one request to an MCP server; a with block."""

    __slots__ = ("_scope", "_span")

    def __init__(self, span: OpenSpan) -> None:
        self._span = span

    def traced(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The request's parameters, with what tells the server of the span: so its spans are below this one."""
        return {**params, "_meta": {**params.get("_meta", {}), **self._span.carrier()}}

    def tool_failed(self) -> None:
        """The tool has answered that it failed (`isError`)."""
        self._span.failed_with(names.TOOL_ERROR)

    def __enter__(self) -> Self:
        self._scope: AbstractContextManager[None] = self._span.attached()
        self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The request is over."""
        self._scope.__exit__(None, None, None)
        if isinstance(error, MCPError):
            self._span.set({names.RPC_STATUS: str(error.code)})
            self._span.failed_with(str(error.code))
        elif error is not None:
            self._span.failed(error)
        self._span.end()
