"""What fuzzing has found stays mended: the wire cases, the kept inputs, and some changes of them, through every parser.

`make fuzz` looks for more; what it finds is added to `tests/fuzz/corpus`.
"""

import random

import pytest

from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import CORPUS, TARGETS

every_target = pytest.mark.parametrize("name", TARGETS)

CHANGES = 150


def kept(name):
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


@every_target
def test_wire_cases_and_kept_inputs(name):
    """R6, R7, S4: no error but kova's, the same however it is cut, no answer without its end, no key shown."""
    for data in [*TARGETS[name].make_seeds(), *kept(name)]:
        TARGETS[name].check(data)


@every_target
def test_changes_of_them(name):
    target = TARGETS[name]
    seeds = [*target.make_seeds(), *kept(name)]
    mutator, chance = Mutator(seeds, is_framed=target.is_framed), random.Random(name)
    for _ in range(CHANGES):
        data = mutator.mutate(chance.choice(seeds), chance)
        try:
            target.check(data)
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\nwith {data!r}")


def test_every_folder_of_the_corpus_belongs_to_a_parser():
    assert {folder.name for folder in CORPUS.iterdir()} <= TARGETS.keys()
