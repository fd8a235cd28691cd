"""How an MCP server is reached: as a process, or over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
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


def _argument_list(args: object) -> tuple[str, ...]:
    items: list[object] = list(args) if isinstance(args, Iterable) and not isinstance(args, (str, bytes)) else [None]
    texts = tuple(item for item in items if isinstance(item, str) and "\0" not in item)
    if len(texts) < len(items):
        raise BuildError(f"args must be a sequence of texts, not {args!r}")
    return texts


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    checked = _names_and_values("env", env)
    for name, value in checked.items():
        if not name or "=" in name or "\0" in name + value:
            raise BuildError(f"env cannot have a variable {name!r} with that value: no system takes it")
    return checked


def _header_texts(headers: Mapping[str, str] | None) -> dict[str, str]:
    return _names_and_values("headers", headers)


def _names_and_values(argument: str, values: object) -> dict[str, str]:
    if values is not None and not isinstance(values, Mapping):
        raise BuildError(f"{argument} must be a mapping of names to texts, not {type(values).__name__}")
    texts: dict[str, str] = {}
    for name, value in (values or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise BuildError(f"{argument}: names and values must be texts; that of {name!r} is {type(value).__name__}")
        texts[name] = value
    return texts


def _shown_url(url: str) -> str:
    base, mark, _ = url.partition("?")  # keys may be in a query
    return repr(f"{base}?***" if mark else url)


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
    env: dict[str, str] = field(default=None, converter=_environment, repr=False)
    cwd: str | os.PathLike[str] | None = field(default=None, kw_only=True)
    start_timeout: float = field(default=60.0, kw_only=True)
    inherit_env: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _check_command(self.command)
        _check_folder(self.cwd)
        check_seconds("start_timeout", self.start_timeout)
        if not isinstance(self.inherit_env, bool):
            raise BuildError(f"inherit_env must be a bool, not {type(self.inherit_env).__name__}")

    @property
    def shown(self) -> str:
        """The server, for messages."""
        return " ".join([self.command, *self.args])[:200]


@frozen
class _HTTPTransport:
    """What both ways over HTTP have in common."""

    url: str = field(repr=_shown_url)
    headers: dict[str, str] = field(default=None, converter=_header_texts, repr=False)
    auth: TokenProvider | None = field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        _check_url(self.url)
        _check_auth(self.auth)

    @property
    def shown(self) -> str:
        """The server, for messages: keys may be in a query."""
        return self.url.partition("?")[0]


@frozen
class StreamableHTTPTransport(_HTTPTransport):
    """A server behind a URL, over streamable HTTP (MCP 2025-03-26 and later). One that only knows the older HTTP+SSE
    is found out and spoken to in its way.

    Args:
        url: The server's endpoint.
        headers: Sent with each request. Never shown.
        auth: Gives the bearer token.

    Raises:
        BuildError: An argument is wrong.
    """


@frozen
class HTTPSSETransport(_HTTPTransport):
    """A server behind a URL, over HTTP+SSE, which MCP had before streamable HTTP (2024-11-05).

    Args:
        url: Where the server's stream of events is.
        headers: Sent with each request. Never shown.
        auth: Gives the bearer token.

    Raises:
        BuildError: An argument is wrong.
    """


MCPTransport: TypeAlias = StdioTransport | StreamableHTTPTransport | HTTPSSETransport


def _check_command(command: object) -> None:
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise BuildError(f"command must name a program, not {command!r}")


def check_seconds(name: str, value: object, error: type[Exception] = BuildError) -> None:
    """Refuse, with the given class of error, what is no time limit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise error(f"{name} must be a positive number of seconds, not {value!r}")


def _check_folder(cwd: object) -> None:
    if cwd is not None and not isinstance(cwd, (str, os.PathLike)):
        raise BuildError(f"cwd must be a path, not {type(cwd).__name__}")


def _check_url(url: object) -> None:
    if not isinstance(url, str):
        raise BuildError(f"url must be an http or https URL, not {url!r}")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise BuildError("url has characters that cannot be in a URL")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # either may turn out not to be one
    except ValueError as error:
        raise BuildError(f"url is not a URL: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise BuildError("url must not hold a user name or password: use headers, or auth")
    if parts.scheme not in ("http", "https") or not host:
        raise BuildError(f"url must be an http or https URL, not {_shown_url(url)}")


def _check_auth(auth: object) -> None:
    for method in ("token", "refresh"):
        if auth is not None and not callable(getattr(auth, method, None)):
            raise BuildError(f"auth must have the method {method}; {type(auth).__name__} has not")
