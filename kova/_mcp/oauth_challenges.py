"""What a server says with `WWW-Authenticate` when it refuses a token (RFC 6750, RFC 9728)."""

from __future__ import annotations

import re

from attrs import frozen

__all__ = ["Challenge", "parse_challenge"]

_BEARER = re.compile(r"(?:^|,)\s*bearer(?=\s|,|$)", re.IGNORECASE)
_PARAMETER = re.compile(r"""\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))\s*(?:,|$)""")


@frozen
class Challenge:
    """What a server wants of a bearer token.

    Attributes:
        scopes: The scopes that the refused request needs; empty where it does not say.
        resource_metadata: Where the server describes itself, if it says so.
        error: Why the token was refused: "invalid_token", "insufficient_scope".
    """

    scopes: tuple[str, ...] = ()
    resource_metadata: str | None = None
    error: str | None = None


def parse_challenge(header: str) -> Challenge:
    """The challenge for bearer tokens in a header, which may hold others too; an empty one where there is none."""
    found = _BEARER.search(header)
    parameters: dict[str, str] = {}
    position = found.end() if found else len(header)
    while parameter := _PARAMETER.match(header, position):
        name, quoted, plain = parameter.groups()
        parameters.setdefault(name.lower(), plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        position = parameter.end()
    return Challenge(
        tuple(parameters.get("scope", "").split()), parameters.get("resource_metadata"), parameters.get("error")
    )
