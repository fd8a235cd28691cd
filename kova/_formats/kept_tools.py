"""What is made of the tools of a request, kept for as long as requests bring the same tuple of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..tools import ToolDefinition

__all__ = ["kept_by_identity"]

T = TypeVar("T")

MOST_KEPT = 64  # tuples of tools, for each format


class _ByIdentity:
    """Makes a cache tell tuples apart by identity: a tool is not hashable, and comparing schemas costs time."""

    __slots__ = ("tools",)

    def __init__(self, tools: tuple[ToolDefinition, ...]) -> None:
        self.tools = tools

    def __hash__(self) -> int:
        return id(self.tools)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.tools is self.tools


def kept_by_identity(make: Callable[[Sequence[ToolDefinition]], T]) -> Callable[[Sequence[ToolDefinition]], T]:
    """Decorates a function of tools: it runs once for a tuple of them, as an agent has one, and each time for a list.

    A tuple stays alive for as long as what was made of it is kept, so that no other one can have its identity.
    """

    @lru_cache(maxsize=MOST_KEPT)
    def kept(tools: _ByIdentity) -> T:
        return make(tools.tools)

    @wraps(make)
    def made(tools: Sequence[ToolDefinition]) -> T:
        return kept(_ByIdentity(tools)) if isinstance(tools, tuple) else make(tools)

    return made
