"""The chat where there is no terminal: the answers' text on standard output, all else on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._terminal import plain
from ..approvals import ApprovalDecision
from ..messages import ContentBlock, ToolUseBlock
from .approval_answers import NOBODY, QUESTION, decision_of
from .call_text import call_lines, result_lines
from .plain_stream import PlainStream

__all__ = ["PlainScreen"]


class PlainScreen:
    """A `Screen` of plain lines. Each line of standard input is a message."""

    def __init__(self) -> None:
        self._is_interactive = sys.stdin.isatty() and sys.stderr.isatty()
        self._text = PlainStream()
        self._last = "\n"

    def opened(self) -> AbstractContextManager[None]:
        return nullcontext()  # a Ctrl-C ends the program, as it does with any other

    def read(self) -> str | None:
        if self._is_interactive:
            _say("> ", end="")
        line = sys.stdin.readline()
        return line if line else None

    def show_status(self, text: str) -> None:
        pass

    def note(self, text: str) -> None:
        _say(text)

    def problem(self, text: str) -> None:
        _say(f"kova: {text}")

    def message(self, role: str, text: str) -> None:
        _say(f"{role}: {text}")

    def begin_turn(self) -> None:
        self._text, self._last = PlainStream(), "\n"

    def idle_after(self) -> float | None:
        return None

    def refresh(self) -> None:
        pass

    def text(self, piece: str) -> None:
        self._write(self._text.feed(piece))

    def thinking(self, piece: str) -> None:
        pass  # it would be mixed up with the notes about calls

    def call(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        self._end_line()
        head, lines = call_lines(name, arguments)
        _say("\n".join([f"[{head}]", *(f"  {line}" for line in lines)]))

    def ask(self, call: ToolUseBlock) -> ApprovalDecision | None:
        if not self._is_interactive:
            _say(f"kova: the call of {call.name} was denied: {NOBODY}; --yes runs all calls")
            return ApprovalDecision.denied(NOBODY)
        self.call(call.id, call.name, call.input)
        while True:
            _say(QUESTION, end="")
            answer = sys.stdin.readline()
            if not answer:
                return None
            if (decision := decision_of(answer)) is not None:
                return decision

    def result(self, call_id: str, name: str, result: str | Sequence[ContentBlock], is_error: bool) -> None:
        _say(f"[{name}{' failed' if is_error else ''}] " + "\n  ".join(result_lines(result)))

    def end_turn(self) -> None:
        self._write(self._text.end())
        self._end_line()

    def _write(self, text: str) -> None:
        if text:
            self._last = text[-1]
            sys.stdout.write(text)
            sys.stdout.flush()

    def _end_line(self) -> None:
        if self._last != "\n":
            self._write("\n")


def _say(text: str, *, end: str = "\n") -> None:
    sys.stderr.write(plain(text) + end)
    sys.stderr.flush()
