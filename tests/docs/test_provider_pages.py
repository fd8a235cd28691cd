"""The pages of the providers: their tables of options are the fields of the configuration, no more and no less."""

import ast
import importlib
import re
from pathlib import Path

import attrs
import pytest

from kova._formats.base_config import BaseConfig

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "docs" / "providers").glob("*.md"))}


def config_of(provider: str) -> type:
    module = importlib.import_module(f"kova._formats.{provider}.config")
    (config,) = [value for name in module.__all__ if isinstance(value := getattr(module, name), type)]
    assert issubclass(config, BaseConfig)
    return config


def titles(page: str) -> list[str]:
    return re.findall(r"^## (.*)$", page, re.MULTILINE)


def options(page: str) -> dict[str, dict[str, str]]:
    """The rows of the table under "Options", by the name of the option."""
    table = re.search(r"(?:^\|.*\n)+", page.partition("\n## Options\n")[2], re.MULTILINE)
    assert table is not None
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()]
    named = [dict(zip(head, row, strict=True)) for row in rows]
    return {row["option"].strip("`"): row for row in named}


def test_there_are_pages() -> None:
    assert PAGES.keys() >= {"openai", "ollama"}


@pytest.mark.parametrize("provider", PAGES)
def test_every_option_is_on_its_page_and_every_option_of_the_page_is_there(provider: str) -> None:
    assert sorted(options(PAGES[provider])) == sorted(field.name for field in attrs.fields(config_of(provider)))


@pytest.mark.parametrize("provider", PAGES)
def test_defaults_are_those_of_the_fields(provider: str) -> None:
    defaults = {name: row["default"].strip("`") for name, row in options(PAGES[provider]).items()}
    for field in attrs.fields(config_of(provider)):
        shown = defaults[field.name]
        assert (ast.literal_eval(shown) if shown else attrs.NOTHING) == field.default, field.name


@pytest.mark.parametrize("provider", PAGES)
def test_a_page_says_what_is_supported_and_what_the_environment_means(provider: str) -> None:
    assert {"What is supported", "Options", "Environment"} <= set(titles(PAGES[provider]))
