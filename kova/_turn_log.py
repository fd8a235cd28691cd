"""What happened when in a turn, as it is noted while the turn runs: raw, and with as little work as can be.

A turn makes one record for each call of a model, a tool or an agent, and one for each attempt of a provider call;
nothing is done per event. What a user reads is made of it when it is asked for (`kova.timeline`).
"""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from .errors import KovaError, ToolExecutionError

if TYPE_CHECKING:
    from .responses import UsageStats

__all__ = ["AttemptRecord", "CallRecord", "TurnLog"]

Kind = Literal["model", "tool", "agent"]
REPORTED = "error"  # of a tool, which did not end the turn: the model is told


class AttemptRecord:
    """One attempt of a provider call; the with block is the attempt."""

    __slots__ = ("end", "error", "start")

    def __init__(self) -> None:
        self.start: float = perf_counter()
        self.end: float | None = None
        self.error: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end = perf_counter()
        if error is not None:
            self.error = _in_short(error)


class CallRecord(AttemptRecord):
    """One call; where it has a with block of its own, that is the call.

    Attributes:
        kind: Of what.
        name: Name of the tool or the agent; the model, as far as it is known.
        attempts: Of a provider call.
        ready: When a tool was permitted to run, if somebody was asked.
        first: When a streamed answer began.
        spent: Tokens.
        nested: Turns that were run inside.
    """

    __slots__ = ("attempts", "first", "kind", "name", "nested", "ready", "spent")

    def __init__(self, kind: Kind, name: str) -> None:
        self.start: float = perf_counter()  # and so on as for every attempt, without the cost of a further call
        self.end: float | None = None
        self.error: str | None = None
        self.kind = kind
        self.name: str = name
        self.attempts: list[AttemptRecord] = []
        self.ready: float | None = None
        self.first: float | None = None
        self.spent: list[UsageStats] = []
        self.nested: list[TurnLog] = []

    def permit(self) -> None:
        """A tool may run from now on; somebody was asked."""
        self.ready = perf_counter()

    def finish(self) -> None:
        """The answer of a provider call is there, to its end."""
        self.end = perf_counter()
        if self.attempts:
            self.attempts[-1].end = self.end

    def break_off(self, error: BaseException) -> None:
        """A provider call has failed, in the middle of its answer unless its attempt knows better."""
        last = self.attempts[-1] if self.attempts else self
        last.error = self.error = last.error or _in_short(error)


class TurnLog:
    """The records of one turn, in the order in which their calls began.

    Attributes:
        start: When the turn began, on `perf_counter`'s clock.
        calls: The records.
    """

    __slots__ = ("calls", "start")

    def __init__(self) -> None:
        self.start: float = perf_counter()
        self.calls: list[CallRecord] = []

    def begin(self) -> None:
        """The turn begins now, and not when it was made."""
        self.start = perf_counter()

    def call(self, kind: Kind, name: str) -> CallRecord:
        """Note that a call begins."""
        record = CallRecord(kind, name)
        self.calls.append(record)
        return record

    def attempt(self) -> AttemptRecord:
        """Note that the present provider call is tried."""
        record = AttemptRecord()
        self.calls[-1].attempts.append(record)
        return record

    def answer_begins(self) -> None:
        """Note that the present provider call has given its first event."""
        self.calls[-1].first = perf_counter()

    def close(self) -> None:
        """The turn is over, whatever calls are still open."""
        now = perf_counter()
        for record in self.calls:
            if record.end is None:
                record.end = now
                if record.attempts and record.error is None:
                    record.error = record.attempts[-1].error

    def spent_by_tools(self) -> list[UsageStats]:
        """What tools have spent so far, as agents that are tools do."""
        return [usage for record in self.calls if record.kind == "tool" for usage in record.spent]


def _in_short(error: BaseException) -> str:
    """What went wrong, without anything that a model, a tool or a server has said."""
    if not isinstance(error, Exception):
        return "cancelled"
    if isinstance(error, ToolExecutionError) and error.__cause__ is not None:
        error = error.__cause__
    status = error.status_code if isinstance(error, KovaError) else None
    return type(error).__name__ + (f" {status}" if status else "")
