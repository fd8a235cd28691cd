"""Tools from MCP servers: how servers are reached, and what they give."""

from __future__ import annotations

from .content import (
    MCPAudio,
    MCPContent,
    MCPResource,
    MCPResourceLink,
    MCPToolDefinition,
    MCPToolResult,
    MCPUnknownContent,
)
from .transports import HTTPSSETransport, MCPTransport, StdioTransport, StreamableHTTPTransport, TokenProvider

__all__ = [
    "HTTPSSETransport",
    "MCPAudio",
    "MCPContent",
    "MCPResource",
    "MCPResourceLink",
    "MCPToolDefinition",
    "MCPToolResult",
    "MCPTransport",
    "MCPUnknownContent",
    "StdioTransport",
    "StreamableHTTPTransport",
    "TokenProvider",
]
