"""The check that the examples in the documentation compile."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_docs.py"


def check(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, SCRIPT, "--root", root], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_examples_that_compile(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("```python\nprint(1)\n```\n\n```sh\nnot python\n```\n")
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "deep" / "page.md").write_text(
        "1. In a list:\n\n   ```python title='x'\n   await agent.run()\n   ```\n"
    )
    assert check(tmp_path) == (0, ["2 examples, 0 that do not compile"])


def test_a_broken_example_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n\n```python\nx = 1\ny = = 2\n```\n")
    assert check(tmp_path) == (1, ["README.md:5: invalid syntax", "1 examples, 1 that do not compile"])


def test_no_documentation_is_no_mistake(tmp_path: Path) -> None:
    assert check(tmp_path) == (0, ["0 examples, 0 that do not compile"])
