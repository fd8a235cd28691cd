"""What a Python value is in JSON: the form in which the model sees what a tool returned."""

from __future__ import annotations

import collections.abc
import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

import attrs

__all__ = ["to_jsonable"]

_AS_TEXT = frozenset({"uuid.UUID", "decimal.Decimal"})
_BYTES = (bytes, bytearray, memoryview)
_ARRAYS = (collections.abc.Sequence, collections.abc.Set, collections.abc.ValuesView)


def to_jsonable(value: object) -> Any:
    """A value made of dicts, lists, strings, numbers, bools and None only.

    attrs classes, dataclasses, pydantic models and mappings become dicts; sequences, sets and numpy arrays lists;
    enum members their values; dates and times ISO 8601 text; UUIDs, Decimals and paths text.

    Raises:
        TypeError: JSON has no form for something in the value; the text names its type.
    """
    try:
        return _convert(value)
    except RecursionError:
        raise TypeError(f"a {type(value).__name__} that contains itself, or is nested too deeply") from None


def _convert(value: object) -> Any:
    if isinstance(value, Enum):
        return _convert(value.value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {_key(key): _convert(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return _in_order([_convert(item) for item in value])
    if isinstance(value, _ARRAYS) and not isinstance(value, _BYTES):
        return [_convert(item) for item in value]
    return _convert_object(value)


def _convert_object(value: object) -> Any:
    if isinstance(value, type):
        raise TypeError(f"the class {value.__name__} has no form in JSON")
    cls = type(value)
    if attrs.has(cls):
        return {field.alias or field.name: _convert(getattr(value, field.name)) for field in attrs.fields(cls)}
    if dataclasses.is_dataclass(value):
        return {field.name: _convert(getattr(value, field.name)) for field in dataclasses.fields(value)}
    for method, arguments in (("model_dump", {"mode": "json"}), ("isoformat", {}), ("tolist", {})):
        convert: Callable[..., object] | None = getattr(value, method, None)
        if callable(convert):
            return _convert(convert(**arguments))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if f"{cls.__module__}.{cls.__qualname__}" in _AS_TEXT:
        return str(value)
    raise TypeError(f"{cls.__name__} has no form in JSON")


def _key(key: object) -> str | int | float | None:
    plain = _convert(key)
    if plain is None or isinstance(plain, (str, int, float)):
        return plain
    raise TypeError(f"{type(key).__name__} cannot be a key in JSON")


def _in_order(items: list[Any]) -> Iterable[Any]:
    """The items of a set in an order that does not change from run to run, where they have one."""
    try:
        return sorted(items)
    except TypeError:
        return items
