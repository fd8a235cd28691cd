"""JSON schemas of answers as the Messages API takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import _json
from ..input_schema import COMBINING, fields, items

__all__ = ["output_schema"]

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
            narrowed[name] = {key: output_schema(fields(inner)) for key, inner in value.items()}
        elif name in COMBINING and isinstance(value, list):
            narrowed["allOf" if name == "allOf" else "anyOf"] = list(map(output_schema, items(value)))
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
