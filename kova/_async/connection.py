"""One HTTP/1.1 connection, driven by h11: one exchange at a time, and the next one on the same connection.

httpcore's connections are not used, since they read bodies through nested async generators, which trio reports as
leaked when a stream is left early, and which cost more for each piece of a stream than all that kova does with it.
"""

from __future__ import annotations

from typing import NamedTuple

import h11

from .._proxies import Proxy
from .._runtime.scope import Deadline
from .._signals import raise_if_from_a_signal
from .._wire.http_faults import fault_text
from ..errors import ConnectionError
from .network import AsyncNetworkStream

__all__ = ["DRAIN_SECONDS", "AsyncConnection", "Origin", "StaleConnection"]

DRAIN_SECONDS = 0.05  # for what completes a body after the stream's terminal mark
JOINED_WRITE = 65_536  # bytes; a request up to this size goes out in one packet train, larger bodies are not copied
MAX_HEAD = 102_400  # bytes of the head of a response


class Origin(NamedTuple):
    """Where requests go: scheme, host and port."""

    scheme: str
    host: str
    port: int


class StaleConnection(ConnectionError):
    """The connection ended before anything of a response came."""


class AsyncConnection:
    """A connection to an origin.

    Args:
        origin: Where it leads.
        stream: The bytes to and from there.
        proxy: The proxy at the other end of the stream, if there is one.
    """

    def __init__(self, origin: Origin, stream: AsyncNetworkStream, proxy: Proxy | None = None) -> None:
        self.origin = origin
        self._forwarded_by = proxy if origin.scheme == "http" else None  # it sees the requests, and passes them on
        self.exchanges = 0
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._expires: Deadline | None = None
        self._is_read = False  # whether the body of the present response is

    async def send(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> None:
        """Send a request."""
        self.exchanges += 1
        self._is_read = False
        if self._forwarded_by is not None:
            target = f"http://{dict(headers)['host']}{target}"
            if self._forwarded_by.authorization is not None:
                headers = [*headers, ("proxy-authorization", self._forwarded_by.authorization)]
        head = self._http.send(h11.Request(method=method, target=target, headers=headers))
        data = self._http.send(h11.Data(data=body)) if body else b""
        end = self._http.send(h11.EndOfMessage())
        parts = [part for part in (head, data, end) if part]
        if len(body) <= JOINED_WRITE:
            parts = [b"".join(parts)]
        try:
            for part in parts:
                await self._stream.write(part)
        except OSError as error:
            raise_if_from_a_signal(error)
            # else: a server may refuse a request before it has read all of it, and its answer says why

    async def receive_head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the response; header names in lower case, repeated ones joined by commas.

        Raises:
            StaleConnection: The connection ended before anything came.
            ConnectionError: It ended, or what came is not HTTP.
        """
        anything = False
        while True:
            event = self._next_event()
            if event is h11.NEED_DATA:
                data = await self._read()
                if not data and not anything:
                    raise StaleConnection(f"{self.origin.host} closed the connection without a response")
                anything = True
                self._http.receive_data(data)
            elif isinstance(event, h11.Response):
                return event.status_code, _headers(event)

    async def receive_body(self) -> bytes:
        """The next piece of the body, all that has arrived; nothing at its end.

        Raises:
            ConnectionError: The connection ended before the body did.
        """
        pieces: list[bytes] = []
        while not self._is_read:
            event = self._next_event()
            if type(event) is h11.Data:
                pieces.append(event.data)
            elif event is not h11.NEED_DATA:
                self._is_read = True
            elif pieces:
                break
            else:
                self._http.receive_data(await self._read())
        return b"".join(pieces)

    def _next_event(self) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise ConnectionError(f"the connection to {self.origin.host} broke off: {fault_text(error)}") from None

    async def _read(self) -> bytes:
        try:
            return await self._stream.read()
        except OSError as error:
            raise_if_from_a_signal(error)
            if self._http.their_state is h11.SEND_RESPONSE and not self._http.trailing_data[0]:
                raise StaleConnection(f"the connection to {self.origin.host} was lost: {error}") from error
            raise ConnectionError(f"the connection to {self.origin.host} was lost: {error}") from error

    def rest(self, keep_alive: float) -> bool:
        """Make ready for an exchange in the next `keep_alive` seconds; False where this connection cannot have one."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        if self._http.trailing_data[0]:
            return False  # an answer that nobody asked for, and that the next exchange must not take for its own
        self._http.start_next_cycle()
        self._expires = Deadline(keep_alive, "an idle connection")
        return True

    def is_stale(self) -> bool:
        """Whether a resting connection is of no use any more: too old, or closed by the peer."""
        return (self._expires is not None and self._expires.remaining() <= 0) or self._stream.is_readable()

    def wake(self) -> None:
        """End the present exchange, which may belong to another thread or loop."""
        self._stream.wake()

    def close(self) -> None:
        """Free the socket."""
        self._stream.close()


def _headers(response: h11.Response) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers
