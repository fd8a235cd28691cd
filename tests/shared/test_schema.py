"""From type hints to JSON schemas, and strictly from JSON to what the hints promise."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import math
import pathlib
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, Required, TypedDict, Union

import attrs
import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st

from kova import _json
from kova._schema import ArgumentError, SchemaError
from kova._schema.docstrings import parse_docstring
from kova._schema.functions import FunctionSchema, function_schema
from kova._schema.jsonable import to_jsonable


class Context:
    """Stands for the class that is injected."""


def schema_of(function, **scope) -> FunctionSchema:
    return function_schema(function, context_type=Context, **scope)


def property_for(hint, default=dataclasses.MISSING) -> dict[str, Any]:
    """The schema of a parameter with that hint."""
    return schema_of(taking(hint, default)).parameters["properties"]["value"]


def structured(hint, value):
    """What a parameter with that hint receives."""
    return schema_of(taking(hint)).structure_arguments({"value": value})["value"]


def refusal(hint, value) -> str:
    """What the model is told about a value that does not fit."""
    with pytest.raises(ArgumentError) as caught:
        structured(hint, value)
    return str(caught.value)


def taking(hint, default=dataclasses.MISSING):
    def function(value): ...

    if default is not dataclasses.MISSING:
        function.__defaults__ = (default,)
    function.__annotations__ = {"value": hint}
    return function


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Filters(TypedDict, total=False):
    """Narrows a search.

    Attributes:
        limit: Results at most.
    """

    limit: Required[int]
    tags: list[str]


class Page(TypedDict):
    number: typing_extensions.ReadOnly[int]
    size: typing_extensions.ReadOnly[NotRequired[int]]


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("x must not be negative")


@attrs.frozen
class Person:
    """Somebody.

    Args:
        name: Full name.
    """

    name: str
    age: Annotated[int, "In years."] = attrs.field(default=0, validator=attrs.validators.ge(0))
    _badge: str | None = None
    friends: list[Person] = attrs.field(factory=list)
    id: int = attrs.field(init=False, default=7)


UserId = NewType("UserId", int)
Name = typing_extensions.TypeAliasType("Name", str)

STRING, INTEGER, NUMBER, BOOLEAN, NULL = ({"type": name} for name in ("string", "integer", "number", "boolean", "null"))


# ------------------------------------------------------------------------------------------------ schemas


def test_a_function_in_full():
    def search(context: Context, query: str, unit: Literal["C", "F"] = "C", *, limit: int | None = None) -> Nowhere:  # noqa: F821
        """Search the handbook.

        Finds sections by their words.

        Args:
            query: What to look for,
                in any language.
            unit (str, optional): Unit of temperatures.

        Returns:
            The sections.
        """

    schema = schema_of(search)
    assert schema.name == "search"
    assert schema.context_parameter == "context"
    assert schema.description == (
        "Search the handbook.\n\nFinds sections by their words.\n\nReturns:\n    The sections."
    )
    assert schema.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, in any language."},
            "unit": {
                "type": "string",
                "enum": ["C", "F"],
                "description": "Unit of temperatures.",
                "default": "C",
            },
            "limit": {"anyOf": [INTEGER, NULL], "default": None},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, NUMBER),
        (bool, BOOLEAN),
        (None, NULL),
        (Any, {}),
        (object, {}),
        (UserId, INTEGER),
        (Name, STRING),
        (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}, NULL]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Optional[int], {"anyOf": [INTEGER, NULL]}),  # noqa: UP045
        (Union[int, str], {"anyOf": [INTEGER, STRING]}),  # noqa: UP007
        (int | str | None, {"anyOf": [INTEGER, STRING, NULL]}),
        (int | Any, {}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": INTEGER}),
        (Sequence[int], {"type": "array", "items": INTEGER}),
        (Iterable[str], {"type": "array", "items": STRING}),
        (set[str], {"type": "array", "items": STRING, "uniqueItems": True}),
        (frozenset[str], {"type": "array", "items": STRING, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [INTEGER, STRING],
                "items": {"anyOf": [INTEGER, STRING]},
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict, {"type": "object", "additionalProperties": {}}),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (Mapping[str, float], {"type": "object", "additionalProperties": NUMBER}),
        (dict[Color, int], {"type": "object", "additionalProperties": INTEGER, "propertyNames": {"enum": ["red", "blue"]}}),
        (dict[int, str], {"type": "object", "additionalProperties": STRING, "propertyNames": {"pattern": "^-?(0|[1-9][0-9]*)$"}}),
        (dict[uuid.UUID, str], {"type": "object", "additionalProperties": STRING, "propertyNames": {"format": "uuid"}}),
        (datetime.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (pathlib.Path, {"type": "string", "format": "path"}),
    ],
    ids=str,
)  # fmt: skip
def test_schema_of_a_type(hint, schema):
    assert property_for(hint) == schema


def test_schema_of_a_typed_dict():
    assert property_for(Filters) == {
        "type": "object",
        "description": "Narrows a search.",
        "properties": {
            "limit": {"type": "integer", "description": "Results at most."},
            "tags": {"type": "array", "items": STRING},
        },
        "required": ["limit"],
        "additionalProperties": False,
    }
    assert property_for(Page)["required"] == ["number"]


def test_schema_of_a_dataclass():
    assert property_for(Point) == {
        "type": "object",
        "properties": {"x": NUMBER, "y": {"type": "number", "default": 0.0}},
        "required": ["x"],
        "additionalProperties": False,
    }


def test_a_class_that_contains_itself_is_a_definition():
    parameters = schema_of(taking(Person)).parameters
    assert parameters["properties"]["value"] == {"$ref": "#/$defs/Person"}
    person = parameters["$defs"]["Person"]
    assert person["description"] == "Somebody."
    assert person["required"] == ["name"]
    assert person["properties"] == {
        "name": {"type": "string", "description": "Full name."},
        "age": {"type": "integer", "description": "In years.", "default": 0},
        "badge": {"anyOf": [STRING, NULL], "default": None},
        "friends": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
    }


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement came with Python 3.12")
def test_an_alias_that_contains_itself_is_a_definition():
    scope: dict[str, Any] = {}
    exec("type Json = dict[str, Json] | list[Json] | str | None", scope)
    Json = scope["Json"]
    parameters = schema_of(taking(Json)).parameters
    assert parameters["properties"]["value"] == {"$ref": "#/$defs/Json"}
    assert parameters["$defs"]["Json"]["anyOf"][1] == {"type": "array", "items": {"$ref": "#/$defs/Json"}}
    assert structured(Json, {"a": ["b", None]}) == {"a": ["b", None]}
    assert refusal(Json, 5) == "value: expected an object or an array or a string or null, got the number 5"


@pytest.mark.parametrize(
    ("default", "written"),
    [(3, 3), (Color.RED, "red"), ((1, 2), [1, 2]), (Point(1.0), {"x": 1.0, "y": 0.0}), (datetime.date(2026, 1, 2), "2026-01-02")],
)  # fmt: skip
def test_defaults_are_shown_to_the_model(default, written):
    assert property_for(Any, default)["default"] == written


@pytest.mark.parametrize("default", [object(), math.inf, b"bytes"])
def test_a_default_that_json_cannot_say_is_not_shown(default):
    schema = schema_of(taking(Any, default)).parameters
    assert "default" not in schema["properties"]["value"]
    assert schema["required"] == []


def test_a_default_of_none_makes_the_parameter_nullable():
    schema = schema_of(taking(int, None))
    assert schema.parameters["properties"]["value"] == {"anyOf": [INTEGER, NULL], "default": None}
    assert schema.structure_arguments({"value": None}) == {"value": None}


def test_a_parameter_without_a_hint_takes_anything():
    def function(value): ...

    assert property_for(Any) == schema_of(function).parameters["properties"]["value"] == {}


def test_classes_of_one_name_stay_apart():
    def make():
        @dataclasses.dataclass
        class Node:
            children: list[Node]

        return Node

    def function(a, b): ...

    function.__annotations__ = {"a": make(), "b": make()}
    assert set(schema_of(function).parameters["$defs"]) == {"Node", "Node2"}


def test_hints_that_are_text_find_the_classes_of_the_defining_function():
    @dataclasses.dataclass
    class Leaf:
        size: int

    @dataclasses.dataclass
    class Tree:
        leaf: Leaf
        branches: list[Tree] = dataclasses.field(default_factory=list)

    def grow(tree: Tree) -> None: ...

    schema = schema_of(grow, local_names=locals())
    bound = schema.structure_arguments({"tree": {"leaf": {"size": 1}, "branches": [{"leaf": {"size": 2}}]}})
    assert bound == {"tree": Tree(Leaf(1), [Tree(Leaf(2))])}


class Greeter:
    def greet(self, name: str) -> str:
        """Greet somebody."""
        return f"Hello {name}"

    def __call__(self, name: str) -> str: ...


def test_bound_methods_partials_and_callable_objects():
    assert schema_of(Greeter().greet).parameters["required"] == ["name"]
    assert schema_of(Greeter()).parameters["required"] == ["name"]
    filled = schema_of(functools.partial(lambda connection, query: ..., connection=object()))
    assert filled.parameters["required"] == ["query"]


def test_a_decorated_function_is_seen_through():
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs): ...

        return wrapper

    assert schema_of(logged(taking(Color))).parameters["properties"]["value"]["enum"] == ["red", "blue"]


class Bare:
    pass


def unusable(name):
    def positional(x, /): ...
    def variadic(*x): ...
    def keywords(**x): ...
    def unknown(x: Missing): ...  # noqa: F821
    def bare(x: Bare): ...
    def nested(x: dict[str, list[Bare]]): ...
    def keyed(x: dict[float, str]): ...
    def twice(context: Context, x: Context): ...

    return locals()[name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("positional", "parameter x: it is positional-only"),
        ("variadic", r"parameter \*x: it is variadic positional"),
        ("keywords", r"parameter \*\*x: it is variadic keyword"),
        ("unknown", "parameter x: the hint 'Missing' cannot be resolved: name 'Missing' is not defined"),
        ("bare", "parameter x: no JSON schema can be made for the type Bare"),
        ("nested", "parameter x: no JSON schema can be made for the type Bare"),
        ("keyed", "parameter x: the keys of a mapping must be"),
        ("twice", "parameter x: context takes the Context already"),
    ],
)
def test_what_cannot_be_described_is_named(name, reason):
    with pytest.raises(SchemaError, match=rf"test_schema\.unusable\.<locals>\.{name} \(line \d+\): {reason}"):
        schema_of(unusable(name))


class Empty(enum.Enum):
    pass


class Vector(enum.Enum):
    UP = (0, 1)


@dataclasses.dataclass
class Dangling:
    target: Missing  # noqa: F821


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (complex, "no JSON schema can be made for the type complex"),
        (bytes, "no JSON schema can be made for the type bytes"),
        (Empty, "Empty has no values"),
        (Vector, r"the value \(0, 1\) of Vector is not JSON"),
        (Dangling, "a hint of Dangling cannot be resolved: name 'Missing' is not defined"),
    ],
)
def test_a_type_that_json_has_no_form_for_is_named(hint, reason):
    with pytest.raises(SchemaError, match=f"parameter value: {reason}"):
        schema_of(taking(hint))


def test_a_function_without_a_signature_is_named():
    with pytest.raises(SchemaError, match=r"builtins\.max: the signature cannot be read"):
        schema_of(max)


def test_an_unbound_method_and_a_bad_field_are_named():
    with pytest.raises(SchemaError, match="parameter self: a method must be bound"):
        schema_of(Greeter.greet)

    @dataclasses.dataclass
    class Outer:
        inner: Bare

    with pytest.raises(SchemaError, match="parameter value: inner: no JSON schema can be made for the type Bare"):
        schema_of(taking(Outer))


# ------------------------------------------------------------------------------------------------ docstrings

GOOGLE = """Summary.

Body: with a colon.

Args:
    first: One
        and a half.
    second (int, optional): Two.

Raises:
    ValueError: Never.
"""
NUMPY = """Summary.

Body: with a colon.

Parameters
----------
first : str
    One
    and a half.
second : int, optional
    Two.

Raises
------
ValueError
    Never.
"""
SPHINX = """Summary.

Body: with a colon.

:param first: One
    and a half.
:type first: str
:param int second: Two.
:raises ValueError: Never.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_docstring_styles(text):
    description, parameters = parse_docstring(text)
    assert parameters == {"first": "One and a half.", "second": "Two."}
    assert description.startswith("Summary.\n\nBody: with a colon.\n\n")
    assert "Never." in description
    assert "One" not in description


@given(st.lists(st.sampled_from([*"ab:-(),* \t\n", "Args:\n", "Parameters\n---\n", ":param a:"])).map("".join))
def test_no_docstring_breaks_the_parser(text):
    parse_docstring(text)


# ------------------------------------------------------------------------------------------------ structuring


@pytest.mark.parametrize(
    ("hint", "value", "result"),
    [
        (int, 3.0, 3),
        (float, 3, 3.0),
        (bool, False, False),
        (None, None, None),
        (Any, {"a": [1]}, {"a": [1]}),
        (UserId, 5, 5),
        (Name, "A", "A"),
        (Literal["a", 1], 1, 1),
        (Literal[1, 2], 2.0, 2),
        (Color, "red", Color.RED),
        (Level, 2, Level.HIGH),
        (Literal[Color.RED], "red", Color.RED),
        (list[int], [1, 2.0], [1, 2]),
        (Sequence[Color], ["red"], [Color.RED]),
        (set[int], [1, 2, 2], {1, 2}),
        (Set[int], [1], {1}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[()], [], ()),
        (dict[str, Point], {"a": {"x": 1}}, {"a": Point(1.0)}),
        (dict[int, str], {"-1": "a"}, {-1: "a"}),
        (dict[Color, str], {"red": "a"}, {Color.RED: "a"}),
        (datetime.datetime, "2026-01-02T03:04:05+00:00", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (Filters, {"limit": 1.0}, {"limit": 1}),
        (Page, {"number": 1}, {"number": 1}),
        (Point | None, None, None),
        (Person, {"name": "A", "badge": "b", "friends": [{"name": "B"}]}, Person("A", 0, "b", [Person("B")])),
    ],
    ids=str,
)
def test_what_fits_is_structured(hint, value, result):
    assert repr(structured(hint, value)) == repr(result)  # tells 3 from 3.0, and True from 1


@pytest.mark.parametrize(
    ("hint", "value", "result"),
    [
        (int | float, 3.0, 3.0),
        (float | int, 3, 3),
        (str | int, 5, 5),
        (str | bool, True, True),
        (float | str, 3, 3.0),
        (list[int] | list[float], [1.0, 2.0], [1.0, 2.0]),
        (list[float] | list[int], [1, 2], [1, 2]),
        (Point | Person, {"name": "A"}, Person("A")),
    ],
    ids=str,
)
def test_a_union_takes_the_exact_member_first(hint, value, result):
    assert repr(structured(hint, value)) == repr(result)


@pytest.mark.parametrize(
    ("hint", "value", "told"),
    [
        (int, "5", "value: expected an integer, got the string '5'"),
        (int, True, "value: expected an integer, got the boolean true"),
        (int, 2.5, "value: expected an integer, got the number 2.5"),
        (int, math.inf, "value: expected an integer, got the number Infinity"),
        (float, math.nan, "value: expected a number, got the number NaN"),
        (float, False, "value: expected a number, got the boolean false"),
        (float, 10**400, "value: expected a number that a float can hold, got the number 1000000000000000000000000000000000000000…"),
        (bool, "false", "value: expected a boolean, got the string 'false'"),
        (bool, 0, "value: expected a boolean, got the number 0"),
        (str, None, "value: expected a string, got null"),
        (int | None, "", "value: expected an integer or null, got the string ''"),
        (Color, "green", "value: expected one of 'red', 'blue', got the string 'green'"),
        (Literal[1], True, "value: expected 1, got the boolean true"),
        (list[str], "abc", "value: expected an array, got the string 'abc'"),
        (list[int], [1, "2", None], "value[1]: expected an integer, got the string '2'; value[2]: expected an integer, got null"),
        (tuple[int, str], [1], "value: expected an array of 2, got an array of 1"),
        (dict[str, int], [], "value: expected an object, got an array of 0"),
        (dict[str, int], {"a b": None}, 'value["a b"]: expected an integer, got null'),
        (dict[int, str], {"01": "a"}, 'value["01"]: expected an integer as key, got the string \'01\''),
        (datetime.date, "tomorrow", "value: expected a string with a date, got the string 'tomorrow'"),
        (Filters, "x", "value: expected an object, got the string 'x'"),
        (Filters, {"tags": [1]}, "value.limit: missing; value.tags[0]: expected a string, got the number 1"),
        (Filters | None, {"limit": 1, "page": 2}, "value.page: unexpected"),
        (list[Point], [{"x": -1}], "value[0]: ValueError: x must not be negative"),
        (Person, {"name": "A", "age": -1}, "value: ValueError: 'age' must be >= 0: -1"),
        (Person, {"name": "A", "friends": [{"name": "B", "friends": [{}]}]}, "value.friends[0].friends[0].name: missing"),
        (Point | Page, {"x": "a"}, "value: fits none of Point (x: expected a number, got the string 'a'), Page (number: missing; x: unexpected)"),
    ],
    ids=str,
)  # fmt: skip
def test_l2_what_does_not_fit_is_told_with_its_place(hint, value, told):
    """L2: the error names the parameter and what is wrong."""
    assert refusal(hint, value) == told


def test_l2_all_problems_of_a_call_are_told():
    """L2: missing and unexpected parameters too."""

    def search(query: str, limit: int = 5): ...

    with pytest.raises(ArgumentError) as caught:
        schema_of(search).structure_arguments({"limit": "5", "page": 1})
    assert caught.value.problems == (
        "limit: expected an integer, got the string '5'",
        "page: unexpected (known: query, limit)",
        "query: missing",
    )
    with pytest.raises(ArgumentError, match=r"; and 90 more$"):
        structured(list[int], ["x"] * 100)


def test_parameters_left_out_are_not_passed():
    assert schema_of(taking(int, 3)).structure_arguments({}) == {}


def test_what_a_function_receives_is_its_own():
    arguments = {"value": {"a": [1]}}
    bound = schema_of(taking(Any)).structure_arguments(arguments)
    bound["value"]["a"].append(2)
    assert arguments == {"value": {"a": [1]}}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
    | st.sampled_from(["x", "red", "5"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "name", "limit", "friends", "1"]), inner, max_size=3)
    ),
)
hints = st.recursive(
    st.sampled_from([str, int, float, bool, None, Any, Color, Level, Literal["x", 5], Point, Person, Filters, Page, Name]),
    lambda inner: st.one_of(
        inner.map(lambda hint: list[hint]),
        inner.map(lambda hint: tuple[hint, ...]),
        inner.map(lambda hint: dict[str, hint]),
        inner.map(lambda hint: dict[int, hint]),
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),
        st.tuples(inner, inner).map(lambda pair: Union[pair]),  # noqa: UP007
    ),
    max_leaves=4,
)  # fmt: skip


@given(hints, json_values)
def test_structuring_accepts_or_tells_and_never_breaks(hint, value):
    schema = schema_of(taking(hint))
    try:
        result = schema.structure_arguments({"value": value})
    except ArgumentError as refused:
        problems = refused.problems
    else:
        problems = ()
        assert schema.structure_arguments(_json.loads(_json.dumps(to_jsonable(result)))) == result
    assert all(problem.startswith("value") for problem in problems)


# ------------------------------------------------------------------------------------------------ pydantic


def test_a_pydantic_model_brings_its_own_schema_and_validation():
    pydantic = pytest.importorskip("pydantic")

    class City(pydantic.BaseModel):
        name: str
        twins: list[City] = pydantic.Field(default_factory=list)

    def visit(city: City): ...

    schema = schema_of(visit, local_names=locals())
    assert schema.parameters["properties"]["city"] == {"$ref": "#/$defs/City.City"}
    assert schema.parameters["$defs"]["City.City"]["properties"]["twins"]["items"] == {"$ref": "#/$defs/City.City"}
    assert schema.structure_arguments({"city": {"name": "Oslo"}}) == {"city": City(name="Oslo")}
    with pytest.raises(ArgumentError, match=r"city\.twins\[0\]\.name: Field required"):
        schema.structure_arguments({"city": {"name": "Oslo", "twins": [{}]}})
    assert to_jsonable([City(name="Oslo")]) == [{"name": "Oslo", "twins": []}]


# ------------------------------------------------------------------------------------------------ back to JSON


@pytest.mark.parametrize(
    ("value", "jsonable"),
    [
        ({"a": (1, 2.5, None, True)}, {"a": [1, 2.5, None, True]}),
        ({3, 1, 2}, [1, 2, 3]),
        ({None}, [None]),
        (range(3), [0, 1, 2]),
        (Color.RED, "red"),
        ({Color.RED: Level.HIGH}, {"red": 2}),
        (Point(1.0), {"x": 1.0, "y": 0.0}),
        (Person("A"), {"name": "A", "age": 0, "badge": None, "friends": [], "id": 7}),
        (datetime.datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
    ],
    ids=str,
)
def test_values_become_json(value, jsonable):
    assert to_jsonable(value) == jsonable


@pytest.mark.parametrize(
    ("value", "name"), [(object(), "object"), ({"a": [b"x"]}, "bytes"), (Point, "Point"), ({(1,): 2}, "tuple"), (open, "builtin")]
)  # fmt: skip
def test_what_cannot_become_json_is_named(value, name):
    with pytest.raises(TypeError, match=name):
        to_jsonable(value)


def test_a_value_that_contains_itself_is_an_error():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="contains itself"):
        to_jsonable(loop)
