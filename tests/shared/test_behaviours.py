"""Each behaviour that users rely on has a test that names it in its docstring, and no test names one that there is not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# What each is about, in a few words. M, O and S5 join when their tests are there.
BEHAVIOURS = {
    "T1": "blocking calls inside a running loop",
    "T2": "many loops, one agent",
    "T3": "many threads, one agent",
    "T4": "turns at once share nothing",
    "T5": "gevent, threads, forks",
    "T6": "construction does nothing",
    "T7": "events as they come",
    "T8": "tools do not hold up the loop",
    "T9": "context variables in tools",
    "T10": "Ctrl-C and the end of a script",
    "T11": "streams that are left early",
    "T12": "cancellation from anywhere",
    "T13": "asyncio and trio",
    "T14": "two faces, one signature",
    "L1": "results in the order of the calls",
    "L2": "arguments that do not fit",
    "L3": "calls cut off by the limit",
    "L4": "siblings of a failed tool",
    "L5": "a result for each stored call",
    "L6": "trimming",
    "L7": "streamed equals complete",
    "L8": "histories between providers",
    "L9": "usage",
    "L10": "what a failed turn had produced",
    "L11": "the time of a whole turn",
    "L12": "empty answers",
    "L13": "two tools of one name",
    "L14": "long tool results",
    "R1": "retries are counted",
    "R2": "when to come again",
    "R3": "what is not repeated",
    "R4": "stale connections",
    "R5": "idle streams",
    "R6": "one class for each error",
    "R7": "no key is shown",
    "R8": "certificates and proxies",
    "C1": "two turns on one conversation",
    "C2": "many processes, one file",
    "C3": "what is stored, and for how long it can be read",
    "C4": "deleted stays deleted",
    "C5": "one store, many threads and loops",
    "S1": "approvals of one session only",
    "S2": "no credential to another origin",
    "S3": "no prompt in logs and errors",
    "S4": "limits are errors, not memory",
}
LATER = re.compile(r"[MO]\d+|S5")


def named() -> dict[str, set[str]]:
    """Where each behaviour is named: in docstrings of tests, fixtures, classes and modules, the generated ones aside."""
    places: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        if "_sync" in path.parts or path.name == Path(__file__).name:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for name in re.findall(r"\b[TLRCMOS]\d{1,2}\b", ast.get_docstring(node) or ""):
                    places.setdefault(name, set()).add(str(path.relative_to(TESTS)))
    return places


@pytest.fixture(scope="module")
def places() -> dict[str, set[str]]:
    return named()


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_each_behaviour_has_a_test_that_names_it(places: dict[str, set[str]], name: str) -> None:
    assert places.get(name), f"no test names {name} ({BEHAVIOURS[name]}) in its docstring"


def test_no_test_names_a_behaviour_that_there_is_not(places: dict[str, set[str]]) -> None:
    unknown = {name: where for name, where in places.items() if name not in BEHAVIOURS and not LATER.fullmatch(name)}
    assert not unknown
