"""The names of `kova`: sorted, complete, all there, quick to import, and alike in both twins."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kova

PACKAGE = Path(kova.__file__).parent
PUBLIC_MODULES = sorted(path.stem for path in PACKAGE.glob("[a-z]*.py"))

# What modules share with one another, and no user needs.
NOT_FOR_USERS = {
    "SessionApprovals": "agents keep decisions themselves",
    "ToolPolicy": "agents make it of their arguments",
    "as_tool": "agents wrap functions themselves",
    "as_tools": "agents read their tools themselves",
    "check_pattern": "orchestrators check patterns themselves",
    "check_request": "orchestrators check requests themselves",
    "merge_tools": "agents merge tools themselves",
    "normalize_result": "agents normalise results themselves",
    "read_timeline": "responses make timelines themselves",
    "shortened": "agents cut results themselves",
}

# What importing kova must not cost.
HEAVY = [
    "_socket",
    "anyio",
    "asyncio",
    "attrs",
    "botocore",
    "cattrs",
    "h11",
    "httpcore",
    "httpx",
    "httpx2",
    "opentelemetry",
    "orjson",
    "ssl",
    "structlog",
    "tenacity",
    "trio",
    "xllamacpp",
]

TWINS = sorted(name for name in kova.__all__ if name.startswith("Async"))
BLOCKING_TWINS = sorted(name for name in kova.__all__ if kova._HOME_OF.get(name, "").startswith("_sync"))


# ---- the list of names


def test_the_names_are_sorted_and_each_is_there_once() -> None:
    assert kova.__all__ == sorted(set(kova.__all__))


def test_every_name_can_be_imported() -> None:
    for name in kova.__all__:
        assert getattr(kova, name) is not None, name
    assert set(kova.__all__) <= set(dir(kova))


def test_every_name_of_a_public_module_is_a_name_of_kova_unless_it_is_said_why_not() -> None:
    assert {"cancellation", "config", "errors", "messages", "responses", "tools"} <= set(PUBLIC_MODULES)
    names = {name for module in PUBLIC_MODULES for name in importlib.import_module(f"kova.{module}").__all__}
    assert names - set(kova.__all__) == NOT_FOR_USERS.keys()


def test_what_type_checkers_see_is_what_is_loaded() -> None:
    """The imports under TYPE_CHECKING say the same as the table of lazy names."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
        if alias.asname is None
    }
    assert seen == kova._HOME_OF
    assert sorted([*seen, "__version__"]) == kova.__all__


@pytest.mark.parametrize("name", [name for name in kova.__all__ if name != "__version__"])
def test_a_name_is_the_object_of_its_home(name: str) -> None:
    home = importlib.import_module(f"kova.{kova._HOME_OF[name]}")
    assert getattr(kova, name) is getattr(home, name)
    assert name in home.__all__


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'kova' has no attribute 'Agnet'"):
        kova.Agnet  # noqa: B018  # asking is the point
    with pytest.raises(ImportError):
        exec("from kova import Agnet")


# ---- the cost of importing


def in_a_new_process(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_importing_kova_loads_nothing_heavy_and_starts_nothing() -> None:
    """T6."""
    before = set(in_a_new_process("import sys; print(*sys.modules)").split())
    script = "import kova, sys; print(*sys.modules); import threading; assert threading.active_count() == 1"
    loaded = set(in_a_new_process(script).split()) - before
    assert "kova" in loaded
    assert not {module.split(".")[0] for module in loaded} & set(HEAVY)
    assert {module for module in loaded if module.startswith("kova")} == {"kova", "kova._version"}


def test_messages_tokens_and_errors_need_no_event_loop_and_no_http() -> None:
    """T6."""
    script = (
        "import kova, sys\n"
        "kova.user_message('Hi'); kova.CancellationToken(); kova.ProviderError; kova.UsageStats\n"
        "print(*sys.modules)"
    )
    loaded = {module.split(".")[0] for module in in_a_new_process(script).split()}
    assert not loaded & {"anyio", "asyncio", "cattrs", "httpcore", "httpx", "ssl", "structlog", "tenacity"}


# ---- the twins


def test_every_async_name_has_a_blocking_twin_and_the_reverse() -> None:
    """T14."""
    assert TWINS
    assert [name.removeprefix("Async") for name in TWINS] == BLOCKING_TWINS


def blocking(text: str) -> str:
    """How the blocking twin says it."""
    for ours, theirs in (("__aenter__", "__enter__"), ("__aexit__", "__exit__"), ("__anext__", "__next__")):
        text = text.replace(ours, theirs)
    return re.sub(r"\bAsync(?=[A-Z])", "", text.replace("__aiter__", "__iter__"))


def members(owner: type) -> dict[str, Any]:
    """Public methods and properties, and those by which the language uses an object; inherited ones included."""
    shown = {"__init__", "__call__", "__aenter__", "__aexit__", "__aiter__", "__anext__"}
    shown |= {blocking(name) for name in shown}
    return {
        name: value for name, value in inspect.getmembers_static(owner) if not name.startswith("_") or name in shown
    }


def described(member: Any) -> str:
    """Kind and signature of a member, as far as users see them."""
    kind = type(member).__name__
    if isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    if isinstance(member, property):
        member = member.fget
    return f"{kind} {inspect.signature(member) if callable(member) else member!r}"


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_methods_and_signatures(name: str) -> None:
    """T14: await aside."""
    ours, theirs = members(getattr(kova, name)), members(getattr(kova, name.removeprefix("Async")))
    assert {blocking(member) for member in ours} == theirs.keys()
    for member, value in ours.items():
        assert blocking(described(value)) == described(theirs[blocking(member)]), member


@pytest.mark.parametrize("name", TWINS)
def test_twins_are_described_alike(name: str) -> None:
    ours, theirs = getattr(kova, name), getattr(kova, name.removeprefix("Async"))
    assert blocking(inspect.getdoc(ours) or "") == inspect.getdoc(theirs)
    assert "Async" not in (inspect.getdoc(theirs) or "")
