"""The requests of OAuth 2.1 and their answers, without any I/O: registration, authorization, tokens, refreshing."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from attrs import field, frozen

from .._formats.secrets import mask
from .oauth_discovery import AuthorizationServer, failure

__all__ = [
    "Authorization",
    "OAuthClient",
    "Tokens",
    "auth_method",
    "authorization_url",
    "client_authentication",
    "code_in",
    "parse_registration",
    "parse_tokens",
    "registration",
]

PUBLIC, BASIC, POST = "none", "client_secret_basic", "client_secret_post"
LONGEST_WORDS = 300  # characters of a server's error


@frozen
class OAuthClient:
    """Who asks for tokens, as one authorization server knows it.

    Attributes:
        id: Its name there.
        secret: Its secret there; None for a public client.
        method: How it shows who it is at the token endpoint.
        redirect_uri: The address that it has registered; None where the user has registered it.
    """

    id: str
    secret: str | None = field(default=None, repr=False)
    method: str = PUBLIC
    redirect_uri: str | None = None


@frozen
class Tokens:
    """What an authorization server has given.

    Attributes:
        access: The token for requests.
        refresh: The one for a new one, if there is one.
    """

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)


@frozen
class Authorization:
    """One question to the user: what must be known of it when the answer comes.

    Attributes:
        redirect_uri: Where the answer goes.
        state: What it must bring along.
        verifier: What proves to the token endpoint that it was this client that has asked (PKCE).
    """

    redirect_uri: str
    state: str = field(factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(factory=lambda: secrets.token_urlsafe(64), repr=False)

    @property
    def challenge(self) -> str:
        """The verifier's digest, which is all that the browser sees (S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def auth_method(server: AuthorizationServer, secret: str | None) -> str:
    """How a client shows who it is, of the ways that the server takes."""
    if secret is None:
        return PUBLIC
    accepted = server.auth_methods or (BASIC,)
    return POST if POST in accepted and BASIC not in accepted else BASIC


# ---- registration (RFC 7591)


def registration(server: AuthorizationServer, name: str, redirect_uri: str, scopes: Sequence[str]) -> dict[str, Any]:
    """What a client says of itself to be registered."""
    accepted = server.auth_methods or (PUBLIC,)
    method = next((method for method in (PUBLIC, BASIC, POST) if method in accepted), PUBLIC)
    wanted: dict[str, Any] = {
        "client_name": name,
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    }
    return wanted | ({"scope": " ".join(scopes)} if scopes else {})


def parse_registration(
    server: AuthorizationServer, status: int, answer: Mapping[str, Any], wanted: Mapping[str, Any]
) -> OAuthClient:
    """The client as the server has registered it, which may be otherwise than it wanted.

    Raises:
        ConnectionError: It was not registered.
    """
    id, secret = answer.get("client_id"), answer.get("client_secret")
    if not 200 <= status < 300 or not isinstance(id, str) or not id:
        raise failure(f"{server.issuer} did not register the client: {_words(status, answer)}")
    secret = secret if isinstance(secret, str) and secret else None
    method = answer.get("token_endpoint_auth_method", wanted["token_endpoint_auth_method"])
    if secret is None:
        method = PUBLIC
    elif method not in (BASIC, POST, PUBLIC):
        method = auth_method(server, secret)
    return OAuthClient(id, secret, method, wanted["redirect_uris"][0])


# ---- the user's consent


def authorization_url(
    server: AuthorizationServer, client: OAuthClient, asked: Authorization, scopes: Sequence[str], resource: str
) -> str:
    """What the user is to open in a browser.

    Raises:
        ConnectionError: The server cannot be asked in a safe way.
    """
    endpoint = server.authorization_endpoint
    if endpoint is None:
        raise failure(f"{server.issuer} names no authorization_endpoint: users cannot be asked there")
    if not server.has_pkce:
        raise failure(f"{server.issuer} does not say that it takes PKCE with S256, without which codes can be stolen")
    parameters = {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": asked.redirect_uri,
        "state": asked.state,
        "code_challenge": asked.challenge,
        "code_challenge_method": "S256",
        "resource": resource,
    }
    if scopes:
        parameters["scope"] = " ".join(scopes)
        if "offline_access" in scopes:
            parameters["prompt"] = "consent"  # as OpenID Connect wants it
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(parameters)}"


def code_in(server: AuthorizationServer, answer: Mapping[str, str]) -> str:
    """The code in the answer that the browser has brought. Its `state` was compared already.

    Raises:
        ConnectionError: It is of another server (RFC 9207), or the user or the server has refused.
    """
    issuer = answer.get("iss")
    if issuer != server.issuer and (issuer is not None or server.names_itself):
        raise failure(f"the answer to the browser is not that of {server.issuer}, and counts for nothing")
    if "error" in answer:
        raise failure(f"{server.issuer} has not granted access: {_words(None, answer)}")
    if not answer.get("code"):
        raise failure(f"{server.issuer} has sent the browser back without a code")
    return answer["code"]


# ---- tokens


def client_authentication(client: OAuthClient) -> tuple[dict[str, str], dict[str, str]]:
    """What shows who the client is: parameters of the form, and headers."""
    if client.secret is not None and client.method == BASIC:
        pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}"
        return {}, {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    if client.secret is not None and client.method == POST:
        return {"client_id": client.id, "client_secret": client.secret}, {}
    return {"client_id": client.id}, {}


def parse_tokens(
    server: AuthorizationServer, status: int, answer: Mapping[str, Any], form: Mapping[str, str]
) -> Tokens:
    """The tokens in the token endpoint's answer. Without a new refresh token the present one goes on.

    Raises:
        ConnectionError: There are none.
    """
    access, refresh = answer.get("access_token"), answer.get("refresh_token")
    if status != 200 or not isinstance(access, str) or not access:
        sent = [form[name] for name in ("code", "code_verifier", "refresh_token", "client_secret") if name in form]
        raise failure(f"{server.issuer} has given no token: {mask(_words(status, answer), sent)}")
    kind = str(answer.get("token_type", "bearer"))
    if kind.lower() != "bearer":
        raise failure(f"{server.issuer} has given a token of an unknown kind: {kind[:50]!r}")
    return Tokens(access, refresh if isinstance(refresh, str) and refresh else form.get("refresh_token"))


def _words(status: int | None, answer: Mapping[str, Any]) -> str:
    """A server's error in its own words."""
    said = [str(answer[key]) for key in ("error", "error_description") if answer.get(key)]
    if status is not None and (not said or status >= 500):
        said.insert(0, f"HTTP {status}")
    return mask(": ".join(said) or "it does not say why")[:LONGEST_WORDS]
