"""The public API is the one that is written down, so that no change of it goes by unseen."""

from __future__ import annotations

import pkgutil
import runpy
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import pytest
from attrs import define

import kova
import kova.contrib.django
import kova.testing

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "public_api.py"
FILE = ROOT / "tests" / "data" / "public-api.txt"
SCRIPT_NAMES = runpy.run_path(str(SCRIPT))


def check(file: Path) -> tuple[int, str]:
    command = [sys.executable, "-P", SCRIPT, "--check", "--file", file]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_api_is_as_it_is_written_down() -> None:
    """If it is meant to change: `make api`, and a file in changes/ that tells users."""
    code, said = check(FILE)
    assert code == 0, said


def test_a_change_is_shown_with_what_to_do(tmp_path: Path) -> None:
    kept = FILE.read_text("utf-8")
    line = "    def is_cancelled() -> bool\n"
    (tmp_path / "api.txt").write_text(kept.replace("    property is_cancelled: bool\n", line), "utf-8")
    code, said = check(tmp_path / "api.txt")
    assert code == 1
    assert "-    def is_cancelled() -> bool\n" in said
    assert "+    property is_cancelled: bool\n" in said
    assert "`make api`" in said


def test_every_public_name_is_in_it() -> None:
    text = FILE.read_text("utf-8")
    for module in (kova, kova.testing, kova.contrib.django):
        for name in set(module.__all__) - {"__version__"}:
            full = f"{module.__name__}.{name}"
            assert any(f"\n{word}{full}" in text for word in ("class ", "def ", "async def ", "")), full


def test_every_host_is_in_it() -> None:
    """Whether what it is made for is installed or not."""
    packages = [f"kova.contrib.{module.name}" for module in pkgutil.iter_modules(kova.contrib.__path__)]
    assert packages == list(SCRIPT_NAMES["HOSTS"])


# ---- how things are written down


class Colour(StrEnum):
    RED = "red"


class Base:
    inherited: int

    def __init__(self, size: int, *, colour: Colour = Colour.RED, names: Sequence[str] = ()) -> None:
        self.size = size
        self.doubled: int = 2 * size
        self._hidden = names

    @classmethod
    def made(cls) -> Base:
        return cls(1)

    @property
    def is_large(self) -> bool:
        return self.size > 3

    async def __aenter__(self) -> None: ...

    def _own(self) -> None: ...


@define
class Pair:
    first: int
    second: list[int] | None = None


# The script sees what kova defines.
for cls in (Base, Pair):
    cls.__module__ = "kova.example"


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (Colour, ["class X(StrEnum)", "    RED = 'red'"]),
        (
            Base,
            [
                "class X",
                "    __init__(size: int, *, colour: Colour = Colour.RED, names: Sequence[str] = ()) -> None",
                "    doubled: int",
                "    inherited: int",
                "    size: int",
                "    async def __aenter__() -> None",
                "    property is_large: bool",
                "    classmethod def made() -> Base",
            ],
        ),
        (
            Pair,
            [
                "class X",
                "    __init__(first: int, second: list[int] | None = None) -> None",
                "    first: int",
                "    second: list[int] | None",
            ],
        ),
    ],
)
def test_a_class_is_written_down(cls: type, expected: list[str]) -> None:
    assert SCRIPT_NAMES["described_class"]("X", cls) == expected
