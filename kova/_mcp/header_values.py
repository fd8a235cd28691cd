"""What the stateless protocol repeats of a request in HTTP headers.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http (request metadata).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["HeaderParameter", "InvalidHeader", "header_parameters", "header_value", "parameter_headers"]

HeaderParameter = tuple[str, tuple[str, ...]]  # name of the header, and the path of the property that it repeats

ANNOTATION = "x-mcp-header"
PREFIX = "mcp-param-"
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
PRIMITIVE = frozenset({"string", "integer", "boolean"})
SAFE_INTEGER = 2**53 - 1


class InvalidHeader(ValueError):
    """A tool marks a property in a way that the protocol forbids; the tool must not be used."""


def header_value(text: str) -> str:
    """A text as the value of a header: as it is, or in base64 where a header cannot hold it."""
    looks_encoded = text.startswith("=?base64?") and text.endswith("?=")
    if PLAIN.fullmatch(text) and not looks_encoded:
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='surrogatepass')).decode()}?="


def header_parameters(schema: object) -> list[HeaderParameter]:
    """The properties of a tool's input that are repeated in headers.

    Raises:
        InvalidHeader: A mark is wrong, or where no property can be reached without a condition.
    """
    found: list[HeaderParameter] = []
    taken: set[str] = set()
    reachable: set[int] = set()
    for path, property_schema in _properties(schema, ()):
        reachable.add(id(property_schema))
        if ANNOTATION not in property_schema:
            continue
        name = property_schema[ANNOTATION]
        shown = ".".join(path)
        if not isinstance(name, str) or not TOKEN.fullmatch(name):
            raise InvalidHeader(f"{ANNOTATION} of {shown} is no header name: {name!r}")
        if property_schema.get("type") not in PRIMITIVE:
            raise InvalidHeader(f"{ANNOTATION} of {shown} needs the type string, integer or boolean")
        if name.lower() in taken:
            raise InvalidHeader(f"{ANNOTATION} {name!r} occurs twice")
        taken.add(name.lower())
        found.append((PREFIX + name.lower(), path))
    for marked in _marked(schema):
        if id(marked) not in reachable:
            raise InvalidHeader(f"{ANNOTATION} {marked[ANNOTATION]!r} stands where not every input has the property")
    return found


def parameter_headers(parameters: list[HeaderParameter], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for a call's arguments; what is absent or null has none.

    Raises:
        ValueError: An integer is too large to be repeated exactly by every server.
    """
    headers: dict[str, str] = {}
    for name, path in parameters:
        value: Any = arguments
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            headers[name] = "true" if value else "false"
        elif isinstance(value, int):
            if abs(value) > SAFE_INTEGER:
                raise ValueError(f"{'.'.join(path)}: the server wants it in a header, where {value} is too large")
            headers[name] = str(value)
        elif isinstance(value, float) and value.is_integer() and abs(value) <= SAFE_INTEGER:
            headers[name] = str(int(value))
        elif isinstance(value, str):
            headers[name] = header_value(value)
    return headers


def _properties(schema: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every property that is reached through `properties` alone, with its path."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, property_schema in properties.items() if isinstance(properties, dict) else ():
        if isinstance(property_schema, dict):
            yield (*path, name), property_schema
            yield from _properties(property_schema, (*path, name))


def _marked(schema: object) -> Iterator[dict[str, Any]]:
    """Every schema anywhere in a schema that has a mark."""
    waiting: list[object] = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if ANNOTATION in item and not isinstance(item[ANNOTATION], dict):
                yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
