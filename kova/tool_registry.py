"""Tools that several agents share, and the table of tools that a turn has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING

from .errors import BuildError
from .tools import Tool, ToolDefinition, as_tool

if TYPE_CHECKING:
    import builtins

__all__ = ["ToolRegistry", "as_tools", "merge_tools"]


class ToolRegistry:
    """Tools by name, shared by the agents that are given it; later registrations are seen at their next turn.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tools: dict[str, Tool] = {}
        self._definitions: tuple[ToolDefinition, ...] | None = None

    def register(self, tool: Tool | Callable[..., object]) -> None:
        """Add a tool, or replace the one of the same name.

        Raises:
            BuildError: It is not a tool, or a schema for it cannot be made.
        """
        added = as_tool(tool)
        _ = added.definition  # what is wrong with it shows here, not in a turn
        with self._lock:
            self._tools[added.name] = added
            self._definitions = None

    def get(self, name: str) -> Tool | None:
        """The tool of that name; None where there is none."""
        with self._lock:
            return self._tools.get(name)

    def list(self) -> builtins.list[Tool]:
        """All tools, in the order of their registration."""
        with self._lock:
            return [*self._tools.values()]

    def tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """What providers are given; the same object until the next registration."""
        with self._lock:
            if self._definitions is None:
                self._definitions = tuple(tool.definition for tool in self._tools.values())
            return self._definitions

    def copy(self) -> ToolRegistry:
        """A registry with the same tools that shares nothing with this one."""
        copied = ToolRegistry()
        copied._tools = {tool.name: tool for tool in self.list()}
        return copied

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def as_tools(candidates: object) -> tuple[Tool, ...]:
    """What an agent was given as its tools.

    Raises:
        BuildError: It is no sequence, or something in it is no tool.
    """
    if isinstance(candidates, Coroutine):
        candidates.close()  # else Python warns besides
        raise BuildError("tools must be a sequence of tools and functions, not a coroutine: it was not awaited")
    if not isinstance(candidates, Iterable) or isinstance(candidates, (str, bytes)):
        raise BuildError(f"tools must be a sequence of tools and functions, not {type(candidates).__name__}")
    return tuple(as_tool(candidate) for candidate in candidates)


def merge_tools(tools: Iterable[Tool | Callable[..., object]], registry: ToolRegistry | None = None) -> dict[str, Tool]:
    """The tools of a turn by name: those of the registry, and over them the agent's own.

    Raises:
        BuildError: Two of the agent's own tools have one name; the message names where both come from.
    """
    own: dict[str, Tool] = {}
    for candidate in tools:
        added = as_tool(candidate)
        if added.name in own:
            origins = f"{own[added.name].origin}, and {added.origin}"
            raise BuildError(f"two tools are named {added.name!r}: {origins}; a prefix or another name parts them")
        own[added.name] = added
    shared = {} if registry is None else {tool.name: tool for tool in registry.list()}
    return shared | own
