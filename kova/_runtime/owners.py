"""One object for each event loop, or for the process: connection pools that no other loop may touch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class PerOwner(Generic[T]):
    """Makes an object when its owner first asks, keeps it while the owner lives, and drops it with the owner.

    Args:
        make: Makes the object.
        drop: Frees what it holds, without any I/O that needs the owner; called for objects of closed loops.
    """

    def __init__(self, make: Callable[[], T], drop: Callable[[T], None]) -> None:
        self._make = make
        self._drop = drop
        self._lock = threading.Lock()  # loops live in different threads, also in the async twin
        self._objects: WeakKeyDictionary[object, T] = WeakKeyDictionary()

    def get(self, owner: object) -> T:
        """The owner's object."""
        found = self._objects.get(owner)
        if found is None:
            with self._lock:
                found = self._objects.get(owner)
                if found is None:
                    self._drop_closed()
                    found = self._objects[owner] = self._make()
        return found

    def clear(self) -> None:
        """Drop the objects of all owners."""
        with self._lock:
            objects = list(self._objects.values())
            self._objects.clear()
        for item in objects:
            self._drop(item)

    def _drop_closed(self) -> None:
        for owner in list(self._objects):
            is_closed = getattr(owner, "is_closed", None)  # an asyncio loop that is over, but not yet collected
            if is_closed is not None and is_closed():
                self._drop(self._objects.pop(owner))
