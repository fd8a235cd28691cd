"""Connecting to a server: its link, and the agreement on a version of the protocol."""

from __future__ import annotations

from collections.abc import Callable

from ..._mcp.calls import Patience
from ..._mcp.dialect import CLIENT_INFO, Dialect, Handshake, Modern
from ..._mcp.eras import known_era, remember_era
from ..._mcp.failures import LinkLost, NotDelivered, Refused
from ..._mcp.jsonrpc import Message
from ..._mcp.negotiation import Agreed, Discover, Initialize, Negotiation, OlderHTTP, Protocol
from ..._mcp.versions import HANDSHAKE_VERSIONS
from ..._runtime import aio as rt
from ..._runtime.scope import Deadline
from ...errors import MCPError, StreamError, TimeoutError
from ...mcp.transports import HTTPSSETransport, MCPTransport, StdioTransport, StreamableHTTPTransport
from .handlers import AsyncServerHandlers
from .link import AsyncLink
from .session import AsyncMCPSession

__all__ = ["AsyncConnector"]

PROBE_SECONDS = 2.0  # for a process to answer a question that older servers need not know
LOG_LEVEL = "info"
ENDED = (LinkLost, NotDelivered, StreamError)


class AsyncConnector:
    """Makes sessions with one server.

    Args:
        transport: How it is reached.
        handlers: Answer what the server asks.
        protocol: The era, if the user has decided on one.
    """

    def __init__(self, transport: MCPTransport, handlers: AsyncServerHandlers, protocol: Protocol) -> None:
        self._transport = transport
        self._handlers = handlers
        self._protocol: Protocol = protocol

    async def connect(self, timeout: float) -> AsyncMCPSession:
        """A session whose version is agreed.

        Raises:
            ConnectionError: The server cannot be reached, or ended.
            TimeoutError: It took longer than `timeout` seconds.
            MCPError: There is no version that both sides know, or the server refuses.
        """
        if isinstance(self._transport, StdioTransport):
            timeout = self._transport.start_timeout
        what = f"connecting to the MCP server {self._transport.shown}"
        session = AsyncMCPSession(self._handlers)
        opened: list[AsyncLink] = []
        try:
            with rt.fail_at(Deadline(timeout, what)):
                await self._negotiate(session, opened, lambda: Patience(what, timeout, timeout))
        except BaseException:
            for link in opened:
                await link.close()
            raise
        return session

    async def _negotiate(
        self, session: AsyncMCPSession, opened: list[AsyncLink], patience: Callable[[], Patience]
    ) -> None:
        pinned_old = isinstance(self._transport, HTTPSSETransport)
        negotiation = Negotiation(
            "legacy" if pinned_old else self._protocol,
            known_era(self._transport),
            can_be_older=isinstance(self._transport, StreamableHTTPTransport),
        )
        await self._open(session, opened, self._transport)
        while not isinstance(step := negotiation.step, Agreed):
            if isinstance(step, OlderHTTP):
                assert isinstance(self._transport, StreamableHTTPTransport)
                older = HTTPSSETransport(self._transport.url, self._transport.headers, self._transport.auth)
                await self._open(session, opened, older)
            elif isinstance(step, Initialize) and step.anew:
                await self._open(session, opened, self._transport)
            await self._take(step, negotiation, session, patience())
        await self._settle(session, step)

    async def _open(self, session: AsyncMCPSession, opened: list[AsyncLink], transport: MCPTransport) -> None:
        """Open a link for the session, in place of the one that it had."""
        while opened:
            await opened[-1].close()
            opened.pop()
        link = link_for(transport, session)
        opened.append(link)
        session.link = link
        await link.open()

    async def _take(
        self,
        step: Discover | Initialize | OlderHTTP,
        negotiation: Negotiation,
        session: AsyncMCPSession,
        wait: Patience,
    ) -> None:
        """Take one step, and tell what came of it."""
        is_probe = isinstance(step, Discover) and isinstance(self._transport, StdioTransport)
        try:
            if not is_probe:
                return negotiation.answered(await self._ask(step, session, wait))
            with rt.move_on_after(PROBE_SECONDS):
                return negotiation.answered(await self._ask(step, session, wait))
            negotiation.silent()
        except Refused as refusal:
            negotiation.refused(refusal)
        except ENDED as error:
            negotiation.ended(error)

    async def _ask(self, step: Discover | Initialize | OlderHTTP, session: AsyncMCPSession, wait: Patience) -> Message:
        if isinstance(step, Discover):
            return await session.exchange("server/discover", {}, wait, dialect=self._modern(step.version))
        version = step.version if isinstance(step, Initialize) else HANDSHAKE_VERSIONS[0]
        params = {
            "protocolVersion": version,
            "capabilities": self._handlers.capabilities(),
            "clientInfo": CLIENT_INFO,
        }
        return await session.exchange("initialize", params, wait, dialect=Handshake(version))

    async def _settle(self, session: AsyncMCPSession, agreed: Agreed) -> None:
        session.server = agreed.server
        session.dialect = self._modern(agreed.version) if agreed.is_modern else Handshake(agreed.version)
        session.link.negotiated(agreed.version, is_modern=agreed.is_modern)
        remember_era(self._transport, is_modern=agreed.is_modern)
        if not agreed.is_modern:
            await session.notify("notifications/initialized")
            if self._handlers.wants_log and "logging" in agreed.server.capabilities:
                await self._set_log_level(session)

    async def _set_log_level(self, session: AsyncMCPSession) -> None:
        patience = Patience("setting the log level", PROBE_SECONDS, PROBE_SECONDS)
        try:
            await session.exchange("logging/setLevel", {"level": LOG_LEVEL}, patience)
        except (MCPError, TimeoutError, Refused):
            pass  # a server without levels logs what it likes

    def _modern(self, version: str) -> Dialect:
        return Modern(self._handlers.capabilities(), LOG_LEVEL if self._handlers.wants_log else None, version)


def link_for(transport: MCPTransport, session: AsyncMCPSession) -> AsyncLink:
    """A link that is not open yet; the modules of the others are not loaded."""
    if isinstance(transport, StdioTransport):
        from .stdio import AsyncStdioLink

        return AsyncStdioLink(transport, session.receive)
    if isinstance(transport, HTTPSSETransport):
        from .sse import AsyncSSELink

        return AsyncSSELink(transport, session.receive)
    from .streamable import AsyncStreamableLink

    return AsyncStreamableLink(transport, session.receive)
