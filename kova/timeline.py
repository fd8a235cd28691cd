"""Timelines: what happened when in a turn, and how to look at it.

A timeline is made of what the turn has noted when it is first asked for. It holds names, times, tokens and classes of
errors, and nothing that was said.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attrs import frozen

from ._turn_log import AttemptRecord, CallRecord, TurnLog

if TYPE_CHECKING:
    from .responses import UsageStats

__all__ = ["Timeline", "TimelineAttempt", "TimelineEntry", "read_timeline"]


@frozen
class TimelineAttempt:
    """One attempt of a provider call.

    Attributes:
        start: When it began, in seconds since the turn began.
        end: When it was over, likewise.
        error: Why it failed: class, and HTTP status if there was one.
    """

    start: float
    end: float
    error: str | None = None


@frozen
class TimelineEntry:
    """One call of a turn.

    Attributes:
        kind: What was called: the model, a tool, or, in an orchestration, an agent.
        name: Name of the tool or the agent; the model as its provider names it, empty where it never answered.
        start: When it began, in seconds since the turn began; of a nested entry too, since the outermost turn began.
        end: When it was over, likewise.
        usage: Tokens spent; None where none were reported.
        error: Why it failed, in a word or two: never what a model, a tool or a server has said.
        attempts: Of a provider call; between two of them lies the pause before a retry.
        first_event: When a streamed answer began, likewise.
        waited: Seconds, from `start`, that somebody took to permit the call.
        nested: Calls of the turns that were run inside: by an agent as a tool, or in an orchestration.
    """

    kind: Literal["model", "tool", "agent"]
    name: str
    start: float
    end: float
    usage: UsageStats | None = None
    error: str | None = None
    attempts: tuple[TimelineAttempt, ...] = ()
    first_event: float | None = None
    waited: float = 0.0
    nested: Timeline | tuple[()] = ()

    @property
    def duration(self) -> float:
        """Seconds from start to end."""
        return self.end - self.start


class Timeline(tuple[TimelineEntry, ...]):
    """The calls of a turn, in the order in which they began: a tuple that can show itself.

    As the last line of a notebook's cell it is a picture of where the time and the tokens went; printed, a line for
    each call.
    """

    __slots__ = ()

    @property
    def duration(self) -> float:
        """Seconds until the last call was over."""
        return max((entry.end for entry in self), default=0.0)

    @property
    def usage(self) -> UsageStats | None:
        """Tokens spent by all calls; None where none were reported."""
        return _sum([entry.usage for entry in self if entry.usage is not None])

    def to_html(self, *, title: str = "Turn") -> str:
        """A page of its own with the waterfall: needs no network, fits any width, light and dark.

        Args:
            title: Stands above it.
        """
        from ._waterfall import html_page

        return html_page(self, title)

    def to_svg(self, *, title: str = "Turn", width: int = 900) -> str:
        """The waterfall as an SVG picture, light and dark.

        Args:
            title: Stands above it.
            width: Pixels, at least 480; it scales.

        Raises:
            ValueError: `width` is less.
        """
        from ._waterfall import svg

        return svg(self, title, width)

    def save(self, path: str | os.PathLike[str], *, title: str = "Turn") -> None:
        """Write the waterfall into a file.

        Args:
            path: Where; its ending says how: `.svg` or `.html`.
            title: Stands above it.

        Raises:
            ValueError: It ends otherwise.
            OSError: It cannot be written.
        """
        file = Path(path)
        ending = file.suffix.lower()
        if ending not in (".svg", ".html"):
            raise ValueError(f"path must end in .svg or .html, not {ending!r}")
        file.write_text(self.to_svg(title=title) if ending == ".svg" else self.to_html(title=title), "utf-8")

    def __str__(self) -> str:
        """The waterfall as text: one line for each call."""
        from ._waterfall import text_lines

        return text_lines(self)

    def _repr_html_(self) -> str:
        from ._waterfall import html_fragment

        return html_fragment(self, "Turn")


def read_timeline(log: TurnLog | None) -> Timeline:
    """What a turn has noted, as its user sees it."""
    return Timeline() if log is None else Timeline(_entries([log], log.start))


def _entries(logs: Iterable[TurnLog], origin: float) -> list[TimelineEntry]:
    entries = [_entry(record, origin) for log in logs for record in list(log.calls)]
    return sorted(entries, key=lambda entry: entry.start)


def _entry(record: CallRecord, origin: float) -> TimelineEntry:
    end = _end(record, record.start)
    return TimelineEntry(
        kind=record.kind,
        name=record.name,
        start=record.start - origin,
        end=end - origin,
        usage=_sum(record.spent),
        error=record.error,
        attempts=tuple(
            TimelineAttempt(attempt.start - origin, _end(attempt, end) - origin, attempt.error)
            for attempt in record.attempts
        ),
        first_event=None if record.first is None else record.first - origin,
        waited=0.0 if record.ready is None else record.ready - record.start,
        nested=Timeline(_entries(record.nested, origin)),
    )


def _end(record: AttemptRecord, otherwise: float) -> float:
    return otherwise if record.end is None else record.end


def _sum(parts: list[UsageStats]) -> UsageStats | None:
    return functools.reduce(operator.add, parts) if parts else None
