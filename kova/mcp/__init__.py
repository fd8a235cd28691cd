"""Tools from MCP servers: transports, and what servers give."""

from __future__ import annotations

from .transports import HTTPSSETransport, MCPTransport, StdioTransport, StreamableHTTPTransport, TokenProvider

__all__ = ["HTTPSSETransport", "MCPTransport", "StdioTransport", "StreamableHTTPTransport", "TokenProvider"]
