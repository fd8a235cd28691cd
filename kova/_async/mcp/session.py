"""A conversation with one server, from the agreement on a version to the end of the connection."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from ..._log import log
from ..._mcp.calls import Call, Patience
from ..._mcp.dialect import Dialect, Modern
from ..._mcp.jsonrpc import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Message,
    error_answer,
    error_of,
    is_answer,
    is_request,
    notification,
    result_answer,
)
from ..._mcp.negotiation import ServerDescription
from ..._runtime import aio as rt
from ..._signals import raise_if_from_a_signal
from ...errors import ConnectionError, KovaError, MCPError
from .handler_queue import AsyncHandlerQueue
from .handlers import AsyncServerHandlers
from .link import AsyncLink, AsyncPendingCall

__all__ = ["AsyncMCPSession", "OnProgress"]

OnProgress = Callable[..., Any]

GIVE_UP_SECONDS = 1.0  # for telling a server that nobody waits any more
MAX_INPUT_ROUNDS = 10
ANSWERS_AT_ONCE = 16  # requests of the server that handlers work on
MOST_WAITING = 1_000  # requests, or notifications, that wait for a handler; more are dropped


class AsyncMCPSession:
    """Calls over one link, and answers to what the server asks.

    Args:
        handlers: Answer the server.

    Attributes:
        link: What carries the messages; set before the first of them.
        dialect: How requests are written; set when the version is agreed.
        server: What the server says of itself; likewise.
        generation: How often the server has said that its tools have changed.
    """

    link: AsyncLink
    dialect: Dialect
    server: ServerDescription

    def __init__(self, handlers: AsyncServerHandlers) -> None:
        self._handlers = handlers
        self._ids = itertools.count(1)
        self._background = rt.Background()
        self._requests = AsyncHandlerQueue(self._answer, self._background, at_once=ANSWERS_AT_ONCE, most=MOST_WAITING)
        self._notices = AsyncHandlerQueue(self._tell, self._background, at_once=1, most=MOST_WAITING)
        # One that waits tells of all the changes until then.
        self._changes = AsyncHandlerQueue(self._tell, self._background, at_once=1, most=1)
        self._has_warned = False
        self._is_listening = False
        self._under_way: set[int] = set()
        self._is_retired = False
        self.generation = 0

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        patience: Patience,
        on_progress: OnProgress | None,
        headers: Mapping[str, str] | None,
    ) -> Mapping[str, Any]:
        """The result of a call, after the rounds in which the server asks for more input.

        Raises:
            MCPError: The server reports an error, or asks for what nobody can give.
            TimeoutError: There was no answer in time.
            ConnectionError: Of the finer classes of `failures`.
        """
        further: dict[str, Any] = {}
        for _ in range(MAX_INPUT_ROUNDS):
            message = await self.exchange(
                method, {**(params or {}), **further} if further else params, patience, on_progress, headers
            )
            if "error" in message:
                error = error_of(message)
                if error is not None:
                    raise error
            result = message.get("result")
            if not isinstance(result, dict):
                raise MCPError(INTERNAL_ERROR, f"the answer to {method} has no result")
            if not self.dialect.is_modern:
                return result
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return result
            if kind != "input_required":
                raise MCPError(INTERNAL_ERROR, f"the answer to {method} is of the unknown type {kind!r}")
            with rt.fail_at(patience):
                further = await self._input(result)
        raise MCPError(INTERNAL_ERROR, f"{method}: the server asked for input more than {MAX_INPUT_ROUNDS} times")

    async def exchange(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        patience: Patience,
        on_progress: OnProgress | None = None,
        headers: Mapping[str, str] | None = None,
        dialect: Dialect | None = None,
    ) -> Message:
        """The answer to one call, whatever it says."""
        dialect = dialect or self.dialect
        number = next(self._ids)
        params = dialect.params(params, number if on_progress is not None else None)
        if isinstance(dialect, Modern):
            headers = {**dialect.headers(method, params), **(headers or {})}
        call = Call(number, method, params, patience, headers or {})
        pending: AsyncPendingCall | None = None
        self._under_way.add(number)
        try:
            if patience.remaining() <= 0:
                raise patience.error()  # before anything is done at the server
            pending = await self.link.begin(call)
            message = await pending.next()
            while not is_answer(message):
                patience.extend()
                if on_progress is not None:
                    with rt.fail_at(patience):
                        await self._report(on_progress, message)
                message = await pending.next()
            return message
        except (ConnectionError, MCPError):
            raise
        except BaseException:  # its time is over, or nobody waits any more
            if pending is not None:
                await _give_up(pending)
            raise
        finally:
            try:
                if pending is not None:
                    await pending.close()
            finally:
                self._under_way.discard(number)
                if self._is_retired and not self._under_way:
                    await self.close()

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Tell the server something."""
        await self.link.send(notification(method, params))

    def listen(self) -> None:
        """Have the server say when its tools change; in the old era it does so by itself."""
        tools = self.server.capabilities.get("tools")
        if (
            isinstance(self.dialect, Modern)
            and not self._is_listening
            and isinstance(tools, dict)
            and tools.get("listChanged")
        ):
            self._is_listening = True
            self._background.start_soon(self._listen, self.dialect)

    async def close(self) -> None:
        """End the connection; from any thread, task or loop."""
        self._background.cancel()
        await self.link.close()

    def drop(self) -> None:
        """End the connection of a client that nobody has any more, without waiting for anything."""
        self._background.cancel()
        self.link.drop()

    async def retire(self) -> None:
        """End the connection when the calls that are under way have ended: each learns for itself what becomes of it."""
        self._is_retired = True
        if not self._under_way:
            await self.close()

    async def _report(self, on_progress: OnProgress, message: Message) -> None:
        params = message.get("params") or {}
        try:
            await rt.call(on_progress, params.get("progress"), params.get("total"), params.get("message"))
        except Exception as error:
            raise_if_from_a_signal(error)
            log.exception("on_progress raised")

    async def _input(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """What the server wants before it goes on, as further parameters of the same call."""
        requests = result.get("inputRequests")
        further: dict[str, Any] = {}
        if isinstance(requests, dict) and requests:
            further["inputResponses"] = {
                name: await self._given(request.get("method"), request.get("params") or {})
                for name, request in requests.items()
                if isinstance(request, dict)
            }
        if "requestState" in result:
            further["requestState"] = result["requestState"]
        if not further:
            raise MCPError(INTERNAL_ERROR, "the server asks for input without saying for which")
        return further

    async def _given(self, method: object, params: object) -> Mapping[str, Any]:
        """What the handler gives for one of the server's requests within a call."""
        try:
            return await self._handlers.answer(method, params)
        except KovaError:
            raise
        except Exception as error:
            text = f"the handler of {method} raised {type(error).__name__}: {error}"
            raise MCPError(INTERNAL_ERROR, text) from error

    # ---- what the server says by itself

    def receive(self, message: Message) -> None:
        """Take a message that belongs to no call. Never waits: whatever has to be done is done elsewhere."""
        if is_request(message):
            if not self._requests.put(message):
                self._note_dropped()
        elif "method" in message:
            is_change = message["method"] == "notifications/tools/list_changed"
            if is_change:
                self.generation += 1
            if self._handlers.wants(message["method"]):
                (self._changes if is_change else self._notices).put(message)

    def _note_dropped(self) -> None:
        say = log.debug if self._has_warned else log.warning
        say("an MCP server asks faster than it is answered; a request is dropped")
        self._has_warned = True

    async def _tell(self, message: Message) -> None:
        params = message.get("params")
        await self._handlers.tell(message["method"], params if isinstance(params, dict) else {})

    async def _answer(self, message: Message) -> None:
        """Answer a request of the server."""
        try:
            result = await self._handlers.answer(message["method"], message.get("params") or {})
            answer = result_answer(message["id"], result)
        except MCPError as error:
            answer = error_answer(message["id"], error.code or METHOD_NOT_FOUND, error.message)
        except Exception as error:
            log.exception("a handler for an MCP server raised", method=message["method"])
            answer = error_answer(message["id"], INTERNAL_ERROR, f"{type(error).__name__}: the handler raised")
        try:
            try:
                await self.link.send(answer)
            except (TypeError, ValueError) as error:
                text = f"what the handler gave cannot be sent: {error}"
                log.exception("a handler for an MCP server gave no JSON", method=message["method"])
                await self.link.send(error_answer(message["id"], INTERNAL_ERROR, text))
        except ConnectionError as error:
            log.debug("an answer to an MCP server was not sent", error=str(error))

    async def _listen(self, dialect: Modern) -> None:
        """Hold the subscription open; when it ends, the list is taken to have changed."""
        params = dialect.params({"notifications": {"toolsListChanged": True}}, None)
        for_ever = Patience("listening", math.inf, math.inf)
        headers = dialect.headers("subscriptions/listen", params)
        call = Call(next(self._ids), "subscriptions/listen", params, for_ever, headers)
        try:
            pending = await self.link.begin(call)
            try:
                error = error_of(await pending.next())
                if error is not None:
                    raise error
            finally:
                await pending.close()
            self._is_listening = False
        except MCPError as error:
            log.debug("an MCP server offers no subscription", error=str(error))
        except KovaError as error:
            log.debug("the subscription of an MCP server broke off", error=str(error))
            self._is_listening = False
        self.generation += 1


async def _give_up(pending: AsyncPendingCall) -> None:
    with rt.shield(GIVE_UP_SECONDS):
        await pending.abandon()
