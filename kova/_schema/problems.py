"""What is wrong with JSON, told in lines that a model can act on: `filters.limit: expected an integer, got null`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from .scalars import Mismatch

__all__ = ["Path", "Refused", "best_failure", "describe_problems"]

Path: TypeAlias = tuple[str | int, ...]

PROBLEMS_OF_ALTERNATIVE = 3


class Refused(ValueError):
    """JSON that a class itself would not take.

    Attributes:
        problems: What it said, each with the place within the JSON.
    """

    def __init__(self, problems: Sequence[tuple[Path, str]]) -> None:
        super().__init__(problems)
        self.problems = problems


class NoAlternativeFits(ValueError):
    """JSON that comes near several members of a union, and is none of them."""

    def __init__(self, failures: Sequence[tuple[str, Exception]]) -> None:
        super().__init__(failures)
        self.failures = failures


def describe_problems(error: Exception, path: Path) -> Iterator[str]:
    """A line for each thing that went wrong in structuring the value at a path."""
    for place, text in _problems(error, path):
        yield f"{_path_text(place)}: {text}" if place else text


def best_failure(names: Sequence[str], failures: Sequence[Exception], value: object) -> Exception:
    """The error for a value that is no member of a union, from the errors of all its members."""
    near = [(name, failure) for name, failure in zip(names, failures, strict=True) if not isinstance(failure, Mismatch)]
    if len(near) == 1:
        return near[0][1]
    if near:
        return NoAlternativeFits(near)
    expected = dict.fromkeys(failure.expected for failure in failures if isinstance(failure, Mismatch))
    return Mismatch(" or ".join(expected), value)


def _problems(error: Exception, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(error, ExceptionGroup):
        yield from _problems_of_parts(error, path)
    elif isinstance(error, Refused):
        yield from ((path + place, text) for place, text in error.problems)
    elif isinstance(error, NoAlternativeFits):
        yield path, _alternatives(error)
    elif isinstance(error, Mismatch):
        yield path, str(error)
    else:
        yield path, error_text(error)


def _problems_of_parts(error: ExceptionGroup[Exception], path: Path) -> Iterator[tuple[Path, str]]:
    from cattrs.errors import AttributeValidationNote, ForbiddenExtraKeysError, IterableValidationNote

    for part in error.exceptions:
        if isinstance(part, ForbiddenExtraKeysError):
            yield from (((*path, key), "unexpected") for key in sorted(part.extra_fields))
            continue
        notes = getattr(part, "__notes__", ())
        name = next((note.name for note in notes if isinstance(note, AttributeValidationNote)), None)
        index = next((note.index for note in notes if isinstance(note, IterableValidationNote)), None)
        if name is not None and isinstance(part, KeyError):
            yield (*path, name), "missing"
        else:
            yield from _problems(part, (*path, *(step for step in (name, index) if step is not None)))


def _alternatives(error: NoAlternativeFits) -> str:
    texts = []
    for name, failure in error.failures:
        problems = list(describe_problems(failure, ()))
        texts.append(f"{name} ({'; '.join(problems[:PROBLEMS_OF_ALTERNATIVE])})")
    return f"fits none of {', '.join(texts)}"


def error_text(error: Exception) -> str:
    """Class and text of an exception."""
    text = str(error.args[0] if error.args else "") or "(no message)"
    return f"{type(error).__name__}: {text}"


def _path_text(path: Path) -> str:
    """`filters.limit`, `items[2].name`, `scores["the key"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier() or not text:
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
