"""A queue with one taker, whose waits end in time.

The standard library's `SimpleQueue` does not do, up to Python 3.12: a `get` whose time is over while it is being
entered waits for ever.
"""

from __future__ import annotations

from collections import deque
from threading import TIMEOUT_MAX, Lock
from typing import Generic, TypeVar

__all__ = ["Empty", "Mailbox"]

T = TypeVar("T")


class Empty(Exception):
    """Nothing came in time."""


class Mailbox(Generic[T]):
    """Any thread and any signal handler may put; one thread takes."""

    __slots__ = ("_arrived", "_items")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._arrived = Lock()  # free when something has come since the taker looked last
        self._arrived.acquire()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        """Add an item; never waits."""
        self._items.append(item)
        try:
            self._arrived.release()
        except RuntimeError:
            pass  # it is free already

    def get(self, timeout: float | None = None) -> T:
        """The next item, waited for.

        Args:
            timeout: Seconds to wait at most; None waits without limit.

        Raises:
            Empty: Nothing came in time.
        """
        while True:
            try:
                return self._items.popleft()
            except IndexError:
                pass
            if not self._arrived.acquire(timeout=-1 if timeout is None else min(max(timeout, 0), TIMEOUT_MAX)):
                raise Empty
