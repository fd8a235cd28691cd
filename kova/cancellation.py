"""Cancellation tokens: end a turn from any thread, callback, signal handler or event loop.

One class serves both worlds. A token is cancelled once and for good; children made by `child()` are cancelled with
their parent, and may be cancelled alone.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from ._log import log
from ._loops import loop_scheduler
from ._mailbox import Empty, Mailbox
from .errors import TurnCancelledError

__all__ = ["CancellationToken"]

_keys = itertools.count()


class CancellationToken:
    """Tells whoever holds it to stop.

    Thread-safe. `cancel` may be called from any thread, from a signal handler, and more than once: only the first
    call counts.
    """

    # There is no lock, for a signal handler or a fork may come while one is held. Every step is a single operation on
    # a list or a dict, which other threads see as done or not done; whoever takes a callback out of the dict runs it.
    __slots__ = ("__weakref__", "_callbacks", "_parent", "_reasons")

    def __init__(self) -> None:
        self._parent: CancellationToken | None = None
        self._reasons: list[str | None] = []  # of all calls of `cancel` that were the first as far as they could see
        # Each with what takes it back from the parent, which knows a child only by its callbacks: else a long-lived
        # token would collect the children of all turns.
        self._callbacks: dict[int, tuple[Callable[[], object], Callable[[], None]]] = {}

    def __repr__(self) -> str:
        return f"<CancellationToken {'cancelled' if self.is_cancelled else 'active'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a CancellationToken cannot be copied or pickled: nobody would cancel the copy")

    @property
    def is_cancelled(self) -> bool:
        """Whether this token, or one that it descends from, was cancelled."""
        token: CancellationToken | None = self
        while token is not None:
            if token._reasons:
                return True
            token = token._parent
        return False

    @property
    def reason(self) -> str | None:
        """What the cancelling call gave as its reason."""
        token: CancellationToken | None = self
        while token is not None:
            if token._reasons:
                return token._reasons[0]
            token = token._parent
        return None

    def cancel(self, reason: str | None = None) -> None:
        """Cancel the token and its children; callbacks run in the calling thread.

        Args:
            reason: Goes into the message of the `TurnCancelledError`.
        """
        if not self.is_cancelled:
            self._reasons.append(reason)
        for key in list(self._callbacks):  # some may be left from a call that Ctrl-C has interrupted
            self._run(key)

    def cancel_after(self, seconds: float) -> None:
        """Cancel the token when the given number of seconds is over; of several such times the first counts."""
        given: object = seconds
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            raise TypeError(f"seconds must be a number, not {type(given).__name__}")
        if not seconds >= 0:
            raise ValueError(f"seconds must be a number of at least 0, not {seconds}")
        if not self.is_cancelled:
            _timers.add(time.monotonic() + seconds, self)
            self.add_callback(_wake_timers)  # a token that is cancelled waits for its time no longer

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
        if not callable(callback):
            raise TypeError(f"callback must be callable, not {type(callback).__name__}")
        key = next(_keys)
        forget = _nothing if self._parent is None else self._parent.add_callback(partial(self._run, key))
        self._callbacks[key] = callback, forget
        if self.is_cancelled:  # perhaps since a moment ago, by someone who did not find the callback yet
            self._run(key)
        return partial(self._forget, key)

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the token is cancelled.

        Args:
            timeout: Seconds to wait at most; None waits without limit.

        Returns:
            Whether the token is cancelled.
        """
        woken: Mailbox[None] = Mailbox()
        remove = self.add_callback(partial(woken.put, None))
        try:
            woken.get(timeout)
        except Empty:
            return self.is_cancelled
        finally:
            remove()
        return True

    async def wait_async(self) -> None:
        """Wait, on asyncio or trio, until the token is cancelled."""
        import anyio

        cancelled = anyio.Event()
        remove = self.add_callback(partial(loop_scheduler(), cancelled.set))
        try:
            await cancelled.wait()
        finally:
            remove()

    def _run(self, key: int) -> None:
        callback, forget = self._callbacks.pop(key, (_nothing, _nothing))
        forget()
        try:
            callback()
        except KeyboardInterrupt:
            raise
        except BaseException:
            log.exception("a cancellation callback raised")

    def _forget(self, key: int) -> None:
        _, forget = self._callbacks.pop(key, (_nothing, _nothing))
        forget()


def _nothing() -> None:
    pass


class _Timers:
    """One thread that cancels tokens when their time is over, and ends when none is left."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # re-entrant, for signal handlers
        self._heap: list[tuple[float, int, CancellationToken]] = []
        self._running = False

    def add(self, due: float, token: CancellationToken) -> None:
        with self._changed:
            heapq.heappush(self._heap, (due, next(_keys), token))
            self._changed.notify()
            if not self._running:
                threading.Thread(target=self._run, name="kova-timers", daemon=True).start()
                self._running = True

    def wake(self) -> None:
        """Look at the tokens again: one has been cancelled."""
        with self._changed:
            self._changed.notify()

    def _run(self) -> None:
        while (token := self._next()) is not None:
            token.cancel("the time given to cancel_after is over")
            del token  # which must not live on while the thread waits for the next

    def _next(self) -> CancellationToken | None:
        """The next token that is due, waited for; None when there is none left."""
        with self._changed:
            while self._heap:
                seconds = self._heap[0][0] - time.monotonic()
                if seconds <= 0 or self._heap[0][2].is_cancelled:
                    return heapq.heappop(self._heap)[2]
                self._changed.wait(min(seconds, threading.TIMEOUT_MAX))
            self._running = False
            return None


_timers = _Timers()


def _wake_timers() -> None:
    _timers.wake()


def _forget_timers() -> None:
    global _timers
    _timers = _Timers()  # the parent's thread and the state of its lock do not exist in a forked child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_timers)
