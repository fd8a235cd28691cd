"""A link to a server that runs as a process of this machine, over its standard input and output.

A message is a line of JSON (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio). One loop
reads the server's output for all calls, and hands each its messages.
"""

from __future__ import annotations

import os
import re

from ..._log import log
from ..._mcp.calls import Call
from ..._mcp.commands import resolve_command
from ..._mcp.environment import server_environment
from ..._mcp.failures import LinkLost, NotDelivered
from ..._mcp.jsonrpc import Message, encode, is_answer, notification, parse_messages
from ..._mcp.last_words import LastWords, how_it_ended
from ..._mcp.lines import Lines, LineTooLong
from ..._runtime import aio as rt
from ..._runtime.children import Child
from ...errors import ConnectionError, KovaError, StreamError
from ...mcp.transports import StdioTransport
from .link import Receiver

__all__ = ["AsyncStdioLink"]

MAX_READ = 262_144  # bytes: what a socket holds
STATUS_SECONDS = 0.5  # for a server to exit, and for its last words to arrive, once its output has ended
CLOSE_SECONDS = 10.0  # what closing never takes, as each of its steps is bounded

_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})"?\s*,')


class AsyncStdioCall:
    """A call under way, and what has come for it."""

    def __init__(self, link: AsyncStdioLink, call: Call) -> None:
        self._link = link
        self._call = call
        self.inbox: rt.Channel[Message | KovaError] = rt.Channel()

    async def next(self) -> Message:
        item = await self.inbox.get()
        if isinstance(item, KovaError):
            raise item
        return item

    async def abandon(self) -> None:
        if self._call.method != "initialize":  # which the protocol does not let a client cancel
            self._link.tell_cancelled(self._call.id)

    async def close(self) -> None:
        self._link.forget(self._call.id)


class AsyncStdioLink:
    """A server as a process. It takes calls from the loop that opened it, and may be closed from anywhere.

    Args:
        transport: How it is started.
        receiver: Takes what it says by itself.
    """

    def __init__(self, transport: StdioTransport, receiver: Receiver) -> None:
        self._transport = transport
        self._receiver = receiver
        self._child: Child | None = None
        self._background = rt.Background()
        self._calls: dict[object, AsyncStdioCall] = {}
        self._words = LastWords()
        self._words_ended: rt.Channel[None] = rt.Channel()
        self._end: str | None = "is not running"  # why calls cannot be made
        self._is_closed = False
        self._has_warned = False

    @property
    def is_open(self) -> bool:
        return self._end is None

    async def open(self) -> None:
        env = server_environment(os.environ, self._transport.env, inherit=self._transport.inherit_env)
        program = resolve_command(self._transport.command, env.get("PATH", os.defpath), self._transport.cwd)
        try:
            self._child = Child([program, *self._transport.args], cwd=self._transport.cwd, env=env)
        except (OSError, RuntimeError, ValueError) as error:
            raise ConnectionError(f"cannot start the MCP server {self._transport.shown!r}: {error}") from error
        self._end = None
        self._background.start_soon(self._read, self._child)
        self._background.start_soon(self._listen, self._child)

    async def begin(self, call: Call) -> AsyncStdioCall:
        line = encode(call.message) + b"\n"
        pending = self._calls[call.id] = AsyncStdioCall(self, call)  # first, as the answer may come at once
        try:
            self._write(line)
        except OSError:
            self._calls.pop(call.id, None)
            raise NotDelivered(self._error_text()) from None
        return pending

    async def send(self, message: Message) -> None:
        try:
            self._write(encode(message) + b"\n")
        except OSError:
            raise ConnectionError(self._error_text()) from None

    def negotiated(self, version: str, *, is_modern: bool) -> None:
        pass  # a line says the same in every version

    async def close(self) -> None:
        self._fail_calls("was closed")
        self._is_closed = True
        child = self._child
        if child is None:
            return
        try:
            with rt.shield(CLOSE_SECONDS):
                await rt.run_blocking(child.close)
        except BaseException:  # Ctrl-C
            child.kill()
            raise

    def forget(self, id: int) -> None:
        """Drop what comes for a call from now on."""
        self._calls.pop(id, None)

    def tell_cancelled(self, id: int) -> None:
        """Tell the server that nobody waits for a call."""
        try:
            self._write(encode(notification("notifications/cancelled", {"requestId": id})) + b"\n")
        except OSError:
            pass  # then there is nobody to tell

    # ---- to the server

    def _write(self, line: bytes) -> None:
        if self._end is not None or self._child is None:
            raise BrokenPipeError
        try:
            has_to_flush = self._child.write(line)
        except OSError:
            self._end = "has closed its input"
            raise
        if has_to_flush:
            self._background.start_soon(self._flush, self._child)

    async def _flush(self, child: Child) -> None:
        """Send what did not fit, so that no caller waits for a server that does not read."""
        try:
            while data := child.take_kept():
                await rt.send(child.stdin, data)
        except OSError:
            pass  # the server is gone, as its output tells
        finally:
            child.end_flush()

    # ---- from the server

    async def _read(self, child: Child) -> None:
        lines = Lines()
        try:
            while data := await rt.receive(child.stdout, MAX_READ):
                for line in lines.feed(data):
                    self._take(line)
        except LineTooLong as error:
            self._refuse(error)
        except OSError:
            pass  # as good as an end
        finally:
            self._end = self._end or "closed its output"
            child.release(child.stdout)
        status = await rt.run_blocking(child.wait, STATUS_SECONDS)
        with rt.move_on_after(STATUS_SECONDS):
            await self._words_ended.get()
        self._fail_calls(how_it_ended(status))

    async def _listen(self, child: Child) -> None:
        """Read what the server writes to stderr, else it would stop when nobody does."""
        try:
            while data := await rt.receive(child.stderr, MAX_READ):
                self._words.add(data)
        except OSError:
            pass
        finally:
            child.release(child.stderr)
            self._words_ended.put(None)

    def _take(self, line: bytes) -> None:
        try:
            if not line.isascii():
                line.decode()
            messages = parse_messages(line)
        except ValueError:
            messages = []
        if not messages and line.strip():
            self._note_noise(len(line))
        for message in messages:
            self._route(message)

    def _route(self, message: Message) -> None:
        if is_answer(message):
            pending = self._calls.pop(_key(message.get("id")), None)
            if pending is not None:  # else it comes late, or a second time, or was never asked for
                pending.inbox.put(message)
            return
        if message.get("method") == "notifications/progress" and "id" not in message:
            params = message.get("params")
            pending = self._calls.get(_key(params.get("progressToken"))) if isinstance(params, dict) else None
            if pending is not None:
                pending.inbox.put(message)
                return
        self._receiver(message)

    def _note_noise(self, size: int) -> None:
        say = log.debug if self._has_warned else log.warning
        say("an MCP server wrote a line that is no message; it is skipped", server=self._transport.shown, size=size)
        self._has_warned = True

    # ---- the end

    def _refuse(self, error: LineTooLong) -> None:
        """Fail the call that a line is for which is too long; all of them if that cannot be told."""
        self._end = "sent a line that is too long"
        named = _ID_FIRST.match(error.head)
        concerned = [self._calls.pop(int(named[1]), None)] if named else []
        if concerned in ([], [None]):
            concerned = [self._calls.pop(key, None) for key in list(self._calls)]
        for pending in concerned:
            if pending is not None:
                pending.inbox.put(StreamError(f"{error.message} (MCP server {self._transport.shown!r})"))

    def _fail_calls(self, end: str) -> None:
        if not self._is_closed:
            self._end = end
        for key in list(self._calls):
            pending = self._calls.pop(key, None)
            if pending is not None:
                pending.inbox.put(LinkLost(self._error_text()))

    def _error_text(self) -> str:
        words = self._words.text
        text = f"the MCP server {self._transport.shown!r} {self._end}"
        return f"{text}; it said last: {words}" if words else text


def _key(id: object) -> object:
    """The key that an id in an answer stands for; some servers give numbers back as text."""
    if type(id) is int:
        return id
    return int(id) if isinstance(id, str) and id.isascii() and id.isdigit() and len(id) < 19 else None
