"""The client of an MCP server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..._mcp.calls import Patience
from ..._mcp.negotiation import Protocol
from ..._mcp.tool_list import model_names, selected
from ..._mcp.versions import HEADER_MISMATCH
from ..._runtime import aio as rt
from ...cancellation import CancellationToken
from ...errors import BuildError, MCPError
from ...mcp.content import MCPToolDefinition, MCPToolResult
from ...mcp.transports import (
    HTTPSSETransport,
    MCPTransport,
    StdioTransport,
    StreamableHTTPTransport,
    check_seconds,
)
from ...tools import Tool
from .connection import AsyncMCPConnection
from .connector import AsyncConnector
from .handlers import AsyncServerHandlers
from .session import OnProgress
from .tool import AsyncMCPTool
from .tool_catalogue import AsyncToolCatalogue

if TYPE_CHECKING:
    from ..provider import AsyncLLMProvider

__all__ = ["AsyncMCPClient"]

TRANSPORTS = (StdioTransport, StreamableHTTPTransport, HTTPSSETransport)


class AsyncMCPClient:
    """One MCP server, whose tools agents may use and programs may call.

    Use it in a with block, or call `close` at the end. It connects when it is first needed. Calls may be made by many
    threads (tasks) at once. In an event loop it belongs to the loop that connected it.

    A server that has died, or has forgotten the session, is connected to anew. A call is repeated for that only if it
    certainly did not run.

    Args:
        transport: How the server is reached: a `StdioTransport`, `StreamableHTTPTransport` or `HTTPSSETransport`.
        timeout: Seconds for connecting (over stdio that is the transport's `start_timeout`), and for a call unless it
            says otherwise. Each sign of progress gives a call its time anew.
        max_total_timeout: Seconds for a call in all, and for reading the whole list of tools.
        protocol: "auto" finds out which era of the protocol the server speaks; "legacy" and "2026-07-28" decide it.
        on_sampling: Answers a server that wants to ask a model: a kova provider, or a function from the protocol's
            params to its result.
        on_elicitation: Answers a server that wants something filled in, likewise.
        roots: Paths or URIs that the server may ask for, to work in.
        on_log: Is told of the server's log: level, data, name of the logger.
        on_tools_changed: Is told that the server's tools have changed.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    def __init__(
        self,
        transport: MCPTransport,
        *,
        timeout: float = 30.0,
        max_total_timeout: float = 300.0,
        protocol: Protocol = "auto",
        on_sampling: Callable[[dict[str, Any]], Any] | AsyncLLMProvider | None = None,
        on_elicitation: Callable[[dict[str, Any]], Any] | None = None,
        roots: Sequence[str | os.PathLike[str]] | None = None,
        on_log: Callable[..., Any] | None = None,
        on_tools_changed: Callable[[], Any] | None = None,
    ) -> None:
        _check_transport(transport)
        check_seconds("timeout", timeout)
        check_seconds("max_total_timeout", max_total_timeout)
        if protocol not in ("auto", "legacy", "2026-07-28"):
            raise BuildError(f'protocol must be "auto", "legacy" or "2026-07-28", not {protocol!r}')
        handlers = AsyncServerHandlers(
            on_sampling=on_sampling,
            on_elicitation=on_elicitation,
            roots=roots,
            on_log=on_log,
            on_tools_changed=on_tools_changed,
        )
        self._transport = transport
        self._timeout = timeout
        self._max_total_timeout = max_total_timeout
        self._connection = AsyncMCPConnection(AsyncConnector(transport, handlers, protocol), transport, timeout)
        self._catalogue = AsyncToolCatalogue(self._connection, transport, timeout, max_total_timeout)
        self._header_source = None if isinstance(transport, StdioTransport) else self._catalogue

    @classmethod
    async def connect(cls, transport: MCPTransport, timeout: float = 30.0, **options: Any) -> Self:
        """A client that is connected. The arguments are those of the class.

        Raises:
            ConnectionError, TimeoutError, MCPError: The server cannot be reached, or gives no session.
        """
        client = cls(transport, timeout=timeout, **options)
        await client._connection.connected()
        return client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an MCP client cannot be pickled: make one in each process")

    @property
    def transport(self) -> MCPTransport:
        """How the server is reached."""
        return self._transport

    @property
    def server_info(self) -> Mapping[str, Any]:
        """Name and version of the server, as it gives them.

        Raises:
            ConnectionError: The client is not connected.
        """
        return self._connection.session.server.info

    @property
    def protocol_version(self) -> str:
        """The version of the protocol that was agreed.

        Raises:
            ConnectionError: The client is not connected.
        """
        return self._connection.session.dialect.version

    @property
    def instructions(self) -> str:
        """How the server wants its tools to be used; empty if it does not say.

        Raises:
            ConnectionError: The client is not connected.
        """
        return self._connection.session.server.instructions

    # ---- tools

    async def list_tools(self) -> list[MCPToolDefinition]:
        """The server's tools, all pages of them. Asked for once, until they are said to have changed.

        Raises:
            MCPError: The server reports an error.
            ConnectionError, TimeoutError: It cannot be asked.
        """
        return list((await self._catalogue.tools()).definitions)

    async def tools(
        self,
        prefix: str | None = None,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
    ) -> list[Tool]:
        """The server's tools for an agent. Every one runs when the model calls it, unless the agent asks first.

        Args:
            prefix: Put before the names that the model sees, to keep servers apart.
            include: The server's names of the tools that are wanted; without it, all.
            exclude: The server's names of tools that are not.

        Raises:
            BuildError: A name is none of the server's.
            MCPError, ConnectionError, TimeoutError: The server cannot be asked.
        """
        return list(await self.named_tools(self._transport.shown, prefix, include, exclude))

    async def named_tools(
        self, server: str, prefix: str | None, include: Iterable[str] | None, exclude: Iterable[str] | None
    ) -> list[AsyncMCPTool]:
        """The same, with a name for the server in messages."""
        definitions = selected(await self.list_tools(), include, exclude, f"the MCP server {server}")
        names = model_names([definition.name for definition in definitions], "" if prefix is None else prefix)
        return [AsyncMCPTool(self, definition, names[definition.name], server) for definition in definitions]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        cancel: CancellationToken | None = None,
        on_progress: OnProgress | None = None,
    ) -> MCPToolResult:
        """Call a tool. A tool that fails gives a result with `is_error`, and raises nothing.

        Args:
            name: The server's name of the tool.
            arguments: Its arguments, as JSON.
            timeout: Seconds without a sign of progress; the client's if not given.
            cancel: Ends the call when it is cancelled; the server is told.
            on_progress: Is told of progress: how much, of how much in all (or None), a message (or None).

        Raises:
            MCPError: The server reports an error, such as a tool that it does not know.
            TimeoutError: It took too long; the server is told.
            ConnectionError: The connection was lost, or the server cannot be reached. The message says whether the
                call may have run.
            StreamError: The answer makes no sense.
            TurnCancelledError: `cancel` was cancelled.
        """
        _check_arguments(name, arguments)
        if timeout is not None:
            check_seconds("timeout", timeout, ValueError)
        if on_progress is not None:
            rt.check_callable(on_progress, "on_progress")
        patience = Patience(f"the MCP tool {name}", timeout or self._timeout, self._max_total_timeout)
        params = {"name": name, "arguments": dict(arguments or {})}
        if cancel is not None and not isinstance(cancel, CancellationToken):
            raise TypeError(f"cancel must be a CancellationToken, not {type(cancel).__name__}")
        if cancel is None:
            return MCPToolResult.from_json(await self._call(params, patience, on_progress))
        with rt.entry(), rt.cancel_on(cancel):
            result = await self._call(params, patience, on_progress)
        return MCPToolResult.from_json(result)

    async def _call(
        self, params: Mapping[str, Any], patience: Patience, on_progress: OnProgress | None
    ) -> Mapping[str, Any]:
        """The result of a call, as JSON."""
        request, source = self._connection.request, self._header_source
        try:
            return await request("tools/call", params, patience, on_progress, source)
        except MCPError as error:
            if error.code != HEADER_MISMATCH:
                raise
            self._catalogue.forget()  # what is to be repeated in headers has changed
            return await request("tools/call", params, patience, on_progress, source)

    # ---- the connection

    async def reconnect(self) -> None:
        """Connect anew; also after `close`.

        Raises:
            ConnectionError, TimeoutError, MCPError: The server cannot be reached, or gives no session.
        """
        await self._connection.reconnect()

    async def close(self) -> None:
        """End the connection, and the server if it is a process. May be called from anywhere, and more than once."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        await self._connection.connected()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _check_transport(transport: object) -> None:
    if not isinstance(transport, TRANSPORTS):
        names = ", ".join(kind.__name__ for kind in TRANSPORTS)
        raise BuildError(f"transport must be one of {names}, not {type(transport).__name__}")


def _check_arguments(name: object, arguments: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be the name of a tool, not {name!r}")
    if arguments is not None and type(arguments) is not dict and not isinstance(arguments, Mapping):
        raise TypeError(f"arguments must be a mapping, not {type(arguments).__name__}")
