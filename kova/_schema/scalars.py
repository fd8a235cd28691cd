"""Strict structuring of single JSON values: what has no parts.

A hook takes a JSON value and returns the Python one, or raises `Mismatch`. There are two readings of numbers: the
exact one takes integers and floats for what they are, the other takes an integral float for an int and an int for a
float. No other coercion exists: a bool is never a number, and text is never anything but text.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable
from typing import TypeAlias

from .shapes import Anything, Choice, JSONScalar, Scalar, Shape, Text

__all__ = ["Hook", "Mismatch", "key_hook", "scalar_hook"]

Hook: TypeAlias = Callable[[object], object]

VALUE_SHOWN = 40  # characters
CHOICES_SHOWN = 10


class Mismatch(ValueError):
    """A JSON value is not what was expected. The message is written only when it is asked for."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(expected, value)
        self.expected = expected
        self.value = value

    def __str__(self) -> str:
        return f"expected {self.expected}, got {_describe(self.value)}"


def scalar_hook(shape: Anything | Scalar | Text | Choice, *, exact: bool) -> Hook:
    """The hook for a shape without parts."""
    match shape:
        case Anything():
            return _copy
        case Scalar(type=scalar_type):
            return (_EXACT_HOOKS if exact else _HOOKS)[scalar_type]
        case Text():
            return _text_hook(shape)
        case Choice():
            return _choice_hook(shape, exact=exact)


def key_hook(shape: Shape) -> Hook:
    """The hook for the keys of an object, which are strings whatever they stand for."""
    match shape:
        case Scalar(type=scalar_type) if scalar_type is int:
            return _integer_key
        case Text() | Choice():
            return scalar_hook(shape, exact=True)
    return _string


def _copy(value: object) -> object:
    """The value itself, in containers that the function may change without changing the history."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Mismatch("a string", value)


def _boolean(value: object) -> bool:
    if value is True or value is False:
        return value
    raise Mismatch("a boolean", value)


def _null(value: object) -> None:
    if value is not None:
        raise Mismatch("null", value)


def _exact_integer(value: object) -> int:
    if isinstance(value, int) and value is not True and value is not False:
        return value
    raise Mismatch("an integer", value)


def _integer(value: object) -> int:
    return int(value) if isinstance(value, float) and value.is_integer() else _exact_integer(value)


def _exact_number(value: object) -> float:
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise Mismatch("a number", value)


def _number(value: object) -> float:
    if isinstance(value, int) and value is not True and value is not False:
        try:
            return float(value)
        except OverflowError:
            raise Mismatch("a number that a float can hold", value) from None
    return _exact_number(value)


def _integer_key(value: object) -> int:
    text = _string(value)
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0"):
        return int(text)
    raise Mismatch("an integer as key", value)


_EXACT_HOOKS: dict[type, Hook] = {
    str: _string,
    bool: _boolean,
    int: _exact_integer,
    float: _exact_number,
    types.NoneType: _null,
}
_HOOKS: dict[type, Hook] = {**_EXACT_HOOKS, int: _integer, float: _number}


def _text_hook(shape: Text) -> Hook:
    def structure(value: object) -> object:
        try:
            return shape.parse(_string(value))
        except ValueError:
            raise Mismatch(f"a string with a {shape.format}", value) from None

    return structure


def _choice_hook(shape: Choice, *, exact: bool) -> Hook:
    # By type and value, since True == 1 == 1.0.
    members = {(type(value), value): member for value, member in shape.values}
    expected = _expected_choice([value for value, _ in shape.values])

    def structure(value: object) -> object:
        if isinstance(value, (str, int, float, types.NoneType)):
            if (type(value), value) in members:
                return members[type(value), value]
            if not exact and not isinstance(value, (str, bool, types.NoneType)):
                other = float if isinstance(value, int) else int
                if (other, value) in members:
                    return members[other, value]
        raise Mismatch(expected, value)

    return structure


def _expected_choice(values: list[JSONScalar]) -> str:
    shown = ", ".join(_quoted(value) for value in values[:CHOICES_SHOWN])
    more = ", …" if len(values) > CHOICES_SHOWN else ""
    return f"one of {shown}{more}" if len(values) > 1 else shown


def _describe(value: object) -> str:
    match value:
        case bool():
            return f"the boolean {_quoted(value)}"
        case int() | float():
            return f"the number {_quoted(value)}"
        case str():
            return f"the string {_quoted(value)}"
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return f"an array of {len(value)}"
    return f"a {type(value).__name__}"


def _quoted(value: JSONScalar) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= VALUE_SHOWN else f"{text[:VALUE_SHOWN]}…"
