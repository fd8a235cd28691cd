"""Bearer tokens for MCP servers over HTTP: sent with each request, renewed once for all, shown nowhere."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import kova
from kova._async.mcp.streamable import AsyncStreamableLink
from kova._mcp.failures import Refused
from kova._runtime import aio as rt
from kova.mcp import StreamableHTTPTransport
from tests._async.mcp_http_links import answer_to, begin_session, linked, until
from tests.mcp_http_server import Exchange, MCPHTTPServer, Seen, call, usual
from tests.mcp_tokens import Failing, Tokens, TokensOfALoop, Widening

pytestmark = pytest.mark.anyio

CANARY = "linnet-0123456789abcdef"


def wants(token: str, **headers: str) -> Callable[[Exchange], None]:
    """Answer only those who bring this token."""

    def answer(exchange: Exchange) -> None:
        if exchange.headers.get("authorization") == f"Bearer {token}":
            usual(exchange)
        else:
            exchange.send_status(401, **headers)

    return answer


def tokens_of(server: MCPHTTPServer, kind: str = "tools/call") -> list[str | None]:
    return [exchange.headers.get("authorization") for exchange in server.of(kind)]


async def test_the_token_is_sent_with_each_request(mcp_server: MCPHTTPServer) -> None:
    tokens = Tokens()
    async with linked(mcp_server, auth=tokens) as link:
        await begin_session(link)
        await answer_to(link, call())
        tokens.number = 7
        await answer_to(link, call())
        await until(lambda: mcp_server.of("GET"), "the stream is asked for")
    assert tokens_of(mcp_server) == ["Bearer token-0", "Bearer token-7"]
    for kind in ("initialize", "notifications/initialized", "GET", "DELETE"):
        assert tokens_of(mcp_server, kind)[0] in ("Bearer token-0", "Bearer token-7")
    assert not any("token" in exchange.target for exchange in mcp_server.of("tools/call"))
    assert tokens.refreshes == 0


async def test_a_refused_token_is_renewed_and_the_call_made_again(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", wants("token-1"))
    async with linked(mcp_server, auth=Tokens()) as link:
        assert "result" in await answer_to(link, call())
    assert tokens_of(mcp_server) == ["Bearer token-0", "Bearer token-1"]


async def test_twenty_refused_calls_renew_it_once(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", wants("token-1"))
    tokens = Tokens(pause=0.05)
    answers: list[object] = []

    async def ask(link: AsyncStreamableLink) -> None:
        answers.append((await answer_to(link, call()))["result"])

    async with linked(mcp_server, auth=tokens) as link:
        async with rt.TaskGroup() as group:
            for _ in range(20):
                group.start_soon(ask, link)
    assert (len(answers), tokens.refreshes) == (20, 1)


async def test_a_token_that_is_newer_by_now_is_not_renewed(mcp_server: MCPHTTPServer) -> None:
    tokens = Tokens()

    def refuse_as_it_changes(exchange: Exchange) -> None:
        tokens.number = 1
        exchange.send_status(401)

    mcp_server.on("tools/call", refuse_as_it_changes, wants("token-1"))
    async with linked(mcp_server, auth=tokens) as link:
        assert "result" in await answer_to(link, call())
    assert tokens.refreshes == 0


async def test_a_second_refusal_is_an_error(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(401))
    tokens = Tokens()
    async with linked(mcp_server, auth=tokens) as link:
        with pytest.raises(Refused, match="401") as caught:
            await answer_to(link, call())
    assert caught.value.status_code == 401
    assert (len(mcp_server.of("tools/call")), tokens.refreshes) == (2, 1)


async def test_without_a_provider_a_refusal_is_an_error_at_once(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(401))
    async with linked(mcp_server) as link:
        with pytest.raises(Refused, match="401") as caught:
            await answer_to(link, call())
    assert caught.value.__cause__ is None, "who follows an error's causes must come to an end"
    assert len(mcp_server.of("tools/call")) == 1


async def test_a_failed_renewal_fails_all_that_wait_for_it_and_is_tried_once(mcp_server: MCPHTTPServer) -> None:
    all_are_sent = threading.Barrier(20)

    def refuse(exchange: Exchange) -> None:
        all_are_sent.wait(10)
        exchange.send_status(401)

    mcp_server.on("tools/call", refuse)
    tokens = Failing(ValueError("the password was changed"))
    errors: list[str] = []

    async def ask(link: AsyncStreamableLink) -> None:
        with pytest.raises(kova.ConnectionError) as caught:
            await answer_to(link, call())
        assert not caught.value.is_retryable
        errors.append(str(caught.value))

    async with linked(mcp_server, auth=tokens) as link:
        async with rt.TaskGroup() as group:
            for _ in range(20):
                group.start_soon(ask, link)
    assert errors == ["auth.refresh raised ValueError: the password was changed"] * 20
    assert tokens.refreshes == 1


async def test_the_other_methods_are_asked_for_errors_too(mcp_server: MCPHTTPServer) -> None:
    class Odd(Tokens):
        def __init__(self, given: Any) -> None:
            super().__init__()
            self._given = given

        def token(self) -> Any:
            if isinstance(self._given, Exception):
                raise self._given
            return self._given

    for given, error, words in [
        (KeyError("TOKEN"), kova.ConnectionError, "auth.token raised KeyError: 'TOKEN'"),
        (7, kova.BuildError, "auth.token must give a text or None, not int"),
        ("a\nb", kova.BuildError, "cannot be sent"),
    ]:
        async with linked(mcp_server, auth=Odd(given)) as link:
            with pytest.raises(error, match=words):
                await link.begin(call())
    assert mcp_server.requests == []


async def test_a_token_whose_scope_is_too_small_is_widened_once(mcp_server: MCPHTTPServer) -> None:
    challenge = 'Bearer error="insufficient_scope", scope="files:write"'

    def refuse(exchange: Exchange) -> None:
        exchange.send_status(403, www_authenticate=challenge)

    mcp_server.on("tools/call", refuse, usual, refuse)
    tokens = Widening()
    async with linked(mcp_server, auth=tokens) as link:
        assert "result" in await answer_to(link, call())
        with pytest.raises(Refused, match="403"):
            await answer_to(link, call())
    assert tokens.challenges == [(403, challenge)] * 2
    assert len(mcp_server.of("tools/call")) == 4


async def test_a_403_of_another_kind_is_an_error_at_once(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(403))
    tokens = Widening()
    async with linked(mcp_server, auth=tokens) as link:
        with pytest.raises(Refused, match="403"):
            await answer_to(link, call())
    assert tokens.challenges == []


async def test_a_token_goes_to_no_other_origin(mcp_server: MCPHTTPServer) -> None:
    """S2."""
    with MCPHTTPServer() as other:
        mcp_server.on("tools/call", lambda exchange: exchange.send_status(307, location=other.url))
        async with linked(mcp_server, auth=Tokens()) as link:
            with pytest.raises(Refused):
                await answer_to(link, call())
        assert other.requests == []


async def test_a_token_is_shown_nowhere(mcp_server: MCPHTTPServer, caplog: pytest.LogCaptureFixture) -> None:
    """R7: also when the server or the provider repeats it."""

    class Canary(Tokens):
        def token(self) -> str:
            return CANARY

        def refresh(self) -> str:
            raise ValueError(f"the server did not like {CANARY}")

    caplog.set_level(logging.DEBUG, "kova")
    shown: list[str] = []
    for status in (400, 401, 403, 500):
        mcp_server.on("tools/call", lambda exchange, status=status: exchange.refuse(status, -1, f"no {CANARY}"))
        async with linked(mcp_server, auth=Canary()) as link:
            with pytest.raises(kova.KovaError) as caught:
                await answer_to(link, call())
        shown += [str(caught.value), repr(caught.value), str(getattr(caught.value, "answer", "")), repr(link)]
    assert CANARY not in "".join([*shown, caplog.text, repr(StreamableHTTPTransport(mcp_server.url, auth=Canary()))])


async def test_two_authorizations_are_refused_at_once() -> None:
    transport = StreamableHTTPTransport("http://127.0.0.1", {"Authorization": "Bearer x"}, Tokens())
    with pytest.raises(kova.BuildError, match="authorization"):
        AsyncStreamableLink(transport, Seen())


async def test_an_async_provider_is_for_the_async_twin(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", wants("token-1"))
    if not AsyncStreamableLink.__name__.startswith("A"):
        with pytest.raises(kova.BuildError, match=r"auth\.token is an async function"):
            AsyncStreamableLink(StreamableHTTPTransport(mcp_server.url, auth=TokensOfALoop()), Seen())
        return
    async with linked(mcp_server, auth=TokensOfALoop()) as link:
        assert "result" in await answer_to(link, call())
