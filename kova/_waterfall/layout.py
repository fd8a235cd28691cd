"""What a waterfall shows and where, whatever it is drawn with: rows, segments as shares of the whole, ticks, sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .words import count_text, duration_text, shown

if TYPE_CHECKING:
    from ..timeline import Timeline, TimelineEntry

__all__ = ["LEGEND", "Layout", "Row", "Segment", "lay_out"]

# How segments look, and what that means.
LEGEND = {
    "pause": "waiting: first word, retry, approval",
    "model": "model",
    "tool": "tool",
    "agent": "agent",
    "failed": "failed",
}
TICKS = 5  # about as many
UNSEEN = 0.002  # share of the whole up to which a pause is not worth a mark
SHORTEST = 1e-6  # seconds that a whole has at least


class Segment(NamedTuple):
    """A piece of a row's bar; `left` and `width` are shares of the whole duration."""

    look: str
    left: float
    width: float


class Row(NamedTuple):
    """One call. The shares of its tokens are those of the row that has most."""

    depth: int
    kind: str
    name: str
    error: str
    segments: Sequence[Segment]
    time: str
    tokens: str
    input_share: float
    output_share: float
    tooltip: str


class Layout(NamedTuple):
    """A whole waterfall. Ticks are shares with their labels, `step` the share between two of them."""

    rows: Sequence[Row]
    ticks: Sequence[tuple[float, str]]
    step: float
    sums: Sequence[tuple[str, str, str]]
    legend: Sequence[tuple[str, str]]

    @property
    def has_tokens(self) -> bool:
        """Whether any were reported."""
        return any(row.tokens for row in self.rows)


def lay_out(timeline: Timeline) -> Layout:
    """The waterfall of a timeline."""
    entries = list(_walk(timeline, 0))
    whole = max([SHORTEST, *(entry.end for _, entry in entries)])
    most = max((_tokens(entry) for _, entry in entries), default=0)
    rows = [_row(depth, entry, whole, most) for depth, entry in entries]
    step = _nice_step(whole)
    ticks = [(number * step / whole, duration_text(number * step)) for number in range(math.floor(whole / step) + 1)]
    looks = {segment.look for row in rows for segment in row.segments}
    legend = [(look, meaning) for look, meaning in LEGEND.items() if look in looks]
    return Layout(rows, ticks, step / whole, _sums(timeline, [entry for _, entry in entries]), legend)


def _walk(entries: Iterable[TimelineEntry], depth: int) -> Iterator[tuple[int, TimelineEntry]]:
    for entry in entries:
        yield depth, entry
        yield from _walk(entry.nested, depth + 1)


def _row(depth: int, entry: TimelineEntry, whole: float, most: int) -> Row:
    retries = max(len(entry.attempts) - 1, 0)
    usage = entry.usage
    name = shown(entry.name) or entry.kind
    notes = [shown(entry.error or ""), f"{retries} {'retry' if retries == 1 else 'retries'}" if retries else ""]
    time, tokens = duration_text(entry.duration), _token_text(entry)
    return Row(
        depth=depth,
        kind=entry.kind,
        name=name,
        error=", ".join(note for note in notes if note),
        segments=[
            Segment(look, max(start, 0.0) / whole, max(end - max(start, 0.0), 0.0) / whole)
            for look, start, end in _pieces(entry)
            if look != "pause" or end - start > whole * UNSEEN
        ],
        time=time,
        tokens=tokens,
        input_share=(usage.prompt_tokens or 0) / most if usage is not None and most else 0.0,
        output_share=(usage.output_tokens or 0) / most if usage is not None and most else 0.0,
        tooltip=_tooltip(entry, name, time, tokens),
    )


def _pieces(entry: TimelineEntry) -> Iterator[tuple[str, float, float]]:
    """How the entry's bar looks from when to when."""
    if not entry.attempts:
        begun = entry.start + entry.waited
        if entry.waited:
            yield "pause", entry.start, begun
        yield "failed" if entry.error else entry.kind, begun, entry.end
        return
    earlier = entry.start
    for attempt in entry.attempts:
        if attempt is not entry.attempts[0]:
            yield "pause", earlier, attempt.start
        earlier = attempt.end
        begun = attempt.start
        if attempt is entry.attempts[-1] and entry.first_event is not None:
            yield "pause", begun, entry.first_event
            begun = entry.first_event
        yield "failed" if attempt.error else entry.kind, begun, attempt.end


def _tooltip(entry: TimelineEntry, name: str, time: str, tokens: str) -> str:
    lines = [f"{entry.kind} {name}", f"{duration_text(entry.start)} to {duration_text(entry.end)}: {time}"]
    if entry.waited:
        lines.append(f"permitted after {duration_text(entry.waited)}")
    if entry.first_event is not None:
        lines.append(f"first word after {duration_text(entry.first_event - entry.start)}")
    if len(entry.attempts) > 1:
        lines += [
            f"attempt {number}: {duration_text(attempt.end - attempt.start)}, {shown(attempt.error or 'succeeded')}"
            for number, attempt in enumerate(entry.attempts, 1)
        ]
    if tokens:
        lines.append(f"tokens: {tokens}")
    if entry.error:
        lines.append(shown(entry.error))
    return "\n".join(lines)


def _tokens(entry: TimelineEntry) -> int:
    usage = entry.usage
    return 0 if usage is None else (usage.prompt_tokens or 0) + (usage.output_tokens or 0)


def _token_text(entry: TimelineEntry) -> str:
    usage = entry.usage
    if usage is None or usage.total_tokens is None:
        return ""
    if usage.prompt_tokens is None or usage.output_tokens is None:
        return count_text(usage.total_tokens)
    return f"{count_text(usage.prompt_tokens)} → {count_text(usage.output_tokens)}"


def _nice_step(whole: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are about as many ticks as wanted."""
    rough = whole / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def _sums(timeline: Timeline, entries: Sequence[TimelineEntry]) -> list[tuple[str, str, str]]:
    """What stands above: a word, a figure and a note each."""
    models = [entry for entry in entries if entry.kind == "model"]
    tools = [entry for entry in entries if entry.kind == "tool"]
    retries = sum(max(len(entry.attempts) - 1, 0) for entry in models)
    sums = [("total", duration_text(timeline.duration), "")]
    if models:
        note = _plural(len(models), "call") + (f", {_plural(retries, 'retry')}" if retries else "")
        sums.append(("model", duration_text(_covered(models)), note))
    if tools:
        leaves = [entry for entry in tools if not entry.nested]
        sums.append(("tools", duration_text(_covered(leaves)), _plural(len(tools), "call")))
    usage = timeline.usage
    if usage is not None and usage.total_tokens is not None:
        known = [(usage.prompt_tokens, "in"), (usage.output_tokens, "out")]
        parts = [f"{count_text(count)} {word}" for count, word in known if count is not None]
        sums.append(("tokens", f"{usage.total_tokens:,}", ", ".join(parts)))
    return sums


def _plural(count: int, word: str) -> str:
    return f"{count} {word if count == 1 else {'retry': 'retries'}.get(word, word + 's')}"


def _covered(entries: Sequence[TimelineEntry]) -> float:
    """Seconds in which at least one of them was running."""
    seconds, until = 0.0, -math.inf
    for entry in sorted(entries, key=lambda entry: entry.start):
        if entry.end > until:
            seconds += entry.end - max(entry.start, until)
            until = entry.end
    return seconds
