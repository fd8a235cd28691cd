"""The two runtimes are alike: same names, same signatures."""

from __future__ import annotations

import inspect

import pytest

from kova._runtime import aio, threads


def test_both_export_the_same_names() -> None:
    assert aio.__all__ == threads.__all__ == sorted(threads.__all__, key=lambda name: (name[0].islower(), name))


def parameters(function: object) -> list[str]:
    assert callable(function)
    return [str(parameter.replace(annotation=parameter.empty)) for parameter in parameters_of(function)]


def parameters_of(function: object) -> list[inspect.Parameter]:
    assert callable(function)
    return list(inspect.signature(function).parameters.values())


@pytest.mark.parametrize("name", [name for name in aio.__all__ if name not in ("closing", "checkpoint", "sleep")])
def test_signatures_are_the_same(name: str) -> None:
    ours, theirs = getattr(aio, name), getattr(threads, name)
    assert parameters(ours) == parameters(theirs)
    if isinstance(ours, type):
        methods = {method for method in vars(ours) if not method.startswith("_")}
        assert methods == {method for method in vars(theirs) if not method.startswith("_")}
        for method in methods:
            assert parameters(getattr(ours, method)) == parameters(getattr(theirs, method))
