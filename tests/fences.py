"""The fenced examples of the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

__all__ = ["Example", "examples", "pages"]

FENCED = re.compile(
    r"(?:^<!-- model: (?P<model>.*?) -->\n+)?"
    r"^(?P<indent> *)```python *(?P<mark>[^\n]*)\n(?P<code>.*?)^(?P=indent)```"
    r"(?:\n+```text\n(?P<output>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)


class Example(NamedTuple):
    """A fenced block of Python.

    Attributes:
        page: The page it is on.
        line: Its first line there.
        mark: What is to be done with it.
        code: Its code.
        model: What a model answers it, as Python; None where it brings its own.
        output: The text that is shown below it.
    """

    page: str
    line: int
    mark: str
    code: str
    model: str | None
    output: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages(root: Path) -> list[Path]:
    """The README, and the pages of the documentation."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def examples(root: Path) -> list[Example]:
    """All examples of all pages."""
    found = []
    for file in pages(root):
        text = file.read_text("utf-8")
        for match in FENCED.finditer(text):
            line = text.count("\n", 0, match.start("code")) + 1
            page, mark, code = str(file.relative_to(root)), match["mark"].strip(), dedent(match["code"])
            found.append(Example(page, line, mark, code, match["model"], match["output"]))
    return found
