"""A tool of an MCP server, as a tool of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...mcp.content import MCPToolDefinition
from ...tools import Tool, ToolContext, ToolResult

if TYPE_CHECKING:
    from .client import AsyncMCPClient

__all__ = ["AsyncMCPTool"]


class AsyncMCPTool(Tool):
    """Calls its server; made by a client's `tools`.

    Attributes:
        mcp_definition: The tool as its server describes it.
        server: What the server is called in messages.
    """

    def __init__(self, client: AsyncMCPClient, definition: MCPToolDefinition, name: str, server: str) -> None:
        self._client = client
        self.mcp_definition = definition
        self.server = server
        self.name = name
        self.description = definition.description or definition.title or definition.name
        self.parameters = definition.input_schema

    @property
    def origin(self) -> str:
        return f"{self.mcp_definition.name!r} of the MCP server {self.server}"

    async def execute(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Call the tool at its server, within the limits of the turn."""
        result = await self._client.call_tool(self.mcp_definition.name, arguments, cancel=context.cancel)
        return result.for_model()
