"""An authorization server that does what a test says, and the MCP server that it guards: real sockets, no browser.

with MCPHTTPServer() as server, AuthorizationServer() as issuer:
issuer.guard(server)
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit
from urllib.request import urlopen

from kova import testing as kt
from tests.mcp_http_server import Answer, Exchange, MCPHTTPServer, usual


class AuthorizationServer(kt.ModelServer):
    """Registers clients, grants access at once, and gives tokens, each refresh token once.

    Attributes:
        metadata: What it says of itself; to be changed at will.
        scope: What the guarded server's challenge says; None for nothing.
        token: The one access token that the guarded server takes.
        answers: Answers that the token endpoint gives first, as status and body.
        redirect: What goes into the redirects beside the code.
        registered: What clients have said of themselves.
        asked: Parameters of the requests for consent.
        forms: Forms and headers that the token endpoint got.
    """

    _exchange_type = Exchange

    def __init__(self) -> None:
        super().__init__()
        self.metadata: dict[str, Any] = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        }
        self.resource: dict[str, Any] = {"authorization_servers": [self.url]}
        self.scope: str | None = None
        self.token = ""
        self.answers: list[tuple[int, dict[str, Any]]] = []
        self.redirect: dict[str, str] = {}
        self.registered: list[dict[str, Any]] = []
        self.asked: list[dict[str, str]] = []
        self.forms: list[tuple[dict[str, str], dict[str, str]]] = []
        self._refresh_token = ""
        self._challenge = ""
        self._numbers = itertools.count(1)

    def guard(self, server: MCPHTTPServer) -> None:
        """Make an MCP server want this one's tokens."""
        self.resource["resource"] = server.url
        server.on("tools/call", self.guarded(server))
        server.on("GET", self.describe)

    def guarded(self, server: MCPHTTPServer, answer: Answer = usual) -> Answer:
        """An answer for those who have the right token."""
        known = f"{server.url.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp"

        def answer_if_allowed(exchange: Exchange) -> None:
            if self.token and exchange.headers.get("authorization") == f"Bearer {self.token}":
                answer(exchange)
            else:
                scope = "" if self.scope is None else f', scope="{self.scope}"'
                exchange.send_status(401, www_authenticate=f'Bearer resource_metadata="{known}"{scope}')

        return answer_if_allowed

    def describe(self, exchange: Exchange) -> None:
        """Give the metadata of the guarded server."""
        if exchange.path == "/.well-known/oauth-protected-resource/mcp":
            exchange.send_json(self.resource)
        else:
            exchange.send_status(404)

    # ---- its endpoints

    def _take(self, exchange: kt.Exchange) -> Any:
        with self._lock:
            self.requests.append(exchange)
        return {"/authorize": self._authorize, "/register": self._register, "/token": self._give_tokens}.get(
            exchange.path, self._describe_itself
        )

    def _describe_itself(self, exchange: Exchange) -> None:
        if exchange.path == "/.well-known/oauth-authorization-server":
            exchange.send_json(self.metadata)
        else:
            exchange.send_status(404)

    def _register(self, exchange: Exchange) -> None:
        self.registered.append(exchange.json())
        exchange.send_json({**exchange.json(), "client_id": f"client-{len(self.registered)}"}, 201)

    def _authorize(self, exchange: Exchange) -> None:
        asked = dict(parse_qsl(urlsplit(exchange.target).query))
        self.asked.append(asked)
        self._challenge = asked["code_challenge"]
        answer = {"code": "code-0123456789", "state": asked["state"], **self.redirect}
        exchange.send_status(302, location=f"{asked['redirect_uri']}?{urlencode(answer)}")

    def _give_tokens(self, exchange: Exchange) -> None:
        form = {name: values[0] for name, values in parse_qs(exchange.body.decode()).items()}
        self.forms.append((form, dict(exchange.headers)))
        if self.answers:
            status, body = self.answers.pop(0)
            exchange.send_json(body, status)
        elif (form["grant_type"] == "authorization_code" and not self._is_proved(form["code_verifier"])) or (
            form["grant_type"] == "refresh_token" and form["refresh_token"] != self._refresh_token
        ):
            exchange.send_json({"error": "invalid_grant"}, 400)
        else:
            number = next(self._numbers)
            self.token, self._refresh_token = f"access-{number}-0123456789", f"refresh-{number}-0123456789"
            given = {"access_token": self.token, "token_type": "Bearer", "expires_in": 3600}
            if form["grant_type"] != "client_credentials":
                given["refresh_token"] = self._refresh_token
            exchange.send_json(given)

    def _is_proved(self, verifier: str) -> bool:
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        return digest.rstrip(b"=").decode() == self._challenge

    def revoke(self) -> None:
        """Let the refresh token be good no longer."""
        self._refresh_token = "none"

    def expire(self) -> None:
        """Let the access token be good no longer."""
        self.token = "none"

    @property
    def grants(self) -> list[str]:
        """The kinds of grants that tokens were asked for with."""
        return [form["grant_type"] for form, _ in self.forms]


def browse(url: str) -> None:
    """Be a browser whose user agrees to everything."""
    try:
        with urlopen(url, timeout=10) as page:
            page.read()
    except HTTPError as error:
        error.close()


def in_file(path: Any) -> Any:
    """What a token file holds."""
    return json.loads(path.read_text())


def key_pair() -> tuple[str, Any]:
    """A private key in PEM, and what its signatures are verified with."""
    from joserfc.jwk import ECKey

    key = ECKey.generate_key("P-256")
    return key.as_pem(private=True).decode(), key


def verified(assertion: str, public: Any) -> dict[str, Any]:
    """The claims of an assertion whose signature is good."""
    from joserfc import jwt

    return jwt.decode(assertion, public, ["ES256"]).claims
