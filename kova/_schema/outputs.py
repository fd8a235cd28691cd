"""The type of an answer, as a JSON schema and as the structuring of its JSON."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any

from .. import _json
from .errors import ArgumentError, SchemaError
from .json_schema import JSONSchema, SchemaWriter
from .problems import describe_problems
from .scalars import Hook
from .structuring import Structurer

__all__ = ["OutputSchema"]

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


class OutputSchema:
    """What a model is told of the answer that is wanted, and what is made of the one that it gives.

    Args:
        output_type: An attrs class, dataclass, TypedDict or pydantic model, or the JSON schema of an object.

    Attributes:
        name: Name of the type.
        schema: Its JSON schema.

    Raises:
        SchemaError: It is something else, or JSON has no form for it.
    """

    def __init__(self, output_type: object) -> None:
        if isinstance(output_type, Mapping):
            self.name = str(output_type.get("title") or "response")
            self.schema: JSONSchema = dict(output_type)
            self._hook: Hook = self._checked
        elif isinstance(output_type, (str, bytes, int, float)) or not isinstance(output_type, Hashable):
            raise SchemaError(f"no JSON schema can be made for {output_type!r:.100}")
        else:
            writer = SchemaWriter({})
            self.name = getattr(output_type, "__name__", "response")
            self.schema = _in_place(writer.with_definitions(writer.schema(output_type)))
            self._hook = Structurer(writer.fields).hook(output_type)
        if self.schema.get("type") != "object":
            kind = self.schema.get("type")
            raise SchemaError(
                f"an answer must be an object, not of the type {kind!r}: make a class with a field for it"
            )

    def read(self, text: str) -> Any:
        """The answer in a text: its JSON, which models also put between ``` marks.

        Raises:
            ArgumentError: It is not JSON, or does not fit; the message says what is wrong, and where.
        """
        fenced = _FENCED.fullmatch(text)
        try:
            value = _json.loads(fenced[1] if fenced else text)
        except ValueError as error:
            raise ArgumentError([f"expected JSON: {error}"]) from error
        try:
            return self._hook(value)
        except ArgumentError:
            raise
        except Exception as error:
            raise ArgumentError([*describe_problems(error, ())]) from error

    def _checked(self, value: object) -> Any:
        """A value for a schema that the user wrote. The provider keeps to it; here its outline is checked."""
        if not isinstance(value, dict):
            raise ArgumentError([f"expected an object, got {type(value).__name__}"])
        missing = [name for name in self.schema.get("required", ()) if name not in value]
        if missing:
            raise ArgumentError([f"{name}: missing" for name in missing])
        return value


def _in_place(schema: JSONSchema) -> JSONSchema:
    """The schema with a reference at its root written out: providers want an object there."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    definition: JSONSchema = schema["$defs"][reference.rpartition("/")[2]]
    return {**definition, "$defs": schema["$defs"]}
