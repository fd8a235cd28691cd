"""JSON in and out: orjson where it is installed, else the standard library, with equal results.

Both read and write the same values: no NaN or Infinity in either direction (ValueError), integers of any size exact,
lone surrogates kept, text as raw UTF-8, no blanks between tokens. orjson does the common case; whatever it would refuse
or round is left to the standard library. Only the spelling of a float's exponent may differ (`1e16`, `1e+16`).
"""

from __future__ import annotations

import functools
import json
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["dumps", "loads"]


def loads(data: str | bytes) -> Any:
    """The value that JSON text stands for.

    Raises:
        ValueError: The text is not JSON, or holds a number that no float can hold.
    """
    return _engine().loads(data)


def dumps(value: object) -> bytes:
    """A value as JSON text in UTF-8. An enum member is written as its value, a UUID as its text.

    Raises:
        TypeError: JSON has no form for something in the value.
        ValueError: It holds a NaN or an infinity, or itself.
    """
    return _engine().dumps(value)


class Engine(Protocol):
    """What reads and writes JSON."""

    def loads(self, data: str | bytes) -> Any: ...

    def dumps(self, value: object) -> bytes: ...


@functools.cache
def _engine() -> Engine:
    try:
        import orjson
    except ImportError:
        return StandardEngine()
    return OrjsonEngine(orjson)


class StandardEngine:
    """The standard library's `json`; also the judge of what orjson will not do."""

    def loads(self, data: str | bytes) -> Any:
        text = data if isinstance(data, str) else data.decode()
        try:
            return _DECODER.decode(text)
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None

    def dumps(self, value: object) -> bytes:
        try:
            text = _ENCODER.encode(value)
        except RecursionError:
            raise ValueError("the value is nested too deeply for JSON") from None
        # Nothing but a lone surrogate is beyond UTF-8, and Python's escape for one is JSON's too: \ud800.
        return text.encode("utf-8", "backslashreplace")


class OrjsonEngine:
    """orjson, with the standard library for what it refuses or would change."""

    def __init__(self, orjson: ModuleType) -> None:
        self._loads = orjson.loads
        self._dumps = orjson.dumps
        self._options = (
            orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
        )
        self._standard = StandardEngine()

    def loads(self, data: str | bytes) -> Any:
        try:
            raw = data.encode() if isinstance(data, str) else data
            # An integer beyond 64 bits would come as a rounded float.
            if _LONG_NUMBER not in raw.translate(_DIGITS_TO_ZERO):
                return self._loads(raw)
        except ValueError:
            pass
        return self._standard.loads(data)

    def dumps(self, value: object) -> bytes:
        try:
            data: bytes = self._dumps(value, None, self._options)
        except TypeError:
            return self._standard.dumps(value)
        # NaN and Infinity come out as null.
        return self._standard.dumps(value) if b"null" in data else data


_LONG_NUMBER = b"0" * 19  # 2**63 has 19 digits
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")


def _finite_float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(f"a number out of range: {text[:40]}")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _plain(value: object) -> object:
    """What stands for a value that `json` does not know; orjson does the same, and cannot be told not to."""
    from uuid import UUID

    if isinstance(value, Enum):
        return value.value
    if type(value) is UUID:
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


_DECODER = json.JSONDecoder(parse_float=_finite_float, parse_constant=_refuse_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
