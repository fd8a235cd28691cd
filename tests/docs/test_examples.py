"""The examples of the documentation that are marked are run, each in a process of its own; warnings are errors.

```python run     a program
```python test    a file of tests, for pytest
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^(?P<indent> *)```python *(?P<mark>[^\n]*)\n(?P<code>.*?)^(?P=indent)```", re.M | re.S)

COMMANDS = {
    "run": [sys.executable, "-W", "error"],
    "test": [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
}


class Example(NamedTuple):
    """A fenced block of Python: the page it is on, its first line there, its mark, its code."""

    page: str
    line: int
    mark: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def examples() -> list[Example]:
    found = []
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = file.read_text("utf-8")
        for match in FENCED.finditer(text):
            line = text.count("\n", 0, match.start("code")) + 1
            found.append(Example(str(file.relative_to(ROOT)), line, match["mark"].strip(), dedent(match["code"])))
    return found


EXAMPLES = examples()


def test_all_marks_are_known() -> None:
    assert [str(example) for example in EXAMPLES if example.mark not in ("", *COMMANDS)] == []


@pytest.mark.parametrize("example", [example for example in EXAMPLES if example.mark in COMMANDS], ids=str)
def test_the_example_runs(example: Example, tmp_path: Path) -> None:
    file = tmp_path / "test_example.py"
    file.write_text("\n" * (example.line - 1) + example.code, "utf-8")  # so that its line numbers are the page's
    done = subprocess.run([*COMMANDS[example.mark], file.name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, f"{example} fails:\n{done.stdout}\n{done.stderr}"
