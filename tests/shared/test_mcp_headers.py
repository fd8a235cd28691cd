"""Values in HTTP headers, and which tools may ask for them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._mcp.dialect import Modern
from kova._mcp.header_values import InvalidHeader, header_parameters, header_value, parameter_headers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", "=?base64??="),
        ("two words", "two words"),
    ],
)
def test_the_examples_of_the_specification(text: str, value: str) -> None:
    assert header_value(text) == value


@given(st.text())
def test_every_text_can_be_read_back_and_breaks_no_header(text: str) -> None:
    value = header_value(text)
    assert value.isascii()
    assert not set(value) & {"\r", "\n", "\0"}
    if value.startswith("=?base64?"):
        assert base64.b64decode(value[9:-2]).decode(errors="surrogatepass") == text
    else:
        assert value == text


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


REGION = {"type": "string", "x-mcp-header": "Region"}


def test_marked_properties_are_repeated_and_absent_ones_are_not() -> None:
    parameters = header_parameters(
        schema(
            region=REGION,
            where=schema(zone={"type": "integer", "x-mcp-header": "Zone"}),
            dry={"type": "boolean", "x-mcp-header": "Dry-Run"},
            text={"type": "string"},
        )
    )
    full = parameter_headers(parameters, {"region": "é", "where": {"zone": -7}, "dry": False, "text": "x"})
    assert full == {"mcp-param-region": "=?base64?w6k=?=", "mcp-param-zone": "-7", "mcp-param-dry-run": "false"}
    assert parameter_headers(parameters, {"region": None, "where": {}}) == {}


def test_an_integer_that_no_header_repeats_exactly_is_refused() -> None:
    parameters = header_parameters(schema(n={"type": "integer", "x-mcp-header": "N"}))
    with pytest.raises(ValueError, match="too large"):
        parameter_headers(parameters, {"n": 2**53})


@pytest.mark.parametrize(
    "bad",
    [
        schema(a={"type": "string", "x-mcp-header": ""}),
        schema(a={"type": "string", "x-mcp-header": "a b"}),
        schema(a={"type": "string", "x-mcp-header": "a\r\nb"}),
        schema(a={"type": "string", "x-mcp-header": 7}),
        schema(a={"type": "number", "x-mcp-header": "A"}),
        schema(a={"x-mcp-header": "A"}),
        schema(a=REGION, b={"type": "string", "x-mcp-header": "REGION"}),
        schema(a={"type": "array", "items": REGION}),
        {"anyOf": [schema(a=REGION)]},
        {"$defs": {"a": REGION}, **schema(a={"$ref": "#/$defs/a"})},
        {"if": schema(a=REGION), "then": {}},
    ],
)
def test_a_mark_that_the_protocol_forbids_is_an_error(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidHeader):
        header_parameters(bad)


def test_a_property_may_be_called_like_the_mark() -> None:
    assert header_parameters(schema(**{"x-mcp-header": {"type": "string"}})) == []


def test_each_modern_request_says_who_asks_and_what() -> None:
    dialect = Modern({"roots": {}}, "info")
    params = dialect.params({"name": "wetter für", "arguments": {}}, 3)
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert params["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
    assert params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "kova"
    assert params["_meta"]["io.modelcontextprotocol/logLevel"] == "info"
    assert params["_meta"]["progressToken"] == 3
    assert dialect.headers("tools/call", params) == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?d2V0dGVyIGbDvHI=?=",
    }
