"""Cancellation tokens: end a turn from any thread, callback, signal handler or event loop.

One class serves both worlds. A token is cancelled once and for good; children made by `child()` are cancelled with
their parent, and may be cancelled alone.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from ._loops import loop_scheduler
from .errors import TurnCancelledError

__all__ = ["CancellationToken"]

logger = logging.getLogger("kova")
_keys = itertools.count()  # next() on it is atomic


class CancellationToken:
    """Tells whoever holds it to stop.

    Thread-safe. `cancel` may be called from any thread, from a signal handler, and more than once: only the first
    call counts.
    """

    __slots__ = ("__weakref__", "_callbacks", "_cancelled", "_detach", "_lock", "_parent", "_reason")

    def __init__(self) -> None:
        self._lock = threading.RLock()  # re-entrant: a signal handler may cancel while this thread holds it
        self._cancelled = False
        self._reason: str | None = None
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._parent: CancellationToken | None = None
        self._detach: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<CancellationToken {'cancelled' if self.is_cancelled else 'active'}>"

    @property
    def is_cancelled(self) -> bool:
        """Whether this token, or one that it descends from, was cancelled."""
        token: CancellationToken | None = self
        while token is not None:
            if token._cancelled:
                return True
            token = token._parent
        return False

    @property
    def reason(self) -> str | None:
        """What the cancelling call gave as its reason."""
        token: CancellationToken | None = self
        while token is not None:
            if token._cancelled:
                return token._reason
            token = token._parent
        return None

    def cancel(self, reason: str | None = None) -> None:
        """Cancel the token and its children; callbacks run in the calling thread.

        Args:
            reason: Goes into the message of the `TurnCancelledError`.
        """
        with self._lock:
            if self._cancelled:
                return
            self._reason = reason
            self._cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
            self._detach_from_parent()
        for callback in callbacks:
            _run_callback(callback)

    def cancel_after(self, seconds: float) -> None:
        """Cancel the token when the given number of seconds is over."""
        if seconds < 0:
            raise ValueError(f"seconds must not be negative: {seconds}")
        _timers.add(time.monotonic() + seconds, self)

    def raise_if_cancelled(self) -> None:
        """Raise `TurnCancelledError` if the token is cancelled."""
        if self.is_cancelled:
            raise TurnCancelledError(self.reason)

    def child(self) -> CancellationToken:
        """A token that is cancelled with this one, and can be cancelled without it."""
        token = CancellationToken()
        token._parent = self
        return token

    def add_callback(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` once, when the token is cancelled; at once if it is already.

        It runs in the cancelling thread; what it raises is logged.

        Returns:
            A function that takes the callback back.
        """
        with self._lock:
            if not self.is_cancelled:
                key = next(_keys)
                self._callbacks[key] = callback
                self._attach_to_parent()
                return lambda: self._remove(key)
        _run_callback(callback)
        return _nothing

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the token is cancelled.

        Args:
            timeout: Seconds to wait at most; None waits without limit.

        Returns:
            Whether the token is cancelled.
        """
        woken: SimpleQueue[None] = SimpleQueue()
        remove = self.add_callback(lambda: woken.put(None))
        try:
            woken.get(timeout=timeout)
        except Empty:
            return self.is_cancelled
        finally:
            remove()
        return True

    async def wait_async(self) -> None:
        """Wait, on asyncio or trio, until the token is cancelled."""
        import anyio

        cancelled = anyio.Event()
        schedule = loop_scheduler()
        remove = self.add_callback(lambda: schedule(cancelled.set))
        try:
            await cancelled.wait()
        finally:
            remove()

    def _remove(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
            if not self._callbacks:
                self._detach_from_parent()

    def _attach_to_parent(self) -> None:
        # A child is known to its parent only while something waits for it, so that a long-lived token does not
        # collect the children of all turns.
        if self._parent is not None and self._detach is None:
            self._detach = _nothing  # the parent may be cancelled at this very moment, and call back at once
            self._detach = self._parent.add_callback(self._follow_parent)

    def _detach_from_parent(self) -> None:
        detach, self._detach = self._detach, None
        if detach is not None:
            detach()

    def _follow_parent(self) -> None:
        self.cancel(self._parent.reason if self._parent is not None else None)


def _nothing() -> None:
    pass


def _run_callback(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception:
        logger.exception("a cancellation callback raised")


class _Timers:
    """One thread that cancels tokens when their time is over, and ends when none is left."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, CancellationToken]] = []
        self._order = itertools.count()
        self._running = False

    def add(self, due: float, token: CancellationToken) -> None:
        with self._changed:
            heapq.heappush(self._heap, (due, next(self._order), token))
            if self._running:
                self._changed.notify()
            else:
                self._running = True
                threading.Thread(target=self._run, name="kova-timers", daemon=True).start()

    def _run(self) -> None:
        while (token := self._next()) is not None:
            token.cancel("the time given to cancel_after is over")

    def _next(self) -> CancellationToken | None:
        """The next token that is due, waited for; None when there is none left."""
        with self._changed:
            while self._heap:
                wait = self._heap[0][0] - time.monotonic()
                if wait <= 0 or self._heap[0][2].is_cancelled:
                    return heapq.heappop(self._heap)[2]
                self._changed.wait(min(wait, threading.TIMEOUT_MAX))
            self._running = False
            return None


_timers = _Timers()


def _forget_timers() -> None:
    global _timers
    _timers = _Timers()  # the parent's thread and the state of its lock do not exist in a forked child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_timers)
