"""A client of httpx or httpx2 that the user has given: used, and never closed."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakKeyDictionary, ref

from .._formats.wire import WireRequest
from .._runtime import aio as rt
from .._runtime import sockets
from .._signals import raise_if_from_a_signal
from .._wire.http_faults import fault_text
from ..cancellation import CancellationToken
from ..errors import ConnectionError, KovaError, StreamError, TimeoutError
from .connection import DRAIN_SECONDS

__all__ = ["AsyncInjectedClient"]

# The loop and the process that each client was first used in, which its connections belong to.
_users: WeakKeyDictionary[object, tuple[ref[object], int]] = WeakKeyDictionary()


class AsyncInjectedClient:
    """The user's client behind kova's interface.

    Args:
        client: The client.
        library: httpx or httpx2, whichever the client is of.
        timeout: Seconds for each of the client's steps: how long an abandoned call may linger.
    """

    def __init__(self, client: Any, library: Any, timeout: float | None) -> None:
        self._timeout = timeout
        self._client = client
        self._library = library

    async def send(self, request: WireRequest) -> AsyncInjectedResponse:
        """Send a request through the client, with its own settings for all but redirects, which are not followed.

        Raises:
            KovaError: The client belongs to another event loop, or cannot be used.
        """
        user = ref(rt.owner()), os.getpid()
        if _users.setdefault(self._client, user) != user:
            raise KovaError("http_client was first used in another event loop or process: make one for each of them")
        abandoned = CancellationToken()
        try:
            built = self._client.build_request(
                request.method, request.url, headers=request.headers, content=request.body, timeout=self._timeout
            )
            response = await rt.call(self._send, built, abandoned)
        except Exception as error:
            raise_if_from_a_signal(error)
            raise as_kova_error(error, self._library) from cause_of(error, self._library)
        except BaseException:
            abandoned.cancel()
            raise
        return AsyncInjectedResponse(response, self._library)

    async def _send(self, built: Any, abandoned: CancellationToken) -> Any:
        try:
            response = await self._client.send(built, stream=True, follow_redirects=False)
        except self._library.HTTPStatusError as error:
            response = error.response  # a hook of the user's raises for a status that kova looks at itself
        abandoned.add_callback(response.aclose)  # in a thread it may come when nobody waits for it any more
        return response

    async def close(self) -> None:
        """Do nothing: the client is the user's."""


class AsyncInjectedResponse:
    """A response of the user's client."""

    def __init__(self, response: Any, library: Any) -> None:
        self.status: int = response.status_code
        self.headers: dict[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._library = library
        self._pieces: Any = response.aiter_bytes()
        self._stop = CancellationToken()
        self._stop.add_callback(self._wake)

    async def next_piece(self) -> bytes:
        """The next piece of the decoded body; nothing at its end."""
        try:
            piece: bytes = await rt.call(self._next, stop=self._stop)
        except Exception as error:
            raise_if_from_a_signal(error)
            raise as_kova_error(error, self._library) from cause_of(error, self._library)
        return piece

    async def _next(self) -> bytes:
        piece: bytes
        async for piece in self._pieces:
            if piece:
                return piece
        return b""

    def _wake(self) -> None:
        """End a thread's wait for the next piece, where the response has a connection to itself and tells its socket."""
        told = self._response.extensions
        if "network_stream" in told and told.get("http_version", b"").startswith(b"HTTP/1"):
            sock = told["network_stream"].get_extra_info("socket")
            if sock is not None:
                sockets.wake(sock)

    async def close(self, *, drain: bool = False) -> None:
        """End the exchange; `drain` gives the end of the body a moment to arrive, so that the connection is kept."""
        try:
            if drain:
                with rt.move_on_after(DRAIN_SECONDS):
                    while await self.next_piece():
                        pass
        except KovaError:
            pass  # the answer was complete; only the connection cannot be used again
        try:
            await self._pieces.aclose()
        except (RuntimeError, ValueError):
            pass  # an abandoned call is still in it
        await self._response.aclose()


def cause_of(error: Exception, library: Any) -> Exception | None:
    """The cause of the error that stands for an exception; None where the exception quotes what the server sent."""
    return None if isinstance(error, library.RemoteProtocolError) else error


def as_kova_error(error: Exception, library: Any) -> KovaError:
    """An exception of the client's library as the error of kova's that it means."""
    if isinstance(error, KovaError):
        return error
    reason: BaseException | None = error
    while reason is not None and not str(reason):
        reason = reason.__cause__ or reason.__context__  # only these say something, on trio
    text = f"{type(error).__name__}: {reason or 'no message'}"
    if isinstance(error, library.TimeoutException):
        return TimeoutError(f"http_client timed out: {text}", 0.0)
    if isinstance(error, library.RemoteProtocolError):
        return ConnectionError(f"the connection failed: {type(error).__name__}: {fault_text(error)}")
    if isinstance(error, library.TransportError):
        return ConnectionError(f"the connection failed: {text}")
    if isinstance(error, library.DecodingError):
        return StreamError(f"the compressed body is corrupt: {error}")
    return KovaError(f"http_client failed: {text}")
