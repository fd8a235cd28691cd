"""The connection of a client to its server: a session, which is replaced when the server has died or forgotten it.

What the user is told when requests fail is decided here; over which link they go is the session's business.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import Any, Protocol

from ..._mcp.calls import Patience
from ..._mcp.failures import LinkLost, NotDelivered, Refused, SessionExpired, not_retried, reason_of
from ..._runtime import aio as rt
from ..._runtime.owners import PerOwner
from ...cancellation import CancellationToken
from ...errors import ConnectionError, KovaError, StreamError, TurnCancelledError
from ...mcp.transports import MCPTransport, StdioTransport
from ...telemetry.mcp import watch_mcp_call
from ...telemetry.switch import spans_on
from .connector import AsyncConnector
from .session import AsyncMCPSession, OnProgress

__all__ = ["AsyncMCPConnection"]


class AsyncHeaderSource(Protocol):
    """Knows what requests say in headers."""

    async def headers(self, session: AsyncMCPSession, params: Mapping[str, Any]) -> Mapping[str, str]:
        """The headers of a request over a session."""


class AsyncMCPConnection:
    """Requests to one server, over whatever session there is; connects when it is first needed.

    Args:
        connector: Makes the sessions.
        transport: How the server is reached.
        timeout: Seconds for connecting.
    """

    def __init__(self, connector: AsyncConnector, transport: MCPTransport, timeout: float) -> None:
        self._connector = connector
        self._transport = transport
        self._timeout = timeout
        self._session: AsyncMCPSession | None = None
        self._owner: tuple[object, int] | None = None
        self._connecting: PerOwner[rt.Semaphore] = PerOwner(lambda: rt.Semaphore(1), lambda semaphore: None)
        self._retired: list[AsyncMCPSession] = []  # whose calls are still under way
        self._end: weakref.finalize[Any, Any] | None = None  # of the session, if this connection is dropped
        self._closing = CancellationToken()

    @property
    def session(self) -> AsyncMCPSession:
        """The present session.

        Raises:
            ConnectionError: There is none.
        """
        if self._session is None:
            raise _closed() if self._is_closed else ConnectionError("the MCP client is not connected yet")
        return self._session

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        patience: Patience,
        on_progress: OnProgress | None = None,
        source: AsyncHeaderSource | None = None,
    ) -> Mapping[str, Any]:
        """The result of a request, which is a span of its own where spans are made."""
        tracing = spans_on()
        if tracing is None:
            with rt.entry():
                return await self._deliver(method, params, patience, on_progress, source)
        url = None if isinstance(self._transport, StdioTransport) else self._transport.url
        with (
            rt.entry(),
            watch_mcp_call(
                tracing, method, tool=params.get("name"), transport="pipe" if url is None else "tcp", url=url
            ) as watch,
        ):
            result = await self._deliver(method, watch.traced(params), patience, on_progress, source)
            if result.get("isError"):
                watch.tool_failed()
            return result

    async def _deliver(
        self,
        method: str,
        params: Mapping[str, Any],
        patience: Patience,
        on_progress: OnProgress | None,
        source: AsyncHeaderSource | None,
    ) -> Mapping[str, Any]:
        """The result of a request, over a new session where the present one is dead and the request did not run."""
        is_repeated = False
        while True:
            session = await self.connected()
            try:
                headers = None if source is None else await self._headers(source, session, params, patience)
                return await session.request(method, params, patience, on_progress, headers)
            except Refused as refusal:
                raise reason_of(refusal) from refusal
            except NotDelivered as error:
                if is_repeated or self._is_closed:
                    raise ConnectionError(error.message) from error
                is_repeated = True
                await self._renew(session)
            except LinkLost as error:
                await self._drop_dead(session)
                if self._is_closed:
                    raise _closed() from error
                if method != "tools/call" and not is_repeated:
                    is_repeated = True
                    continue  # reading twice does no harm
                raise not_retried(f"{error.message}; the call may have run, and was not repeated") from error
            except StreamError:
                await self._drop_dead(session)
                raise

    async def _headers(
        self, source: AsyncHeaderSource, session: AsyncMCPSession, params: Mapping[str, Any], patience: Patience
    ) -> Mapping[str, str]:
        with rt.fail_at(patience):
            return await source.headers(session, params)

    async def connected(self) -> AsyncMCPSession:
        """The session; a server that was found dead is connected to anew."""
        if self._owner != (rt.owner(), os.getpid()):
            self._change_owner()
        session = self._session
        if session is not None and session.link.is_open:
            return session
        return await self._renew(session)

    async def reconnect(self) -> None:
        """Connect anew; also after `close`."""
        if self._owner != (rt.owner(), os.getpid()):
            self._change_owner()
        if self._is_closed:
            self._closing = CancellationToken()
        await self._renew(self._session)

    async def close(self) -> None:
        """End all sessions. May be called from anywhere, and more than once."""
        self._closing.cancel()
        session, self._session = self._session, None
        retired, self._retired = self._retired, []
        if not self._is_inherited():
            for each in retired if session is None else [session, *retired]:
                await each.close()

    @property
    def _is_closed(self) -> bool:
        return self._closing.is_cancelled

    async def _renew(self, old: AsyncMCPSession | None) -> AsyncMCPSession:
        """A session in place of an old one; made once, however many calls want it."""
        async with self._connecting.get(rt.owner()):
            present = self._session
            if present is not None and present is not old and present.link.is_open:
                return present
            if self._is_closed:
                raise _closed()
            if present is not None:
                self._session = None
                self._retired = [*(old for old in self._retired if old.link.is_open), present]
                await present.retire()
            session = await self._connect()
            self._keep(session)
            if self._is_closed:
                await self.close()  # again: this session was not there yet
                raise _closed()
            return session

    async def _connect(self) -> AsyncMCPSession:
        try:
            with rt.entry(), rt.cancel_on(self._closing):
                return await self._connector.connect(self._timeout)
        except TurnCancelledError:
            if self._is_closed:
                raise _closed() from None
            raise
        except (Refused, SessionExpired) as error:
            raise reason_of(error) from error
        except (LinkLost, NotDelivered) as error:
            raise ConnectionError(error.message) from error

    def _keep(self, session: AsyncMCPSession) -> None:
        """Have a session, which ends with this connection if nobody closes that."""
        if self._end is not None:
            self._end.detach()
        self._end = weakref.finalize(self, _drop, session, os.getpid())
        self._end.atexit = False  # then servers end in a way of their own
        self._session = session

    async def _drop_dead(self, session: AsyncMCPSession) -> None:
        """Free a session whose server has gone; over HTTP only the one call has lost its stream."""
        if not session.link.is_open:
            if self._session is session:
                self._session = None
            await session.close()

    def _change_owner(self) -> None:
        """Refuse the calls of another loop; a forked child begins without a session."""
        if self._is_inherited():
            self._session = None
        if self._owner is not None and self._session is not None:
            raise KovaError(
                "this MCP client belongs to another event loop, or under gevent to another thread: make one in each"
            )
        self._owner = rt.owner(), os.getpid()

    def _is_inherited(self) -> bool:
        return self._owner is not None and self._owner[1] != os.getpid()


def _drop(session: AsyncMCPSession, process: int) -> None:
    if process == os.getpid():  # in a forked child it is the parent's
        session.drop()


def _closed() -> ConnectionError:
    return not_retried("the MCP client is closed")
