"""Does what the README says, as somebody who has just found kova: an empty home, no cache, no environment, a clone.

    python -P scripts/newcomer.py            and writes what was seen to docs/newcomer.md
    python -P scripts/newcomer.py --keep     leaves the home behind, to look at it

What is tried is what is committed. It ends with a program, and with one of the notebooks of `examples`, in which the
local model calls a tool and streams its answer. Takes some minutes and about 200 MB to download; needs git, make, and Python
3.11 or newer.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/newcomer.md"
LIMIT = 1200.0  # seconds for one command: downloads may be slow

# How this machine reaches a package registry; nothing else of the environment comes along.
PASSED_ON = re.compile(r"PIP_\w+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|(HTTPS?|NO|ALL)_PROXY", re.IGNORECASE)

# What pip and the notebook's kernel say of this machine.
NOISE = ("WARNING:", "[notice]", "[IPKernelApp]")

PROGRAM = '''\
import kova


@kova.tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


agent = kova.Agent("local:smollm2", tools=[multiply])
with agent.run_stream("What is 1234 times 5678?") as stream:
    for event in stream:
        match event:
            case kova.TextDelta(text=text):
                print(text, end="", flush=True)
            case kova.ToolCallStarted(name=name, input=arguments):
                print(f"[{name} {dict(arguments)}]")
            case kova.TurnCompleted(response=response):
                print("\\n", response.usage)
'''
SEEN = ("[multiply {'a': 1234, 'b': 5678}]", "7006652")

NOTEBOOK = "examples/notebooks/2-streaming-and-tools.ipynb"
TOOL_CELL = "@kova.tool"  # how the cell begins that streams a turn with a tool
SEEN_THERE = ("[temperature {'city': 'Oslo'}]", "[temperature says -4 degrees]", "-4 degrees.")

HEAD = """\
# A newcomer's first minutes

What one sees who follows the [README](../README.md) on a machine with nothing but git, make and Python 3.11 or newer:
an empty home, no cache, no virtual environment. `make newcomer` does all of this in a temporary folder, checks that the
model calls the tool and that its answer holds the result, and writes this page; times and the places of files are left
out.
"""


class Newcomer:
    """Somebody in an empty home, and what is seen there.

    Args:
        home: The home, which is empty.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.seen: list[str] = []
        passed_on = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
        python = str(Path(sys.executable).resolve().parent)
        path = os.pathsep.join([python, "/usr/local/bin", "/usr/bin", "/bin"])
        self.environment = {**passed_on, "HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}

    def tells(self, text: str) -> None:
        """Put some words between the commands."""
        self.seen.append(f"\n{text}\n")

    def types(self, command: str, *, folder: str = "kova", shown: str | None = None) -> str:
        """Type a command; gives what it says.

        Args:
            command: For the shell.
            folder: Where, below the home.
            shown: What the page shows in its place.
        """
        print(f"$ {command}", flush=True)
        begun = time.monotonic()
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.home / folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        print(f"{done.stdout}  ({time.monotonic() - begun:.0f} s)", flush=True)
        if done.returncode != 0:
            raise SystemExit(f"`{command}` failed with exit status {done.returncode}")
        said = self.cleaned(done.stdout)
        self.seen.append(f"\n```console\n$ {shown or command}\n{said}```\n")
        return said

    def writes(self, name: str, text: str) -> None:
        """Save a file in the clone."""
        (self.home / "kova" / name).write_text(text, "utf-8")

    def cleaned(self, text: str) -> str:
        """Without what is this machine's alone, or this day's."""
        lines = [line.rstrip() for line in text.splitlines() if not line.startswith(NOISE)]
        text = "".join(f"{line}\n" for line in lines)
        text = text.replace(f"{self.home.resolve()}", "~").replace(str(self.home), "~")
        return re.sub(r", \d+\.\d s$", "", text, flags=re.MULTILINE)


def follow_the_readme(newcomer: Newcomer) -> None:
    newcomer.types(f"git clone -q {ROOT} kova", folder=".", shown="git clone -q URL-OF-KOVA kova && cd kova")
    newcomer.tells("The first of the README's two commands installs everything, and has a real model call a tool:")
    expect(newcomer.types("make demo"), *SEEN[1:], "Blocking", "Async")

    newcomer.tells(f"A first program of one's own, `first_agent.py`:\n\n```python\n{PROGRAM}```")
    newcomer.writes("first_agent.py", PROGRAM)
    expect(newcomer.types(".venv/bin/python first_agent.py"), *SEEN)

    newcomer.tells("The [notebooks](notebooks.md) run as they are, also without a browser; here the second one:")
    newcomer.types(".venv/bin/pip install --quiet --disable-pip-version-check nbclient ipykernel")
    newcomer.types(f".venv/bin/jupyter execute --inplace {NOTEBOOK}")
    said = newcomer.cleaned(printed(newcomer.home / "kova" / NOTEBOOK, TOOL_CELL))
    expect(said, *SEEN_THERE)
    newcomer.tells(f"What is then under its cell with a tool:\n\n```text\n{said}```")


def printed(notebook: Path, beginning: str) -> str:
    """What the cell that begins like this has printed."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    (cell,) = (cell for cell in cells if "".join(cell["source"]).startswith(beginning))
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


def expect(said: str, *parts: str) -> None:
    for part in parts:
        if part not in said:
            raise SystemExit(f"{part!r} was not seen in:\n{said}")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="newcomer.py", description="Do what the README says in an empty home.")
    parser.add_argument("--keep", action="store_true", help="leave the home behind")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="newcomer-"))
    begun = time.monotonic()
    try:
        newcomer = Newcomer(home)
        follow_the_readme(newcomer)
    finally:
        if options.keep:
            print(f"The home is {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
    PAGE.write_text(HEAD + "".join(newcomer.seen), "utf-8")
    print(f"All well, in {time.monotonic() - begun:.0f} s; see {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
