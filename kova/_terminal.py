"""Text from elsewhere, made fit to be shown in a terminal: it may move no cursor and set no title (S5)."""

from __future__ import annotations

import re

__all__ = ["plain"]

# Control sequences, operating system commands, and the short escapes; then all other control characters.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]", re.S
)
_CONTROLS = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """The text without terminal escapes and control characters; lines and tabs stay."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))
