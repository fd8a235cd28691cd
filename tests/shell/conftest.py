"""A folder with tools for the shell, a model server for it, and chats in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kova.testing import ModelServer
from tests.shell.terminal import KOVA, Terminal, environment

TOOLS = '''
import time
from pathlib import Path

def add(a: int, b: int) -> int:
    """Add two numbers."""
    Path("ran").touch()
    return a + b

def shout(text: str) -> str:
    """Say it loud."""
    return text.upper()

def dawdle() -> str:
    """Take a minute."""
    Path("dawdling").touch()
    time.sleep(60)
    return "too late"

def colourful() -> str:
    """Try to take the terminal over."""
    return "before \\x1b]0;taken\\x07\\x1b[2J\\x1b[31mred\\x1b[8mhidden\\x9b5A after"
'''

Chat = Callable[..., Terminal]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Speaks the API of the provider under test; its script is the test's."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


@pytest.fixture
def env(folder: Path, model: ModelServer) -> dict[str, str]:
    """For a shell that talks to the model server and keeps its conversations in the test's folder."""
    return environment(OPENAI_BASE_URL=model.url, KOVA_MODEL="openai:m", KOVA_HISTORY=str(folder / "history.db"))


@pytest.fixture
def chat(folder: Path, env: dict[str, str]) -> Iterator[Chat]:
    """Starts `kova chat` with these arguments in a terminal, and waits for its prompt."""
    with ExitStack() as stack:

        def start(*arguments: str, size: tuple[int, int] = (80, 24)) -> Terminal:
            command = [*KOVA, "chat", *arguments]
            terminal = stack.enter_context(Terminal(folder, command, env, size))
            terminal.shows("^>")
            return terminal

        yield start
