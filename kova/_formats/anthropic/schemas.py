"""JSON schemas as the Messages API takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import _json
from ..schemas import complete_schema

__all__ = ["input_schema", "output_schema"]

_COMBINING = ("anyOf", "oneOf", "allOf")


def input_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments, without alternatives for the whole of them.

    MCP servers say in that way that one of several arguments must be there, and the API refuses all tools for it:
    "input_schema does not support oneOf, allOf, or anyOf at the top level". Properties that only an alternative has
    become optional ones.
    """
    schema = {name: value for name, value in parameters.items() if name not in _COMBINING}
    parts = [part for name in _COMBINING for part in _items(parameters.get(name))]
    properties = {name: value for part in [*parts, schema] for name, value in _fields(part.get("properties")).items()}
    return complete_schema({**schema, "type": "object", "properties": properties})


# What structured output takes (https://platform.claude.com/docs/en/build-with-claude/structured-outputs); all else is
# a 400: "For 'array' type, property 'uniqueItems' is not supported".
_NAMED = ("properties", "$defs", "definitions")
_PLAIN = ("$ref", "type", "description", "title", "required", "additionalProperties")
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}


def output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an answer, of the keywords that the API takes; the others are told the model in the description.

    Objects are closed, since the API wants that to be said of each.
    """
    narrowed: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _NAMED and isinstance(value, Mapping):
            narrowed[name] = {key: output_schema(_fields(inner)) for key, inner in value.items()}
        elif name in _COMBINING and isinstance(value, list):
            narrowed["allOf" if name == "allOf" else "anyOf"] = list(map(output_schema, _items(value)))
        elif name == "items" and isinstance(value, Mapping):
            narrowed[name] = output_schema(value)
        elif name in _PLAIN or _is_taken(name, value):
            narrowed[name] = value
        elif not name.startswith("$"):
            told[name] = value
    if schema.get("type") == "object" and ("properties" in schema or "additionalProperties" not in schema):
        narrowed["additionalProperties"] = False
    if told:
        told_text = _json.dumps(told).decode(errors="replace")
        narrowed["description"] = "\n\n".join(filter(None, [narrowed.get("description"), told_text]))
    return narrowed


def _is_taken(name: str, value: Any) -> bool:
    """Whether a keyword is taken that depends on its value."""
    match name:
        case "enum":
            return not any(isinstance(item, (dict, list)) for item in value)
        case "const":
            return not isinstance(value, (dict, list))
        case "format":
            return value in _FORMATS
        case "minItems":
            return value in (0, 1)
    return False


def _fields(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
