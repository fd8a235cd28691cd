"""Tools as Ollama reads them.

The server reads a schema into a structure of its own (`ToolFunctionParameters` and `ToolProperty` in its
`api/types.go`) and writes the prompt from that. What the structure has no field for is lost without a word, such as
`$ref` and `oneOf`; what does not fit its fields, such as `true` for a property's schema, is a 400.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import _json
from ..kept_tools import kept_by_identity
from ..schemas import complete_schema
from ..tool_names import NameRule, ToolNames

if TYPE_CHECKING:
    from ...tools import ToolDefinition

__all__ = ["NO_NAMES", "encode_tools", "parameters_schema"]

# Ollama itself refuses no name, but the hosts refuse some that it passes a cloud model's request on to; and the
# templates of models know no other names.
NAMES = NameRule(accepted=re.compile("[a-zA-Z0-9_-]{1,64}"), refused=re.compile("[^a-zA-Z0-9_-]"), length=64)

NO_NAMES = ToolNames((), NAMES)

MOST_REFERENCES = 500  # that are written out; a schema of a few lines can stand for millions


@kept_by_identity
def encode_tools(tools: Sequence[ToolDefinition]) -> tuple[ToolNames, bytes]:
    """The tools' names and their JSON."""
    if not tools:
        return NO_NAMES, b""
    names = ToolNames([tool.name for tool in tools], NAMES)
    return names, _json.dumps([_definition(tool.name, tool.description, tool.parameters, names) for tool in tools])


def _definition(name: str, description: str, parameters: Mapping[str, Any], names: ToolNames) -> dict[str, Any]:
    function: dict[str, Any] = {"name": names.wire(name)}
    if description:
        function["description"] = description
    return {"type": "function", "function": {**function, "parameters": parameters_schema(parameters)}}


def parameters_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's schema in the words that Ollama has."""
    written = _Writer(schema).write(complete_schema(schema))
    written.pop("$defs", None)
    written.pop("definitions", None)
    return {**written, "type": "object"}  # there it has to be one word


class _Writer:
    """Writes a schema again, with its references in place.

    Args:
        root: The whole schema, which the references point into.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._open: list[str] = []  # references inside which the writer is
        self._references = 0

    def write(self, schema: Any) -> dict[str, Any]:
        """The schema; one that is no object says nothing of its value, and so does `{}`."""
        if not isinstance(schema, Mapping):
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            beside = {name: value for name, value in schema.items() if name != "$ref"}
            return {**self._followed(reference), **self.write(beside)}
        written = {name: self._value(name, value) for name, value in schema.items()}
        if "anyOf" not in written and isinstance(options := written.pop("oneOf", None), list):
            written["anyOf"] = options
        if isinstance(parts := written.pop("allOf", None), list):
            written = _merged([*parts, written])
        if "const" in written and "enum" not in written:
            written["enum"] = [written.pop("const")]
        return written

    def _value(self, name: str, value: Any) -> Any:
        if name == "properties" and isinstance(value, Mapping):
            return {key: self.write(item) for key, item in value.items()}
        if name in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            return [self.write(item) for item in value]
        if name == "items" and isinstance(value, Mapping):
            return self.write(value)
        return value

    def _followed(self, reference: str) -> dict[str, Any]:
        """What a reference stands for; `{}` inside itself, and where it leads nowhere."""
        self._references += 1
        if reference in self._open or self._references > MOST_REFERENCES:
            return {}
        self._open.append(reference)
        target = self.write(_target(self._root, reference))
        self._open.pop()
        return target


def _target(root: Mapping[str, Any], reference: str) -> Any:
    """The schema at a JSON pointer such as `#/$defs/Address`."""
    mark, *steps = reference.split("/")
    value: Any = root if mark == "#" else None
    for step in steps:
        value = value.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(value, Mapping) else None
    return value


def _merged(schemas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One schema that says what several say."""
    merged: dict[str, Any] = {}
    for schema in schemas:
        properties = {**merged.get("properties", {}), **schema.get("properties", {})}
        required = [*merged.get("required", []), *schema.get("required", [])]
        merged |= schema
        merged |= {"properties": properties} if properties else {}
        merged |= {"required": list(dict.fromkeys(required))} if required else {}
    return merged
