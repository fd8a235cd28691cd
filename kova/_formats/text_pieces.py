"""Pieces of text as they are handed out: none ends in the middle of a character."""

from __future__ import annotations

import re

__all__ = ["TextPieces"]

_SURROGATE = re.compile("[\ud800-\udfff]")


class TextPieces:
    """Puts characters together that were cut in two.

    A server written in JavaScript cuts between the halves of a surrogate pair, and escapes each of them.

    Attributes:
        half: What has come of a character that is not complete yet.
    """

    __slots__ = ("half",)

    def __init__(self) -> None:
        self.half = ""

    def whole(self, text: str) -> str:
        """The text without the half character at its end, if there is one, and with the one before it."""
        if not self.half and (text.isascii() or not _SURROGATE.search(text)):
            return text
        text = self.half + text
        self.half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = text[: len(text) - len(self.half)]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
