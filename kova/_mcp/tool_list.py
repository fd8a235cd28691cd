"""The tools of a server: which of them can be used, for how long the list holds, and what a model calls them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from .._formats.tool_names import NameRule, ToolNames
from .._log import log
from ..errors import BuildError
from ..mcp.content import MCPToolDefinition
from .header_values import HeaderParameter, InvalidHeader, header_parameters

__all__ = ["MAX_PAGES", "Pages", "ToolList", "model_names", "selected"]

MAX_PAGES = 1_000

# What all providers accept.
NAMES = NameRule(re.compile(r"[A-Za-z0-9_-]{1,64}"), re.compile(r"[^A-Za-z0-9_-]"), 64)


class Pages:
    """The pages of a list: which one is next, and when there are no more."""

    def __init__(self) -> None:
        self._cursors: set[str] = set()
        self._count = 0

    def next_params(self, result: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The parameters of the request for the page after this one; None after the last.

        Raises:
            OverflowError: There is no end.
        """
        self._count += 1
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str) or cursor in self._cursors:
            return None
        if self._count >= MAX_PAGES:
            raise OverflowError(f"the list has more than {MAX_PAGES} pages")
        self._cursors.add(cursor)
        return {"cursor": cursor}


@frozen
class ToolList:
    """The tools that a server had at a moment.

    Attributes:
        definitions: The tools that can be used.
        headers: Of each tool, what a call repeats in HTTP headers.
        generation: How often the server had said that its list has changed, when it was asked.
        expires: Until when the list holds, on the clock of `time.monotonic`; None for as long as it is not said to
            have changed.
    """

    definitions: tuple[MCPToolDefinition, ...]
    headers: dict[str, list[HeaderParameter]] = field(repr=False)
    generation: int
    expires: float | None

    @classmethod
    def from_pages(
        cls, pages: Sequence[Mapping[str, Any]], generation: int, *, is_modern: bool, has_headers: bool
    ) -> ToolList:
        """The list in the pages of `tools/list`. A tool that must not or cannot be used is left out, and logged."""
        definitions: dict[str, MCPToolDefinition] = {}
        headers: dict[str, list[HeaderParameter]] = {}
        for item in _items(pages):
            definition = MCPToolDefinition.from_json(item)
            if definition is None:
                log.warning("a tool of an MCP server has no name, and is left out")
                continue
            if is_modern and has_headers:
                try:
                    headers[definition.name] = header_parameters(definition.input_schema)
                except InvalidHeader as error:
                    log.warning("a tool of an MCP server is left out", tool=definition.name, error=str(error))
                    continue
            definitions.setdefault(definition.name, definition)
        return cls(tuple(definitions.values()), headers, generation, _expiry(pages) if is_modern else None)

    def is_valid(self, generation: int) -> bool:
        """Whether the list still holds."""
        return self.generation == generation and (self.expires is None or time.monotonic() < self.expires)


def _items(pages: Sequence[Mapping[str, Any]]) -> Iterable[object]:
    for page in pages:
        tools = page.get("tools")
        yield from tools if isinstance(tools, list) else ()


def _expiry(pages: Sequence[Mapping[str, Any]]) -> float | None:
    """When the first of the pages is stale; None where a server gives no time."""
    times = [page["ttlMs"] for page in pages if isinstance(page.get("ttlMs"), (int, float))]
    return time.monotonic() + max(0.0, min(times)) / 1000 if times else None


def model_names(names: Iterable[str], prefix: str) -> dict[str, str]:
    """What a model calls each tool, in a form that all providers accept, by its own name."""
    if not isinstance(prefix, str):
        raise BuildError(f"prefix must be a text, not {type(prefix).__name__}")
    own = list(names)
    wire = ToolNames([prefix + name for name in own], NAMES)
    return {name: wire.wire(prefix + name) for name in own}


def selected(
    definitions: Sequence[MCPToolDefinition], include: Iterable[str] | None, exclude: Iterable[str] | None, server: str
) -> list[MCPToolDefinition]:
    """The tools that are wanted.

    Raises:
        BuildError: A name is none of the server's.
    """
    known = {definition.name for definition in definitions}
    wanted, unwanted = _names("include", include), _names("exclude", exclude)
    for name in sorted((wanted or set()) | (unwanted or set())):
        if name not in known:
            raise BuildError(f"{server} has no tool {name!r}; it has {', '.join(sorted(known)) or 'none'}")
    return [
        definition
        for definition in definitions
        if (wanted is None or definition.name in wanted) and definition.name not in (unwanted or ())
    ]


def _names(argument: str, names: object) -> set[str] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise BuildError(f"{argument} must be names of tools, not a single text")
    given: list[object] = list(names) if isinstance(names, Iterable) else [names]
    texts = {name for name in given if isinstance(name, str)}
    if not all(isinstance(name, str) for name in given):
        raise BuildError(f"{argument} must be names of tools, not {names!r}")
    return texts
