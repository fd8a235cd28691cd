"""Figures and names as a waterfall writes them."""

from __future__ import annotations

import unicodedata

__all__ = ["count_text", "duration_text", "shortened", "shown", "text_width"]

# Characters that turn the direction of what follows, and so of what is not theirs.
TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
NOT_SHOWN = ("Cc", "Cs", "Cn", "Zl", "Zp")  # XML forbids most of them


def shown(text: str) -> str:
    """A name with a mark in place of what cannot be shown, or would change how the rest is; not yet escaped."""
    return "".join("�" if char in TURNING or unicodedata.category(char) in NOT_SHOWN else char for char in text)


def duration_text(seconds: float) -> str:
    """A duration with a unit that suits it."""
    if seconds < 0.0005:
        return f"{seconds * 1000:.1f} ms" if seconds > 0 else "0"
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def count_text(count: int) -> str:
    """A number of tokens, in few characters."""
    if count < 10_000:
        return f"{count:,}"
    if count < 999_500:
        return f"{count / 1000:.1f}".removesuffix(".0") + "k" if count < 99_950 else f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def text_width(text: str, size: float) -> float:
    """About how many pixels a text takes in a font of this size, rather more than less."""
    return sum(_char_width(char) for char in text) * size


def shortened(text: str, width: float, size: float) -> str:
    """As much of a text as fits into a width, with an ellipsis if that is not all."""
    if text_width(text, size) <= width:
        return text
    left, kept = width - text_width("…", size), ""
    for char in text:
        left -= _char_width(char) * size
        if left < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def _char_width(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in "iljI.,:;'|!()[]ft ":
        return 0.36
    if char in "mwMW@%—…":
        return 0.95
    return 0.68 if char.isupper() else 0.59
