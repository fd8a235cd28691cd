"""The MCP servers that a command line names: by command, by URL, or by a file such as other clients have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import BuildError

if TYPE_CHECKING:
    from ..mcp import MCPTransport

__all__ = ["START_SECONDS", "named_servers", "server_from_file", "transport_from"]

START_SECONDS = 60.0  # for a server that a package manager has to fetch first

# No program's name and no URL begins like this.
_NAMED = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]*)=(?P<server>.*)", re.DOTALL)


def named_servers(given: Sequence[str], files: Sequence[str]) -> list[tuple[str, MCPTransport]]:
    """What `--mcp` and `--mcp-config` mean.

    Args:
        given: Commands and URLs, each with or without `NAME=` before it.
        files: Files of servers, all of which have names.

    Returns:
        A name, or "" where none was given, and a transport for each.

    Raises:
        BuildError: Something in them is wrong, or two servers have one name.
        KovaError: A file cannot be read.
    """
    servers = []
    for text in given:
        named = _NAMED.fullmatch(text)
        servers.append((named["name"], transport_from(named["server"])) if named else ("", transport_from(text)))
    if files:
        from .. import mcp_servers_from_config

        for file in files:
            servers += [(name, _with_kept_tokens(server)) for name, server in mcp_servers_from_config(file).items()]
    names = [name for name, _ in servers if name]
    for name in names:
        if names.count(name) > 1:
            raise BuildError(f"two MCP servers are named {name!r}: give one of them another name")
    return servers


def server_from_file(name: str, file: str, *, timeout: float) -> MCPTransport:
    """A server of a file.

    Args:
        name: Its name there.
        file: The file.
        timeout: Seconds until a process must have answered first.

    Raises:
        BuildError: There is none of that name, or something in the file is wrong.
        KovaError: The file cannot be read.
    """
    from attrs import evolve

    from .. import mcp_servers_from_config
    from ..mcp import StdioTransport

    servers = mcp_servers_from_config(file)
    if name not in servers:
        raise BuildError(f"{file} has no server {name!r}; it has {', '.join(servers) or 'none'}")
    transport = servers[name]
    if isinstance(transport, StdioTransport):
        return evolve(transport, start_timeout=timeout)
    return _with_kept_tokens(transport)


def transport_from(
    server: str,
    *,
    headers: Sequence[str] = (),
    env: Sequence[str] = (),
    timeout: float = START_SECONDS,
    is_sse: bool = False,
    is_login: bool = False,
) -> MCPTransport:
    """The transport that a command or URL means.

    Raises:
        BuildError: It means none.
    """
    from ..mcp import HTTPSSETransport, StdioTransport
    from ..mcp import StreamableHTTPTransport as HTTPTransport

    if server.startswith(("http://", "https://")):
        if env:
            raise BuildError("--env is for a command, not for a URL")
        pairs = dict(_pair(header, ":", "--header") for header in headers)
        made = HTTPSSETransport if is_sse else HTTPTransport
        transport = made(server, pairs)  # before anybody is asked for the sake of a wrong URL
        if not is_login:
            return _with_kept_tokens(transport)
        from .login import signed_in

        return made(server, pairs, signed_in(server))
    if headers or is_sse or is_login:
        raise BuildError("--header, --sse and --login are for a URL, not for a command")
    try:
        command, *args = shlex.split(server) or [""]
    except ValueError as error:
        raise BuildError(f"not a command: {server!r}: {error}") from error
    variables = dict(_pair(variable, "=", "--env") for variable in env)
    return StdioTransport(command, args, variables, start_timeout=timeout)


def _with_kept_tokens(transport: MCPTransport) -> MCPTransport:
    """A server at a URL, with the tokens that `kova mcp … --login` has kept for it, if nothing else is said."""
    from attrs import evolve

    from ..mcp import StdioTransport

    if isinstance(transport, StdioTransport) or transport.headers or transport.auth is not None:
        return transport
    from .login import kept_tokens

    return evolve(transport, auth=kept_tokens(transport.url))


def _pair(text: str, separator: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name.strip():
        raise BuildError(f"{option} wants NAME{separator}VALUE")
    return name.strip(), value.strip()
