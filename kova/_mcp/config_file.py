"""Reads the files in which other clients keep their MCP servers: Claude Desktop and Claude Code, Cursor, VS Code,
Windsurf, Cline, Gemini CLI.

They agree on an object of servers by name (`mcpServers`; `servers` in VS Code), each with `command`, `args`, `env` and
`cwd`, or with a URL and `headers`. Variables are what Claude Code (`${VAR}`, `${VAR:-default}`:
https://code.claude.com/docs/en/mcp), Cursor and VS Code (`${env:VAR}`, `${userHome}`:
https://cursor.com/docs/mcp, https://code.visualstudio.com/docs/reference/variables-reference) document.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _json
from ..errors import BuildError, KovaOSError, SerializationError
from ..mcp.transports import HTTPSSETransport, MCPTransport, StdioTransport, StreamableHTTPTransport

__all__ = ["mcp_servers_from_config"]

_TABLES = ("mcpServers", "servers")
_URLS = ("url", "httpUrl", "serverUrl")  # Gemini CLI and Windsurf have names of their own
_KINDS = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
}
_VARIABLE = re.compile(r"\$\{(?P<env>env:)?(?P<name>[^}:]+)(?P<default>:-[^}]*)?\}|\$\{(?P<other>[^}]*)\}")


def mcp_servers_from_config(path: str | os.PathLike[str]) -> dict[str, MCPTransport]:
    """The servers in the configuration file of another MCP client, ready for `MCPClient`.

        servers = kova.mcp_servers_from_config(".mcp.json")
        with kova.MCPClient(servers["filesystem"]) as mcp: ...

    Reads `mcpServers`, or `servers` as VS Code calls it. A server that is `disabled` is left out; settings of other
    clients, such as which tools they approve, are passed over. `${VAR}`, `${VAR:-default}`, `${env:VAR}` and
    `${userHome}` are replaced in all texts of a server; nothing but this file is read.

    Args:
        path: The file.

    Returns:
        A transport for each server, by the name it has in the file.

    Raises:
        BuildError: Something in the file is wrong; the message names the file, the server and the key.
        SerializationError: The file is not JSON.
        KovaOSError: It cannot be read.
    """
    file = os.fspath(path)
    servers: dict[str, MCPTransport] = {}
    for name, entry in _table(file).items():
        where = f"{file}: server {name!r}"
        if not isinstance(entry, dict):
            raise BuildError(f"{where} must be an object, not {type(entry).__name__}")
        if entry.get("disabled") is True:
            continue
        try:
            servers[name] = _transport(entry)
        except BuildError as error:
            raise BuildError(f"{where}: {error.message}") from None
    return servers


def _table(file: str) -> dict[str, Any]:
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise KovaOSError(f"cannot read {file}: {error.strerror or error}") from error
    except ValueError as error:  # a path with a NUL in it
        raise KovaOSError(f"cannot read {file!r}: {error}") from error
    try:
        content = _json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise SerializationError(f"{file} is not JSON: {error}") from error
    for key in _TABLES:
        if isinstance(content, dict) and key in content:
            table = content[key]
            if not isinstance(table, dict):
                raise BuildError(f"{file}: {key} must be an object, not {type(table).__name__}")
            return table
    raise BuildError(f"{file} has neither {' nor '.join(_TABLES)}")


def _transport(entry: Mapping[str, Any]) -> MCPTransport:
    kind = _kind(entry)
    if kind == "stdio":
        if "envFile" in entry:
            raise BuildError("envFile is not read: give the variables in env")
        return StdioTransport(
            _text(entry, "command"),
            _texts(entry, "args"),
            _named_texts(entry, "env"),
            cwd=_text(entry, "cwd") if entry.get("cwd") is not None else None,
        )
    url = next((_text(entry, key) for key in _URLS if key in entry), None)
    if url is None:
        raise BuildError("url is missing")
    made = HTTPSSETransport if kind == "sse" else StreamableHTTPTransport
    return made(url, _named_texts(entry, "headers"))


def _kind(entry: Mapping[str, Any]) -> str:
    key = "type" if "type" in entry else "transport"
    if key in entry:
        said = entry[key]
        if not isinstance(said, str) or said not in _KINDS:
            raise BuildError(f"{key} must be one of {', '.join(_KINDS)}, not {said!r}")
        return _KINDS[said]
    if "command" in entry:
        return "stdio"
    if any(url in entry for url in _URLS):
        return "http"
    raise BuildError("it has neither command nor url")


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise BuildError(f"{key} must be a text, not {type(value).__name__}" if key in entry else f"{key} is missing")
    return _expanded(value, key)


def _texts(entry: Mapping[str, Any], key: str) -> list[str]:
    values = entry.get(key)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise BuildError(f"{key} must be a list of texts")
    return [_expanded(value, key) for value in values]


def _named_texts(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    values = entry.get(key)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise BuildError(f"{key} must be an object, not {type(values).__name__}")
    for name, value in values.items():
        if not isinstance(value, str):
            raise BuildError(f"{key}.{name} must be a text, not {type(value).__name__}")
    return {name: _expanded(value, f"{key}.{name}") for name, value in values.items()}


def _expanded(text: str, key: str) -> str:
    """The text with its variables replaced; one without a value is an error, as it may be a forgotten secret."""

    def value_of(found: re.Match[str]) -> str:
        name, default = found["name"], found["default"]
        if name == "userHome" and found["env"] is None and default is None:
            return str(Path.home())
        value = os.environ.get(name) if name is not None else None
        if value is not None:
            return value
        if default is not None and found["env"] is None:
            return default[2:]
        if name is None or name.startswith(("workspaceFolder", "input")):
            raise BuildError(f"{key}: only the program that the file is for knows {found[0]}")
        raise BuildError(f"{key}: the environment variable {name} is not set")

    return _VARIABLE.sub(value_of, text)
