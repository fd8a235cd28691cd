"""Terminal escapes taken out of text that comes in pieces, wherever the pieces are cut (S5)."""

from __future__ import annotations

import re

from .._terminal import plain

__all__ = ["PlainStream"]

LONGEST = 4_096  # characters of an escape that is waited for; what goes on is shown as text

# An escape that the next piece may go on with: the same kinds as `plain` knows.
_OPEN = re.compile(r"(?:\x1b\[[0-?]*[ -/]*|\x1b[\]PX^_](?:(?!\x07|\x1b\\).)*|\x1b[ -/]*|\x9b[0-?]*[ -/]*)\Z", re.S)
_BEGINS = re.compile(r"[\x1b\x9b]")


class PlainStream:
    """`plain` for a stream: what it gives, joined, is what `plain` makes of the whole."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown after one more piece."""
        text = self._held + text
        self._held = ""
        if _BEGINS.search(text):
            text = self._hold(text)
        return plain(text)

    def end(self) -> str:
        """What can be shown of the rest, there being no more pieces."""
        held, self._held = self._held, ""
        return plain(held)

    def _hold(self, text: str) -> str:
        """Keep back an escape that is not complete; give what comes before it."""
        position = 0
        while begin := _BEGINS.search(text, position):
            if _OPEN.match(text, begin.start()):
                if len(text) - begin.start() <= LONGEST:
                    self._held = text[begin.start() :]
                    return text[: begin.start()]
                return text[: begin.start()] + text[begin.end() :]
            position = max(_end_of_escape(text, begin.start()), begin.end())
        return text


_WHOLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]", re.S
)


def _end_of_escape(text: str, begin: int) -> int:
    found = _WHOLE.match(text, begin)
    return begin if found is None else found.end()
