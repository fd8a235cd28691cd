"""The lines of a store: all who use the same object stand in the same ones, one for each conversation."""

from __future__ import annotations

from weakref import ref

from .._lines import Lines
from ..errors import BuildError

__all__ = ["lines_of"]

_lines: dict[int, tuple[ref[object], Lines]] = {}


def lines_of(store: object) -> Lines:
    """The lines of a store.

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
        found = _lines.setdefault(key, (reference, Lines()))
    return found[1]
