"""The blocking runtime: threads, sockets and queues, behind the names that both runtimes share.

Every wait sees the current scope (`thread_scope`): the nearest deadline, and the token whose cancellation ends it.
"""

from __future__ import annotations

import contextvars
import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import partial
from types import TracebackType
from typing import Any, Generic, TypeVar

from .._loops import loop_scheduler
from .._mailbox import Mailbox
from .._signals import raise_if_from_a_signal
from ..cancellation import CancellationToken
from ..errors import BuildError
from . import workers
from .callables import is_async_callable
from .greenlets import in_a_real_thread, owner
from .scope import FOREIGN, GRACE, UNLIMITED, Deadline
from .sockets import Socket, wake
from .thread_reading import Inbox, SharedReader
from .thread_scope import Cancelled, CancelOn, Entry, FailAt, MoveOnAfter, Scope, current
from .thread_waits import wait_for

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


# ---- limits


entry = Entry


def fail_at(deadline: Deadline | None) -> AbstractContextManager[None]:
    """Raise the deadline's error out of a block that is still waiting when it has passed."""
    return UNLIMITED if deadline is None else FailAt(deadline)


def cancel_on(token: CancellationToken | None) -> AbstractContextManager[None]:
    """Raise `TurnCancelledError` out of a block that is still waiting when the token is cancelled."""
    return UNLIMITED if token is None else CancelOn(token)


def move_on_after(seconds: float) -> AbstractContextManager[None]:
    """Leave a block that is still waiting after the given seconds."""
    return MoveOnAfter(seconds, shielded=False)


def shield(grace: float) -> AbstractContextManager[None]:
    """A block that outer limits do not end, for clean-up; it is left after `grace` seconds."""
    return MoveOnAfter(grace, shielded=True)


def remaining() -> float:
    """Seconds until the nearest deadline; infinite where there is none."""
    return current.get().deadline - time.monotonic()


def checkpoint() -> None:
    """End here if the scope is over."""
    if current.get().is_over():
        raise Cancelled


# ---- waiting


def sleep(seconds: float) -> None:
    """Wait for the given number of seconds."""
    with MoveOnAfter(seconds, shielded=False):
        wait_for(Mailbox())


class Channel(Generic[T]):
    """An unbounded queue between tasks: `put` never waits, `get` does."""

    def __init__(self) -> None:
        self._queue: Mailbox[T] = Mailbox()

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, item: T) -> None:
        self._queue.put(item)

    def get(self) -> T:
        item: T = wait_for(self._queue)
        return item


class Semaphore:
    """Lets `count` tasks in at once."""

    # Each waits at a queue of its own, so that what ends one wait is not taken by another. There is no lock: who adds
    # a permit or a waiting task looks again until one of the two is used up.

    def __init__(self, count: int) -> None:
        self._free = deque([None] * count)
        self._waiting: deque[Mailbox[None]] = deque()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    def acquire(self) -> None:
        try:
            return self._free.pop()
        except IndexError:
            pass
        turn: Mailbox[None] = Mailbox()
        self._waiting.append(turn)
        self._serve()
        try:
            wait_for(turn)
        except BaseException:
            try:
                self._waiting.remove(turn)
            except ValueError:
                self.release()  # its turn had just come
            raise

    def release(self) -> None:
        self._free.append(None)
        self._serve()

    def _serve(self) -> None:
        while self._free and self._waiting:
            try:
                self._free.pop()
            except IndexError:
                return  # another thread has taken the last one
            try:
                self._waiting.popleft().put(None)
            except IndexError:
                self._free.append(None)


# ---- tasks


class TaskGroup:
    """Runs children in threads of their own, and leaves its block when all of them have ended.

    The first child that raises cancels the others; what was raised comes out as an `ExceptionGroup`. The block itself
    starts children and does not wait for them. A child that does not stop when it is told to is abandoned.
    """

    def __enter__(self) -> TaskGroup:
        outer = current.get().token
        self._token = CancellationToken() if outer is None else outer.child()
        self._ended: Mailbox[BaseException | None] = Mailbox()
        self._running = 0
        self._errors: list[BaseException] = []
        return self

    def start_soon(self, function: Callable[..., object], /, *args: Any) -> None:
        scope = Scope(current.get().deadline, self._token)
        context = contextvars.copy_context()
        ended = self._ended

        def child() -> None:
            current.set(scope)
            function(*args)

        def work() -> None:
            error: BaseException | None = None
            try:
                context.run(child)
            except Cancelled:
                pass
            except BaseException as raised:
                error = raised
            ended.put(error)

        workers.start(work)
        self._running += 1

    def cancel(self) -> None:
        """Tell all children to stop."""
        self._token.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._token.cancel()
        try:
            self._join()
        except BaseException:  # the outer scope is over, or Ctrl-C
            self._token.cancel()
            self._join_for(GRACE)
            raise
        if isinstance(error, Exception):
            self._errors.insert(0, error)
        elif error is not None:
            return  # the block was cancelled or interrupted: that goes on as it is
        if self._errors:
            raise BaseExceptionGroup("errors in a task group", self._errors) from None
        if error is None:
            checkpoint()  # a deadline that ended the children ends this block too

    def _join(self) -> None:
        while self._running and not self._token.is_cancelled:
            self._take(wait_for(self._ended))
        if self._running:
            self._join_for(GRACE)

    def _join_for(self, seconds: float) -> None:
        with shield(seconds):
            while self._running:
                self._take(wait_for(self._ended))

    def _take(self, error: BaseException | None) -> None:
        self._running -= 1
        if error is not None:
            self._errors.append(error)
            self._token.cancel()


class Background:
    """Tasks that go on between the calls of an object that owns them, until it cancels them. They do not raise."""

    def __init__(self) -> None:
        self._token = CancellationToken()

    def start_soon(self, function: Callable[..., object], /, *args: Any) -> None:
        scope = Scope(math.inf, self._token)
        context = contextvars.copy_context()

        def child() -> None:
            current.set(scope)
            function(*args)

        def work() -> None:
            try:
                context.run(child)
            except Cancelled:
                pass

        workers.start(work)

    def cancel(self) -> None:
        """Tell all tasks to stop."""
        self._token.cancel()


def task() -> object:
    """Identifies the running thread, for good: a later thread may get the number that the system gave it."""
    return weakref.ref(threading.current_thread())


def is_cancellation(error: BaseException) -> bool:
    """Whether an exception says that the present scope is over, and must go on."""
    return isinstance(error, Cancelled)


# ---- code that cannot be interrupted


def check_callable(function: object, argument: str) -> None:
    """Refuse what cannot be called here: in the blocking twin that includes async functions, tools excepted."""
    if not callable(function):
        raise BuildError(f"{argument} must be callable, not {type(function).__name__}")
    if is_async_callable(function):
        raise BuildError(f"{argument} is an async function, which only the async twin can call")


def check_native(method: object, argument: str, owner: str = "Agent") -> None:
    """Refuse a method of the other twin, as of a provider that was made for it."""
    if is_async_callable(method):
        raise BuildError(f"{argument} is async: an Async{owner} wants it, an {owner} wants its blocking twin")


def run_blocking(function: Callable[..., T], /, *args: Any) -> T:
    """Call a plain function that may block; when the scope ends first, it is abandoned."""
    if not current.get().can_end_before_thread():
        return function(*args)
    return _in_worker(function, args, None)


def call(function: Callable[..., Any], /, *args: Any, stop: CancellationToken | None = None) -> Any:
    """Call a user's function, plain or async.

    When the scope ends first, `stop` is cancelled, the function is given a moment to see it, and is then abandoned.
    An async function runs in an event loop of its own, in another thread: this one may have a loop running.
    """
    if is_async_callable(function):
        return _in_worker(_run_in_loop, (function, args, stop), stop)
    if not current.get().can_end_before_thread():
        return function(*args)
    return _in_worker(function, args, stop)


def _in_worker(function: Callable[..., T], args: tuple[Any, ...], stop: CancellationToken | None) -> T:
    outcome: Mailbox[Callable[[], T]] = Mailbox()
    context = contextvars.copy_context()
    scope = current.get()

    def inside() -> T:
        current.set(Scope(scope.deadline, scope.token))
        return function(*args)

    def work() -> None:
        try:
            result = context.run(inside)
        except BaseException as raised:
            error = raised
            outcome.put(lambda: _raise(error))
        else:
            outcome.put(lambda: result)

    workers.start(work)
    try:
        result_or_raise: Callable[[], T] = wait_for(outcome)
    except BaseException:  # the scope is over, or Ctrl-C
        if stop is not None:
            stop.cancel()
            with shield(GRACE):
                wait_for(outcome)
        raise
    return result_or_raise()


def _raise(error: BaseException) -> Any:
    raise error


def _run_in_loop(function: Callable[..., Any], args: tuple[Any, ...], stop: CancellationToken | None) -> Any:
    import asyncio  # needed by few, and dear to import

    async def main() -> Any:
        task = asyncio.current_task()
        assert task is not None
        forget = stop.add_callback(partial(loop_scheduler(), task.cancel)) if stop is not None else None
        try:
            return await function(*args)
        except asyncio.CancelledError as error:
            if stop is None or not stop.is_cancelled:
                raise RuntimeError(FOREIGN) from error
            raise
        finally:
            if forget is not None:
                forget()

    return in_a_real_thread(lambda: asyncio.run(main()))


# ---- sockets


def connect(sock: Socket, address: Any) -> None:
    """Connect a socket."""
    _with_socket(sock, lambda: sock.connect(address))


def send(sock: Socket, data: bytes) -> None:
    """Send all of the data."""
    _with_socket(sock, lambda: sock.sendall(data))


def receive(sock: Socket, max_bytes: int) -> bytes:
    """Receive some data; nothing at the end of the stream."""
    return _with_socket(sock, lambda: sock.recv(max_bytes))


def _with_socket(sock: Socket, operation: Callable[[], T]) -> T:
    """A blocking operation that the scope can end: shutting a socket down wakes the thread that waits for it."""
    scope = current.get()
    sock.settimeout(scope.timeout())
    forget = scope.token.add_callback(lambda: wake(sock)) if scope.token is not None else None
    try:
        result = operation()
    except OSError as error:
        raise_if_from_a_signal(error)
        if scope.is_over() or (isinstance(error, TimeoutError) and error.errno is None):
            _await_end(scope)
            raise Cancelled from None
        raise
    finally:
        if forget is not None:
            forget()
    if scope.token is not None and scope.token.is_cancelled:
        raise Cancelled
    return result


def _await_end(scope: Scope) -> None:
    """A socket's timeout may be a hair shorter than the deadline that it was made from."""
    while not scope.is_over():
        time.sleep(0.001)
