"""JSON schemas of a tool's arguments as Claude takes them, at Anthropic and on Bedrock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .schemas import complete_schema, referenced

__all__ = ["COMBINING", "fields", "input_schema", "items"]

COMBINING = ("anyOf", "oneOf", "allOf")


def input_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments, without alternatives for the whole of them.

    MCP servers say in that way that one of several arguments must be there, and the API refuses all tools for it:
    "input_schema does not support oneOf, allOf, or anyOf at the top level". Properties that only an alternative has
    become optional ones.
    """
    schema = {name: value for name, value in parameters.items() if name not in COMBINING}
    parts = [_followed(part, parameters) for name in COMBINING for part in items(parameters.get(name))]
    properties = {name: value for part in [*parts, schema] for name, value in fields(part.get("properties")).items()}
    return complete_schema({**schema, "type": "object", "properties": properties})


def _followed(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """An alternative, or what it refers to, as those of pydantic do."""
    reference = part.get("$ref")
    return fields(referenced(root, reference)) if isinstance(reference, str) else part


def fields(value: Any) -> Mapping[str, Any]:
    """The value, if it is an object."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Mapping[str, Any]]:
    """The objects in the value, if it is a list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
