"""The JSON schema of a type hint."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .. import _json
from .errors import SchemaError
from .fields import NO_DEFAULT, Field, class_description, class_fields
from .jsonable import to_jsonable
from .shapes import (
    Anything,
    Array,
    Choice,
    FixedArray,
    JSONScalar,
    Map,
    Model,
    NamedAlias,
    Object,
    OneOf,
    PydanticModel,
    Scalar,
    Shape,
    Text,
    described,
    shape_of,
)

__all__ = ["JSONSchema", "SchemaWriter"]

JSONSchema: TypeAlias = dict[str, Any]

_SCALAR_TYPES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
}


class SchemaWriter:
    """Writes the schemas of the hints of one function.

    Classes are written in place, since not every provider follows references; only one that contains itself goes to
    `definitions` and is referred to.

    Attributes:
        definitions: Schemas by the name under `$defs`.
        fields: The fields of every class that was met.
    """

    def __init__(self, local_names: Mapping[str, object]) -> None:
        self.definitions: dict[str, JSONSchema] = {}
        self.fields: dict[type, list[Field]] = {}
        self._local_names = local_names
        self._names: dict[object, str] = {}  # of what is being written, or has been written to the definitions
        self._recursive: set[object] = set()

    def schema(self, hint: object) -> JSONSchema:
        """The schema of a hint.

        Raises:
            SchemaError: There is none.
        """
        bare, description = described(hint)
        schema = self._shape_schema(shape_of(bare))
        return {**schema, "description": description} if description else schema

    def properties(self, fields: list[Field]) -> JSONSchema:
        """The schema of an object with exactly these fields."""
        return {
            "type": "object",
            "properties": {field.key: self._field_schema(field) for field in fields},
            "required": [field.key for field in fields if field.required],
            "additionalProperties": False,
        }

    def with_definitions(self, schema: JSONSchema) -> JSONSchema:
        """A schema that is complete in itself."""
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def _field_schema(self, field: Field) -> JSONSchema:
        try:
            schema = dict(self.schema(field.hint))
        except SchemaError as error:
            raise SchemaError(f"{field.key}: {error}") from error
        if field.description:
            schema["description"] = field.description
        if field.default is not NO_DEFAULT and _is_json(field.default):
            schema["default"] = to_jsonable(field.default)
        return schema

    def _shape_schema(self, shape: Shape) -> JSONSchema:
        match shape:
            case Anything():
                return {}
            case Scalar(type=scalar_type):
                return {"type": _SCALAR_TYPES[scalar_type]}
            case Text(format=text_format):
                return {"type": "string", "format": text_format}
            case Choice(values=values):
                return _choice_schema([value for value, _ in values])
            case OneOf(members=members):
                return _any_of([self.schema(member) for member in members])
            case Array(collection=collection, item=item):
                schema = {"type": "array", "items": self.schema(item)}
                return {**schema, "uniqueItems": True} if collection in (set, frozenset) else schema
            case FixedArray(items=items):
                return self._fixed_array_schema(items)
            case Map(key=key, value=value):
                return self._map_schema(key, value)
            case NamedAlias(alias=alias):
                return self._named(alias, shape.name, lambda: self.schema(shape.target))
            case Object(cls=cls):
                return self._named(cls, cls.__name__, lambda: self._class_schema(cls))
            case Model(cls=cls):
                return self._model_schema(cls)

    def _fixed_array_schema(self, items: tuple[object, ...]) -> JSONSchema:
        schemas = [self.schema(item) for item in items]
        return {
            "type": "array",
            "prefixItems": schemas,
            "items": _any_of(schemas) if schemas else False,  # for readers that do not know prefixItems
            "minItems": len(items),
            "maxItems": len(items),
        }

    def _map_schema(self, key: object, value: object) -> JSONSchema:
        schema = {"type": "object", "additionalProperties": self.schema(value)}
        names = _key_schema(shape_of(key))
        return {**schema, "propertyNames": names} if names else schema

    def _class_schema(self, cls: type) -> JSONSchema:
        self.fields[cls] = class_fields(cls, self._local_names)
        schema = self.properties(self.fields[cls])
        description = class_description(cls)
        return {**schema, "description": description} if description else schema

    def _named(self, key: object, name: str, write: Callable[[], JSONSchema]) -> JSONSchema:
        if key in self._names:
            self._recursive.add(key)
            return {"$ref": f"#/$defs/{self._names[key]}"}
        self._names[key] = name = self._free_name(name)
        schema = write()
        if key not in self._recursive:
            del self._names[key]
            return schema
        self.definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _model_schema(self, cls: type[PydanticModel]) -> JSONSchema:
        name = self._names.setdefault(cls, self._free_name(cls.__name__))
        try:
            schema = cls.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        except Exception as error:
            raise SchemaError(f"pydantic makes no JSON schema of {cls.__name__}: {error}") from error
        for inner_name, definition in schema.pop("$defs", {}).items():
            self.definitions[f"{name}.{inner_name}"] = definition
        return schema

    def _free_name(self, name: str) -> str:
        taken = {*self._names.values(), *self.definitions}
        number = 2
        free = name
        while free in taken:
            free, number = f"{name}{number}", number + 1
        return free


def _choice_schema(values: list[JSONScalar]) -> JSONSchema:
    """An enum for each JSON type among the values: not every provider takes an enum of several."""
    by_type: dict[type, list[JSONScalar]] = {}
    for value in values:
        by_type.setdefault(_json_type(value), []).append(value)
    return _any_of(
        [
            {"type": _SCALAR_TYPES[kind]} if kind is types.NoneType else {"type": _SCALAR_TYPES[kind], "enum": found}
            for kind, found in by_type.items()
        ]
    )


def _json_type(value: JSONScalar) -> type:
    return next(kind for kind in (bool, int, float, str, types.NoneType) if isinstance(value, kind))


def _any_of(schemas: list[JSONSchema]) -> JSONSchema:
    if {} in schemas:
        return {}
    distinct = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _key_schema(shape: Shape) -> JSONSchema | None:
    """What the keys of an object look like; None where every string will do."""
    match shape:
        case Anything():
            return None
        case Scalar(type=scalar_type) if scalar_type is str:
            return None
        case Scalar(type=scalar_type) if scalar_type is int:
            return {"pattern": "^-?(0|[1-9][0-9]*)$"}
        case Text(format=text_format):
            return {"format": text_format}
        case Choice(values=values) if all(isinstance(value, str) for value, _ in values):
            return {"enum": [value for value, _ in values]}
        case _:
            raise SchemaError("the keys of a mapping must be str, int, date, UUID, or an Enum or Literal of strings")


def _is_json(value: object) -> bool:
    try:
        _json.dumps(to_jsonable(value))
    except (TypeError, ValueError):
        return False
    return True
