"""JSON schemas as the APIs want them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

__all__ = ["complete_schema", "is_strict_schema", "referenced"]


def complete_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's schema with what may not be missing from it.

    MCP servers describe a tool without parameters as `{"type": "object"}`, for which OpenAI refuses the whole request
    ("object schema missing properties"), as it does for an array that does not say of what.
    """
    completed: dict[str, Any] = {"type": "object", **_with_items(dict(schema))}
    completed.setdefault("properties", {})
    return completed


def _with_items(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_items(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    copy = {name: item if name in _VALUES else _with_items(item) for name, item in value.items()}
    kind = value.get("type")
    if (kind == "array" or (isinstance(kind, list) and "array" in kind)) and not copy.keys() & {"items", "prefixItems"}:
        copy["items"] = {}
    return copy


_VALUES = {"enum", "const", "default", "examples", "required"}  # what is in them is no schema


def referenced(root: Any, reference: str) -> Any:
    """What a reference within a document points to; None where it points to nothing, or out of the document."""
    base, _, pointer = reference.partition("#")
    if base:
        return None
    value = root
    for part in unquote(pointer).split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


_STRICT_KEYWORDS = {
    *("$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "items", "properties"),
    *("required", "title", "type"),
}


def is_strict_schema(schema: Mapping[str, Any]) -> bool:
    """Whether OpenAI takes a schema with `strict`, which makes it hold to it.

    All objects must be closed and all their properties required; of the keywords, only those are counted on that
    every model takes.
    """
    return schema.get("type") == "object" and _is_strict(schema)


def _is_strict(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not schema.keys() <= _STRICT_KEYWORDS:
        return False
    properties, required = schema.get("properties", {}), schema.get("required", [])
    definitions, options = schema.get("$defs", {}), schema.get("anyOf", [])
    if not (isinstance(properties, Mapping) and isinstance(definitions, Mapping) and isinstance(options, list)):
        return False
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False
        or not isinstance(required, list)
        or sorted(map(str, required)) != sorted(properties)
    ):
        return False
    inner = [*properties.values(), *definitions.values(), *options]
    return all(map(_is_strict, [*inner, *([schema["items"]] if "items" in schema else [])]))
