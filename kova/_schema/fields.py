"""The fields of attrs classes, dataclasses and TypedDicts, in one form."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs

from .docstrings import parse_docstring
from .errors import SchemaError
from .local_names import advice, names_around
from .shapes import described, type_name

__all__ = ["NO_DEFAULT", "Field", "class_description", "class_fields"]

NO_DEFAULT: Any = inspect.Parameter.empty


class Field(NamedTuple):
    """One field of a class: its key in JSON and what may be there."""

    key: str
    hint: object
    required: bool
    default: object = NO_DEFAULT  # as it would be written; a factory's is not known
    description: str | None = None


def class_fields(cls: type, local_names: Mapping[str, object]) -> list[Field]:
    """The fields that JSON for the class has.

    Args:
        cls: An attrs class, a dataclass or a TypedDict.
        local_names: Where hints that are text are looked up, after the class's module, and before the functions
            around the class that are running.

    Raises:
        SchemaError: A hint is text and names something that is not found.
    """
    hints = _class_hints(cls, local_names)
    if attrs.has(cls):
        fields = _attrs_fields(cls, hints)
    elif dataclasses.is_dataclass(cls):
        fields = _dataclass_fields(cls, hints)
    else:
        fields = [Field(name, hint, _is_required_key(cls, name, hint)) for name, hint in hints.items()]
    descriptions = parse_docstring(_own_docstring(cls)).parameters
    return [_with_description(field, descriptions) for field in fields]


def class_description(cls: type) -> str:
    """What the class's docstring says, without its list of fields."""
    return parse_docstring(_own_docstring(cls)).description


def _class_hints(cls: type, local_names: Mapping[str, object]) -> dict[str, object]:
    try:
        try:
            return typing.get_type_hints(cls, include_extras=True)
        except NameError:
            # A class made in a function is not in its module, and not even its own name is found there.
            names = {**names_around(cls), **local_names, cls.__name__: cls}
            return typing.get_type_hints(cls, localns=names, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise SchemaError(f"a hint of {type_name(cls)} cannot be resolved: {error}{advice(cls)}") from error


def _attrs_fields(cls: type[attrs.AttrsInstance], hints: dict[str, object]) -> list[Field]:
    return [
        Field(
            attribute.alias or attribute.name,
            hints.get(attribute.name, attribute.type or Any),
            attribute.default is attrs.NOTHING,
            NO_DEFAULT if _is_unknown(attribute.default) else attribute.default,
        )
        for attribute in attrs.fields(cls)
        if attribute.init
    ]


def _dataclass_fields(cls: type, hints: dict[str, object]) -> list[Field]:
    return [
        Field(
            field.name,
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
            NO_DEFAULT if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(cls)
        if field.init
    ]


def _is_unknown(default: object) -> bool:
    return default is attrs.NOTHING or isinstance(default, attrs.Factory)  # type: ignore[arg-type]


def _is_required_key(cls: type, key: str, hint: object) -> bool:
    """Whether a TypedDict must have the key. Where its hints are text, `__required_keys__` has not seen qualifiers."""
    while origin := typing.get_origin(hint):
        if origin is typing.Required or origin is typing.NotRequired:
            return origin is typing.Required
        if origin is not typing.Annotated and not str(origin).endswith(".ReadOnly"):
            break
        hint = typing.get_args(hint)[0]
    return key in getattr(cls, "__required_keys__", ())


def _with_description(field: Field, descriptions: dict[str, str]) -> Field:
    _, description = described(field.hint)
    return field._replace(description=description or descriptions.get(field.key))


def _own_docstring(cls: type) -> str:
    text = cls.__dict__.get("__doc__") or ""
    # dataclass() writes a signature where there is no docstring.
    return "" if text.startswith(f"{cls.__name__}(") else inspect.cleandoc(text)
