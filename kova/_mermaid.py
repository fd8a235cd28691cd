"""Patterns as Mermaid flowcharts, for documents that draw them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from .orchestration import Parallel, Pattern, Router

__all__ = ["Inside", "flowchart"]

BOX, HEXAGON = ('["', '"]'), ('{{"', '"}}')


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
    drawing = _Drawing()
    drawn, first, last = drawing.pattern(pattern, inside)
    lines = ['input(["input"])', *drawn, *(f"input --> {node}" for node in first)]
    lines += ['output(["output"])', *(f"{node} --> output" for node in last)]
    return "".join(f"{line}\n" for line in ["flowchart TD", *(f"    {line}" for line in lines)])


class _Drawing:
    """Numbers the agents, so that their names are never more than labels."""

    def __init__(self) -> None:
        self._count = 0

    def pattern(self, pattern: Pattern, inside: Mapping[str, Inside]) -> tuple[list[str], list[str], list[str]]:
        """The lines of a pattern, the agents that get its input, and those that give its output."""
        lines: list[str] = []
        if isinstance(pattern, Router):
            router = self._agent(lines, pattern.router, inside, HEXAGON)
            downstream = [self._agent(lines, name, inside) for name in pattern.downstream]
            for name, node in zip(pattern.downstream, downstream, strict=True):
                lines.append(f'{router} -->|"{_escaped(name)}"| {node}')
            return lines, [router], downstream
        agents = [self._agent(lines, name, inside) for name in pattern.agents]
        if isinstance(pattern, Parallel):
            return lines, agents, agents
        lines += [f"{before} --> {node}" for before, node in pairwise(agents)]
        return lines, agents[:1], agents[-1:]

    def _agent(self, lines: list[str], name: str, inside: Mapping[str, Inside], shape: tuple[str, str] = BOX) -> str:
        """The number of an agent, whose lines are added."""
        self._count += 1
        node = f"agent{self._count}"
        if name in inside:
            nested, _, _ = self.pattern(*inside[name])
            lines += [f'subgraph {node}["{_escaped(name)}"]', *(f"    {line}" for line in nested), "end"]
        else:
            lines.append(f"{node}{shape[0]}{_escaped(name)}{shape[1]}")
        return node


def _escaped(name: str) -> str:
    """A name as a label: all that could mean something to Mermaid or to HTML stands there as its number."""
    return "".join(char if char.isalnum() or char in " _" else f"#{ord(char)};" for char in name)
