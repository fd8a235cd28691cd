"""What a client knows of its server's tools: the list, read when it is needed, and what it asks of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._log import log
from ..._mcp.calls import Patience
from ..._mcp.header_values import parameter_headers
from ..._mcp.jsonrpc import INVALID_PARAMS
from ..._mcp.tool_list import Pages, ToolList
from ..._runtime import aio as rt
from ..._runtime.owners import PerOwner
from ..._runtime.scope import Deadline
from ...errors import KovaError, MCPError, StreamError
from ...mcp.transports import MCPTransport, StdioTransport
from .connection import AsyncMCPConnection
from .session import AsyncMCPSession

__all__ = ["AsyncToolCatalogue"]

WHAT = "reading the list of MCP tools"


class AsyncToolCatalogue:
    """The tools of a server. The list is read once for each session, until the tools are said to have changed.

    Args:
        connection: Asks the server.
        transport: How the server is reached.
        timeout: Seconds for a page of the list.
        max_total_timeout: Seconds for all of it.
    """

    def __init__(
        self, connection: AsyncMCPConnection, transport: MCPTransport, timeout: float, max_total_timeout: float
    ) -> None:
        self._connection = connection
        self._transport = transport
        self._timeout = timeout
        self._max_total_timeout = max_total_timeout
        self._reading: PerOwner[rt.Semaphore] = PerOwner(lambda: rt.Semaphore(1), lambda semaphore: None)
        self._known: tuple[AsyncMCPSession, ToolList] | None = None

    async def tools(self) -> ToolList:
        """All tools that can be used."""
        while True:
            session = await self._connection.connected()
            known = self._known
            if known is not None and known[0] is session and known[1].is_valid(session.generation):
                return known[1]
            async with self._reading.get(rt.owner()):
                if self._known is known:
                    return await self._read(await self._connection.connected())

    def forget(self) -> None:
        """Read the list anew when it is next needed."""
        self._known = None

    async def headers(self, session: AsyncMCPSession, params: Mapping[str, Any]) -> Mapping[str, str]:
        """What the stateless protocol wants repeated in headers of a call's arguments."""
        if not session.dialect.is_modern:
            return {}
        known = self._known
        try:
            tools = known[1] if known is not None and known[0] is session else await self.tools()
        except KovaError as error:
            log.debug("the headers of an MCP server's tools are not known", error=str(error))
            return {}
        try:
            return parameter_headers(tools.headers.get(params["name"], []), params["arguments"])
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error

    async def _read(self, session: AsyncMCPSession) -> ToolList:
        """All pages of the list."""
        generation = session.generation
        session.listen()
        pages: list[Mapping[str, Any]] = []
        cursors = Pages()
        params: Mapping[str, Any] | None = {}
        with rt.fail_at(Deadline(self._max_total_timeout, WHAT)):
            while params is not None:
                patience = Patience(WHAT, self._timeout, self._timeout)
                pages.append(await self._connection.request("tools/list", params, patience))
                try:
                    params = cursors.next_params(pages[-1])
                except OverflowError as error:
                    raise StreamError(f"the MCP server {self._transport.shown}: {error}") from error
        has_headers = not isinstance(self._transport, StdioTransport)
        is_modern = session.dialect.is_modern
        tools = ToolList.from_pages(pages, generation, is_modern=is_modern, has_headers=has_headers)
        self._known = session, tools
        return tools
