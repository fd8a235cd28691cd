"""What a turn looks like in a terminal, as lines: those that are settled, and those that may still change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from ..messages import ContentBlock
from .call_text import call_lines, result_lines
from .markdown_text import Clean, GrowingMarkdown, lines_of, markdown
from .plain_stream import PlainStream

__all__ = ["TurnView"]

WAITING = "waiting for the model…"
THINKING, CALL, FAULT, QUIET = "dim italic", "bold cyan", "red", "dim"


class TurnView:
    """Collects what happens in a turn; `take` gives it as lines.

    Args:
        console: By whose width and colours it is drawn; nothing is printed on it.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._settled: list[str] = []
        self._is_waiting = True
        self._text, self._markdown = PlainStream(), GrowingMarkdown()
        self._thinking, self._thought = PlainStream(), ""
        self._is_thinking = False
        self._last_call: str | None = None  # id of the call to which the last lines belong

    def text(self, piece: str) -> None:
        """A piece of the answer."""
        self._is_waiting = False
        self._end_thinking()
        self._markdown.add(self._text.feed(piece))

    def thinking(self, piece: str) -> None:
        """A piece of the model's reasoning; its whole lines are settled."""
        self._is_waiting = False
        self._end_text()
        self._thought += self._thinking.feed(piece)
        whole, newline, self._thought = self._thought.rpartition("\n")
        if newline:
            self._settle_thought(whole)

    def call(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """The model has called a tool."""
        self.end()
        head, lines = call_lines(name, arguments)
        self._settle(Text(f"▸ {head}", CALL))
        for line in lines:
            self._settle(_indented(line, 4), is_apart=False)
        self._last_call = call_id

    def is_about(self, call_id: str) -> bool:
        """Whether the lines that were shown last are those of a call."""
        return self._last_call == call_id

    def result(self, call_id: str, name: str, result: str | Sequence[ContentBlock], is_error: bool) -> None:
        """A call has ended. The model is asked next, when all have."""
        if not self.is_about(call_id):
            self._settle(Text(f"▸ {name}", CALL))
        for line in result_lines(result):
            self._settle(_indented(line, 2, FAULT if is_error else QUIET), is_apart=False)
        self._last_call = None
        self._is_waiting = True

    def end(self) -> None:
        """Nothing more comes of what has begun."""
        self._is_waiting = False
        self._end_thinking()
        self._end_text()

    def take(self) -> tuple[list[str], list[str]]:
        """The lines that were settled since the last time, and those that may still change."""
        if settled := self._markdown.take_settled():
            self._settle(markdown(settled))
        lines, self._settled = self._settled, []
        return lines, self._live()

    def _live(self) -> list[str]:
        if self._markdown.open.strip():
            shown = lines_of(self._console, markdown(self._markdown.open))
        elif self._thought.strip():
            shown = lines_of(self._console, Clean(Text(self._thought, THINKING)))
            return shown if self._is_thinking else ["", *shown]
        elif self._is_waiting:
            shown = lines_of(self._console, Text(WAITING, QUIET))
        else:
            return []
        return ["", *shown]

    def _settle(self, part: RenderableType, *, is_apart: bool = True) -> None:
        self._settled += (
            ["", *lines_of(self._console, Clean(part))] if is_apart else lines_of(self._console, Clean(part))
        )
        self._last_call = None

    def _settle_thought(self, text: str) -> None:
        for line in text.split("\n"):
            if line.strip():
                self._settle(Text(line, THINKING), is_apart=not self._is_thinking)
                self._is_thinking = True

    def _end_thinking(self) -> None:
        rest, self._thought = self._thought + self._thinking.end(), ""
        if rest.strip():
            self._settle_thought(rest)
        self._is_thinking = False

    def _end_text(self) -> None:
        self._markdown.add(self._text.end() + "\n")
        if settled := self._markdown.take_settled():
            self._settle(markdown(settled))
        if (rest := self._markdown.take_all()).strip():
            self._settle(markdown(rest))


def _indented(line: str, columns: int, style: str = "") -> RenderableType:
    return Padding(Text(line, style), (0, 0, 0, columns), expand=False)
