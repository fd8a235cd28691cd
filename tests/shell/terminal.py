"""A real terminal for programs, tmux's: what is typed into it, and what it shows.

Nothing here sleeps for a program to be ready: it looks at the screen until it shows what is expected.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 30.0  # seconds until what is expected must show; five times what a slow start takes
LOOK_AGAIN = 0.05
SETTINGS = "set -g history-limit 5000\nset -s escape-time 0\nset -g set-titles on\n"
# A Ctrl-C is the program's alone; its exit code, which tmux does not always get to know, is put into the file $0.
RUN = 'trap : INT; "$@"; echo $? > "$0.new"; mv "$0.new" "$0"; sleep infinity'
KOVA = (sys.executable, "-m", "kova")


def environment(**variables: str) -> dict[str, str]:
    """The environment without what would let the shell find a real model, and with these variables."""
    unwanted = re.compile(r"OPENAI_|ANTHROPIC_|GEMINI_|GOOGLE_|OLLAMA_|AWS_|KOVA_|XDG_|COLUMNS$|LINES$|NO_COLOR$|TMUX")
    kept = {name: value for name, value in os.environ.items() if not unwanted.match(name)}
    return {**kept, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **variables}


class Terminal:
    """A program in a terminal of its own, in a with block.

    Args:
        folder: Where the program runs.
        command: The program and its arguments.
        env: Its environment.
        size: Columns and lines.
    """

    def __init__(
        self, folder: Path, command: Sequence[str], env: dict[str, str], size: tuple[int, int] = (80, 24)
    ) -> None:
        if shutil.which("tmux") is None:
            pytest.fail("these tests need tmux, which is not installed: apt-get install tmux")
        self._folder = folder
        self._command = command
        self._env = env
        self._size = size
        self._own = tempfile.TemporaryDirectory(prefix="tmux-")  # the path of a socket has to be short
        self._socket = f"{self._own.name}/socket"
        self._exit_code = Path(self._own.name, "exit-code")

    def __enter__(self) -> Self:
        settings = Path(self._own.name, "tmux.conf")
        settings.write_text(SETTINGS)
        width, height = map(str, self._size)
        start = ["-f", str(settings), "new-session", "-d", "-x", width, "-y", height, "-c", str(self._folder)]
        self._tmux(*start, "--", "sh", "-c", RUN, str(self._exit_code), *self._command)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server")
        self._own.cleanup()

    def type(self, text: str) -> None:
        """Type characters as they are."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names for them: Enter, C-c, C-d, M-Enter."""
        self._tmux("send-keys", *keys)

    def say(self, text: str) -> None:
        """Type a line, and send it."""
        self.type(text)
        self.press("Enter")

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    @property
    def screen(self) -> str:
        """What is shown, and what has gone off at the top; without the spaces at the ends of lines."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    @property
    def colours(self) -> str:
        """What is shown, with the escapes of its colours."""
        return self._tmux("capture-pane", "-p", "-e")

    @property
    def title(self) -> str:
        """What the program calls its window."""
        return self._tmux("display-message", "-p", "#{pane_title}").strip()

    def shows(self, pattern: str, *, times: int = 1) -> str:
        """Wait until the screen shows what a regular expression finds, as often as that; give the screen."""
        return self._until(lambda screen: len(re.findall(pattern, screen, re.M)) >= times, f"{pattern!r}")

    def ends(self) -> int:
        """Wait for the program's end; give its exit code."""
        self._until(lambda _: self._exit_code.exists(), "the end of the program")
        return int(self._exit_code.read_text())

    def _until(self, is_seen: Callable[[str], bool], what: str) -> str:
        limit = time.monotonic() + LIMIT
        while not is_seen(screen := self.screen):
            if time.monotonic() > limit:
                pytest.fail(f"the terminal should show {what}, and shows:\n{screen.rstrip()}")
            time.sleep(LOOK_AGAIN)
        return screen

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments], env=self._env, capture_output=True, text=True, timeout=LIMIT
        )
        assert done.returncode == 0, f"tmux {arguments}: {done.stderr}"
        return done.stdout
