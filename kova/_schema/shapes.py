"""What a type hint looks like in JSON: the one place that knows which hints are understood.

`shape_of` turns a hint into one of a few shapes. The schema writer and the structuring both start from it, so that
what a schema promises and what is accepted cannot drift apart.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeAlias, Union, cast, get_args, get_origin

from .errors import SchemaError

__all__ = [
    "Anything",
    "Array",
    "Choice",
    "FixedArray",
    "Map",
    "Model",
    "NamedAlias",
    "Object",
    "OneOf",
    "PydanticModel",
    "Scalar",
    "Shape",
    "Text",
    "described",
    "shape_of",
    "type_name",
]

JSONScalar: TypeAlias = str | int | float | bool | None
Collection: TypeAlias = type[list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any]]


class Anything(NamedTuple):
    """Any JSON value."""


class Scalar(NamedTuple):
    """str, int, float, bool or None."""

    type: type


class Text(NamedTuple):
    """A string in a form of its own, such as a date."""

    format: str
    parse: Callable[[str], object]


class Choice(NamedTuple):
    """One of some values: a Literal or an Enum."""

    values: tuple[tuple[JSONScalar, object], ...]  # in JSON, in Python


class OneOf(NamedTuple):
    """A union."""

    members: tuple[object, ...]


class Array(NamedTuple):
    """Any number of items of one kind."""

    collection: Collection
    item: object


class FixedArray(NamedTuple):
    """A tuple with a hint for each item."""

    items: tuple[object, ...]


class Map(NamedTuple):
    """An object whose keys are data."""

    key: object
    value: object


class Object(NamedTuple):
    """An attrs class, a dataclass or a TypedDict."""

    cls: type


class Model(NamedTuple):
    """A pydantic model."""

    cls: type[PydanticModel]


class PydanticModel(Protocol):
    """What is used of a pydantic model, so that pydantic need not be imported."""

    @classmethod
    def model_json_schema(cls, *, ref_template: str) -> dict[str, Any]: ...

    @classmethod
    def model_validate_json(cls, json_data: bytes, *, strict: bool) -> object: ...


class NamedAlias(NamedTuple):
    """`type Name = …`, which may refer to itself."""

    alias: Any

    @property
    def name(self) -> str:
        return str(self.alias.__name__)

    @property
    def target(self) -> object:
        return self.alias.__value__


Shape: TypeAlias = Anything | Scalar | Text | Choice | OneOf | Array | FixedArray | Map | Object | Model | NamedAlias

_COLLECTIONS: dict[object, Collection] = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Collection: list,
    collections.abc.Iterable: list,
    set: set,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    frozenset: frozenset,
    tuple: tuple,
}
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)

# By name, so that none of these modules is imported for it.
_TEXT_FORMATS = {
    "datetime.datetime": "date-time",
    "datetime.date": "date",
    "datetime.time": "time",
    "uuid.UUID": "uuid",
    "pathlib.Path": "path",
}
_FIELD_QUALIFIERS = frozenset(
    f"{module}.{name}"
    for module in ("typing", "typing_extensions")
    for name in ("Required", "NotRequired", "ReadOnly", "Final")
)


def shape_of(hint: object) -> Shape:
    """The shape that a hint has in JSON.

    Raises:
        SchemaError: There is none.
    """
    hint, _ = described(hint)
    for recognise in (_plain_shape, _text_shape, _choice_shape, _container_shape, _alias_shape, _class_shape):
        shape = recognise(hint)
        if shape is not None:
            return shape
    raise SchemaError(f"no JSON schema can be made for the type {type_name(hint)}")


def described(hint: object) -> tuple[object, str | None]:
    """A hint without its wrappers (Annotated, NotRequired, NewType and the like), and the description in them."""
    description = None
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            hint, *metadata = get_args(hint)
            description = description or _description_in(metadata)
        elif str(origin) in _FIELD_QUALIFIERS:
            (hint,) = get_args(hint)
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        else:
            return hint, description


def type_name(hint: object) -> str:
    """A hint as a reader of the source knows it."""
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")


def _description_in(metadata: Sequence[object]) -> str | None:
    """The first text in an Annotated, or the description of something like pydantic's Field."""
    for item in metadata:
        text = item if isinstance(item, str) else getattr(item, "description", None)
        if isinstance(text, str):
            return text
    return None


def _plain_shape(hint: object) -> Shape | None:
    if hint is Any or hint is object:
        return Anything()
    if hint is None:
        return Scalar(types.NoneType)
    if isinstance(hint, type) and hint in (str, int, float, bool, types.NoneType):
        return Scalar(hint)
    return None


def _text_shape(hint: object) -> Text | None:
    if not isinstance(hint, type):
        return None
    package = hint.__module__.partition(".")[0]  # Python 3.13's Path is in pathlib._local
    text_format = _TEXT_FORMATS.get(f"{package}.{hint.__qualname__}")
    return Text(text_format, getattr(hint, "fromisoformat", hint)) if text_format else None


def _choice_shape(hint: object) -> Choice | None:
    if get_origin(hint) is Literal:
        members = [(value.value if isinstance(value, Enum) else value, value) for value in get_args(hint)]
    elif isinstance(hint, type) and issubclass(hint, Enum):
        members = [(member.value, member) for member in hint]
    else:
        return None
    if not members:
        raise SchemaError(f"{type_name(hint)} has no values")
    for value, _ in members:
        if not isinstance(value, (str, int, float, types.NoneType)):
            raise SchemaError(f"the value {value!r} of {type_name(hint)} is not JSON")
    return Choice(tuple(members))


def _container_shape(hint: object) -> Shape | None:
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Union or origin is types.UnionType:
        return OneOf(arguments)
    if origin is tuple and (arguments or isinstance(hint, types.GenericAlias)):  # tuple[()] has no arguments
        return Array(tuple, arguments[0]) if arguments[1:] == (...,) else FixedArray(arguments)
    if origin in _COLLECTIONS:
        return Array(_COLLECTIONS[origin], arguments[0] if arguments else Any)
    if origin in _MAPPINGS:
        key, value = arguments or (str, Any)
        return Map(key, value)
    return None


def _alias_shape(hint: object) -> NamedAlias | None:
    # typing.TypeAliasType from Python 3.12 on, or that of typing_extensions.
    return NamedAlias(hint) if type(hint).__name__ == "TypeAliasType" else None


def _class_shape(hint: object) -> Object | Model | None:
    if not isinstance(hint, type) or get_args(hint):
        return None
    if callable(getattr(hint, "model_json_schema", None)) and callable(getattr(hint, "model_validate_json", None)):
        return Model(cast("type[PydanticModel]", hint))
    if typing.is_typeddict(hint) or hasattr(hint, "__attrs_attrs__") or hasattr(hint, "__dataclass_fields__"):
        return Object(hint)
    return None
