"""kova's JSON: orjson and the standard library must be interchangeable."""

import collections
import dataclasses
import datetime
import enum
import functools
import json
import math
import sys
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kova import _json
from kova._json import OrjsonEngine, StandardEngine

orjson = pytest.importorskip("orjson")

STANDARD = StandardEngine()
FAST = OrjsonEngine(orjson)


@pytest.fixture(params=[STANDARD, FAST], ids=["standard", "orjson"])
def engine(request):
    return request.param


class Level(enum.IntEnum):
    HIGH = 3


class Plain(enum.Enum):
    HALF = 0.5
    PAIR = (1, "two")


@dataclasses.dataclass
class Point:
    x: int = 1


Color = enum.Enum("Color", {"RED": "red"}, type=str)
Pair = collections.namedtuple("Pair", "first second")
SELF_CONTAINING: list = []
SELF_CONTAINING.append(SELF_CONTAINING)

any_text = st.text(st.characters())  # lone surrogates too
keys = any_text | st.integers() | st.booleans() | st.none() | st.floats() | st.sampled_from([Color.RED, Level.HIGH, ()])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(),
    any_text,
    st.sampled_from([Color.RED, Level.HIGH, Plain.HALF, Plain.PAIR, Pair(1, 2), "null", uuid.UUID(int=1)]),
    st.sampled_from([Point(), datetime.date(2026, 1, 1), b"bytes", {1, 2}, object(), SELF_CONTAINING]),
)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(keys, inner))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
)


def outcome(function, argument):
    """What a function returns, or the kind of error it raises."""
    try:
        return repr(function(argument))  # tells 1 from 1.0 and -0.0 from 0.0
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


@given(values)
@example({"x": math.nan})
@example([None, math.inf])
@example(2**63)
@example("\ud800 and \U0001f600")
@example({1: "a", "1": "b"})
def test_both_engines_write_the_same(value):
    # By value: they spell the exponent of a float in two ways.
    assert outcome(written_value(STANDARD), value) == outcome(written_value(FAST), value)


def written_value(engine):
    return lambda value: json.loads(engine.dumps(value))


texts = st.one_of(
    json_values.map(json.dumps),
    json_values.map(lambda value: json.dumps(value, ensure_ascii=False)),
    st.text(st.sampled_from('[]{}",:0123456789.eE+-\\ud8Nantrufls\ufeff \t\n'), max_size=12),
)


@given(texts)
@example("1e999")
@example("-1e999")
@example("18446744073709551616")
@example("-9223372036854775809")
@example("-0")
@example('"\\ud800"')
@example("NaN")
@example("[-Infinity]")
@example("\ufeff1")
@example('{"a": 1, "a": 2}')
@example("")
def test_both_engines_read_the_same(text):
    assert outcome(STANDARD.loads, text) == outcome(FAST.loads, text)
    data = text.encode("utf-8", "surrogatepass")
    assert outcome(STANDARD.loads, data) == outcome(FAST.loads, data)


@given(json_values)
def test_what_is_written_is_read_back(value):
    for engine in (STANDARD, FAST):
        assert repr(engine.loads(engine.dumps(value))) == repr(expected_after_round_trip(value))


def expected_after_round_trip(value):
    return json.loads(json.dumps(value))  # two halves of a surrogate pair become one character


def test_text_is_compact_raw_utf8(engine):
    assert engine.dumps({"city": "Zürich", "n": [1, 2.5]}) == '{"city":"Zürich","n":[1,2.5]}'.encode()


def test_a_lone_surrogate_survives(engine):
    assert engine.dumps("\ud800") == b'"\\ud800"'
    assert engine.loads(b'"\\ud800"') == "\ud800"


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**400])
def test_large_integers_are_exact(engine, number):
    assert engine.loads(engine.dumps(number)) == number


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1e999", "", "{", "[1,]", b"\xff"])
def test_what_is_not_json_is_refused(engine, text):
    with pytest.raises(ValueError):
        engine.loads(text)


@pytest.mark.parametrize("value", [math.nan, {"x": math.inf}, [None, -math.inf], SELF_CONTAINING])
def test_what_json_cannot_say_is_refused(engine, value):
    with pytest.raises(ValueError):
        engine.dumps(value)


@pytest.mark.parametrize("value", [Point(), datetime.date(2026, 1, 1), {1, 2}, b"bytes", object()])
def test_objects_are_not_guessed_at(engine, value):
    with pytest.raises(TypeError):
        engine.dumps([value])


def test_nesting_beyond_all_bounds_is_an_error_of_the_value(engine):
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        engine.dumps(deep)
    with pytest.raises(ValueError, match="nested"):
        engine.loads("[" * 100_000 + "]" * 100_000)


def test_orjson_is_used_where_it_is_installed():
    assert _json.loads(b'{"a": [1, null]}') == {"a": [1, None]}
    assert _json.dumps({"a": [1, None]}) == b'{"a":[1,null]}'
    assert isinstance(_json._engine(), OrjsonEngine)


def test_the_standard_library_is_used_where_it_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "orjson", None)  # what the import system reads as "not there"
    monkeypatch.setattr(_json, "_engine", functools.cache(_json._engine.__wrapped__))
    assert isinstance(_json._engine(), StandardEngine)
    assert _json.loads(_json.dumps([1, "é"])) == [1, "é"]
