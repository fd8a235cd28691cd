"""The page of environment variables: it has every variable that kova reads, and none that kova does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from kova._mcp.environment import _SAFE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "environment.md").read_text("utf-8")
NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")

# Read by the libraries below kova, which are told of nothing else.
READ_BELOW = {
    "botocore": {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"},
    "urllib.request": {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"},
    "httpx": {"SSL_CERT_FILE", "SSL_CERT_DIR"},
    "rich": {"NO_COLOR"},
}


def names_read(source: str) -> Iterator[str]:
    """The variables that a module reads: environ.get("X"), environ["X"], "X" in environ, getenv("X"), X_VARIABLE = "X"."""
    for node in ast.walk(ast.parse(source)):
        found: list[ast.AST] = []
        match node:
            case ast.Call(func=ast.Attribute(attr="get" | "pop", value=where), args=[key, *_]) if is_environ(where):
                found = [key]
            case ast.Call(func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"), args=[key, *_]):
                found = [key]
            case ast.Subscript(value=where, slice=key) if is_environ(where):
                found = [key]
            case ast.Compare(left=key, comparators=[where]) if is_environ(where):
                found = [key]
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if re.search("VARIABLES?$", name):
                found = list(ast.walk(value))
        for constant in found:
            if (
                isinstance(constant, ast.Constant)
                and isinstance(constant.value, str)
                and NAME.fullmatch(constant.value)
            ):
                yield constant.value


def is_environ(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] in ("environ", "env", "environment")


READ = {
    name
    for path in (ROOT / "kova").rglob("*.py")
    if "_sync" not in path.parts
    for name in names_read(path.read_text("utf-8"))
}
SHOWN = {name for code in re.findall(r"`([^`\n]+)`", PAGE) for name in [code.removesuffix("*")] if NAME.fullmatch(name)}


def test_the_search_finds_what_is_known_to_be_read() -> None:
    assert {"OPENAI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_HOST", "AWS_BEARER_TOKEN_BEDROCK"} <= READ


def test_every_variable_that_kova_reads_is_on_the_page() -> None:
    assert sorted(READ - SHOWN) == []


def test_what_servers_are_given_is_on_the_page() -> None:
    assert sorted(_SAFE - SHOWN) == []


def test_nothing_else_is_on_the_page() -> None:
    below = set().union(*READ_BELOW.values())
    assert sorted(SHOWN - READ - _SAFE - below - {"LC_"}) == []
