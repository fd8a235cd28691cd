"""Requests to the one HTTP origin that a server lives at, with the user's headers and token, which go nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urljoin

from ..._formats.secrets import secret_headers
from ..._log import log
from ..._mcp.failures import LinkLost, NotDelivered, Refused
from ..._mcp.http_rules import HTTPRequest, checked_headers, refusal, wants_more_scope
from ..._runtime import aio as rt
from ...cancellation import CancellationToken
from ...errors import BuildError, ConnectionError, KovaError, KovaOSError, TurnCancelledError
from ...mcp.transports import HTTPSSETransport, StreamableHTTPTransport
from ..http import AsyncHTTPClient, AsyncPooledResponse, AsyncSentRequest, read_body, split_url
from .authorizer import AsyncAuthorizer

__all__ = ["AsyncHTTPRequests", "AsyncMCPRequest", "joined", "same_origin"]

T = TypeVar("T")

CONNECT_SECONDS = 15.0
# Node and uvicorn end idle connections after 5 s. A call that they cross on its way would be lost, as it is not known
# whether it ran; a new connection costs less.
KEEP_ALIVE_SECONDS = 4.0
FAREWELL_SECONDS = 2.0
MAX_CONNECTIONS = 10_000  # each call has one to itself for as long as it takes, and none may hold up the others
MOST_REDIRECTS = 5
FOLLOWED = frozenset({307, 308})  # the redirects that keep method and body


class AsyncHTTPRequests:
    """What both HTTP links send their requests through.

    Args:
        transport: Where the server is, and the user's headers and tokens for it.

    Raises:
        BuildError: A header cannot be sent, or `auth` cannot be used here.
    """

    def __init__(self, transport: StreamableHTTPTransport | HTTPSSETransport) -> None:
        self.url = transport.url
        self.shown = transport.shown
        self.authorizer = AsyncAuthorizer(transport.auth, transport.url)
        self._headers = checked_headers(transport.headers)
        if transport.auth is not None and "authorization" in self._headers:
            raise BuildError("headers have an authorization already: it comes from them or from auth, not from both")
        self._client = AsyncHTTPClient(
            max_connections=MAX_CONNECTIONS, connect_timeout=CONNECT_SECONDS, keep_alive=KEEP_ALIVE_SECONDS
        )
        self._ended = CancellationToken()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._ended.is_cancelled

    def request(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        url: str | None = None,
        is_last: bool = False,
    ) -> AsyncMCPRequest:
        """A request that is still to be sent.

        Args:
            method: HTTP method.
            headers: Its own headers, which go over the user's; the names in lower case.
            body: Its body.
            url: Where it goes, if that is not the server's URL itself; of the same origin.
            is_last: Whether it is sent after the closing.
        """
        own = {"content-type": "application/json"} if body else {}
        request = HTTPRequest(method, url or self.url, {**own, **self._headers, **headers}, body)
        return AsyncMCPRequest(self, request, is_last=is_last)

    async def start(self, request: HTTPRequest, *, is_last: bool = False) -> AsyncSentRequest:
        """Connect and send.

        Args:
            request: What is sent.
            is_last: Whether it is sent after the closing.

        Raises:
            NotDelivered: The server cannot be reached, or the connection to it was closed.
            TimeoutError: Connecting took too long.
        """
        try:
            with rt.cancel_on(None if is_last else self._ended):
                exchange = await self._client.start(request)
        except TurnCancelledError:
            raise NotDelivered(f"the connection to {self.shown} was closed") from None
        except (ConnectionError, KovaOSError) as error:
            raise NotDelivered(f"{self.shown} cannot be reached: {error}") from error
        if self.is_closed and not is_last:  # just now, by another thread, which did not find this connection
            exchange.close()
            raise NotDelivered(f"the connection to {self.shown} was closed")
        return exchange

    async def next_of(self, channel: rt.Channel[T]) -> T:
        """The next item of a channel.

        Raises:
            LinkLost: The connection was closed meanwhile.
        """
        try:
            with rt.cancel_on(self._ended):
                return await channel.get()
        except TurnCancelledError:
            raise LinkLost(f"the connection to {self.shown} was closed") from None

    def lost(self, error: KovaError) -> LinkLost:
        """What the end of a connection means for the request that was under way on it."""
        if self.is_closed:
            return LinkLost(f"the connection to {self.shown} was closed")
        return LinkLost(f"{self.shown}: {error}")

    async def refused(self, response: AsyncPooledResponse, secrets: tuple[str, ...]) -> Refused:
        """The error for an error status; reads the body."""
        try:
            body = await read_body(response)
        except KovaError:
            body = b""  # the status says more than why its body did not arrive
        words, answer = refusal(response.status, response.headers, body, secrets)
        return Refused(f"{self.shown}: {words}", response.status, answer)

    def drop(self) -> None:
        """End all requests, without waiting for it."""
        self._ended.cancel()

    async def close(self, farewell: AsyncMCPRequest | None = None) -> None:
        """End all requests and close all connections, from any thread or loop; raises nothing.

        Args:
            farewell: A last request, sent when nobody waits for any other; what becomes of it does not matter.
        """
        self._ended.cancel()
        await self._client.close()
        if farewell is not None:
            with rt.shield(FAREWELL_SECONDS):
                try:
                    await farewell.send()
                    await (await farewell.response()).close()
                except KovaError as error:
                    log.debug("an MCP server was not told of the end", server=self.shown, error=str(error))
            farewell.close()
            await self._client.close()


class AsyncMCPRequest:
    """One request, which may take more than one exchange: with a new token, or where a redirect leads.

    Args:
        requests: What it is sent through.
        request: What is sent, the token aside.
        is_last: Whether it is sent after the closing.
    """

    def __init__(self, requests: AsyncHTTPRequests, request: HTTPRequest, *, is_last: bool) -> None:
        self._requests = requests
        self._request = request
        self._is_last = is_last
        self._token: str | None = None
        self._renewals = 0  # of tokens, before it was sent
        self._exchange: AsyncSentRequest | None = None

    async def send(self) -> None:
        """Send it, with the present token.

        Raises:
            NotDelivered: The server cannot be reached.
            BuildError, ConnectionError: There is no token.
        """
        self._token = await self._requests.authorizer.token()
        await self._send_again()

    async def _send_again(self) -> None:
        request = self._request
        self._renewals = self._requests.authorizer.renewals
        if self._token is not None:
            headers = {**request.headers, "authorization": f"Bearer {self._token}"}
            request = HTTPRequest(request.method, request.url, headers, request.body)
        self._exchange = await self._requests.start(request, is_last=self._is_last)

    async def response(self) -> AsyncPooledResponse:
        """The good response, after redirects within the origin, and with a new token where one is wanted.

        Raises:
            Refused: It is an error.
            LinkLost: The connection ended before it came.
            NotDelivered: The server could not be reached again.
            BuildError, ConnectionError: There is no new token.
        """
        redirects, renewed = 0, set[int]()
        while True:
            response = await self._next_response()
            if 200 <= response.status < 300:
                return response
            if response.status in FOLLOWED and redirects < MOST_REDIRECTS and self._follow(response):
                redirects += 1
                await response.close(drain=True)
            else:
                refused = await self._requests.refused(response, self._secrets())
                if response.status in renewed or not await self._renew(response):
                    raise refused
                renewed.add(response.status)
            await self._send_again()

    async def _next_response(self) -> AsyncPooledResponse:
        exchange = self._exchange
        if exchange is None:
            raise self._requests.lost(ConnectionError("the request was given up"))
        try:
            return await exchange.response()
        except ConnectionError as error:
            raise self._requests.lost(error) from error

    def _follow(self, response: AsyncPooledResponse) -> bool:
        """Turn to where a redirect leads, if that is the same origin."""
        url = joined(self._request.url, response.headers.get("location", ""))
        if not same_origin(url, self._request.url):
            return False
        self._request = HTTPRequest(self._request.method, url, self._request.headers, self._request.body)
        return True

    async def _renew(self, response: AsyncPooledResponse) -> bool:
        """Get a new token, if that is what the server wants. The response has been closed."""
        status, challenge = response.status, response.headers.get("www-authenticate", "")
        authorizer = self._requests.authorizer
        if status != 401 and not (authorizer.can_widen and wants_more_scope(status, challenge)):
            return False
        token = await authorizer.renewed(self._token, self._renewals, status, challenge)
        if token is None:
            return False
        self._token = token
        return True

    def _secrets(self) -> tuple[str, ...]:
        token = () if self._token is None else (self._token,)
        return secret_headers(self._request.headers) + token

    def wake(self) -> None:
        """End the wait for the response, in whatever thread it is."""
        exchange = self._exchange
        if exchange is not None:
            exchange.wake()

    def close(self) -> None:
        """Give the response up, if it has not come."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()


def joined(url: str, reference: str) -> str:
    """Where a server's reference leads; nowhere, if it is no URL at all."""
    try:
        return urljoin(url, reference)
    except ValueError:
        return reference


def same_origin(url: str, other: str) -> bool:
    """Whether two URLs have scheme, host and port in common."""
    try:
        return split_url(url)[0] == split_url(other)[0]
    except (KeyError, ValueError):
        return False  # of another scheme, or no URL
