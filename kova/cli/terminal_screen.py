"""The chat in a terminal: Markdown as it streams, thinking dim, tool calls, questions."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text
from rich.theme import Theme

from .._terminal import plain
from ..approvals import ApprovalDecision
from ..messages import ContentBlock, ToolUseBlock
from .approval_answers import QUESTION, decision_of
from .interrupts import interrupts_do
from .live_region import LiveRegion
from .markdown_text import Clean, lines_of, markdown
from .prompt_line import PromptLine, ask_line, without_echo
from .turn_view import FAULT, QUIET, TurnView

__all__ = ["TerminalScreen"]

REDRAW_SECONDS = 0.06  # at least, between two drawings of what streams
SHARE = 4  # times as long as it takes to draw, is not drawn: most of the time is for others
LOOK_SECONDS = 0.5  # between two looks at the terminal's size while nothing comes
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
THEME = Theme({"markdown.code": "bold cyan", "markdown.code_block": "cyan"})  # without a background


class TerminalScreen:
    """A `Screen` for terminals."""

    def __init__(self, said: Sequence[str] = ()) -> None:
        self._status = ""  # below the prompt
        self._console = Console(theme=THEME, highlight=False)
        self._prompt = PromptLine(said, lambda: plain(self._status))
        self._view = TurnView(self._console)
        self._region = LiveRegion()
        self._in_turn = ExitStack()
        self._is_used = bool(said)  # whether there is anything above the prompt, from which it is kept apart
        self._next_drawing = 0.0  # at this time
        self._is_changed = False

    def opened(self) -> AbstractContextManager[None]:
        return interrupts_do(lambda: None)  # a Ctrl-C that comes a moment after its turn is not for the program

    def read(self) -> str | None:
        if self._is_used:
            self._write("\n")
        self._is_used = True
        return self._prompt.read()

    def show_status(self, text: str) -> None:
        self._status = text

    def note(self, text: str) -> None:
        self._print(Text(text, QUIET))

    def problem(self, text: str) -> None:
        self._print(Text(text, FAULT))

    def message(self, role: str, text: str) -> None:
        self._print(Text(f"> {text}", QUIET) if role == "user" else markdown(plain(text)))

    def begin_turn(self) -> None:
        self._view, self._region = TurnView(self._console), LiveRegion()
        self._in_turn.enter_context(without_echo())
        self._write(HIDE_CURSOR)
        self._in_turn.callback(self._write, SHOW_CURSOR)
        self._draw()

    def idle_after(self) -> float | None:
        return max(0.0, self._next_drawing - time.monotonic()) if self._is_changed else LOOK_SECONDS

    def refresh(self) -> None:
        self._draw()

    def text(self, piece: str) -> None:
        self._view.text(piece)
        self._changed()

    def thinking(self, piece: str) -> None:
        self._view.thinking(piece)
        self._changed()

    def call(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        self._view.call(call_id, name, arguments)
        self._draw()

    def ask(self, call: ToolUseBlock) -> ApprovalDecision | None:
        if not self._view.is_about(call.id):
            self._view.call(call.id, call.name, call.input)
        self._draw()
        self._write(SHOW_CURSOR)
        self._region = LiveRegion()
        try:
            while (answer := ask_line(QUESTION)) is not None:
                if (decision := decision_of(answer)) is not None:
                    return decision
            return None
        finally:
            self._write(HIDE_CURSOR)

    def result(self, call_id: str, name: str, result: str | Sequence[ContentBlock], is_error: bool) -> None:
        self._view.result(call_id, name, result, is_error)
        self._draw()

    def end_turn(self) -> None:
        self._view.end()
        self._draw()
        self._in_turn.close()

    def _changed(self) -> None:
        """Draw what has come, unless it was drawn just before: then it is left for `refresh`."""
        self._is_changed = True
        if time.monotonic() >= self._next_drawing:
            self._draw()

    def _draw(self) -> None:
        begun = time.monotonic()
        settled, live = self._view.take()
        self._write(self._region.draw(settled, live, *self._console.size))
        now = time.monotonic()
        self._next_drawing = now + max(REDRAW_SECONDS, SHARE * (now - begun))
        self._is_changed = False

    def _print(self, part: RenderableType) -> None:
        self._write("\n".join(["", *lines_of(self._console, Clean(part)), ""]))

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
