"""JSON schemas as Gemini takes them, for the parameters of a function and for an answer.

`parametersJsonSchema` and `responseJsonSchema` take JSON Schema, and pass over most of what they do not know. (The older
`parameters` and `responseSchema` are typed messages, and refuse a request for one unknown keyword, for a list of types,
for a `$ref`.) What they still refuse or misread is put right here:

- 400 "can only contain properties starting with '$' when $ref is present", where a reference has a description beside
  it, as pydantic writes it (https://github.com/google-gemini/gemini-cli/issues/4758), and references to anything but
  `$defs`: what a reference means is put in its place;
- titles, which the model takes for functions to call (https://github.com/googleapis/python-genai/issues/1732);
- `const` and `allOf`, which are passed over although all of a schema may be in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..schemas import complete_schema, referenced

__all__ = ["clean_schema", "parameters_schema"]

MOST_REFERENCES = 500  # that are followed in one schema: definitions that double each other would make it endless

_DROPPED = frozenset({"$schema", "$id", "$comment", "$defs", "definitions", "discriminator", "title"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset({"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"})

_OF_ANY_OBJECT = frozenset({"type", "properties", "additionalProperties", "required", "description"})

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def parameters_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of a function's parameters; None where it has none, since an object without properties is refused."""
    completed = complete_schema(clean_schema(schema))
    says_nothing = not completed["properties"] and not completed.get("additionalProperties")
    return None if says_nothing and completed.keys() <= _OF_ANY_OBJECT else completed


def clean_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with what Gemini refuses or misreads put right."""
    return _Cleaner(schema).clean(schema)


class _Cleaner:
    """Cleans one schema.

    Args:
        root: The whole schema, to which its references point.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._followed: list[str] = []  # references in whose place something is being put
        self._left = MOST_REFERENCES

    def clean(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(reference := schema.get("$ref"), str):
            return self._resolved(reference, {name: value for name, value in schema.items() if name != "$ref"})
        cleaned = {name: self._value(name, value) for name, value in schema.items() if name not in _DROPPED}
        if "const" in cleaned:
            _make_enum(cleaned)
        return _without_all_of(cleaned) if isinstance(cleaned.get("allOf"), list) else cleaned

    def _value(self, name: str, value: Any) -> Any:
        if name in _MAPS and isinstance(value, Mapping):
            return {key: self._schema(item) for key, item in value.items()}
        if name in _LISTS and isinstance(value, list):
            return [self._schema(item) for item in value]
        return self._schema(value) if name in _SCHEMAS else value

    def _schema(self, value: Any) -> Any:
        return self.clean(value) if isinstance(value, Mapping) else value  # a schema may be just true or false

    def _resolved(self, reference: str, beside: dict[str, Any]) -> dict[str, Any]:
        """What a reference points to, and what stands beside the reference.

        A schema that contains itself is written out once. Below that only its type is said: the API follows cycles no
        more than a few times, and refuses one that runs through required properties.
        """
        target = referenced(self._root, reference)
        if not isinstance(target, Mapping):
            return self.clean(beside)
        if reference in self._followed or not self._left:
            kind = target.get("type")
            return {**({"type": kind} if isinstance(kind, str) else {}), **self.clean(beside)}
        self._followed.append(reference)
        self._left -= 1
        try:
            return {**self.clean(target), **self.clean(beside)}
        finally:
            self._followed.pop()


def _make_enum(schema: dict[str, Any]) -> None:
    constant = schema.pop("const")
    schema.setdefault("enum", [constant])
    if kind := _TYPES.get(type(constant)):
        schema.setdefault("type", kind)


def _without_all_of(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema in which all that must hold stands side by side."""
    parts = [*schema.pop("allOf"), schema]
    merged: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    required: list[Any] = []
    for part in filter(_is_schema, parts):
        merged.update(part)
        properties.update(part.get("properties", {}))
        required += [name for name in part.get("required", ()) if name not in required]
    if properties:
        merged["properties"] = properties
    if required:
        merged["required"] = required
    return merged


def _is_schema(part: Any) -> bool:
    """Whether something can be merged with other schemas."""
    return (
        isinstance(part, Mapping)
        and isinstance(part.get("properties", {}), Mapping)
        and isinstance(part.get("required", []), list)
    )
