"""The other libraries' programs on the pages "coming from …", which must print what kova's print.

`make test-peers` runs them, in an environment of their own. The programs run against kova's model server.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kova
from kova.testing import ModelServer, call
from tests.fences import Example, examples
from tests.peers.programs import run

PROGRAMS = [example for example in examples(Path(__file__).parents[2]) if example.mark == "peer"]


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 3


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_prints_what_its_page_shows(program: Example, tmp_path: Path) -> None:
    script = eval(f"({program.model},)", {"kova": kova, "call": call})
    with ModelServer(*script) as server:
        assert run(program.code, server, tmp_path) == program.output
        server.assert_used_up()
