"""Compiles every fenced `python` example of README.md and docs/, so that none of them can rot into nonsense.

Prints `file:line: what is wrong` and exits with 1 if one does not compile. `await` may stand at the top level, as in a
notebook.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

FENCED = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})python\b[^\n]*\n(?P<code>.*?)^(?P=indent)(?P=fence)", re.M | re.S)


def documents(root: Path) -> list[Path]:
    """The README, if there is one, and every Markdown file below docs/."""
    return [*root.glob("README.md"), *sorted((root / "docs").rglob("*.md"))]


def examples(text: str) -> Iterator[str]:
    """The code of each example, with empty lines before it, so that its line numbers are those of the document."""
    for match in FENCED.finditer(text):
        yield "\n" * text.count("\n", 0, match.start("code")) + dedent(match["code"])


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="check_docs.py", description="Compile the examples of the documentation.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the project (default: this one)")
    root: Path = parser.parse_args().root
    count = 0
    problems = []
    for document in documents(root):
        for code in examples(document.read_text("utf-8")):
            count += 1
            try:
                compile(code, document.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            except SyntaxError as error:
                problems.append(f"{document.relative_to(root)}:{error.lineno}: {error.msg}")
    print(*problems, f"{count} examples, {len(problems)} that do not compile", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
