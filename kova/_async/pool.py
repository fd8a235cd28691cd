"""The connections of one provider in one event loop (or, blocking, in one process).

Idle connections wait in a list for each origin; the one used last is taken first, so that finding one costs the same
however many requests are in flight.
"""

from __future__ import annotations

from collections.abc import Callable

from .._proxies import Proxy, environment_proxies
from .._runtime import aio as rt
from .._runtime.scope import deadline_after
from ..errors import ConnectionError, KovaOSError
from .connection import AsyncConnection, Origin
from .network import AsyncNetworkStream, AsyncTLSStream, connect_tcp
from .tunnel import open_tunnel

__all__ = ["AsyncConnectionPool"]


class AsyncConnectionPool:
    """Lends connections, each to one exchange at a time.

    Args:
        max_connections: Exchanges that may be under way at once; others wait for their turn.
        connect_timeout: Seconds for resolving, connecting and the TLS handshake together.
        ssl_context: Gives the context for TLS connections; called when the first one is made.
        keep_alive: Seconds for which an idle connection is kept.
    """

    def __init__(
        self,
        max_connections: int,
        connect_timeout: float | None,
        ssl_context: Callable[[], object],
        keep_alive: float,
    ) -> None:
        self._permits = rt.Semaphore(max_connections)
        self._connect_timeout = connect_timeout
        self._ssl_context = ssl_context
        self._keep_alive = keep_alive
        self._proxy_for = environment_proxies()
        self.is_closed = False
        self._idle: dict[Origin, list[AsyncConnection]] = {}
        self._lent: set[AsyncConnection] = set()

    async def acquire(self, origin: Origin) -> AsyncConnection:
        """An idle connection to the origin, or a new one.

        Raises:
            ConnectionError: The origin cannot be reached.
            TimeoutError: Connecting took too long.
        """
        await self._permits.acquire()
        try:
            connection = self._take_idle(origin) or await self._connect(origin)
        except BaseException:
            self._permits.release()
            raise
        self._lent.add(connection)
        return connection

    def give_back(self, connection: AsyncConnection) -> None:
        """End the exchange; the connection is kept if it can have another one."""
        if connection in self._lent and connection.rest(self._keep_alive):
            self._idle.setdefault(connection.origin, []).append(connection)
        else:
            connection.close()
        self._lent.discard(connection)
        self._permits.release()  # last, so that whoever waits finds the connection

    def discard(self, connection: AsyncConnection) -> None:
        """End the exchange and the connection."""
        self._lent.discard(connection)
        self._permits.release()
        connection.close()

    def close(self) -> None:
        """Close idle connections, and end the exchanges that are under way, whatever thread or loop they are in."""
        self.is_closed = True
        lent, self._lent = self._lent, set()
        for connection in lent:
            connection.wake()
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    def _take_idle(self, origin: Origin) -> AsyncConnection | None:
        idle = self._idle.get(origin, [])
        while idle:
            try:
                connection = idle.pop()
            except IndexError:
                break  # another thread took the last one
            if not connection.is_stale():
                return connection
            connection.close()
        return None

    async def _connect(self, origin: Origin) -> AsyncConnection:
        what = f"connecting to {origin.host}:{origin.port}"
        proxy = self._proxy_for(origin.scheme, origin.host)
        with rt.fail_at(deadline_after(self._connect_timeout, what)):
            tcp = await connect_tcp(*((origin.host, origin.port) if proxy is None else (proxy.host, proxy.port)))
            try:
                stream = await self._open_stream(tcp, origin, proxy)
            except BaseException:
                tcp.close()
                raise
        return AsyncConnection(origin, stream, proxy)

    async def _open_stream(self, tcp: AsyncNetworkStream, origin: Origin, proxy: Proxy | None) -> AsyncNetworkStream:
        stream = tcp
        if proxy is not None and proxy.scheme == "https":
            stream = await self._secure(stream, proxy.host, proxy.port)
        if origin.scheme == "https":
            if proxy is not None:
                await open_tunnel(stream, proxy, origin.host, origin.port)
            stream = await self._secure(stream, origin.host, origin.port)
        return stream

    async def _secure(self, stream: AsyncNetworkStream, host: str, port: int) -> AsyncTLSStream:
        import ssl

        try:
            context = await rt.run_blocking(self._ssl_context)
        except OSError as error:  # of the file that SSL_CERT_FILE names
            raise KovaOSError(f"cannot read the certificate authorities: {error}") from error
        assert isinstance(context, ssl.SSLContext)
        secured = AsyncTLSStream(stream, context, host)
        try:
            await secured.handshake()
        except OSError as error:
            reason = getattr(error, "verify_message", None) or error
            raise ConnectionError(f"no TLS connection to {host}:{port}: {reason}") from error
        return secured
