"""Who works on a conversation, and who waits for it: lines of turns, first come, first served."""

from __future__ import annotations

import threading
from collections import deque
from weakref import ref

from ..cancellation import CancellationToken
from ..errors import BuildError
from .forks import renew_in_children

__all__ = ["Place", "TurnLines", "lines_of"]


class Place:
    """A place in the line of a conversation.

    Attributes:
        conversation_id: The conversation.
        called: Is cancelled when this place is the first of the line: it stands for an event that any thread can set,
            and that can be waited for on any loop.
    """

    __slots__ = ("called", "conversation_id")

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.called = CancellationToken()


class TurnLines:
    """One line for each conversation in which somebody stands. Thread-safe; nothing here waits."""

    def __init__(self) -> None:
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, deque[Place]] = {}

    def __len__(self) -> int:
        """How many conversations somebody works on."""
        return len(self._lines)

    def enter(self, conversation_id: str) -> Place:
        """Go to the end of the line."""
        place = Place(conversation_id)
        with self._lock:
            line = self._lines.setdefault(conversation_id, deque())
            line.append(place)
            first = line[0]
        first.called.cancel()
        return place

    def leave(self, place: Place) -> None:
        """Leave the line, wherever in it, and so call the next if it was the first place. May be called twice."""
        with self._lock:
            line = self._lines.get(place.conversation_id, deque())
            if place not in line:
                return
            line.remove(place)
            if not line:
                del self._lines[place.conversation_id]
                return
            first = line[0]
        first.called.cancel()


_lines: dict[int, tuple[ref[object], TurnLines]] = {}


def lines_of(store: object) -> TurnLines:
    """The lines of a store: all who use the same object stand in the same ones.

    Raises:
        BuildError: The store is of a class that cannot be referred to weakly.
    """
    key = id(store)  # it may be equal to another one, or have no hash
    found = _lines.get(key)
    if found is None:
        try:
            reference = ref(store, lambda _: _lines.pop(key, None))
        except TypeError as error:
            raise BuildError(f"memory: {error}: its class needs a slot __weakref__") from None
        found = _lines.setdefault(key, (reference, TurnLines()))
    return found[1]
