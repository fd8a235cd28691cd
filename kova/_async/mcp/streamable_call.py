"""One call over streamable HTTP: a POST, and the response to it, gone after by GET where the stream breaks off."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..._log import log
from ..._mcp import jsonrpc
from ..._mcp.calls import Call
from ..._mcp.failures import LinkLost, Refused, SessionExpired
from ..._mcp.http_rules import is_event_stream, is_header_text, is_lost_session
from ..._mcp.jsonrpc import Message
from ..._mcp.sse_events import SSEEventParser
from ..._runtime import aio as rt
from ...errors import ConnectionError, KovaError, StreamError
from ..http import AsyncPooledResponse, read_body
from .listener import messages_of

if TYPE_CHECKING:
    from .streamable import AsyncStreamableLink

__all__ = ["AsyncStreamableCall"]

ABANDON_SECONDS = 1.0
RESUMPTIONS = 5  # in a row that bring nothing
RETRY_SECONDS = 1.0  # before a resumption, where the server has not said


class AsyncStreamableCall:
    """A call under way.

    Args:
        link: The link that it is made on.
        call: The call.
    """

    def __init__(self, link: AsyncStreamableLink, call: Call) -> None:
        self._link = link
        self._call = call
        body = jsonrpc.encode(call.message)
        self._request = link.requests.request("POST", link.headers(call), body)
        self._response: AsyncPooledResponse | None = None
        self._parser = SSEEventParser(link.limit)
        self._resumptions = 0
        self._ended: ConnectionError | None = None  # why the stream did; then there is no response
        self._ready: deque[Message] = deque()
        self._is_answered = False
        self._is_spoken_to = False  # whether anything has come that belongs to it
        self._moved: deque[Message] = deque()  # an answer that came by another stream
        self._has_moved: rt.Channel[None] = rt.Channel()

    async def send(self) -> None:
        """Send it.

        Raises:
            NotDelivered: The server cannot be reached.
            TimeoutError: The call's patience is over.
        """
        with rt.fail_at(self._call.patience):
            await self._request.send()

    async def next(self) -> Message:
        """The next message that belongs to the call: its progress, or the answer, after which there is nothing more.

        Raises:
            LinkLost: The connection ended without the answer.
            Refused, SessionExpired: The server refused the call.
            StreamError: What came cannot be the answer.
            TimeoutError: The call's patience is over.
        """
        if not self._ready:
            with rt.fail_at(self._call.patience):
                while not self._ready:
                    if self._is_answered:
                        raise LinkLost("the call was answered already")
                    await self._advance()
        return self._ready.popleft()

    async def abandon(self) -> None:
        """Tell the server that nobody waits for the answer any more. Raises nothing, and takes a moment at most.

        In the stateless era the end of the response says it, which `close` brings.
        """
        response = self._release()
        if response is not None:
            await response.close()
        if self._link.is_legacy and not self._is_answered:
            with rt.shield(ABANDON_SECONDS):
                try:
                    await self._link.send(jsonrpc.cancelled(self._call.id))
                except KovaError as error:
                    log.debug(
                        "an MCP server was not told of a cancellation",
                        server=self._link.requests.shown,
                        error=str(error),
                    )

    async def close(self) -> None:
        """Free what the call holds; an answer that comes later is dropped."""
        response = self._release()
        if response is not None:
            await response.close(drain=self._is_answered)

    def _release(self) -> AsyncPooledResponse | None:
        self._link.forget(self._call)
        self._request.close()
        response, self._response = self._response, None
        return response

    def put(self, message: Message) -> None:
        """Take the answer from another stream; from any thread."""
        self._moved.append(message)
        self._has_moved.put(None)
        response = self._response
        if response is not None:
            response.wake()
        self._request.wake()

    # ---- reading

    async def _advance(self) -> None:
        """Wait for something to come."""
        if self._moved:
            self._take_own(self._moved.popleft())
        elif self._ended is not None:
            await self._resume(self._ended)
        elif self._response is None:
            await self._read_head()
        else:
            await self._read_piece(self._response)

    async def _read_head(self) -> None:
        try:
            response = await self._request.response()
        except Refused as error:
            raise self._link.as_expired(error) from None
        except LinkLost:
            if self._moved:
                return
            raise
        if self._call.method == "initialize":
            self._link.begin_session(response.headers)
        if is_event_stream(response.headers):
            self._response = response
        else:
            await self._read_whole(response)

    async def _read_whole(self, response: AsyncPooledResponse) -> None:
        """Read an answer that is no stream."""
        try:
            body = await read_body(response)
        except ConnectionError as error:
            raise self._link.requests.lost(error) from error
        try:
            messages = jsonrpc.parse_messages(body)
        except ValueError:
            messages = []
        if len(messages) == 1 and "error" in messages[0]:
            self._take_own(messages[0])  # whatever id it has
        else:
            for message in messages:
                self._take(message)
        if not self._is_answered:
            kind = response.headers.get("content-type", "no content type")
            raise StreamError(f"{self._link.requests.shown} gave no answer: HTTP {response.status} with {kind[:100]}")

    async def _read_piece(self, response: AsyncPooledResponse) -> None:
        reason = LinkLost(f"{self._link.requests.shown} ended the stream without an answer")
        try:
            piece = await response.next_piece()
            events = self._parser.feed(piece) if piece else self._parser.close()
        except ConnectionError as error:
            piece, events = b"", []
            reason = self._link.requests.lost(error)
        for event in events:
            for message in messages_of(event.name, event.data):
                self._take(message)
        if events:
            self._resumptions = 0
        if not piece:
            self._response, self._ended = None, reason
            await response.close()

    # ---- going on after the end of a stream

    async def _resume(self, reason: ConnectionError) -> None:
        """Ask for the rest of a stream that has ended.

        Raises:
            LinkLost: There is no rest to be had.
        """
        place = self._parser.last_event_id
        if not self._link.is_legacy or not is_header_text(place) or self._resumptions == RESUMPTIONS:
            raise reason
        self._resumptions += 1
        retry = self._parser.retry
        if await self._has_come_within(RETRY_SECONDS if retry is None else retry):
            return
        self._request = self._link.requests.request("GET", self._link.stream_headers(place))
        try:
            await self._request.send()
            if self._moved:  # before this request was there to be woken
                return
            response = await self._request.response()
        except Refused as error:
            raise LinkLost(f"{reason}, nor when it was asked again: {error}") from error
        except ConnectionError as error:
            if self._link.requests.is_closed or not error.is_retryable:
                raise reason from error
            return  # to the next attempt
        if not is_event_stream(response.headers):
            await response.close()
            raise reason
        self._parser = SSEEventParser(self._link.limit)
        self._parser.last_event_id, self._parser.retry = place, retry
        self._response, self._ended = response, None

    async def _has_come_within(self, seconds: float) -> bool:
        """Wait, but not after an answer has come by another stream."""
        with rt.move_on_after(seconds):
            await self._link.requests.next_of(self._has_moved)
        return bool(self._moved)

    # ---- messages

    def _take(self, message: Message) -> None:
        """Take a message of the response: what belongs to the call is kept, everything else passed on."""
        if jsonrpc.is_answer(message):
            if jsonrpc.same_id(message.get("id"), self._call.id):
                self._take_own(message)
            elif not self._link.hand_over(message):
                if "error" in message:  # without an id or with a foreign one, it can only be about this call
                    self._take_own(message)
                else:
                    log.debug("an MCP server gave an answer to no call", server=self._link.requests.shown)
        elif jsonrpc.progress_token(message) == self._call.id:
            self._is_spoken_to = True
            self._ready.append(message)
        else:
            self._link.receiver(message)

    def _take_own(self, message: Message) -> None:
        if self._is_answered:
            return
        error = message.get("error")
        if isinstance(error, dict) and self._link.has_session and not self._is_spoken_to and is_lost_session(error):
            raise SessionExpired(f"{self._link.requests.shown}: {error.get('message')}")
        self._is_answered = True
        self._link.forget(self._call)
        self._ready.append(message)
