"""`kova mcp`: look at the tools of an MCP server, call one, or check that a server works."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _json
from .._terminal import plain
from ..errors import BuildError
from .mcp_servers import server_from_file, transport_from

if TYPE_CHECKING:
    from .. import MCPClient
    from ..mcp import MCPToolDefinition, MCPToolResult, MCPTransport

__all__ = ["add_to"]

WIDTH = 100
EPILOG = """\
The server is a URL, a command in one argument, or with --mcp-config its name in the file:
  kova mcp list "npx -y @modelcontextprotocol/server-filesystem ."
  kova mcp call https://example.com/mcp search '{"query": "kova"}' --header "Authorization: Bearer ..."
  kova mcp check github --mcp-config .mcp.json
"""


def add_to(commands: Any) -> None:
    """Add the command and its own commands to a parser."""
    mcp = commands.add_parser("mcp", help="list, call and check the tools of an MCP server")
    own = mcp.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add(own, "list", _list, "list the server's tools with their arguments")
    call = _add(own, "call", _call, "call a tool")
    call.add_argument("tool", help="the server's name of the tool")
    call.add_argument("arguments", nargs="?", default="{}", help="a JSON object; {} if not given")
    _add(own, "check", _check, "connect, list the tools, and say what is wrong")


def _add(commands: Any, name: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    parser.add_argument("server", metavar="SERVER", help="a command or URL; with --mcp-config, a name in the file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--mcp-config", metavar="FILE", help="a file with mcpServers, as other programs have it")
    parser.add_argument("--sse", action="store_true", help="the URL is that of an HTTP+SSE server (2024-11-05)")
    parser.add_argument("--login", action="store_true", help="sign in at the URL with the browser; tokens are kept")
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="sent to a URL")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="given to a command")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="60 if not given")
    return parser


def _client(options: argparse.Namespace) -> MCPClient:
    from .. import MCPClient

    return MCPClient(_transport(options), timeout=options.timeout, max_total_timeout=max(options.timeout, 300.0))


def _transport(options: argparse.Namespace) -> MCPTransport:
    if options.mcp_config is None:
        return transport_from(
            options.server,
            headers=options.header,
            env=options.env,
            timeout=options.timeout,
            is_sse=options.sse,
            is_login=options.login,
        )
    if options.header or options.env or options.sse or options.login:
        raise BuildError("--header, --env, --sse and --login are for a command or URL, not for a server of a file")
    return server_from_file(options.server, options.mcp_config, timeout=options.timeout)


def _list(options: argparse.Namespace) -> int:
    with _client(options) as client:
        tools = client.list_tools()
    if options.json:
        print(_json_text([tool.raw for tool in tools]))
    elif not tools:
        print("The server has no tools.")
    else:
        print("\n\n".join(_described(tool) for tool in tools))
    return 0


def _call(options: argparse.Namespace) -> int:
    arguments = _json_object(options.arguments)
    if not options.tool:
        raise BuildError("TOOL must be the name of a tool")
    with _client(options) as client:
        result = client.call_tool(options.tool, arguments)
    print(_json_text(dict(result.raw)) if options.json else _readable(result))
    return 1 if result.is_error else 0


def _check(options: argparse.Namespace) -> int:
    from .checks import check_server

    with _client(options) as client:
        report = check_server(client)
    if options.json:
        print(_json_text(report.as_json()))
    else:
        print(plain(report.as_text()))
    return 1 if report.problems else 0


def _json_text(value: object) -> str:
    """JSON that any terminal may be shown: what is not printable ASCII is escaped."""
    return json.dumps(value, indent=2).replace("\x7f", "\\u007f")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = _json.loads(text)
    except ValueError as error:
        raise BuildError(f"the arguments are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BuildError("the arguments must be a JSON object")
    return value


def _described(tool: MCPToolDefinition) -> str:
    """A tool as a person reads it. What the server says is shown without terminal escapes."""
    lines = [plain(tool.name) + (f" - {plain(tool.title)}" if tool.title else "")]
    lines += textwrap.wrap(plain(tool.description), WIDTH, initial_indent="  ", subsequent_indent="  ")
    required = tool.input_schema.get("required")
    properties = tool.input_schema.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        lines += _parameter(name, schema, isinstance(required, list) and name in required)
    return "\n".join(lines)


def _parameter(name: str, schema: object, is_required: bool) -> list[str]:
    schema = schema if isinstance(schema, dict) else {}
    kind = schema.get("type") or next((word for word in ("enum", "anyOf", "$ref") if word in schema), "any")
    shown = (
        f"{name}: {' | '.join(map(str, kind)) if isinstance(kind, list) else kind}{'' if is_required else ', optional'}"
    )
    text = f"{shown}. {schema['description']}" if schema.get("description") else shown
    return textwrap.wrap(plain(text), WIDTH, initial_indent="    ", subsequent_indent="      ")


def _readable(result: MCPToolResult) -> str:
    content = result.for_model().content
    if isinstance(content, str):
        return plain(content)
    return plain("\n".join(getattr(block, "text", repr(block)) for block in content))
