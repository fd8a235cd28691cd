"""Signed statements with which a client shows who it is, in place of a secret (`private_key_jwt`, RFC 7523)."""

from __future__ import annotations

import secrets
import time
from typing import Any

from ..errors import BuildError

__all__ = ["ASSERTION_TYPE", "check_private_key", "client_assertion"]

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LIFETIME = 300  # seconds
KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}  # by how the algorithm's name begins


def check_private_key(private_key: str, algorithm: str) -> None:
    """Refuse a key that cannot sign.

    Raises:
        BuildError: It cannot, or the library that signs is not installed.
    """
    client_assertion(private_key, algorithm, "client", "https://example.org")


def client_assertion(private_key: str, algorithm: str, client_id: str, issuer: str) -> str:
    """A statement that the client is who it says, for one authorization server and a short time.

    Args:
        private_key: The key, in PEM.
        algorithm: How it signs: "ES256", "RS256" …
        client_id: The client.
        issuer: The authorization server that is told.
    """
    try:
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import import_key
    except ImportError as error:
        raise BuildError("signing with a private key needs an extra: pip install 'kova-sdk[oauth]'") from error
    now = int(time.time())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": now,
        "exp": now + LIFETIME,
        "jti": secrets.token_urlsafe(24),
    }
    try:
        key_type: Any = KEY_TYPES[algorithm[:2]]
        assertion: str = jwt.encode({"alg": algorithm}, claims, import_key(private_key, key_type), [algorithm])
        return assertion
    except (JoseError, ValueError, KeyError, TypeError) as error:
        # Without the cause: its text could hold parts of the key.
        raise BuildError(f"the private key cannot sign with {algorithm!r}: {type(error).__name__}") from None
