"""Connections to a host: TCP, and TLS on top of it.

Sockets are used directly rather than through an event loop's transports, so that the two twins are the same code,
every phase (resolving, connecting, the TLS handshake, reading) ends with the scope it runs in, and a connection can
be closed without the loop that made it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from .._runtime import aio as rt
from .._runtime import sockets
from .._signals import raise_if_from_a_signal
from ..errors import ConnectionError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

__all__ = ["AsyncNetworkStream", "AsyncTCPStream", "AsyncTLSStream", "connect_tcp"]

T = TypeVar("T")

MAX_READ = 65_536  # bytes
FIRST_ADDRESS_SECONDS = 2.0  # for an address when there are others: a broken IPv6 route must not use up all the time


class AsyncNetworkStream(Protocol):
    """Bytes to and from a peer."""

    async def read(self) -> bytes:
        """Some bytes as they come; none at the end."""

    async def write(self, data: bytes) -> None:
        """Send all of the bytes."""

    def is_readable(self) -> bool:
        """Whether there is something to read, the end included."""

    def wake(self) -> None:
        """End whatever waits for this stream."""

    def close(self) -> None:
        """Free the socket."""


class AsyncTCPStream:
    """A TCP connection. It may be closed while another thread or task waits for it: that wait then ends."""

    def __init__(self, sock: sockets.Socket) -> None:
        self._sock = sock
        self._in_use = False
        self._closed = False

    async def read(self) -> bytes:
        self._in_use = True
        try:
            return await rt.receive(self._sock, MAX_READ)
        finally:
            self._end_use()

    async def write(self, data: bytes) -> None:
        self._in_use = True
        try:
            await rt.send(self._sock, data)
        finally:
            self._end_use()

    def _end_use(self) -> None:
        self._in_use = False
        if self._closed:
            self._sock.close()

    def is_readable(self) -> bool:
        return sockets.is_readable(self._sock)

    def wake(self) -> None:
        sockets.wake(self._sock)

    def close(self) -> None:
        self._closed = True
        if self._in_use:  # freed now, its number could be that of another connection when the wait goes on
            self.wake()
        else:
            self._sock.close()


class AsyncTLSStream:
    """TLS on top of another stream."""

    def __init__(self, stream: AsyncNetworkStream, context: ssl.SSLContext, host: str) -> None:
        import ssl  # loading it takes time, which plain connections need not pay

        self._stream = stream
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._want_read = ssl.SSLWantReadError
        self._end = (ssl.SSLZeroReturnError, ssl.SSLEOFError)

    async def handshake(self) -> None:
        """Agree on keys, and check the peer's certificate."""
        await self._run(self._tls.do_handshake)

    async def read(self) -> bytes:
        try:
            return await self._run(lambda: self._tls.read(MAX_READ))
        except self._end:
            return b""  # HTTP says itself whether its message was complete

    async def write(self, data: bytes) -> None:
        await self._run(lambda: self._tls.write(data))

    async def _run(self, operation: Callable[[], T]) -> T:
        while True:
            try:
                result = operation()
            except self._want_read:
                await self._flush()
                data = await self._stream.read()
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            else:
                await self._flush()
                return result

    async def _flush(self) -> None:
        if self._outgoing.pending:
            await self._stream.write(self._outgoing.read())

    def is_readable(self) -> bool:
        return self._stream.is_readable()

    def wake(self) -> None:
        self._stream.wake()

    def close(self) -> None:
        self._stream.close()


async def connect_tcp(host: str, port: int) -> AsyncTCPStream:
    """Connect to the first address of the host that answers.

    Raises:
        ConnectionError: The name does not resolve, or no address answers.
    """
    try:
        addresses = sockets.numeric(host, port) or await rt.run_blocking(sockets.resolve, host, port)
    except OSError as error:
        raise_if_from_a_signal(error)
        raise ConnectionError(f"cannot resolve {host!r}: {error}") from error
    for address in addresses[:-1]:
        with rt.move_on_after(FIRST_ADDRESS_SECONDS):
            try:
                return await _connect(address)
            except OSError as error:
                raise_if_from_a_signal(error)
                # else the last address decides
    try:
        return await _connect(addresses[-1])
    except OSError as error:
        raise_if_from_a_signal(error)
        raise ConnectionError(f"cannot connect to {host}:{port}: {error.strerror or error}") from error


async def _connect(address: sockets.Address) -> AsyncTCPStream:
    family, sockaddr = address
    stream = AsyncTCPStream(sock := sockets.open_socket(family))
    try:
        await rt.connect(sock, sockaddr)
    except BaseException:
        stream.close()
        raise
    return stream
