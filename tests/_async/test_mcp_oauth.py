"""OAuth for MCP servers: a user's consent, renewal without the user, more scope, and where tokens are kept."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kova
from kova import AsyncOAuth
from kova._async.mcp.streamable import AsyncStreamableLink
from kova._mcp.failures import Refused
from kova._runtime import aio as rt
from kova._runtime import workers
from kova._runtime.scope import Deadline
from tests._async.mcp_http_links import answer_to, linked, until
from tests.mcp_http_server import Exchange, MCPHTTPServer, call
from tests.oauth_server import AuthorizationServer, browse, in_file
from tests.observe import kova_threads, sockets

pytestmark = pytest.mark.anyio


@pytest.fixture
def issuer(mcp_server: MCPHTTPServer) -> Iterator[AuthorizationServer]:
    """The authorization server that guards `mcp_server`."""
    with AuthorizationServer() as running:
        running.guard(mcp_server)
        yield running


class Browser:
    """Counts how often the user is asked."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def __call__(self, url: str) -> None:
        self.urls.append(url)
        browse(url)


def oauth(server: MCPHTTPServer, browser: Any = browse, **options: Any) -> AsyncOAuth:
    return AsyncOAuth(server.url, open_browser=browser, **options)


async def call_once(server: MCPHTTPServer, auth: AsyncOAuth) -> object:
    async with linked(server, auth=auth) as link:
        return (await answer_to(link, call()))["result"]


async def test_the_first_refusal_asks_the_user_and_the_token_is_used_from_then_on(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    issuer.scope = "files:read"
    async with linked(mcp_server, auth=oauth(mcp_server, browser := Browser(), client_name="My agent")) as link:
        for _ in range(3):
            assert (await answer_to(link, call()))["result"] == {}
    assert len(browser.urls) == 1
    (registered,), (asked,), ((form, _),) = issuer.registered, issuer.asked, issuer.forms
    assert (registered["client_name"], registered["application_type"]) == ("My agent", "native")
    assert registered["token_endpoint_auth_method"] == "none"
    assert asked["redirect_uri"] == registered["redirect_uris"][0] == form["redirect_uri"]
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")
    assert (asked["client_id"], form["client_id"]) == ("client-1", "client-1")
    assert (asked["resource"], form["resource"]) == (mcp_server.url, mcp_server.url)
    assert (asked["scope"], asked["code_challenge_method"]) == ("files:read", "S256")
    assert "authorization" not in mcp_server.of("tools/call")[0].headers


async def test_an_expired_token_is_renewed_without_the_user(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    async with linked(mcp_server, auth=oauth(mcp_server, browser := Browser())) as link:
        for _ in range(3):  # each refresh token is good once
            await answer_to(link, call())
            issuer.expire()
        await answer_to(link, call())
    assert len(browser.urls) == 1
    assert issuer.grants == ["authorization_code"] + ["refresh_token"] * 3
    assert all(form["resource"] == mcp_server.url for form, _ in issuer.forms)


async def test_a_refresh_token_that_is_good_no_longer_asks_the_user_again(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    async with linked(mcp_server, auth=oauth(mcp_server, browser := Browser())) as link:
        await answer_to(link, call())
        issuer.expire()
        issuer.revoke()
        await answer_to(link, call())
        issuer.expire()
        issuer.answers = [(401, {"error": "invalid_client"})]
        await answer_to(link, call())
    assert len(browser.urls) == 3
    assert len(issuer.registered) == 2  # anew only after the client was forgotten, too


async def test_an_authorization_server_that_is_down_does_not_trouble_the_user(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    async with linked(mcp_server, auth=oauth(mcp_server, browser := Browser())) as link:
        await answer_to(link, call())
        issuer.expire()
        mcp_server.on("GET", lambda exchange: exchange.send_status(503), issuer.describe)
        with pytest.raises(kova.ConnectionError, match="cannot be got: HTTP 503"):
            await answer_to(link, call())
        issuer.answers = [(503, {})]
        with pytest.raises(kova.ConnectionError, match="no token: HTTP 503"):
            await answer_to(link, call())
        await answer_to(link, call())
    assert len(browser.urls) == 1


async def test_more_scope_is_asked_for_once_beside_what_there_is(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    def wants_more(exchange: Exchange) -> None:
        challenge = 'Bearer error="insufficient_scope", scope="files:write"'
        exchange.send_status(403, www_authenticate=challenge)

    refused = [issuer.guarded(mcp_server), issuer.guarded(mcp_server, wants_more), issuer.guarded(mcp_server)]
    issuer.scope = "files:read"
    mcp_server.on("tools/call", *refused, issuer.guarded(mcp_server, wants_more))
    async with linked(mcp_server, auth=oauth(mcp_server)) as link:
        assert (await answer_to(link, call()))["result"] == {}
        with pytest.raises(Refused, match="403"):
            await answer_to(link, call())
    assert [asked["scope"] for asked in issuer.asked] == ["files:read", "files:read files:write"]


async def test_twenty_calls_ask_the_user_once(mcp_server: MCPHTTPServer, issuer: AuthorizationServer) -> None:
    browser = Browser()

    async def ask(link: AsyncStreamableLink) -> None:
        await answer_to(link, call())

    async with linked(mcp_server, auth=oauth(mcp_server, browser)) as link:
        async with rt.TaskGroup() as group:
            for _ in range(20):
                group.start_soon(ask, link)
    assert len(browser.urls) == 1


async def test_the_user_may_be_asked_beforehand(mcp_server: MCPHTTPServer, issuer: AuthorizationServer) -> None:
    issuer.resource["scopes_supported"] = ["a", "b"]
    issuer.metadata["scopes_supported"] = ["offline_access"]
    auth = oauth(mcp_server, browser := Browser())
    await auth.authorize()
    await auth.authorize()
    await call_once(mcp_server, auth)
    assert len(browser.urls) == 1
    assert issuer.asked[0]["scope"] == "a b offline_access"
    assert len(mcp_server.of("tools/call")) == 1


# ---- where tokens are kept


async def test_tokens_are_kept_in_a_file_that_only_its_owner_can_read(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, tmp_path: Path
) -> None:
    file = tmp_path / "deep" / "tokens.json"
    await call_once(mcp_server, oauth(mcp_server, browser := Browser(), token_file=file))
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    await call_once(mcp_server, oauth(mcp_server, browser, token_file=file))
    issuer.expire()
    await call_once(mcp_server, oauth(mcp_server, browser, token_file=str(file)))
    assert len(browser.urls) == 1
    assert in_file(file)["tokens"]["access"] == issuer.token
    assert os.listdir(file.parent) == ["tokens.json"]


async def test_tokens_that_another_process_has_renewed_are_taken_over(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, tmp_path: Path
) -> None:
    file = tmp_path / "tokens.json"
    mine, other = (oauth(mcp_server, browse, token_file=file) for _ in range(2))
    await call_once(mcp_server, mine)
    issuer.expire()
    await call_once(mcp_server, other)
    await call_once(mcp_server, mine)
    assert issuer.grants == ["authorization_code", "refresh_token"]


@pytest.mark.parametrize("content", ["important", "[]", '{"kova_oauth": 1, "server": "https://other.example"}'])
async def test_a_file_that_holds_something_else_is_left_alone(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(content)
    with pytest.raises(kova.BuildError, match="token_file"):
        await call_once(mcp_server, oauth(mcp_server, token_file=file))
    assert file.read_text() == content


# ---- users who do not agree


async def test_a_user_who_refuses(mcp_server: MCPHTTPServer, issuer: AuthorizationServer) -> None:
    issuer.redirect = {"error": "access_denied", "error_description": "not today"}
    with pytest.raises(kova.ConnectionError, match="has not granted access: access_denied: not today") as caught:
        await call_once(mcp_server, oauth(mcp_server))
    assert not caught.value.is_retryable
    assert issuer.forms == []


async def test_a_visit_without_the_right_state_counts_for_nothing(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    def browse_after_strangers(url: str) -> None:
        issuer.redirect = {"state": "guessed", "code": "stolen"}
        browse(url)
        issuer.redirect = {}
        browse(url)

    await call_once(mcp_server, oauth(mcp_server, browse_after_strangers))
    assert [form["code"] for form, _ in issuer.forms] == ["code-0123456789"]


async def test_a_user_who_does_nothing(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a limit of the flow's own nor the caller's leaves anything behind."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    await until(lambda: not kova_threads(), "no thread of another test is left")
    before = sockets()
    with pytest.raises(kova.TimeoutError, match="consent"):
        await call_once(mcp_server, oauth(mcp_server, lambda url: None, authorization_timeout=0.1))
    start = time.monotonic()
    with pytest.raises(kova.TimeoutError, match="the caller"):
        with rt.fail_at(Deadline(0.3, "the caller")):
            await call_once(mcp_server, oauth(mcp_server, lambda url: None))
    assert time.monotonic() - start < 3
    await until(lambda: not kova_threads(), "no thread is left")
    await until(lambda: sockets() == before, "no socket is left")


async def test_a_browser_that_cannot_be_opened(mcp_server: MCPHTTPServer, issuer: AuthorizationServer) -> None:
    with pytest.raises(kova.ConnectionError, match="give open_browser a function"):
        await call_once(mcp_server, oauth(mcp_server, lambda url: False))
