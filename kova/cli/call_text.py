"""Tool calls and their results as text for a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .._terminal import plain
from ..messages import ContentBlock, ImageBlock, TextBlock

__all__ = ["call_lines", "one_line", "result_lines"]

RESULT_LINES = 12  # shown of a result; the model gets all of it
LINE_CHARS = 400  # shown of a result's line
ONE_LINE = 60  # characters of arguments beside the tool's name; more are put below it


def call_lines(name: str, arguments: Mapping[str, Any]) -> tuple[str, list[str]]:
    """A call as its head, and lines below it. Nothing is left out: a person decides by it what may run."""
    shown = {plain(str(key)): _value(value) for key, value in arguments.items()}
    inline = ", ".join(f"{key}={value}" for key, value in shown.items())
    if len(inline) <= ONE_LINE and "\n" not in inline:
        return f"{plain(name)}({inline})", []
    lines = []
    for key, value in shown.items():
        first, *more = value.split("\n")
        lines += [f"{key} = {first}", *(f"    {line}" for line in more)]
    return plain(name), lines


def result_lines(result: str | Sequence[ContentBlock]) -> list[str]:
    """The beginning of a result, with how much there is beyond."""
    text = result if isinstance(result, str) else "\n".join(map(_block, result))
    lines = plain(text).strip("\n").split("\n")
    shown = [line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…" for line in lines[:RESULT_LINES]]
    more = len(lines) - RESULT_LINES
    return [*shown, f"… {more} more lines"] if more > 0 else shown


def one_line(text: str, width: int) -> str:
    """A text on one line of at most so many characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _value(value: object) -> str:
    """A string of several lines as it is, all else as JSON."""
    if isinstance(value, str) and "\n" in value:
        return "\n" + plain(value)
    return plain(json.dumps(value, ensure_ascii=False, default=str))


def _block(block: ContentBlock) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ImageBlock):
        return f"[image, {block.media_type}]"
    return repr(block)
