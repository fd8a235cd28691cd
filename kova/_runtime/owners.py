"""One object for each event loop, or for the process: connection pools that no other loop may touch."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakSet

__all__ = ["PerOwner", "drop_all", "is_over"]

T = TypeVar("T")


class PerOwner(Generic[T]):
    """Makes an object when its owner first asks, and keeps it while the owner lives.

    Thread-safe, since loops live in different threads. A forked child begins without any object: those of its parent
    are the parent's to use and to drop.

    Args:
        make: Makes the object.
        drop: Frees what it holds, without any I/O that needs the owner; called by `clear`, and for objects of loops
            that are closed. What belonged to a loop that has been collected is left to the collector.
    """

    def __init__(self, make: Callable[[], T], drop: Callable[[T], None]) -> None:
        self._make = make
        self._drop = drop
        # Used without a lock, which a fork could copy while it is held.
        self._objects: WeakKeyDictionary[object, T] = WeakKeyDictionary()
        _all.add(self)

    def get(self, owner: object) -> T:
        """The owner's object."""
        found = self._objects.get(owner)
        if found is None:
            self._drop_closed()
            made = self._make()
            found = self._objects.setdefault(owner, made)
            if found is not made:
                self._drop(made)  # another thread was quicker
        return found

    def drop(self, owner: object) -> None:
        """Drop an owner's object."""
        item = self._objects.pop(owner, None)
        if item is not None:
            self._drop(item)

    def clear(self) -> None:
        """Drop the objects of all owners."""
        while True:
            try:
                _, item = self._objects.popitem()
            except KeyError:
                return
            self._drop(item)

    def _drop_closed(self) -> None:
        for reference in self._objects.keyrefs():
            owner = reference()
            if is_over(owner):
                self.drop(owner)


def is_over(owner: object) -> bool:
    """Whether an owner is an asyncio loop that is closed, and perhaps not yet collected."""
    is_closed = getattr(owner, "is_closed", None)
    return is_closed is not None and bool(is_closed())


_all: WeakSet[PerOwner[Any]] = WeakSet()


def drop_all(owner: object) -> None:
    """Drop whatever an owner has, as it is about to end."""
    for each in list(_all):
        each.drop(owner)


def _forget_objects() -> None:
    for each in _all:
        each._objects = WeakKeyDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_objects)
