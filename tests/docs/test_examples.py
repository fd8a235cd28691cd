"""The examples of the documentation that are marked are run, each in a process of its own; warnings are errors.

```python run     a program
```python test    a file of tests, for pytest
```python peer    a program on another library, which `make test-peers` runs

A comment in front of a program, `<!-- model: "Hello", call("add", a=1) -->`, says what a model server answers it: then
the program is what a reader would write, with a model string, and what it prints must be what the page shows below it
as ```text.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kova
from kova.testing import Delay, ModelServer, call, provider_error
from tests.fences import Example, examples

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "run": [sys.executable, "-W", "error"],
    "test": [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
}
EXAMPLES = examples(ROOT)
PLAYED = [example for example in EXAMPLES if example.mark == "run" and example.model]
WORDS = {"kova": kova, "call": call, "Delay": Delay, "provider_error": provider_error}


def test_all_marks_are_known() -> None:
    assert [str(example) for example in EXAMPLES if example.mark not in ("", "peer", *COMMANDS)] == []


def run(example: Example, folder: Path, environment: dict[str, str]) -> str:
    file = folder / "test_example.py"
    file.write_text("\n" * (example.line - 1) + example.code, "utf-8")  # so that its line numbers are the page's
    done = subprocess.run(
        [*COMMANDS[example.mark], file.name],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{example} fails:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    "example", [example for example in EXAMPLES if example.mark in COMMANDS and not example.model], ids=str
)
def test_the_example_runs(example: Example, tmp_path: Path) -> None:
    run(example, tmp_path, {})


@pytest.mark.parametrize("example", PLAYED, ids=str)
def test_the_program_prints_what_its_page_shows(example: Example, tmp_path: Path) -> None:
    script: tuple[Any, ...] = eval(f"({example.model},)", dict(WORDS))
    with ModelServer(*script) as server:
        printed = run(example, tmp_path, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a key for the test"})
        server.assert_used_up()
    assert printed == example.output, f"{example} prints something else"
