"""The stream on which a server of the handshake era says what belongs to no call: a GET, held open in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..._log import log
from ..._mcp import jsonrpc
from ..._mcp.failures import Refused
from ..._mcp.http_rules import is_event_stream, is_header_text
from ..._mcp.jsonrpc import Message
from ..._mcp.sse_events import SSEEventParser
from ..._runtime import aio as rt
from ...cancellation import CancellationToken
from ...errors import ConnectionError, KovaError, StreamError, TimeoutError, TurnCancelledError
from ..http import AsyncPooledResponse
from .http_requests import AsyncHTTPRequests, AsyncMCPRequest

__all__ = ["AsyncListener", "messages_of"]

FIRST_PAUSE = 1.0  # seconds before a stream that has ended is opened again; doubled while nothing comes
LONGEST_PAUSE = 30.0
LONGEST_RETRY = 600.0  # seconds, whatever the server says
TEMPORARY = frozenset({408, 425, 429})  # the refusals below 500 that do not mean that there is no such stream


class AsyncListener:
    """Listens until it is stopped, or the server says that it has no such stream.

    Args:
        requests: What it asks through.
        headers: The headers of the GET.
        take: Takes each message.
        limit: Bytes that a line or an event may have.
    """

    def __init__(
        self, requests: AsyncHTTPRequests, headers: Mapping[str, str], take: Callable[[Message], None], limit: int
    ) -> None:
        self._requests = requests
        self._headers = dict(headers)
        self._take = take
        self._limit = limit
        self._stopped = CancellationToken()
        self._background = rt.Background()

    async def start(self) -> None:
        """Begin to listen: the request is sent when this returns, so that it comes before all calls that follow.

        Raises:
            ConnectionError, TimeoutError: It could not be sent.
        """
        request = self._requests.request("GET", self._headers)
        await request.send()
        self._background.start_soon(self._run, request)

    def stop(self) -> None:
        """Listen no longer; from any thread."""
        self._stopped.cancel()

    async def _run(self, request: AsyncMCPRequest) -> None:
        try:
            with rt.cancel_on(self._stopped):
                await self._listen(request)
        except TurnCancelledError:
            pass
        except KovaError as error:
            log.warning("an MCP server is not listened to", server=self._requests.shown, error=str(error))

    async def _listen(self, sent: AsyncMCPRequest | None) -> None:
        pause = FIRST_PAUSE
        while not self._requests.is_closed:
            parser = SSEEventParser(self._limit)
            has_spoken = False
            try:
                request, sent = sent, None
                response = await self._response(request or await self._asked_again())
                if response is None:
                    return
                has_spoken = await self._read(response, parser)
            except (ConnectionError, StreamError, TimeoutError) as error:
                if isinstance(error, Refused) and not _is_temporary(error):
                    return
                if not error.is_retryable and not isinstance(error, StreamError):
                    raise
                log.debug("an MCP server's own stream broke off", server=self._requests.shown, error=str(error))
            if parser.last_event_id and is_header_text(parser.last_event_id):
                self._headers["last-event-id"] = parser.last_event_id
            pause = FIRST_PAUSE if has_spoken else min(2 * pause, LONGEST_PAUSE)
            if parser.retry is not None:
                pause = min(parser.retry if has_spoken else max(parser.retry, pause), LONGEST_RETRY)
            await rt.sleep(pause)

    async def _asked_again(self) -> AsyncMCPRequest:
        request = self._requests.request("GET", self._headers)
        await request.send()
        return request

    async def _response(self, request: AsyncMCPRequest) -> AsyncPooledResponse | None:
        """The response that brings the stream; None where there is none."""
        try:
            response = await request.response()
        finally:
            request.close()
        if is_event_stream(response.headers):
            return response
        await response.close()
        return None

    async def _read(self, response: AsyncPooledResponse, parser: SSEEventParser) -> bool:
        """Read the stream to its end; whether anything came."""
        has_spoken = False
        try:
            while piece := await response.next_piece():
                for event in parser.feed(piece):
                    has_spoken = True
                    for message in messages_of(event.name, event.data):
                        self._take(message)
        except ConnectionError as error:
            log.debug("an MCP server's own stream was cut", server=self._requests.shown, error=str(error))
        finally:
            await response.close()
        return has_spoken


def _is_temporary(error: Refused) -> bool:
    return error.status_code is not None and (error.status_code >= 500 or error.status_code in TEMPORARY)


def messages_of(name: str, data: bytes) -> list[Message]:
    """The messages in an event; what is none is passed over."""
    if name == "message":
        try:
            return jsonrpc.parse_messages(data)
        except ValueError:
            log.debug("an MCP server sent an event that is no JSON")
    return []
