"""HTTP as providers need it: a request out, a response in as it arrives.

What a full HTTP client does besides (redirects, cookies, authentication flows) is left out on purpose: a provider's
redirect is never followed, and each layer would be paid for at every piece of a stream.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NoReturn, Protocol
from urllib.parse import urlsplit

from .. import _httpx
from .._formats.wire import WireRequest
from .._runtime import aio as rt
from .._runtime.owners import PerOwner
from .._version import __version__
from .._wire.content_encoding import ACCEPTED, BODY_LIMIT, Decoder, decoder_for
from ..errors import BuildError, ConnectionError, StreamError
from .connection import DRAIN_SECONDS, AsyncConnection, Origin, StaleConnection
from .injected import AsyncInjectedClient
from .pool import AsyncConnectionPool

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

__all__ = ["AsyncSentRequest", "AsyncHTTPClient", "AsyncHTTPResponse", "AsyncPooledResponse", "http_client_for"]

KEEP_ALIVE_SECONDS = 30.0
DEFAULT_PORTS = {"http": 80, "https": 443}
USER_AGENT = f"kova/{__version__}"


class Request(Protocol):
    """What is sent.

    Attributes:
        method: HTTP method.
        url: Where it goes, the query included.
        headers: Its headers, the names in lower case.
        body: Its body.
    """

    @property
    def method(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class AsyncHTTPResponse(Protocol):
    """A response whose body is read as it arrives.

    Attributes:
        status: HTTP status.
        headers: Header names in lower case, and their values.
    """

    status: int
    headers: dict[str, str]

    async def next_piece(self) -> bytes:
        """The next piece of the decoded body; nothing at its end."""

    async def close(self, *, drain: bool = False) -> None:
        """End the exchange; `drain` gives the end of the body a moment to arrive, so that the connection is kept."""


class AsyncClient(Protocol):
    """What sends requests: kova's own client, or one that the user has given."""

    async def send(self, request: WireRequest) -> AsyncHTTPResponse:
        """Send the request; the response's body has not been read."""

    async def close(self) -> None:
        """Close what the client has made itself."""


async def read_body(response: AsyncHTTPResponse) -> bytes:
    """The whole body; the exchange is then over.

    Raises:
        StreamError: The body is larger than the limit.
    """
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := await response.next_piece():
            pieces.append(piece)
            size += len(piece)
            if size > BODY_LIMIT:
                raise StreamError("the body is larger than its limit")
    finally:
        await response.close()
    return b"".join(pieces)


def http_client_for(
    http_client: object,
    *,
    timeout: float | None,
    max_connections: int,
    connect_timeout: float | None,
    verify: bool | ssl.SSLContext,
) -> AsyncClient:
    """The user's client behind kova's interface, or kova's own where there is none.

    Raises:
        BuildError: It is not a client, or one of the other twin.
    """
    if http_client is None:
        return AsyncHTTPClient(max_connections=max_connections, connect_timeout=connect_timeout, verify=verify)
    library = _httpx.library_of(http_client, "AsyncClient")
    if library is None:
        kind = type(http_client).__name__
        raise BuildError(f"http_client must be httpx.AsyncClient or httpx2.AsyncClient, not {kind}")
    return AsyncInjectedClient(http_client, library, timeout)


class AsyncHTTPClient:
    """kova's own HTTP client. It may be used under several event loops (threads): each has connections of its own.

    Args:
        max_connections: Exchanges at once; more wait for their turn.
        connect_timeout: Seconds for connecting, the TLS handshake included.
        verify: Whether certificates are checked, or the context that says how.
        keep_alive: Seconds for which an idle connection is kept.
    """

    def __init__(
        self,
        *,
        max_connections: int,
        connect_timeout: float | None,
        verify: bool | ssl.SSLContext = True,
        keep_alive: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        @functools.cache
        def context() -> ssl.SSLContext:
            return _httpx.ssl_context(verify)

        def new_pool() -> AsyncConnectionPool:
            return AsyncConnectionPool(max_connections, connect_timeout, context, keep_alive)

        self._pools = PerOwner(new_pool, AsyncConnectionPool.close)

    async def send(self, request: Request) -> AsyncHTTPResponse:
        """Send a request; a connection that ended while it was idle is replaced.

        Raises:
            ConnectionError: The server cannot be reached, or the connection was lost.
            TimeoutError: Connecting took too long.
        """
        while True:
            exchange = await self.start(request)
            try:
                return await exchange.response()
            except StaleConnection as error:
                if exchange.is_first:  # of a new connection: that is not stale, but refused
                    raise ConnectionError(error.message) from error

    async def start(self, request: Request) -> AsyncSentRequest:
        """Connect and send a request; its response is still to be read.

        Raises:
            ConnectionError: The server cannot be reached; nothing was sent.
            TimeoutError: Connecting took too long; nothing was sent.
        """
        origin, target, host = split_url(request.url)
        headers = [("host", host), ("user-agent", USER_AGENT), ("accept-encoding", ACCEPTED)]
        headers += request.headers.items()
        if request.method != "GET":
            headers.append(("content-length", str(len(request.body))))
        pool = self._pools.get(rt.owner())
        connection = await pool.acquire(origin)
        try:
            await connection.send(request.method, target, headers, request.body)
        except BaseException:
            pool.discard(connection)
            raise
        return AsyncSentRequest(pool, connection)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a provider cannot be pickled: make one in each process")

    async def close(self) -> None:
        """Close all connections, those of other event loops included."""
        self._pools.clear()


class AsyncSentRequest:
    """A request that was sent on one of kova's own connections, and whose response has not begun."""

    def __init__(self, pool: AsyncConnectionPool, connection: AsyncConnection) -> None:
        self.is_first = connection.exchanges == 1
        self._pool = pool
        self._connection: AsyncConnection | None = connection

    def __del__(self) -> None:
        self.close()

    async def response(self) -> AsyncPooledResponse:
        """Wait for the head of the response.

        Raises:
            StaleConnection: The connection ended before anything of it came.
            ConnectionError: It ended, or what came is not HTTP.
        """
        connection = self._connection
        if connection is None:
            raise _closed()
        try:
            status, headers = await connection.receive_head()
            decoder = decoder_for(headers.get("content-encoding"))
        except BaseException as error:
            self.close()
            if self._pool.is_closed and isinstance(error, ConnectionError):
                raise _closed() from error
            raise
        self._connection = None
        return AsyncPooledResponse(self._pool, connection, status, headers, decoder)

    def wake(self) -> None:
        """End the wait for the response, in whatever thread or loop it is."""
        connection = self._connection
        if connection is not None:
            connection.wake()

    def close(self) -> None:
        """Give the response up, and the connection with it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.discard(connection)


class AsyncPooledResponse:
    """A response on one of kova's own connections."""

    def __init__(
        self,
        pool: AsyncConnectionPool,
        connection: AsyncConnection,
        status: int,
        headers: dict[str, str],
        decoder: Decoder | None,
    ) -> None:
        self.status = status
        self.headers = headers
        self._pool = pool
        self._connection: AsyncConnection | None = connection
        self._decoder = decoder

    def __del__(self) -> None:
        if self._connection is not None:  # dropped unclosed, as by a generator that was broken off
            self._pool.discard(self._connection)

    def wake(self) -> None:
        """End the wait for the next piece, in whatever thread or loop it is."""
        connection = self._connection
        if connection is not None:
            connection.wake()

    async def next_piece(self) -> bytes:
        """The next piece of the decoded body; nothing at its end."""
        connection = self._connection
        if connection is None:
            return b""
        while piece := await self._receive(connection):
            if self._decoder is None:
                return piece
            if decoded := self._decoder.feed(piece):
                return decoded
        return b""

    async def _receive(self, connection: AsyncConnection) -> bytes:
        try:
            return await connection.receive_body()
        except ConnectionError as error:
            if self._pool.is_closed:
                raise _closed() from error
            raise

    async def close(self, *, drain: bool = False) -> None:
        """End the exchange; `drain` gives the end of the body a moment to arrive, so that the connection is kept."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if drain:
                with rt.move_on_after(DRAIN_SECONDS):
                    while await connection.receive_body():
                        pass
        except ConnectionError:
            pass  # the answer was complete; only the connection cannot be used again
        finally:
            self._pool.give_back(connection)


def _closed() -> ConnectionError:
    """The error of an exchange that ended because its provider was closed, which no retry mends."""
    error = ConnectionError("the provider was closed")
    error.is_retryable = False
    return error


@functools.lru_cache(maxsize=64)
def split_url(url: str) -> tuple[Origin, str, str]:
    """Origin, request target and Host header of a URL."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    shown = f"[{host}]" if ":" in host else host
    if port != DEFAULT_PORTS[parts.scheme]:
        shown += f":{port}"
    return Origin(parts.scheme, host, port), target, shown
