"""A link to a server that runs as a process of this machine, over its standard input and output.

A message is a line of JSON (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio). One loop
reads the server's output for all calls, and hands each its messages.
"""

from __future__ import annotations

import os
import re

from ... import _json
from ..._formats.secrets import secret_headers
from ..._log import log
from ..._mcp.calls import MOST_REPORTS, Call
from ..._mcp.commands import resolve_command
from ..._mcp.environment import server_environment
from ..._mcp.failures import LinkLost, NotDelivered
from ..._mcp.jsonrpc import Message, answered_id, cancelled, encode, is_message, progress_token
from ..._mcp.last_words import LastWords, how_it_ended
from ..._mcp.lines import Lines, LineTooLong
from ..._runtime import aio as rt
from ..._runtime.children import Child
from ..._runtime.owners import is_over
from ..._signals import raise_if_from_a_signal
from ...errors import ConnectionError, KovaError, StreamError
from ...mcp.transports import StdioTransport
from .link import Receiver

__all__ = ["AsyncStdioLink"]

MAX_READ = 262_144  # bytes: what a socket holds
STATUS_SECONDS = 0.5  # for a server to exit, and for its last words to arrive, once its output has ended
CLOSE_SECONDS = 10.0  # what closing never takes, as each of its steps is bounded

_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,18})"?\s*,\s*+(?!"method")')


class AsyncStdioCall(rt.Inbox["Message | KovaError"]):
    """A call under way, and what has come for it."""

    __slots__ = ("_call", "_link", "_reader")

    def __init__(self, link: AsyncStdioLink, call: Call, reader: rt.SharedReader) -> None:
        super().__init__()
        self._link = link
        self._call = call
        self._reader = reader

    async def next(self) -> Message:
        item = await self._reader.get(self, self._call.patience)
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
        self._reader: rt.SharedReader | None = None
        self._owner: object = None
        self._background = rt.Background()
        self._calls: dict[int | None, AsyncStdioCall] = {}
        self._standing: set[int] = set()  # ids of calls that are answered only when they end
        self._lines = Lines()
        self._words = LastWords()
        self._words_ended: rt.Channel[None] = rt.Channel()
        self._end: str | None = "is not running"  # why calls cannot be made
        self._is_closed = False
        self._has_warned = False

    @property
    def is_open(self) -> bool:
        return self._end is None and self._reader is not None and not self._reader.is_over

    async def open(self) -> None:
        env = server_environment(os.environ, self._transport.env, inherit=self._transport.inherit_env)
        self._words.secrets = secret_headers(env)  # by their names, as variables have such names too
        program = resolve_command(self._transport.command, env.get("PATH", os.defpath), self._transport.cwd)
        try:
            self._child = Child([program, *self._transport.args], cwd=self._transport.cwd, env=env)
        except (OSError, RuntimeError, ValueError) as error:
            raise_if_from_a_signal(error)
            raise ConnectionError(f"cannot start the MCP server {self._transport.shown!r}: {error}") from error
        except TypeError as error:  # gevent's alone, as all arguments have been checked
            problem = f"gevent starts no processes in this thread ({error})"
            raise ConnectionError(f"cannot start the MCP server {self._transport.shown!r}: {problem}") from error
        self._owner = rt.owner()
        self._reader = rt.SharedReader(self._child.stdout, self._feed, self._has_waiting)
        self._end = None
        self._background.start_soon(self._read, self._child, self._reader)
        self._background.start_soon(self._listen, self._child)

    async def begin(self, call: Call) -> AsyncStdioCall:
        line = encode(call.message) + b"\n"
        if self._reader is None:
            raise NotDelivered(self._error_text())
        pending = AsyncStdioCall(self, call, self._reader)
        if call.method == "subscriptions/listen":
            self._standing.add(call.id)
        self._calls[call.id] = pending  # first, as the answer may come at once
        try:
            self._write(line)
        except OSError:
            self.forget(call.id)
            raise NotDelivered(self._error_text()) from None
        return pending

    async def send(self, message: Message) -> None:
        try:
            self._write(encode(message) + b"\n")
        except OSError:
            raise ConnectionError(self._error_text()) from None

    def negotiated(self, version: str, *, is_modern: bool) -> None:
        pass  # a line says the same in every version

    def drop(self) -> None:
        # A server that goes on without input is ended with the interpreter: the collector must not start a thread.
        self._end = "was closed"
        self._is_closed = True
        if self._child is not None:
            self._child.end_input()

    async def close(self) -> None:
        self._end = "was closed"
        self._is_closed = True
        child = self._child
        if child is None or self._reader is None:
            return
        self._reader.expect_end()
        if is_over(self._owner):
            child.release(child.stdout)
            child.release(child.stderr)
        try:
            with rt.shield(CLOSE_SECONDS):
                await rt.run_blocking(child.close)
        except BaseException:  # Ctrl-C
            child.kill()
            raise

    def forget(self, id: int) -> None:
        """Drop what comes for a call from now on."""
        self._calls.pop(id, None)
        self._standing.discard(id)

    def tell_cancelled(self, id: int) -> None:
        """Tell the server that nobody waits for a call."""
        try:
            self._write(encode(cancelled(id)) + b"\n")
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

    async def _read(self, child: Child, reader: rt.SharedReader) -> None:
        try:
            await reader.run()
        except BaseException:  # its loop ends: the server does too, whether or not anybody closes the link
            child.end_input()
            raise
        finally:
            self._end = self._end or "closed its output"
            child.release(child.stdout)
        status = await rt.run_blocking(child.wait, STATUS_SECONDS)
        with rt.move_on_after(STATUS_SECONDS):
            await self._words_ended.get()
        self._fail_calls(how_it_ended(status))
        child.end_input()

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

    def _has_waiting(self) -> bool:
        return len(self._calls) > len(self._standing)

    def _feed(self, data: bytes) -> bool:
        """Take what was read; tells whether to go on."""
        try:
            for line in self._lines.feed(data):
                self._take(line)
        except LineTooLong as error:
            self._refuse(error)
            return False
        return True

    def _take(self, line: bytes) -> None:
        try:
            value = _json.loads(line)
        except ValueError:  # also where it is not UTF-8
            value = None
        if is_message(value):
            return self._route(value)
        batch = value if isinstance(value, list) else []  # as MCP had them in 2025-03-26
        messages = [item for item in batch if is_message(item)]
        if value is None:
            self._refuse_unreadable(line)
        for message in messages:
            self._route(message)
        if not messages and line.strip():
            self._note_noise(len(line))

    def _route(self, message: Message) -> None:
        if "method" not in message:
            id = message["id"]
            pending = self._calls.pop(id if type(id) is int else answered_id(message), None)
        else:
            pending = self._calls.get(progress_token(message))
            if pending is None:
                self._receiver(message)
            elif len(pending) >= MOST_REPORTS:
                return
        if pending is not None:  # else it comes late, or a second time, or was never asked for
            pending.put(message)

    def _refuse_unreadable(self, line: bytes) -> None:
        """Fail the call whose answer is no JSON, such as one with a NaN in it: nothing else will come for it."""
        named = _ID_FIRST.match(line)
        pending = self._calls.pop(int(named[1]), None) if named else None
        if pending is not None:
            pending.put(StreamError(f"the MCP server {self._transport.shown!r} gave an answer that is no JSON"))

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
                pending.put(StreamError(f"{error.message} (MCP server {self._transport.shown!r})"))

    def _fail_calls(self, end: str) -> None:
        if not self._is_closed:
            self._end = end
        for key in list(self._calls):
            pending = self._calls.pop(key, None)
            if pending is not None:
                pending.put(LinkLost(self._error_text()))

    def _error_text(self) -> str:
        words = self._words.text
        text = f"the MCP server {self._transport.shown!r} {self._end}"
        return f"{text}; it said last: {words}" if words else text
