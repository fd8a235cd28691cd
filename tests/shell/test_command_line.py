"""The command line as a whole: what it loads, its help, and what it says where the extra is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.shell.terminal import KOVA, environment


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment(), input="", capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["chat", "--help"], ["mcp", "call", "--help"]])
def test_help_loads_no_library_and_no_provider(arguments: list[str]) -> None:
    done = python(
        """
import sys
from kova.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    unwanted = ("rich", "prompt_toolkit", "markdown_it", "httpx", "anyio", "kova._sync", "kova._async", "kova._formats")
    print("loaded:", [name for name in unwanted if name in sys.modules])
""",
        *arguments,
    )
    assert done.stdout.splitlines()[-1] == "loaded: []", done.stderr


@pytest.mark.parametrize("command", ["chat", "run", "models", "doctor", "mcp"])
def test_each_command_explains_itself(command: str) -> None:
    done = subprocess.run([*KOVA, command, "--help"], env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert f"usage: kova {command}" in done.stdout


WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("rich", "prompt_toolkit", "markdown_it"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import importlib.util
found = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name in ("rich", "prompt_toolkit") else found(name, package)
importlib.util.find_spec = find_spec
from kova.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_chat_without_the_extra_says_what_to_type() -> None:
    done = python(WITHOUT, "chat")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kova: kova chat needs the extra cli; type: pip install 'kova-sdk[cli]'\n"


def test_the_other_commands_need_no_extra() -> None:
    """They get as far as their own errors."""
    assert "there is no provider" in python(WITHOUT, "models", "nobody").stderr
    assert "provider must be one of" in python(WITHOUT, "run", "Go", "--model", "nobody:x").stderr
    assert python(WITHOUT, "doctor", "--json", "--timeout", "0.1").stdout.startswith("{")
    assert python(WITHOUT, "mcp", "list", "'").stderr.startswith("kova: not a command")
