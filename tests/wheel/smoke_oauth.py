"""What the extra `oauth` adds to an installation of the wheel: run by `make test-wheel`, outside the source tree."""

from __future__ import annotations

import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import ECKey

import kova

KEY = ECKey.generate_key("P-256")


class Issuer(HTTPServer):
    """An MCP server's metadata, and the authorization server that they name: gives a token for a signed statement."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Endpoints)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.claims: list[dict[str, object]] = []


class Endpoints(BaseHTTPRequestHandler):
    server: Issuer

    def do_GET(self) -> None:
        origin = self.server.origin
        about_issuer = {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "token_endpoint_auth_methods_supported": ["private_key_jwt"],
            "code_challenge_methods_supported": ["S256"],
        }
        pages = {
            "/.well-known/oauth-protected-resource/mcp": {
                "resource": f"{origin}/mcp",
                "authorization_servers": [origin],
            },
            "/.well-known/oauth-authorization-server": about_issuer,
        }
        self.give(pages[self.path])

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        signed = jwt.decode(form["client_assertion"][0], KEY, ["ES256"])  # raises if the signature is another's
        self.server.claims.append(signed.claims)
        self.give({"access_token": "t0ken-0123456789", "token_type": "Bearer", "expires_in": 3600})

    def give(self, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class OAuth(unittest.TestCase):
    """A private key shows who the client is."""

    def setUp(self) -> None:
        self.issuer = self.enterContext(Issuer())
        threading.Thread(target=self.issuer.serve_forever, daemon=True).start()
        self.addCleanup(self.issuer.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def credentials(self, pem: str) -> kova.OAuthClientCredentials:
        return kova.OAuthClientCredentials(
            f"{self.issuer.origin}/mcp", "robot", private_key=pem, token_file=self.folder / "tokens.json"
        )

    def test_a_token_for_a_statement_signed_with_the_key_of_a_file(self) -> None:
        file = self.folder / "key.pem"
        file.write_bytes(KEY.as_pem(private=True))
        self.credentials(file.read_text()).refresh()
        (claims,) = self.issuer.claims
        self.assertEqual((claims["iss"], claims["aud"]), ("robot", self.issuer.origin))
        # It is kept, and the next program needs no new one.
        self.assertEqual(self.credentials(file.read_text()).token(), "t0ken-0123456789")
        self.assertEqual(len(self.issuer.claims), 1)

    def test_a_key_that_cannot_sign(self) -> None:
        with self.assertRaisesRegex(kova.BuildError, "the private key cannot sign with 'ES256'"):
            self.credentials("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")


if __name__ == "__main__":
    unittest.main()
