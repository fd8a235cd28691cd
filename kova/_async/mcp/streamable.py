"""Streamable HTTP (MCP 2025-03-26 and later): each call is a POST of its own, answered with JSON or a stream of events.

Nothing is shared between calls but the session, and nothing reads for another, so that calls cost no task and no
thread. The one thing in the background is the handshake era's optional GET stream.
"""

from __future__ import annotations

from ..._log import log
from ..._mcp import jsonrpc
from ..._mcp.calls import Call
from ..._mcp.failures import Refused, SessionExpired
from ..._mcp.http_rules import is_header_text, names_lost_session
from ..._mcp.jsonrpc import Message
from ..._wire.sse import LINE_LIMIT
from ...errors import ConnectionError
from ...mcp.transports import StreamableHTTPTransport
from .http_requests import AsyncHTTPRequests
from .link import Receiver
from .listener import AsyncListener
from .streamable_call import AsyncStreamableCall

__all__ = ["AsyncStreamableLink"]

ACCEPTED = "application/json, text/event-stream"
SESSION = "mcp-session-id"


class AsyncStreamableLink:
    """A server behind one URL.

    It belongs to the event loop that it is first used in, and may be closed from any.

    Args:
        transport: Where it is.
        receiver: Takes what the server says by itself.
        limit: Bytes that a line or an event of a stream may have.

    Raises:
        BuildError: Something in the transport cannot be used here.
    """

    def __init__(self, transport: StreamableHTTPTransport, receiver: Receiver, *, limit: int = LINE_LIMIT) -> None:
        self.requests = AsyncHTTPRequests(transport)
        self.receiver = receiver
        self.limit = limit
        self.is_legacy = False
        self._version: str | None = None
        self._session: str | None = None
        self._calls: dict[int, AsyncStreamableCall] = {}
        self._listener: AsyncListener | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was not closed: the next request may reach a server that the last one did not."""
        return not self.requests.is_closed

    async def open(self) -> None:
        """Do nothing: each call connects by itself."""

    async def begin(self, call: Call) -> AsyncStreamableCall:
        """Send a call.

        Raises:
            NotDelivered: It was not sent.
            TimeoutError: The call's patience is over.
        """
        if call.method == "initialize":
            self._forget_session()
        pending = AsyncStreamableCall(self, call)
        self._calls[call.id] = pending
        try:
            await pending.send()
        except BaseException:
            self.forget(call)
            raise
        return pending

    async def send(self, message: Message) -> None:
        """Send a notification, or the answer to a request of the server.

        Raises:
            ConnectionError: It could not be sent, or was refused.
        """
        request = self.requests.request("POST", self.headers(), jsonrpc.encode(message))
        await request.send()
        try:
            response = await request.response()
        except Refused as error:
            raise self.as_expired(error) from None
        finally:
            request.close()
        await response.close(drain=True)
        if message.get("method") == "notifications/initialized" and self.is_legacy and self._listener is None:
            self._listener = AsyncListener(self.requests, self.stream_headers(), self.take, self.limit)
            await self._listener.start()

    def negotiated(self, version: str, *, is_modern: bool) -> None:
        """Take note of the protocol version that calls are made in from now on.

        In the handshake era the server's own stream is listened to once `notifications/initialized` is sent.
        """
        self.is_legacy = not is_modern
        self._version = None if is_modern else version  # a modern call brings it itself

    def drop(self) -> None:
        """Free what a link holds that nobody uses any more; the server finds out by itself."""
        self._forget_session()
        self.requests.drop()

    async def close(self) -> None:
        """End the session and free all connections. From any thread, task or loop, more than once; raises nothing."""
        if not self.is_open:
            return
        farewell = None
        if self._session is not None:
            farewell = self.requests.request("DELETE", self.headers(), is_last=True)
        self._forget_session()
        await self.requests.close(farewell)

    # ---- for calls and the listener

    def headers(self, call: Call | None = None) -> dict[str, str]:
        """The headers of a POST."""
        headers = {"accept": ACCEPTED}
        if call is not None:
            headers.update(call.headers)
        return headers | self._session_headers()

    def stream_headers(self, last_event_id: str = "") -> dict[str, str]:
        """The headers of a GET, which asks for a stream, or for the rest of one."""
        headers = {"accept": "text/event-stream", **self._session_headers()}
        if last_event_id:
            headers["last-event-id"] = last_event_id
        return headers

    def take(self, message: Message) -> None:
        """Pass on what belongs to no call that is read just now: to a call whose answer it is, or to the receiver."""
        if not jsonrpc.is_answer(message):
            self.receiver(message)
        elif not self.hand_over(message):
            log.debug("an MCP server answered a call that nobody waits for", server=self.requests.shown)

    def hand_over(self, message: Message) -> bool:
        """Give an answer to the call that it belongs to, if there is one."""
        id = jsonrpc.answered_id(message)
        pending = None if id is None else self._calls.get(id)
        if pending is None:
            return False
        pending.put(message)
        return True

    def forget(self, call: Call) -> None:
        """Let a call be over."""
        self._calls.pop(call.id, None)

    def begin_session(self, headers: dict[str, str]) -> None:
        """Keep the session that the answer to `initialize` names, if it names one."""
        session = headers.get(SESSION)
        if session is not None and is_header_text(session):
            self._session = session

    @property
    def has_session(self) -> bool:
        """Whether the server has given a session, which it may also forget."""
        return self._session is not None

    def as_expired(self, error: Refused) -> ConnectionError:
        """The error that a refused request gives: that the session has gone, where it means that."""
        said = error.message if error.answer is None else str(error.answer["error"].get("message", ""))
        is_gone = error.status_code == 404 or (error.status_code == 400 and names_lost_session(said))
        return SessionExpired(error.message) if self.has_session and is_gone else error

    def _session_headers(self) -> dict[str, str]:
        headers = {}
        if self._session is not None:
            headers[SESSION] = self._session
        if self._version is not None:
            headers["mcp-protocol-version"] = self._version
        return headers

    def _forget_session(self) -> None:
        self._session = self._version = None
        self.is_legacy = False
        if self._listener is not None:
            self._listener.stop()
            self._listener = None
