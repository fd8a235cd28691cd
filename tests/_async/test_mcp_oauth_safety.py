"""S2, R7: what OAuth documents cannot make kova do, and what it shows of secrets. And clients without a user."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kova
from kova import AsyncOAuth, AsyncOAuthClientCredentials
from kova._async.mcp.streamable import AsyncStreamableLink
from kova.mcp import StreamableHTTPTransport
from tests._async.mcp_http_links import answer_to, linked
from tests.mcp_http_server import MCPHTTPServer, Seen, call
from tests.oauth_server import AuthorizationServer, browse, key_pair, verified

pytestmark = pytest.mark.anyio

CANARY = "canary-0123456789abcdef"


@pytest.fixture
def issuer(mcp_server: MCPHTTPServer) -> Iterator[AuthorizationServer]:
    """The authorization server that guards `mcp_server`."""
    with AuthorizationServer() as running:
        running.guard(mcp_server)
        yield running


@pytest.fixture
def stranger() -> Iterator[MCPHTTPServer]:
    """A server that nobody has named legitimately."""
    with MCPHTTPServer() as running:
        yield running


async def refusal(server: MCPHTTPServer, **options: Any) -> str:
    """The error that a call ends with."""
    auth = AsyncOAuth(server.url, **{"open_browser": browse, **options})
    async with linked(server, auth=auth) as link:
        with pytest.raises(kova.ConnectionError) as caught:
            await answer_to(link, call())
    assert not caught.value.is_retryable
    return str(caught.value)


async def test_metadata_of_another_origin_are_not_read(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, stranger: MCPHTTPServer
) -> None:
    guarded = issuer.guarded(mcp_server)
    challenge = f'Bearer resource_metadata="{stranger.url}"'
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(401, www_authenticate=challenge), guarded)
    async with linked(mcp_server, auth=AsyncOAuth(mcp_server.url, open_browser=browse)) as link:
        assert (await answer_to(link, call()))["result"] == {}
    assert stranger.requests == []


async def test_metadata_of_another_server_are_not_used(mcp_server: MCPHTTPServer, issuer: AuthorizationServer) -> None:
    for resource in ("https://evil.example/mcp", mcp_server.url + "x", None):
        issuer.resource["resource"] = resource
        assert "are for another server" in await refusal(mcp_server)
    assert issuer.requests == []


@pytest.mark.parametrize(
    ("named", "words"),
    [("http://auth.example", "is not https"), ("ftp://auth.example", "no http or https"), ("https://[", "no http")],
)
async def test_an_authorization_server_without_tls_is_not_asked(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, named: str, words: str
) -> None:
    issuer.resource["authorization_servers"] = [named]
    assert words in await refusal(mcp_server)


async def test_an_issuer_that_says_that_it_is_another_one_is_not_used(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    issuer.metadata["issuer"] = "https://honest.example"
    assert "those of another issuer" in await refusal(mcp_server)
    assert issuer.registered == issuer.asked == issuer.forms == []


@pytest.mark.parametrize("name", ["token_endpoint", "registration_endpoint"])
async def test_an_endpoint_of_another_origin_gets_nothing_unless_the_user_trusts_it(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, name: str
) -> None:
    with AuthorizationServer() as other:
        path = "/token" if name == "token_endpoint" else "/register"
        issuer.metadata[name] = other.url + path
        assert "trusted_origins" in await refusal(mcp_server)
        assert other.requests == []
        other.answers = [(200, {"access_token": "given by the other", "token_type": "bearer"})]
        await AsyncOAuth(mcp_server.url, open_browser=browse, trusted_origins=[other.url]).authorize()
        assert len(other.registered) + len(other.forms) == 1


async def test_redirects_of_these_servers_are_not_followed(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, stranger: MCPHTTPServer
) -> None:
    mcp_server.on("GET", lambda exchange: exchange.send_status(302, location=stranger.url))
    assert "no metadata" in await refusal(mcp_server)
    assert stranger.requests == []


async def test_a_server_that_cannot_prove_who_redeems_a_code_is_not_asked_for_one(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    for methods in (None, [], ["plain"]):
        issuer.metadata["code_challenge_methods_supported"] = methods
        assert "PKCE" in await refusal(mcp_server)
    assert issuer.asked == []


async def test_an_answer_of_another_issuer_is_not_believed(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    issuer.redirect = {"iss": "https://honest.example", "error": "access_denied", "error_description": CANARY}
    assert CANARY not in (words := await refusal(mcp_server))
    assert "counts for nothing" in words
    issuer.redirect = {}
    issuer.metadata["authorization_response_iss_parameter_supported"] = True
    assert "counts for nothing" in await refusal(mcp_server)
    assert issuer.forms == []


async def test_a_secret_is_for_the_issuer_that_the_user_names(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    own: dict[str, Any] = {"client_id": "me", "client_secret": CANARY}
    with pytest.raises(kova.BuildError, match="issuer"):
        AsyncOAuth(mcp_server.url, **own)
    words = await refusal(mcp_server, **own, issuer="https://auth.example")
    assert "does not name https://auth.example" in words
    assert issuer.forms == []


async def test_nothing_that_is_secret_is_shown(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, caplog: pytest.LogCaptureFixture
) -> None:
    """R7: also when the authorization server repeats it."""
    caplog.set_level(logging.DEBUG, "kova")
    issuer.answers = [(400, {"error": "invalid_client", "error_description": f"{CANARY} and code-0123456789"})]
    own: dict[str, Any] = {"client_id": "me", "client_secret": CANARY, "issuer": issuer.url}
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    shown = await refusal(mcp_server, **own)
    assert "invalid_client" in shown
    shown += repr(AsyncOAuth(mcp_server.url, **own)) + caplog.text
    assert CANARY not in shown
    assert "code-0123456789" not in shown


async def test_tokens_are_for_one_origin_only() -> None:
    auth = AsyncOAuth("https://one.example/mcp")
    AsyncStreamableLink(StreamableHTTPTransport("https://one.example/mcp?x=1", auth=auth), Seen())
    with pytest.raises(kova.BuildError, match=r"not sent to https://two\.example"):
        AsyncStreamableLink(StreamableHTTPTransport("https://two.example/mcp", auth=auth), Seen())


async def test_what_cannot_be_safe_is_refused_at_once() -> None:
    for url in ("http://one.example/mcp", "one.example", "ftp://one.example"):
        with pytest.raises(kova.BuildError, match="https"):
            AsyncOAuth(url)
    with pytest.raises(kova.BuildError, match="trusted_origins"):
        AsyncOAuth("https://one.example", trusted_origins=["http://two.example"])
    with pytest.raises(kova.BuildError, match="open_browser"):
        AsyncOAuth("https://one.example", open_browser=7)  # type: ignore[arg-type]
    with pytest.raises(kova.BuildError, match="scopes"):
        AsyncOAuth("https://one.example", scopes="a b")


# ---- clients that are known already


async def test_a_document_about_the_client_is_its_id_where_the_server_takes_one(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    issuer.metadata["client_id_metadata_document_supported"] = True
    url = "https://app.example/client.json"
    auth = AsyncOAuth(mcp_server.url, open_browser=browse, client_metadata_url=url)
    await auth.authorize()
    assert (issuer.asked[0]["client_id"], issuer.registered) == (url, [])


async def test_a_client_shows_who_it_is_in_the_way_that_the_server_takes(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    own: dict[str, Any] = {"client_id": "me", "client_secret": "s:/cret", "issuer": issuer.url, "open_browser": browse}
    await AsyncOAuth(mcp_server.url, **own).authorize()
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    await AsyncOAuth(mcp_server.url, **own).authorize()
    (basic, headers), (post, _) = issuer.forms
    assert headers["authorization"] == "Basic bWU6cyUzQSUyRmNyZXQ="  # me:s%3A%2Fcret
    assert "client_secret" not in basic
    assert (post["client_id"], post["client_secret"]) == ("me", "s:/cret")


async def test_an_application_may_act_for_itself(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer, tmp_path: Path
) -> None:
    own: dict[str, Any] = {"client_secret": CANARY, "issuer": issuer.url, "scopes": ["a"]}
    file = tmp_path / "tokens.json"
    auth = AsyncOAuthClientCredentials(mcp_server.url, "me", **own, token_file=file)
    async with linked(mcp_server, auth=auth) as link:
        await answer_to(link, call())
        issuer.expire()
        await answer_to(link, call())
    assert issuer.grants == ["client_credentials"] * 2
    assert (issuer.forms[0][0]["scope"], issuer.forms[0][0]["resource"]) == ("a", mcp_server.url)
    assert CANARY not in file.read_text()


async def test_an_application_may_sign_in_place_of_a_secret(
    mcp_server: MCPHTTPServer, issuer: AuthorizationServer
) -> None:
    private, public = key_pair()
    auth = AsyncOAuthClientCredentials(mcp_server.url, "me", private_key=private)
    async with linked(mcp_server, auth=auth) as link:
        await answer_to(link, call())
    ((form, _),) = issuer.forms
    claims = verified(form["client_assertion"], public)
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", issuer.url)
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


async def test_what_an_application_cannot_sign_with_is_refused_at_once() -> None:
    url, (private, _) = "https://one.example", key_pair()
    for options, words in [
        ({}, "give one of them"),
        ({"client_secret": "s", "private_key": private}, "give one of them"),
        ({"client_secret": "s"}, "issuer"),
        ({"private_key": "-----BEGIN nothing"}, "cannot sign"),
        ({"private_key": private, "algorithm": "none"}, "cannot sign"),
        ({"private_key": private, "algorithm": "RS256"}, "cannot sign"),
    ]:
        with pytest.raises(kova.BuildError, match=words):
            AsyncOAuthClientCredentials(url, "me", **options)
