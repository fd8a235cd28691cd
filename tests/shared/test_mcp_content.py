"""Results and descriptions of MCP tools: what becomes of each kind of content, broken ones included."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova import MCPToolDefinition, MCPToolResult

PNG = base64.b64encode(b"\x89PNG").decode()

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def result(*content: object, **fields: Any) -> MCPToolResult:
    return MCPToolResult.from_json({"content": list(content), **fields})


def test_text_goes_to_the_model_as_it_is() -> None:
    given_back = result({"type": "text", "text": "one"}, {"type": "text", "text": "two"})
    assert given_back.text == "one\ntwo"
    assert given_back.for_model() == kova.ToolResult("one\ntwo")


def test_an_error_is_a_result() -> None:
    given_back = result({"type": "text", "text": "no such file"}, isError=True)
    assert given_back.for_model() == kova.ToolResult("no such file", is_error=True)


def test_images_are_blocks_and_those_that_no_provider_takes_are_described() -> None:
    given_back = result(
        {"type": "text", "text": "look"},
        {"type": "image", "mimeType": "image/png", "data": PNG},
        {"type": "image", "mimeType": "image/svg+xml", "data": PNG},
    )
    assert given_back.for_model().content == (
        kova.TextBlock("look"),
        kova.ImageBlock("image/png", b"\x89PNG"),
        kova.TextBlock("[image, image/svg+xml, 4 bytes]"),
    )


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": "audio", "mimeType": "audio/wav", "data": PNG}, "[audio, audio/wav, 4 bytes]"),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "hello"}}, "hello"),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "application/zip", "blob": PNG}},
            "[resource file:///a, application/zip, 4 bytes]",
        ),
        ({"type": "resource_link", "uri": "https://example.com/a", "name": "A"}, "A: https://example.com/a"),
        ({"type": "hologram", "depth": 3}, '{"type":"hologram","depth":3}'),
    ],
)
def test_what_is_neither_text_nor_image_is_put_into_words(block: dict[str, Any], shown: str) -> None:
    assert result(block).for_model().content == shown


def test_structured_content_is_for_the_model_only_where_there_is_no_text() -> None:
    assert result(structuredContent={"a": 1}).for_model().content == '{"a":1}'
    both = result({"type": "text", "text": "a is 1"}, structuredContent={"a": 1})
    assert both.for_model().content == "a is 1"
    assert both.structured_content == {"a": 1}


def test_an_empty_result_says_so() -> None:
    assert result().for_model().content == "(no content)"


@given(json_values)
def test_no_result_is_too_strange(value: Any) -> None:
    for answer in ({"content": value}, {"content": [value]}, {"content": [{"type": "text", "text": value}]}):
        assert MCPToolResult.from_json(answer).for_model().content
    for kind in ("image", "audio", "resource", "resource_link"):
        item = {"type": kind, "data": value, "mimeType": "image/png", "resource": value, "uri": value}
        assert MCPToolResult.from_json({"content": [item]}).for_model().content


@given(json_values)
def test_no_description_is_too_strange(value: Any) -> None:
    MCPToolDefinition.from_json(value)
    named = MCPToolDefinition.from_json(
        {"name": "n", "title": value, "description": value, "inputSchema": value, "annotations": value}
    )
    assert named is not None
    assert isinstance(named.description, str)
    assert isinstance(named.input_schema, dict)
