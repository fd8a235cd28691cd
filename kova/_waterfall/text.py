"""The waterfall as lines of text, for terminals and logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .words import count_text, duration_text, shown

if TYPE_CHECKING:
    from ..timeline import Timeline, TimelineEntry

__all__ = ["text_lines"]


def text_lines(timeline: Timeline | tuple[()]) -> str:
    """One line for each call, those inside it below it: kind and name, when it began, how long it took, and what for."""
    rows = list(_rows(timeline, ""))
    widths = [max(map(len, column)) for column in zip(*(row[:3] for row in rows), strict=True)]
    return "\n".join(
        f"{name:{widths[0]}}  {start:>{widths[1]}}  {took:>{widths[2]}}  {rest}".rstrip()
        for name, start, took, rest in rows
    )


def _rows(timeline: Timeline | tuple[()], indent: str) -> Iterator[tuple[str, str, str, str]]:
    for entry in timeline:
        name = f"{indent}{entry.kind} {shown(entry.name)}".rstrip()
        yield name, f"+{duration_text(entry.start)}", duration_text(entry.duration), ", ".join(_details(entry))
        yield from _rows(entry.nested, indent + "  ")


def _details(entry: TimelineEntry) -> Iterator[str]:
    if entry.usage is not None and entry.usage.total_tokens is not None:
        yield f"{count_text(entry.usage.total_tokens)} tokens"
    if len(entry.attempts) > 1:
        yield f"{len(entry.attempts)} attempts"
    if entry.error is not None:
        yield shown(entry.error)
