"""The pure parts of OAuth: challenges, where metadata are looked for, what is trusted, what is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._mcp.oauth_challenges import Challenge, parse_challenge
from kova._mcp.oauth_discovery import (
    authorization_server_urls,
    check_url,
    is_loopback,
    parse_authorization_server,
    parse_protected_resource,
    resource_metadata_urls,
)
from kova._mcp.oauth_grant import Grant, dump_grant, load_grant
from kova._mcp.oauth_requests import Authorization, OAuthClient, Tokens, parse_registration, parse_tokens, registration
from kova.errors import BuildError, ConnectionError

SERVER = "https://mcp.example/public/mcp"
METADATA = {"issuer": "https://auth.example/one", "token_endpoint": "https://auth.example/token"}
ISSUER = parse_authorization_server("https://auth.example/one", METADATA, is_local=False)


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Basic realm=x", Challenge()),
        ("Bearer", Challenge()),
        ('Bearer scope="a b", error="invalid_token"', Challenge(("a", "b"), None, "invalid_token")),
        ('bearer  resource_metadata = "https://x/y?a=1,b",scope=a', Challenge(("a",), "https://x/y?a=1,b")),
        (r'Bearer error_description="say \"no\", Bearer scope=z", scope="a"', Challenge(("a",))),
        ('Basic realm="x", Bearer error="insufficient_scope", Digest scope="z"', Challenge(error="insufficient_scope")),
        ('Bearer scope="a", scope="b"', Challenge(("a",))),
        ('Bearer scope="unterminated', Challenge()),
    ],
)
def test_the_challenge_for_bearer_tokens_is_found_among_others(header: str, challenge: Challenge) -> None:
    assert parse_challenge(header) == challenge


@given(st.text(st.sampled_from('Bearer ="\\,scope'), max_size=40))
def test_any_header_can_be_parsed(header: str) -> None:
    parse_challenge(header)


def test_where_metadata_are_looked_for() -> None:
    known = "https://mcp.example/.well-known/oauth-protected-resource"
    assert resource_metadata_urls(SERVER, None) == [f"{known}/public/mcp", known]
    assert resource_metadata_urls("https://mcp.example/", None) == [known]
    assert resource_metadata_urls(SERVER, "https://MCP.example:443/x") == ["https://MCP.example:443/x"]
    for elsewhere in ("https://evil.example/x", "http://mcp.example/x", "https://mcp.example:444/x", "nonsense"):
        assert resource_metadata_urls(SERVER, elsewhere) == [f"{known}/public/mcp", known]
    assert authorization_server_urls("https://auth.example") == [
        "https://auth.example/.well-known/oauth-authorization-server",
        "https://auth.example/.well-known/openid-configuration",
    ]
    assert authorization_server_urls("https://auth.example/one") == [
        "https://auth.example/.well-known/oauth-authorization-server/one",
        "https://auth.example/.well-known/openid-configuration/one",
        "https://auth.example/one/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize("resource", [SERVER, "https://mcp.example/public", "https://mcp.example", SERVER + "/"])
def test_metadata_may_be_for_the_server_or_for_what_is_above_it(resource: str) -> None:
    document = {"resource": resource, "authorization_servers": ["https://auth.example"]}
    assert parse_protected_resource(SERVER, document).resource == resource


@pytest.mark.parametrize("resource", ["https://mcp.example/pub", "https://mcp.example/public/mcp/x", "mcp.example", 7])
def test_metadata_for_anything_else_are_refused(resource: object) -> None:
    """S2."""
    with pytest.raises(ConnectionError, match="for another server"):
        parse_protected_resource(SERVER, {"resource": resource, "authorization_servers": ["https://auth.example"]})


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "a.localhost"])
def test_a_server_elsewhere_cannot_lead_to_this_machine(host: str) -> None:
    """S2."""
    url = f"http://{host}:8000/token"
    assert is_loopback(url)
    check_url(url, "it", is_local=True)
    with pytest.raises(ConnectionError, match="this machine"):
        check_url(url, "it", is_local=False)
    with pytest.raises(ConnectionError, match="this machine"):
        check_url(url.replace("http:", "https:"), "it", is_local=False)


def test_a_secret_verifier_is_never_in_what_the_browser_sees() -> None:
    asked = Authorization("http://127.0.0.1/callback")
    other = Authorization("http://127.0.0.1/callback")
    assert asked.state != other.state
    assert asked.verifier != other.verifier
    assert 43 <= len(asked.verifier) <= 128  # RFC 7636
    assert asked.verifier not in f"{asked!r} {asked.challenge}"


@pytest.mark.parametrize(
    ("answer", "client"),
    [
        ({"client_id": "c"}, OAuthClient("c", None, "none", "http://127.0.0.1/")),
        ({"client_id": "c", "client_secret": ""}, OAuthClient("c", None, "none", "http://127.0.0.1/")),
        (
            {"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"},
            OAuthClient("c", "s", "client_secret_post", "http://127.0.0.1/"),
        ),
        (
            {"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "client_secret_jwt"},
            OAuthClient("c", "s", "client_secret_basic", "http://127.0.0.1/"),
        ),
    ],
)
def test_a_client_is_what_the_server_has_registered(answer: dict[str, str], client: OAuthClient) -> None:
    wanted = registration(ISSUER, "me", "http://127.0.0.1/", ())
    assert parse_registration(ISSUER, 201, answer, wanted) == client


def test_answers_that_bring_nothing_are_errors_in_the_servers_words() -> None:
    wanted = registration(ISSUER, "me", "http://127.0.0.1/", ())
    with pytest.raises(ConnectionError, match="invalid_redirect_uri: no loopback"):
        said = {"error": "invalid_redirect_uri", "error_description": "no loopback"}
        parse_registration(ISSUER, 400, said, wanted)
    for status, answer, words in [
        (200, {}, "no token"),
        (200, {"access_token": 7}, "no token"),
        (500, {}, "HTTP 500"),
        (200, {"access_token": "a", "token_type": "mac"}, "unknown kind"),
    ]:
        with pytest.raises(ConnectionError, match=words):
            parse_tokens(ISSUER, status, answer, {})


def test_a_refresh_token_goes_on_until_there_is_a_new_one() -> None:
    form = {"refresh_token": "old"}
    assert parse_tokens(ISSUER, 200, {"access_token": "a"}, form) == Tokens("a", "old")
    assert parse_tokens(ISSUER, 200, {"access_token": "a", "refresh_token": "new"}, form) == Tokens("a", "new")


def test_a_grant_is_the_same_after_it_was_kept() -> None:
    client = OAuthClient("me", "secret", "client_secret_basic", "http://127.0.0.1:1/callback")
    for tokens in (None, Tokens("access", None), Tokens("access", "refresh")):
        grant = Grant(SERVER, "https://auth.example", SERVER, client, tokens, ("a", "b"))
        assert load_grant(dump_grant(grant), SERVER) == grant
        assert "secret" not in repr(grant).replace("client_secret_basic", "")
        assert "access" not in repr(grant)
        with pytest.raises(BuildError, match="another server"):
            load_grant(dump_grant(grant), "https://other.example")
