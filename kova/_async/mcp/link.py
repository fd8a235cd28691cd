"""What the three transports have in common: a link carries calls to one server, and what it says by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..._mcp.calls import Call
from ..._mcp.jsonrpc import Message

__all__ = ["AsyncPendingCall", "AsyncLink", "Receiver"]

# Takes what the server says by itself (its requests, and notifications that belong to no call). It never waits.
Receiver = Callable[[Message], None]


class AsyncPendingCall(Protocol):
    """One call under way."""

    async def next(self) -> Message:
        """The next message that belongs to the call: its progress, or the answer, after which there is nothing more.

        Raises:
            LinkLost: The connection ended without the answer.
            Refused, SessionExpired: The server refused the call.
            StreamError: What came cannot be the answer.
            TimeoutError: The call's patience is over.
        """

    async def abandon(self) -> None:
        """Tell the server that nobody waits for the answer any more. Raises nothing, and takes a moment at most."""

    async def close(self) -> None:
        """Free what the call holds; an answer that comes later is dropped."""


class AsyncLink(Protocol):
    """A connection to one server.

    Attributes:
        is_open: Whether calls can be made; false once the server is known to be gone.
    """

    @property
    def is_open(self) -> bool: ...

    async def open(self) -> None:
        """Connect, or start the server. Within the caller's time limit.

        Raises:
            ConnectionError: The server cannot be reached, or ended at once.
        """

    async def begin(self, call: Call) -> AsyncPendingCall:
        """Send a call.

        Raises:
            NotDelivered: It was not sent.
            TimeoutError: The call's patience is over.
        """

    async def send(self, message: Message) -> None:
        """Send a notification, or the answer to a request of the server.

        Raises:
            ConnectionError: It could not be sent.
        """

    def negotiated(self, version: str, *, is_modern: bool) -> None:
        """Take note of the protocol version that calls are made in from now on."""

    def drop(self) -> None:
        """Begin the end of a connection that nobody uses any more. Never waits: the collector calls it, in any thread."""

    async def close(self) -> None:
        """End the connection and free all of it. Bounded, from any thread, task or loop, more than once; raises
        nothing.
        """
