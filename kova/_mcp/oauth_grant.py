"""What is kept of an authorization: the client, its tokens, and what they were given for. Also as JSON, for a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import asdict, frozen

from .. import _json
from ..errors import BuildError
from .oauth_requests import OAuthClient, Tokens

__all__ = ["Grant", "dump_grant", "load_grant"]

FORM = 1  # of the JSON


@frozen
class Grant:
    """Tokens, or as yet only a client that can get some.

    Attributes:
        server: URL of the MCP server.
        issuer: The authorization server that has given them, and the only one that client and tokens are shown to.
        resource: What they are for there.
        client: Who they were given to.
        tokens: The tokens.
        scopes: The scopes that were asked for.
    """

    server: str
    issuer: str
    resource: str
    client: OAuthClient
    tokens: Tokens | None = None
    scopes: tuple[str, ...] = ()


def dump_grant(grant: Grant) -> bytes:
    """As JSON; it holds secrets."""
    return _json.dumps({"kova_oauth": FORM, **asdict(grant)})


def load_grant(data: bytes, server: str) -> Grant:
    """The grant in JSON.

    Raises:
        BuildError: It is something else, or of another server: then it must not be written over.
    """
    try:
        value: Any = _json.loads(data)
        if not isinstance(value, Mapping) or value.get("kova_oauth") != FORM:
            raise BuildError("token_file names a file that holds something else")
        if value["server"] != server:
            raise BuildError(f"token_file holds the tokens of another server, {str(value['server'])[:200]}")
        tokens = value["tokens"]
        return Grant(
            server,
            value["issuer"],
            value["resource"],
            OAuthClient(**value["client"]),
            None if tokens is None else Tokens(**tokens),
            tuple(value["scopes"]),
        )
    except (ValueError, KeyError, TypeError):
        raise BuildError("token_file names a file that holds something else") from None
