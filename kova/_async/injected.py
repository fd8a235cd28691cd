"""A client of httpx or httpx2 that the user has given: used, and never closed."""

from __future__ import annotations

from typing import Any

from .._formats.wire import WireRequest
from .._runtime import aio as rt
from ..errors import ConnectionError, KovaError, StreamError, TimeoutError

__all__ = ["AsyncInjectedClient"]


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
        """Send a request through the client, with its own settings for all but redirects, which are not followed."""
        built = self._client.build_request(
            request.method, request.url, headers=request.headers, content=request.body, timeout=self._timeout
        )
        try:
            response = await rt.call(self._send, built)
        except Exception as error:
            raise as_kova_error(error, self._library) from error
        return AsyncInjectedResponse(response, self._library)

    async def _send(self, built: Any) -> Any:
        return await self._client.send(built, stream=True, follow_redirects=False)

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

    async def next_piece(self) -> bytes:
        """The next piece of the decoded body; nothing at its end."""
        try:
            piece: bytes = await rt.call(self._next)
        except Exception as error:
            raise as_kova_error(error, self._library) from error
        return piece

    async def _next(self) -> bytes:
        piece: bytes
        async for piece in self._pieces:
            if piece:
                return piece
        return b""

    async def close(self, *, drain: bool = False) -> None:
        """End the exchange."""
        await self._pieces.aclose()
        await self._response.aclose()


def as_kova_error(error: Exception, library: Any) -> Exception:
    """An exception of the client's library as the error of kova's that it means."""
    if isinstance(error, KovaError):
        return error
    if isinstance(error, library.TimeoutException):
        return TimeoutError(f"the injected client timed out: {error}", 0.0)
    if isinstance(error, library.TransportError):
        return ConnectionError(f"the connection failed: {error}" if str(error) else type(error).__name__)
    if isinstance(error, library.DecodingError):
        return StreamError(f"the compressed body is corrupt: {error}")
    return error
