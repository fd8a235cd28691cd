"""The async runtime: anyio on asyncio and trio, behind the names that both runtimes share."""

from __future__ import annotations

import contextvars
import itertools
import math
import os
import socket
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, aclosing
from types import TracebackType
from typing import Any, Generic, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel
import sniffio

from .._loops import Scheduler, loop_scheduler
from ..cancellation import CancellationToken
from ..errors import BuildError
from . import workers
from .aio_reading import Inbox, SharedReader
from .aio_scope import CancelOn, FailAt
from .callables import is_async_callable
from .scope import FOREIGN, GRACE, UNLIMITED, Deadline
from .sockets import is_connected

__all__ = [
    "Background",
    "Channel",
    "Inbox",
    "Semaphore",
    "SharedReader",
    "TaskGroup",
    "call",
    "cancel_on",
    "check_callable",
    "check_native",
    "checkpoint",
    "closing",
    "connect",
    "entry",
    "fail_at",
    "is_cancellation",
    "move_on_after",
    "owner",
    "receive",
    "remaining",
    "run_blocking",
    "send",
    "shield",
    "sleep",
    "task",
]

T = TypeVar("T")

closing = aclosing
checkpoint = anyio.lowlevel.checkpoint
sleep = anyio.sleep


# ---- limits


def entry() -> AbstractContextManager[None]:
    """A block in which a user's call is worked on: here limits are left behind by nothing."""
    return UNLIMITED


def fail_at(deadline: Deadline | None) -> AbstractContextManager[None]:
    """Raise the deadline's error out of a block that is still waiting when it has passed."""
    return UNLIMITED if deadline is None else FailAt(deadline)


def cancel_on(token: CancellationToken | None) -> AbstractContextManager[None]:
    """Raise `TurnCancelledError` out of a block that is still waiting when the token is cancelled."""
    return UNLIMITED if token is None else CancelOn(token)


def move_on_after(seconds: float) -> AbstractContextManager[object]:
    """Leave a block that is still waiting after the given seconds."""
    return anyio.move_on_after(seconds)


def shield(grace: float) -> AbstractContextManager[object]:
    """A block that outer limits do not end, for clean-up; it is left after `grace` seconds."""
    return anyio.move_on_after(grace, shield=True)


def remaining() -> float:
    """Seconds until the nearest deadline; infinite where there is none."""
    deadline = anyio.current_effective_deadline()
    return deadline if math.isinf(deadline) else deadline - anyio.current_time()


# ---- tasks


class Channel(Generic[T]):
    """An unbounded queue between tasks: `put` never waits, `get` does."""

    # anyio's own streams must be closed, or warn; and an event that is made only where somebody has to wait costs less
    # than a semaphore for each channel.

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._waiting: deque[anyio.Event] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        self._items.append(item)
        self._wake_next()

    async def get(self) -> T:
        while not self._items:
            event = anyio.Event()
            self._waiting.append(event)
            try:
                await event.wait()
            except BaseException:
                if event.is_set():
                    self._wake_next()  # the item was for this task, and is now for another
                else:
                    self._waiting.remove(event)
                raise
        return self._items.popleft()

    def _wake_next(self) -> None:
        if self._items and self._waiting:
            self._waiting.popleft().set()


class Semaphore:
    """Lets `count` tasks in at once."""

    def __init__(self, count: int) -> None:
        self._semaphore = anyio.Semaphore(count, fast_acquire=True)

    async def __aenter__(self) -> None:
        await self._semaphore.acquire()

    async def __aexit__(self, *exc_info: object) -> None:
        self._semaphore.release()

    async def acquire(self) -> None:
        await self._semaphore.acquire()

    def release(self) -> None:
        self._semaphore.release()


class TaskGroup:
    """Runs children as tasks, and leaves its block when all of them have ended.

    The first child that raises cancels the others; what was raised comes out as an `ExceptionGroup`. The block itself
    starts children and does not wait for them.
    """

    async def __aenter__(self) -> TaskGroup:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        return self

    def start_soon(self, function: Callable[..., Any], /, *args: Any) -> None:
        self._group.start_soon(function, *args)

    def cancel(self) -> None:
        """Tell all children to stop."""
        self._group.cancel_scope.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._group.__aexit__(kind, error, trace)


class Background:
    """Tasks that go on between the calls of an object that owns them, until it cancels them. They do not raise.

    No scope is open meanwhile, so that the owner may be left in another task than it was entered in, as a generator
    around a stream is when it is dropped.
    """

    def __init__(self) -> None:
        # Each with what reaches its loop, and what must be kept from the collector.
        self._scopes: dict[anyio.CancelScope, tuple[Scheduler, object]] = {}

    def start_soon(self, function: Callable[..., Any], /, *args: Any) -> None:
        scope = anyio.CancelScope()

        async def run() -> None:
            try:
                with scope:
                    await function(*args)
            finally:
                self._scopes.pop(scope, None)

        schedule = loop_scheduler()
        self._scopes[scope] = schedule, None
        self._scopes[scope] = schedule, _spawn(run)

    def cancel(self) -> None:
        """Tell all tasks to stop; from any thread, also when their loop is gone."""
        for scope, (schedule, _) in list(self._scopes.items()):
            schedule(scope.cancel)


def _spawn(function: Callable[[], Coroutine[Any, Any, None]]) -> object:
    if sniffio.current_async_library() == "trio":
        import trio

        return trio.lowlevel.spawn_system_task(function, context=contextvars.copy_context())
    import asyncio

    return asyncio.get_running_loop().create_task(function())


def task() -> object:
    """Identifies the running task, for good: a later task may get its address, and an id that is made from that."""
    if sniffio.current_async_library() == "trio":
        import trio

        return weakref.ref(trio.lowlevel.current_task())
    import asyncio

    return weakref.ref(asyncio.current_task())


def is_cancellation(error: BaseException) -> bool:
    """Whether an exception says that the present scope is over, and must go on."""
    return isinstance(error, anyio.get_cancelled_exc_class())


# ---- code that cannot be interrupted


def check_callable(function: object, argument: str) -> None:
    """Refuse what cannot be called here: in the blocking twin that includes async functions, tools excepted."""
    if not callable(function):
        raise BuildError(f"{argument} must be callable, not {type(function).__name__}")


def check_native(method: object, argument: str, owner: str = "Agent") -> None:
    """Refuse a method of the other twin, as of a provider that was made for it."""
    if not is_async_callable(method):
        raise BuildError(f"{argument} is blocking: an {owner} wants it, an Async{owner} wants its async twin")


async def run_blocking(function: Callable[..., T], /, *args: Any) -> T:
    """Call a plain function that may block; when the scope ends first, it is abandoned."""
    return await _in_worker(function, args, None)


async def call(function: Callable[..., Any], /, *args: Any, stop: CancellationToken | None = None) -> Any:
    """Call a user's function, plain or async; a plain one runs in a worker thread, never on the loop.

    When the scope ends first, `stop` is cancelled, a plain function is given a moment to see it, and is then
    abandoned.
    """
    if is_async_callable(function):
        try:
            return await function(*args)
        except anyio.get_cancelled_exc_class() as error:
            if not _is_over():
                raise RuntimeError(FOREIGN) from error
            if stop is not None:
                stop.cancel()
            raise
    return await _in_worker(function, args, stop)


def _is_over() -> bool:
    """Whether the present scope, or its task, has been cancelled."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    if sniffio.current_async_library() == "trio":
        return False
    import asyncio

    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _in_worker(function: Callable[..., T], args: tuple[Any, ...], stop: CancellationToken | None) -> T:
    ended = anyio.Event()
    schedule = loop_scheduler()
    context = contextvars.copy_context()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(context.run(function, *args))
        except BaseException as raised:
            errors.append(raised)
        schedule(ended.set)

    workers.start(work)
    try:
        await ended.wait()
    except anyio.get_cancelled_exc_class():
        if stop is not None:
            stop.cancel()
            with shield(GRACE):
                await ended.wait()
        raise
    if errors:
        error = errors.pop()
        if isinstance(error, anyio.get_cancelled_exc_class()):
            raise RuntimeError(FOREIGN) from error
        raise error
    return results.pop()


# ---- sockets; non-blocking ones, since a loop's own transports outlive neither the loop nor its closing quietly

_FAIRNESS = 8  # reads that may succeed at once before other tasks get their turn
_reads = itertools.count()


async def connect(sock: socket.socket, address: Any) -> None:
    """Connect a socket."""
    sock.setblocking(False)
    try:
        sock.connect(address)
    except BlockingIOError:
        if is_connected(sock):
            return  # to a host nearby, before the loop could have been asked
        await anyio.wait_writable(sock)
        number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number)) from None


async def send(sock: socket.socket, data: bytes) -> None:
    """Send all of the data."""
    view = memoryview(data)
    while view:
        try:
            view = view[sock.send(view) :]
        except BlockingIOError:
            await anyio.wait_writable(sock)


async def receive(sock: socket.socket, max_bytes: int) -> bytes:
    """Receive some data; nothing at the end of the stream."""
    if next(_reads) % _FAIRNESS == 0:
        await checkpoint()
    while True:
        try:
            return sock.recv(max_bytes)
        except BlockingIOError:
            await anyio.wait_readable(sock)


# ---- owners of connections


def owner() -> object:
    """Whose connections the present code may use: those of the running loop."""
    if sniffio.current_async_library() == "trio":
        import trio

        return trio.lowlevel.current_trio_token()
    import asyncio

    return asyncio.get_running_loop()
