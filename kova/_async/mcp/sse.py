"""HTTP+SSE (MCP 2024-11-05): one stream of events from the server, and POSTs to an address that it names on it."""

from __future__ import annotations

from copy import copy

from ..._log import log
from ..._mcp import jsonrpc
from ..._mcp.calls import MOST_REPORTS, Call
from ..._mcp.failures import LinkLost, NotDelivered
from ..._mcp.http_rules import is_event_stream
from ..._mcp.jsonrpc import Message
from ..._mcp.sse_events import SSEEvent, SSEEventParser
from ..._runtime import aio as rt
from ..._wire.sse import LINE_LIMIT
from ...errors import ConnectionError, KovaError, StreamError
from ...mcp.transports import HTTPSSETransport
from ..http import AsyncPooledResponse
from .http_requests import AsyncHTTPRequests, AsyncMCPRequest, joined, same_origin
from .link import Receiver
from .listener import messages_of

__all__ = ["AsyncSSELink"]

ABANDON_SECONDS = 1.0


class AsyncSSELink:
    """A server that is spoken to by POSTs, and answers on its stream.

    It belongs to the event loop that opened it, and may be closed from any.

    Args:
        transport: Where the stream is.
        receiver: Takes what the server says by itself.
        limit: Bytes that a line or an event of the stream may have.

    Raises:
        BuildError: Something in the transport cannot be used here.
    """

    def __init__(self, transport: HTTPSSETransport, receiver: Receiver, *, limit: int = LINE_LIMIT) -> None:
        self.requests = AsyncHTTPRequests(transport)
        self._receiver = receiver
        self._parser = SSEEventParser(limit)
        self._endpoint: str | None = None
        self._version: str | None = None
        self._calls: dict[int, AsyncSSECall] = {}
        self._end: KovaError | None = None  # why the stream has ended
        self._background = rt.Background()

    @property
    def is_open(self) -> bool:
        """Whether the stream is there."""
        return self._endpoint is not None and self._end is None and not self.requests.is_closed

    async def open(self) -> None:
        """Open the stream, and wait for the address that calls go to.

        Raises:
            ConnectionError: The server cannot be reached or refuses, or the address is of another origin.
            StreamError: What it sends is no stream of events.
        """
        request = self.requests.request("GET", {"accept": "text/event-stream"})
        try:
            await request.send()
            response = await request.response()
        finally:
            request.close()
        try:
            if not is_event_stream(response.headers):
                raise StreamError(f"{self.requests.shown} gave no stream of events")
            rest = await self._await_endpoint(response)
        except BaseException:
            await response.close()
            raise
        self._background.start_soon(self._listen, response, rest)

    async def _await_endpoint(self, response: AsyncPooledResponse) -> list[SSEEvent]:
        """Read up to the event that names the address; what came with it is left."""
        while piece := await self._piece(response):
            events = self._parser.feed(piece)
            for index, event in enumerate(events):
                if event.name == "endpoint":
                    self._endpoint = self._checked(event.data.decode(errors="replace").strip())
                    return events[index + 1 :]
        raise LinkLost(f"{self.requests.shown} ended the stream before it named an endpoint")

    def _checked(self, endpoint: str) -> str:
        """S2: calls carry the token, and go to no other origin than the user has named."""
        url = joined(self.requests.url, endpoint)
        if not same_origin(url, self.requests.url):
            error = ConnectionError(
                f"{self.requests.shown} wants calls to be sent to another origin ({url[:200]!r}), "
                "and nothing is sent there"
            )
            error.is_retryable = False
            raise error
        return url

    async def begin(self, call: Call) -> AsyncSSECall:
        """Send a call.

        Raises:
            NotDelivered: It was not sent.
            TimeoutError: The call's patience is over.
        """
        if self._end is not None:
            raise NotDelivered(f"there is no connection any more: {self._end}") from self._end
        pending = AsyncSSECall(self, call, self._post(call.message))
        self._calls[call.id] = pending
        if self._end is not None:  # just now, and calls that came later are not told
            self.forget(call)
            raise NotDelivered(f"there is no connection any more: {self._end}") from self._end
        try:
            with rt.fail_at(call.patience):
                await pending.request.send()
        except BaseException:
            self.forget(call)
            raise
        return pending

    async def send(self, message: Message) -> None:
        """Send a notification, or the answer to a request of the server.

        Raises:
            ConnectionError: It could not be sent, or was refused.
        """
        request = self._post(message)
        try:
            await request.send()
            response = await request.response()
        finally:
            request.close()
        await response.close(drain=True)

    def _post(self, message: Message) -> AsyncMCPRequest:
        if self._endpoint is None:
            raise ConnectionError(f"the connection to {self.requests.shown} is not open")
        headers = {} if self._version is None else {"mcp-protocol-version": self._version}
        return self.requests.request("POST", headers, jsonrpc.encode(message), url=self._endpoint)

    def negotiated(self, version: str, *, is_modern: bool) -> None:
        """Take note of the protocol version that calls are made in from now on."""
        self._version = version

    def drop(self) -> None:
        """End the stream of a link that nobody uses any more."""
        self.requests.drop()
        self._background.cancel()

    async def close(self) -> None:
        """End the connection. From any thread, task or loop, more than once; raises nothing."""
        await self.requests.close()

    def forget(self, call: Call) -> None:
        """Let a call be over."""
        self._calls.pop(call.id, None)

    # ---- the stream

    async def _listen(self, response: AsyncPooledResponse, events: list[SSEEvent]) -> None:
        end: KovaError = LinkLost(f"{self.requests.shown} ended the stream")
        try:
            while True:
                for event in events:
                    for message in messages_of(event.name, event.data):
                        self._take(message)
                piece = await self._piece(response)
                if not piece:
                    break
                events = self._parser.feed(piece)
        except KovaError as error:
            end = error
        finally:
            self._end = end
            for pending in list(self._calls.values()):
                pending.arrived.put(end)
            await response.close()

    async def _piece(self, response: AsyncPooledResponse) -> bytes:
        try:
            return await response.next_piece()
        except ConnectionError as error:
            raise self.requests.lost(error) from error

    def _take(self, message: Message) -> None:
        is_answer = jsonrpc.is_answer(message)
        id = jsonrpc.answered_id(message) if is_answer else jsonrpc.progress_token(message)
        pending = None if id is None else self._calls.get(id)
        if pending is not None:
            if is_answer or len(pending.arrived) < MOST_REPORTS:
                pending.arrived.put(message)
        elif is_answer:
            log.debug("an MCP server answered a call that nobody waits for", server=self.requests.shown)
        else:
            self._receiver(message)


class AsyncSSECall:
    """A call under way.

    Args:
        link: The link that it is made on.
        call: The call.
        request: The POST that carries it.
    """

    def __init__(self, link: AsyncSSELink, call: Call, request: AsyncMCPRequest) -> None:
        self._link = link
        self._call = call
        self.request = request
        self.arrived: rt.Channel[Message | KovaError] = rt.Channel()
        self._is_delivered = False
        self._is_answered = False

    async def next(self) -> Message:
        """The next message that belongs to the call: its progress, or the answer, after which there is nothing more.

        Raises:
            LinkLost: The stream ended without the answer.
            Refused: The server refused the call.
            StreamError: What came on the stream is too large, or makes no sense.
            TimeoutError: The call's patience is over.
        """
        if self._is_answered:
            raise LinkLost("the call was answered already")
        with rt.fail_at(self._call.patience):
            if not self._is_delivered:
                response = await self.request.response()
                await response.close(drain=True)
                self._is_delivered = True
            message = await self._link.requests.next_of(self.arrived)
        if isinstance(message, KovaError):
            raise copy(message) from message  # each call has its own traceback
        self._is_answered = jsonrpc.is_answer(message)
        return message

    async def abandon(self) -> None:
        """Tell the server that nobody waits for the answer any more. Raises nothing, and takes a moment at most."""
        await self.close()
        if self._call.method != "initialize" and not self._is_answered:
            with rt.shield(ABANDON_SECONDS):
                try:
                    await self._link.send(jsonrpc.cancelled(self._call.id))
                except KovaError as error:
                    log.debug("an MCP server was not told of a cancellation", error=str(error))

    async def close(self) -> None:
        """Free what the call holds; an answer that comes later is dropped."""
        self._link.forget(self._call)
        self.request.close()
