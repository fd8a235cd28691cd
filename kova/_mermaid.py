"""Patterns as Mermaid flowcharts, for documents that draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .orchestration import Parallel, Pattern, Router

__all__ = ["Inside", "flowchart"]


class Inside(NamedTuple):
    """An orchestration that stands in the place of an agent, and those inside of it by their names."""

    pattern: Pattern
    agents: Mapping[str, Any]  # of Inside


def flowchart(pattern: Pattern, inside: Mapping[str, Inside]) -> str:
    """The flowchart of a pattern.

    Args:
        pattern: The pattern.
        inside: Which of its agents are orchestrations.
    """
    return "\n".join(["flowchart TD", *_Drawing().lines(pattern, inside, "    ")]) + "\n"


class _Drawing:
    """Numbers the nodes, so that names are never more than labels."""

    def __init__(self) -> None:
        self._count = 0

    def lines(self, pattern: Pattern, inside: Mapping[str, Inside], indent: str) -> list[str]:
        start, end = self._next(), self._next()
        drawn = [f'{start}(["input"])']
        if isinstance(pattern, Router):
            router = self._next()
            drawn += self._agent(router, pattern.router, inside, ('{{"', '"}}'))
            drawn.append(f"{start} --> {router}")
            drawn += self._side_by_side(pattern.downstream, inside, router, end, named=True)
        elif isinstance(pattern, Parallel):
            drawn += self._side_by_side(pattern.agents, inside, start, end, named=False)
        else:
            before = start
            for name in pattern.agents:
                node = self._next()
                drawn += [*self._agent(node, name, inside), f"{before} --> {node}"]
                before = node
            drawn.append(f"{before} --> {end}")
        drawn.append(f'{end}(["output"])')
        return [indent + line for line in drawn]

    def _side_by_side(
        self, names: Sequence[str], inside: Mapping[str, Inside], before: str, after: str, *, named: bool
    ) -> list[str]:
        drawn: list[str] = []
        for name in names:
            node = self._next()
            arrow = f'-->|"{_escaped(name)}"|' if named else "-->"
            drawn += [*self._agent(node, name, inside), f"{before} {arrow} {node}", f"{node} --> {after}"]
        return drawn

    def _agent(
        self, node: str, name: str, inside: Mapping[str, Inside], shape: tuple[str, str] = ('["', '"]')
    ) -> list[str]:
        if name not in inside:
            return [f"{node}{shape[0]}{_escaped(name)}{shape[1]}"]
        nested = inside[name]
        return [f'subgraph {node}["{_escaped(name)}"]', *self.lines(nested.pattern, nested.agents, "    "), "end"]

    def _next(self) -> str:
        self._count += 1
        return f"n{self._count}"


def _escaped(name: str) -> str:
    """A name as a label: all that could mean something to Mermaid or to HTML stands there as its number."""
    return "".join(char if char.isalnum() or char in " -" else f"#{ord(char)};" for char in name)
