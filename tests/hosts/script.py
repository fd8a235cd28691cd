"""Python programs in processes of their own, as users run them: what they print, when they end, signals sent to them."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any, Self

LIMIT = 20.0  # seconds
ROOT = Path(__file__).parents[2]
PRELUDE = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell would ignore it
import kova
from tests.hosts.script import say
"""


def say(*values: object) -> None:
    """Print a line, with the time in front of it, which is the same in all processes."""
    sys.stdout.write(" ".join(map(str, [time.monotonic(), *values])) + "\n")  # at once, as threads may say something
    sys.stdout.flush()


class Script:
    """A running program. `kova`, `say` and the arguments of the script are there for its source.

    Args:
        source: The program.
        options: Options of the interpreter.
        arguments: Names that the program may use, and their values.
    """

    def __init__(self, source: str, *options: str, prelude: str = PRELUDE, **arguments: Any) -> None:
        given = "".join(f"{name} = {value!r}\n" for name, value in arguments.items())
        self._process = subprocess.Popen(
            [sys.executable, *options, "-c", prelude + given + textwrap.dedent(source)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._readers = [threading.Thread(target=self._read_lines), threading.Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put("")

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._errors += self._process.stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    @property
    def errors(self) -> str:
        """What it has written to its standard error."""
        return "".join(self._errors)

    def line(self) -> tuple[float, str]:
        """The next line that it has said: when, and what."""
        line = self._lines.get(timeout=LIMIT)
        assert line, f"the program said nothing more:\n{self.errors}"
        at, _, text = line.partition(" ")
        return float(at), text

    def expect(self, text: str) -> float:
        """The time of the next line, which must be this one."""
        at, said = self.line()
        assert said == text, f"the program said {said!r}, not {text!r}\n{self.errors}"
        return at

    def write(self, text: str) -> None:
        """Give it something to read."""
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def interrupt(self) -> float:
        """Press Ctrl-C; gives the time."""
        return self.signal(signal.SIGINT)

    def signal(self, number: int) -> float:
        """Send it a signal; gives the time."""
        at = time.monotonic()
        self._process.send_signal(number)
        return at

    def end(self) -> tuple[float, int]:
        """Wait for its end: when it was, and the exit status."""
        status = self._process.wait(LIMIT)
        at = time.monotonic()
        for reader in self._readers:
            reader.join(LIMIT)
        return at, status


def run(source: str, *options: str, prelude: str = PRELUDE, **arguments: Any) -> list[str]:
    """Run a program to its good end; gives what it has said."""
    with Script(source, *options, prelude=prelude, **arguments) as script:
        _, status = script.end()
        assert status == 0, f"exit status {status}\n{script.errors}"
        assert script.errors == ""
        said = []
        while line := script._lines.get(timeout=LIMIT):
            said.append(line.partition(" ")[2])
        return said
