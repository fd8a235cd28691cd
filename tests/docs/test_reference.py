"""The reference: every public name is on exactly one of its pages, and twins are in two tabs beside one another."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import kova
import kova.testing

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGES = {path.name: path.read_text("utf-8") for path in sorted(REFERENCE.glob("*.md"))}
NAMES = Counter(name for page in PAGES.values() for name in re.findall(r"^ *::: (\S+)$", page, re.MULTILINE))
PUBLIC = {*(f"kova.{name}" for name in kova.__all__), *(f"kova.testing.{name}" for name in kova.testing.__all__)}
TWINS = sorted(name for name in PUBLIC if re.search(r"\.Async(?!AnswerFunction)", name))


def test_every_public_name_is_on_one_page() -> None:
    assert sorted(NAMES) == sorted(PUBLIC)


def test_no_name_is_there_twice() -> None:
    assert [name for name, count in NAMES.items() if count > 1] == []


@pytest.mark.parametrize("name", TWINS)
def test_twins_are_in_two_tabs(name: str) -> None:
    tabs = f'===! "Blocking"\n\n    ::: {name.replace(".Async", ".")}\n\n=== "Async"\n\n    ::: {name}\n'
    assert any(tabs in page for page in PAGES.values())


def test_every_page_is_in_the_index() -> None:
    assert set(re.findall(r"\]\((\w+\.md)\)", PAGES["README.md"])) == PAGES.keys() - {"README.md"}
