"""Limits of blocking code: a tree of scopes, each with a deadline and a token, in a context variable.

Every wait sees the current scope and raises `Cancelled` when that is over; the block that set the limit turns it into
the error for the user.
"""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Literal

from ..cancellation import CancellationToken
from ..errors import TurnCancelledError
from .scope import Deadline

__all__ = ["CancelOn", "Cancelled", "Entry", "FailAt", "MoveOnAfter", "Scope", "current"]


class Cancelled(BaseException):
    """The scope of the waiting code is over."""


class Scope:
    """What may end a wait: the nearest deadline, and a token.

    `base` is the scope at the bottom of the present thread. Whoever started the thread waits under these limits and
    abandons it when they end, so that only tighter ones need a further thread.
    """

    __slots__ = ("base", "deadline", "token")

    def __init__(self, deadline: float, token: CancellationToken | None, base: Scope | None = None) -> None:
        self.deadline = deadline
        self.token = token
        self.base = base or self

    def is_over(self) -> bool:
        return (self.token is not None and self.token.is_cancelled) or time.monotonic() >= self.deadline

    def timeout(self) -> float | None:
        """Seconds that a wait may take; None for no limit."""
        if self.token is not None and self.token.is_cancelled:
            raise Cancelled
        if self.deadline == math.inf:
            return None
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise Cancelled
        return min(seconds, threading.TIMEOUT_MAX)

    def can_end_before_thread(self) -> bool:
        return self.token is not self.base.token or self.deadline < self.base.deadline


_UNLIMITED = Scope(math.inf, None)
current: ContextVar[Scope] = ContextVar("kova_scope", default=_UNLIMITED)


class Entry:
    """A block in which a user's call is worked on: no limit that was set in it is left behind.

    Ctrl-C, or what a signal's handler raises, may come when a limit's own block is just being entered or left.
    """

    __slots__ = ("_outer",)

    def __enter__(self) -> None:
        self._outer = current.get()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        current.set(self._outer)


class Limit(ABC):
    """A scope for the time of a with block."""

    def __enter__(self) -> None:
        self._outer = current.get()
        self._reset = current.set(self._inner(self._outer))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        current.reset(self._reset)  # first, as Ctrl-C may come at any step
        return kind is Cancelled and not self._outer.is_over() and self._ended()

    @abstractmethod
    def _inner(self, outer: Scope) -> Scope:
        """The scope of the block."""

    @abstractmethod
    def _ended(self) -> bool:
        """Say what ended the block: raise its error, or tell whether it just ends."""


class FailAt(Limit):
    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def _inner(self, outer: Scope) -> Scope:
        at = self._deadline.at
        return Scope(at if at < outer.deadline else outer.deadline, outer.token, outer.base)

    def _ended(self) -> Literal[False]:
        if self._deadline.remaining() <= 0:
            raise self._deadline.error() from None
        return False


class CancelOn(Limit):
    def __init__(self, token: CancellationToken) -> None:
        self._token = token

    def __enter__(self) -> None:
        self._token.raise_if_cancelled()
        super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        try:
            return super().__exit__(kind, error, trace)
        finally:
            self._forget()

    def _inner(self, outer: Scope) -> Scope:
        if outer.token is None:
            self._forget: Callable[[], None] = lambda: None
            return Scope(outer.deadline, self._token, outer.base)
        both = outer.token.child()
        self._forget = self._token.add_callback(both.cancel)
        return Scope(outer.deadline, both, outer.base)

    def _ended(self) -> Literal[False]:
        if self._token.is_cancelled:
            raise TurnCancelledError(self._token.reason) from None
        return False


class MoveOnAfter(Limit):
    def __init__(self, seconds: float, *, shielded: bool) -> None:
        self._at = time.monotonic() + seconds
        self._shielded = shielded

    def _inner(self, outer: Scope) -> Scope:
        if self._shielded:
            return Scope(self._at, None, outer.base)
        return Scope(min(outer.deadline, self._at), outer.token, outer.base)

    def _ended(self) -> bool:
        return time.monotonic() >= self._at
