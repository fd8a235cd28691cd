"""Who works on something, and who waits for it: lines, first come, first served.

What is worked on has a key: a conversation of a store, the question whether a tool may run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from ._forks import renew_in_children
from .cancellation import CancellationToken

__all__ = ["Lines", "Place"]


class Place:
    """A place in a line.

    Attributes:
        lines: Where it is a place.
        key: What is waited for.
        called: Is cancelled when this place is the first of the line: it stands for an event that any thread can set,
            and that can be waited for on any loop.
        worker: The task or thread that has gone there.
        is_left: Whether it was given up.
    """

    __slots__ = ("called", "is_left", "key", "lines", "worker")

    def __init__(self, lines: Lines, key: Hashable, worker: object) -> None:
        self.lines: Lines = lines
        self.key: Hashable = key
        self.worker: object = worker
        self.called: CancellationToken = CancellationToken()
        self.is_left: bool = False

    @contextmanager
    def work(self) -> Iterator[None]:
        """What is called in this block works for this place, in other threads and tasks too: it must not wait for it."""
        token = _working_for.set((*_working_for.get(), self))
        try:
            yield
        finally:
            with suppress(ValueError):  # of a coroutine that was dropped, and is closed in another context
                _working_for.reset(token)


_working_for: ContextVar[tuple[Place, ...]] = ContextVar("kova_working_for", default=())


class Lines:
    """One line for each key for which somebody stands. Thread-safe; nothing here waits."""

    def __init__(self) -> None:
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[Hashable, deque[Place]] = {}

    def __len__(self) -> int:
        """How many keys somebody works on."""
        return len(self._lines)

    def would_wait_for_itself(self, key: Hashable, worker: object) -> bool:
        """Whether the caller would wait for a place that cannot be left before it returns.

        That is one that it works for, or a place of its own.
        """
        if any(place.lines is self and place.key == key and not place.is_left for place in _working_for.get()):
            return True
        with self._lock:
            return any(place.worker == worker for place in self._lines.get(key, ()))

    def enter(self, key: Hashable, worker: object = None) -> Place:
        """Go to the end of the line."""
        place = Place(self, key, worker)
        with self._lock:
            line = self._lines.setdefault(key, deque())
            line.append(place)
            first = line[0]
        first.called.cancel()
        return place

    def leave(self, place: Place) -> None:
        """Leave the line, wherever in it, and so call the next if it was the first place. May be called twice."""
        place.is_left = True
        with self._lock:
            line = self._lines.get(place.key, deque())
            if place not in line:
                return
            line.remove(place)
            if not line:
                del self._lines[place.key]
                return
            first = line[0]
        first.called.cancel()
