"""The client of an MCP server."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..._log import log
from ..._mcp.calls import Patience
from ..._mcp.failures import LinkLost, NotDelivered, Refused, SessionExpired, not_retried, reason_of
from ..._mcp.header_values import parameter_headers
from ..._mcp.negotiation import Protocol
from ..._mcp.tool_list import Pages, ToolList, model_names, selected
from ..._mcp.versions import HEADER_MISMATCH
from ..._runtime import aio as rt
from ..._runtime.scope import Deadline
from ...cancellation import CancellationToken
from ...errors import BuildError, ConnectionError, KovaError, MCPError, StreamError, TurnCancelledError
from ...mcp.content import MCPToolDefinition, MCPToolResult
from ...mcp.transports import (
    HTTPSSETransport,
    MCPTransport,
    StdioTransport,
    StreamableHTTPTransport,
    check_seconds,
)
from ...telemetry.mcp import watch_mcp_call
from ...tools import Tool
from .connector import AsyncConnector
from .handlers import AsyncServerHandlers
from .session import AsyncMCPSession, OnProgress
from .tool import AsyncMCPTool

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
        self._handlers = AsyncServerHandlers(
            on_sampling=on_sampling,
            on_elicitation=on_elicitation,
            roots=roots,
            on_log=on_log,
            on_tools_changed=on_tools_changed,
        )
        self._transport = transport
        self._timeout = timeout
        self._max_total_timeout = max_total_timeout
        self._connector = AsyncConnector(transport, self._handlers, protocol)
        self._session: AsyncMCPSession | None = None
        self._owner: tuple[object, int] | None = None
        self._connecting = rt.Semaphore(1)
        self._listing = rt.Semaphore(1)
        self._tools: ToolList | None = None
        self._retired: list[AsyncMCPSession] = []  # whose calls are still under way
        self._end: weakref.finalize[Any, Any] | None = None  # of the session, if this client is dropped
        self._closing = CancellationToken()

    @classmethod
    async def connect(cls, transport: MCPTransport, timeout: float = 30.0, **options: Any) -> Self:
        """A client that is connected. The arguments are those of the class.

        Raises:
            ConnectionError, TimeoutError, MCPError: The server cannot be reached, or gives no session.
        """
        client = cls(transport, timeout=timeout, **options)
        await client._connected()
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
        return self._present().server.info

    @property
    def protocol_version(self) -> str:
        """The version of the protocol that was agreed.

        Raises:
            ConnectionError: The client is not connected.
        """
        return self._present().dialect.version

    @property
    def instructions(self) -> str:
        """How the server wants its tools to be used; empty if it does not say.

        Raises:
            ConnectionError: The client is not connected.
        """
        return self._present().server.instructions

    # ---- tools

    async def list_tools(self) -> list[MCPToolDefinition]:
        """The server's tools, all pages of them. Asked for once, until they are said to have changed.

        Raises:
            MCPError: The server reports an error.
            ConnectionError, TimeoutError: It cannot be asked.
        """
        return list((await self._tool_list()).definitions)

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
        with rt.cancel_on(cancel):
            try:
                result = await self._request("tools/call", params, patience, on_progress)
            except MCPError as error:
                if error.code != HEADER_MISMATCH:
                    raise
                self._tools = None  # what is to be repeated in headers has changed
                result = await self._request("tools/call", params, patience, on_progress)
        return MCPToolResult.from_json(result)

    # ---- the connection

    async def reconnect(self) -> None:
        """Connect anew; also after `close`.

        Raises:
            ConnectionError, TimeoutError, MCPError: The server cannot be reached, or gives no session.
        """
        self._check_owner()
        if self._is_closed:
            self._closing = CancellationToken()
        await self._renew(self._session)

    async def close(self) -> None:
        """End the connection, and the server if it is a process. May be called from anywhere, and more than once."""
        self._closing.cancel()
        session, self._session, self._tools = self._session, None, None
        retired, self._retired = self._retired, []
        if not self._is_inherited():
            for each in retired if session is None else [session, *retired]:
                await each.close()

    @property
    def _is_closed(self) -> bool:
        return self._closing.is_cancelled

    async def __aenter__(self) -> Self:
        await self._connected()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _request(
        self, method: str, params: Mapping[str, Any], patience: Patience, on_progress: OnProgress | None = None
    ) -> Mapping[str, Any]:
        """The result of a call, which is a span of its own."""
        transport = self._transport
        with watch_mcp_call(
            method,
            tool=params.get("name"),
            transport="pipe" if isinstance(transport, StdioTransport) else "tcp",
            url=None if isinstance(transport, StdioTransport) else transport.url,
        ) as watch:
            result = await self._deliver(method, watch.traced(params), patience, on_progress)
            if result.get("isError"):
                watch.tool_failed()
            return result

    async def _deliver(
        self, method: str, params: Mapping[str, Any], patience: Patience, on_progress: OnProgress | None
    ) -> Mapping[str, Any]:
        """The result of a call, over a new connection where the present one is dead and the call did not run."""
        is_repeated = False
        while True:
            session = await self._connected()
            try:
                headers = await self._parameter_headers(session, params) if method == "tools/call" else {}
                return await session.request(method, params, patience, on_progress=on_progress, headers=headers)
            except Refused as refusal:
                raise reason_of(refusal) from refusal
            except NotDelivered as error:
                if is_repeated or self._is_closed:
                    raise ConnectionError(error.message) from error
                is_repeated = True
                await self._renew(session)
            except LinkLost as error:
                await self._drop_dead(session)
                if self._is_closed:
                    raise _closed() from error
                if method != "tools/call" and not is_repeated:
                    is_repeated = True
                    continue  # reading twice does no harm
                raise not_retried(f"{error.message}; the call may have run, and was not repeated") from error
            except StreamError:
                await self._drop_dead(session)
                raise

    async def _connected(self) -> AsyncMCPSession:
        """The session; a server that was found dead is connected to anew."""
        self._check_owner()
        session = self._session
        if session is not None and session.is_open:
            return session
        return await self._renew(session)

    async def _renew(self, old: AsyncMCPSession | None) -> AsyncMCPSession:
        """A session in place of an old one; made once, however many calls want it."""
        async with self._connecting:
            present = self._session
            if present is not None and present is not old and present.is_open:
                return present
            if self._is_closed:
                raise _closed()
            if present is not None:
                self._session = self._tools = None
                self._retired = [*(old for old in self._retired if old.is_open), present]
                await present.retire()
            try:
                with rt.cancel_on(self._closing):
                    session = await self._connector.connect(self._timeout)
            except TurnCancelledError:
                if self._is_closed:
                    raise _closed() from None
                raise
            except (Refused, SessionExpired) as error:
                raise reason_of(error) from error
            except (LinkLost, NotDelivered) as error:
                raise ConnectionError(error.message) from error
            self._keep(session)
            if self._is_closed:
                await self.close()  # again: this session was not there yet
                raise _closed()
            return session

    def _keep(self, session: AsyncMCPSession) -> None:
        """Have a session, which ends with this client if nobody closes that."""
        if self._end is not None:
            self._end.detach()
        self._end = weakref.finalize(self, _drop, session, os.getpid())
        self._end.atexit = False  # then servers end in a way of their own
        self._session = session

    async def _drop_dead(self, session: AsyncMCPSession) -> None:
        """Free a session whose server has gone; over HTTP only the one call has lost its stream."""
        if not session.is_open:
            if self._session is session:
                self._session = self._tools = None
            await session.close()

    def _present(self) -> AsyncMCPSession:
        if self._session is None:
            raise _closed() if self._is_closed else ConnectionError("the MCP client is not connected yet")
        return self._session

    def _check_owner(self) -> None:
        """Refuse the calls of another loop; a forked child begins without a connection."""
        if self._is_inherited():
            self._session = self._tools = None
        owner = rt.owner(), os.getpid()
        if self._owner is None or self._owner == owner:
            self._owner = owner
        elif self._session is not None:
            raise KovaError("this MCP client belongs to another event loop: make one in each loop")
        else:
            self._owner = owner
            self._connecting, self._listing = rt.Semaphore(1), rt.Semaphore(1)  # the old ones are the other loop's

    def _is_inherited(self) -> bool:
        return self._owner is not None and self._owner[1] != os.getpid()

    # ---- the list of tools

    async def _tool_list(self) -> ToolList:
        while True:
            session = await self._connected()
            known = self._tools
            if known is not None and known.is_valid(session.generation):
                return known
            async with self._listing:
                if self._tools is known and session is self._session:
                    return await self._read_tools(session)

    async def _read_tools(self, session: AsyncMCPSession) -> ToolList:
        """All pages of the list."""
        what = "reading the list of MCP tools"
        generation = session.generation
        session.listen(lambda: Patience(what, self._timeout, self._timeout))
        pages: list[Mapping[str, Any]] = []
        cursors = Pages()
        params: Mapping[str, Any] | None = {}
        with rt.fail_at(Deadline(self._max_total_timeout, what)):
            while params is not None:
                patience = Patience(what, self._timeout, self._timeout)
                pages.append(await self._request("tools/list", params, patience))
                try:
                    params = cursors.next_params(pages[-1])
                except OverflowError as error:
                    raise StreamError(f"the MCP server {self._transport.shown}: {error}") from error
        has_headers = not isinstance(self._transport, StdioTransport)
        session = self._present()
        read = ToolList.from_pages(pages, generation, is_modern=session.dialect.is_modern, has_headers=has_headers)
        self._tools = read
        return read

    async def _parameter_headers(self, session: AsyncMCPSession, params: Mapping[str, Any]) -> dict[str, str]:
        """What the stateless protocol wants repeated in headers of a call's arguments."""
        if not session.dialect.is_modern or isinstance(self._transport, StdioTransport):
            return {}
        try:
            tools = self._tools or await self._tool_list()
        except KovaError as error:
            log.debug("the headers of an MCP server's tools are not known", error=str(error))
            return {}
        try:
            return parameter_headers(tools.headers.get(params["name"], []), params["arguments"])
        except ValueError as error:
            raise MCPError(-32602, str(error)) from error


def _drop(session: AsyncMCPSession, process: int) -> None:
    if process == os.getpid():  # in a forked child it is the parent's
        session.drop()


def _closed() -> ConnectionError:
    return not_retried("the MCP client is closed")


def _check_transport(transport: object) -> None:
    if not isinstance(transport, TRANSPORTS):
        names = ", ".join(kind.__name__ for kind in TRANSPORTS)
        raise BuildError(f"transport must be one of {names}, not {type(transport).__name__}")


def _check_arguments(name: object, arguments: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be the name of a tool, not {name!r}")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise TypeError(f"arguments must be a mapping, not {type(arguments).__name__}")
