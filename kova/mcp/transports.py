"""How an MCP server is reached: as a process, or over HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

from attrs import field, frozen

from ..errors import BuildError

__all__ = ["HTTPSSETransport", "MCPTransport", "StdioTransport", "StreamableHTTPTransport", "TokenProvider"]


class TokenProvider(Protocol):
    """Gives the bearer token for a server; both methods may be `async def` for the async twin.

    Of several requests that need a new token at once only one asks for it. Two more methods are optional:

    - `challenged(status, challenge)` is called in place of `refresh` where there is one, with the HTTP status and the
      `WWW-Authenticate` header of the refusal; also for a 403 that says that the token's scope is too small.
    - `gives_tokens_for(url)`, never async, says whether the tokens may be sent to a server at all.
    """

    def token(self) -> object:
        """The token that requests carry now, as text; None for none."""

    def refresh(self) -> object:
        """Get a new token, after the server has refused the present one; its text, or None."""


def _argument_list(args: Sequence[str]) -> tuple[str, ...]:
    items: list[object] = [] if isinstance(args, str) else list(args)
    texts = tuple(item for item in items if isinstance(item, str))
    if isinstance(args, str) or len(texts) < len(items):
        raise BuildError(f"args must be a sequence of texts, not {args!r}")
    return texts


def _names_and_values(values: Mapping[str, str] | None) -> dict[str, str]:
    texts: dict[str, str] = {}
    pairs: list[tuple[object, object]] = list((values or {}).items())
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str):
            raise BuildError(f"names and values must be texts; that of {name!r} is {type(value).__name__}")
        texts[name] = value
    return texts


@frozen
class StdioTransport:
    """A server as a process of this machine, spoken to over its standard input and output.

        StdioTransport("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."])

    Args:
        command: The program; found as a shell would find it.
        args: Its arguments; there is no shell.
        env: Environment variables, added to a safe few of this process's (PATH, HOME, locale and the like): its
            secrets are not the server's. Never shown.
        cwd: The folder in which it runs.
        start_timeout: Seconds until it must have answered first, which may include a download; in place of the
            client's `timeout`.
        inherit_env: Give the server the whole environment of this process.

    Raises:
        BuildError: An argument is wrong.
    """

    command: str
    args: tuple[str, ...] = field(default=(), converter=_argument_list)
    env: dict[str, str] = field(default=None, converter=_names_and_values, repr=False)
    cwd: str | os.PathLike[str] | None = field(default=None, kw_only=True)
    start_timeout: float = field(default=60.0, kw_only=True)
    inherit_env: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _check_command(self.command)
        _check_seconds("start_timeout", self.start_timeout)

    @property
    def shown(self) -> str:
        """The server, for messages."""
        return " ".join([self.command, *self.args])[:200]


@frozen
class StreamableHTTPTransport:
    """A server behind a URL, over streamable HTTP (MCP 2025-03-26 and later). One that only knows the older HTTP+SSE
    is found out and spoken to in its way.

    Args:
        url: The server's endpoint.
        headers: Sent with each request. Never shown.
        auth: Gives the bearer token.

    Raises:
        BuildError: An argument is wrong.
    """

    url: str
    headers: dict[str, str] = field(default=None, converter=_names_and_values, repr=False)
    auth: TokenProvider | None = field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        _check_url(self.url)
        _check_auth(self.auth)

    @property
    def shown(self) -> str:
        """The server, for messages: keys may be in a query."""
        return self.url.partition("?")[0]


@frozen
class HTTPSSETransport:
    """A server behind a URL, over HTTP+SSE, which MCP had before streamable HTTP (2024-11-05).

    Args:
        url: Where the server's stream of events is.
        headers: Sent with each request. Never shown.
        auth: Gives the bearer token.

    Raises:
        BuildError: An argument is wrong.
    """

    url: str
    headers: dict[str, str] = field(default=None, converter=_names_and_values, repr=False)
    auth: TokenProvider | None = field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        _check_url(self.url)
        _check_auth(self.auth)

    @property
    def shown(self) -> str:
        """The server, for messages: keys may be in a query."""
        return self.url.partition("?")[0]


MCPTransport: TypeAlias = StdioTransport | StreamableHTTPTransport | HTTPSSETransport


def _check_command(command: object) -> None:
    if not isinstance(command, str) or not command.strip():
        raise BuildError(f"command must name a program, not {command!r}")


def _check_seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise BuildError(f"{name} must be a positive number of seconds, not {value!r}")


def _check_url(url: object) -> None:
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise BuildError(f"url must be an http or https URL, not {url!r}")


def _check_auth(auth: object) -> None:
    for method in ("token", "refresh"):
        if auth is not None and not callable(getattr(auth, method, None)):
            raise BuildError(f"auth must have the method {method}; {type(auth).__name__} has not")
