"""Reading from a socket that several tasks wait for, each for something else."""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import sniffio

from .aio_scope import FailAt
from .scope import Deadline
from .sockets import Socket

__all__ = ["Inbox", "SharedReader"]

T = TypeVar("T")

MAX_READ = 65_536  # bytes; a larger buffer is fetched from the system anew each time, which costs more than to read


class Inbox(Generic[T]):
    """What comes for one who waits."""

    __slots__ = ("_bell", "_items")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._bell: anyio.Event | None = None

    def put(self, item: T) -> None:
        self._items.append(item)
        if self._bell is not None:
            self._bell.set()

    def __len__(self) -> int:
        return len(self._items)

    async def wait(self) -> None:
        """Wait until there is something."""
        while not self._items:
            self._bell = anyio.Event()
            await self._bell.wait()


class SharedReader:
    """Reads for all who wait.

    Args:
        sock: What is read from, for as long as `run` runs.
        take: Takes what was read, and puts what it finds there into the inboxes; false ends the reading.
        has_waiting: Whether somebody waits for something that is due soon.

    Attributes:
        is_over: Whether nothing will be read any more.
    """

    def __init__(self, sock: Socket, take: Callable[[bytes], bool], has_waiting: Callable[[], bool]) -> None:
        self._sock = sock
        self._take = take
        self.is_over = False
        self._ended = anyio.Event()

    async def run(self) -> None:
        """The loop, which ends with the stream."""
        if sniffio.current_async_library() == "trio":
            while not self.is_over:
                await anyio.wait_readable(self._sock)
                self._read()
            return
        import asyncio

        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        # Where no task runs, asyncio is not found out: a message that begins one would end the reading.
        context.run(sniffio.current_async_library_cvar.set, "asyncio")
        context.run(loop.add_reader, self._sock, self._read)  # once and for all, which costs less than a task each time
        try:
            await self._ended.wait()
        finally:
            if not loop.is_closed():
                loop.remove_reader(self._sock)

    async def get(self, inbox: Inbox[T], deadline: Deadline) -> T:
        """The next item of an inbox.

        Raises:
            TimeoutError: The deadline has passed.
        """
        if not inbox._items:
            with FailAt(deadline):
                await inbox.wait()
        return inbox._items.popleft()

    def expect_end(self) -> None:
        """Have the loop read from now on, as the stream is about to end."""

    def _read(self) -> None:
        if self.is_over:
            return
        self.is_over = True  # should taking fail
        try:
            data = self._sock.recv(MAX_READ)
        except BlockingIOError:
            self.is_over = False
        except OSError:
            pass  # as good as an end
        else:
            self.is_over = not data or not self._take(data)
        finally:
            if self.is_over:
                self._ended.set()
