"""Docstrings in the Google, NumPy and Sphinx styles: what they say of the whole, and of each parameter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Docstring", "parse_docstring"]


class Docstring(NamedTuple):
    """A docstring taken apart."""

    description: str  # all but the parameters
    parameters: dict[str, str]


class _Entry(NamedTuple):
    """The parameters that one entry names, and the lines that describe them."""

    names: list[str]
    lines: list[str]


_SECTIONS = "Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Attributes"
_GOOGLE_HEADING = re.compile(rf"(?:{_SECTIONS}):\s*$")
_NUMPY_HEADING = re.compile(rf"(?:{_SECTIONS})\s*$")
_UNDERLINE = re.compile(r"-{3,}\s*$")
# "name: text", "name (type, optional): text", "*args: text"
_GOOGLE_ENTRY = re.compile(r"(\*{0,2}\w+)\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*:(?:\s+(.*)|$)")
# "name", "name : type", "first, second : type"
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
# ":param name: text", ":param type name: text"; ":type name:" is skipped, the hints say it
_SPHINX_ENTRY = re.compile(r":(?:param|parameter|arg|argument|key|keyword|ivar)\s+(?:[^:]*\s)?(\*{0,2}\w+)\s*:\s*(.*)$")
_SPHINX_TYPE = re.compile(r":type\s+[^:]+:")


def parse_docstring(text: str) -> Docstring:
    """Take a docstring apart. The text must be without common indentation (`inspect.getdoc`)."""
    description: list[str] = []
    entries: list[_Entry] = []
    lines = text.splitlines()
    position = 0
    while position < len(lines):
        end, found = _parameters_at(lines, position)
        if end == position:
            description.append(lines[position].rstrip())
            end += 1
        entries += found
        position = end
    parameters = {name.lstrip("*"): _joined(entry.lines) for entry in entries for name in entry.names}
    return Docstring(_without_gaps(description), parameters)


def _parameters_at(lines: list[str], start: int) -> tuple[int, list[_Entry]]:
    """The parameters described from this line on, and the line after them; the same line where there are none."""
    line, following = lines[start], lines[start + 1] if start + 1 < len(lines) else ""
    if _SPHINX_ENTRY.match(line) or _SPHINX_TYPE.match(line):
        end = _end_of_indented(lines, start + 1, across_blanks=False)
        match = _SPHINX_ENTRY.match(line)
        return end, [_Entry([match[1]], [match[2], *lines[start + 1 : end]])] if match else []
    if _GOOGLE_HEADING.match(line):
        end = _end_of_indented(lines, start + 1, across_blanks=True)
        return end, _google_entries(lines[start + 1 : end])
    if _NUMPY_HEADING.match(line) and _UNDERLINE.match(following):
        end = _end_of_numpy_section(lines, start + 2)
        return end, _numpy_entries(lines[start + 2 : end])
    return start, []


def _end_of_indented(lines: list[str], start: int, *, across_blanks: bool) -> int:
    end = start
    for number in range(start, len(lines)):
        if lines[number][:1].isspace() and lines[number].strip():
            end = number + 1
        elif lines[number].strip() or not across_blanks:
            break
    return end


def _end_of_numpy_section(lines: list[str], start: int) -> int:
    for number in range(start, len(lines) - 1):
        if lines[number].strip() and _UNDERLINE.match(lines[number + 1]):
            return number
    return len(lines)


def _google_entries(lines: list[str]) -> list[_Entry]:
    """Entries stand at the least indentation; what is deeper, or no entry, continues the one before."""
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    entries: list[_Entry] = []
    for line in lines:
        match = _GOOGLE_ENTRY.match(line[indent:]) if _indent(line) == indent else None
        if match:
            entries.append(_Entry([match[1]], [match[2] or ""]))
        elif entries:
            entries[-1].lines.append(line)
    return entries


def _numpy_entries(lines: list[str]) -> list[_Entry]:
    entries: list[_Entry] = []
    for line in lines:
        match = None if line[:1].isspace() else _NUMPY_ENTRY.match(line)
        if match:
            entries.append(_Entry([name.strip() for name in match[1].split(",")], []))
        elif entries:
            entries[-1].lines.append(line)
    return entries


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: Iterable[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _without_gaps(lines: list[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
