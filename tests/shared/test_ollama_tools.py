"""Schemas of tools in the words that Ollama has; what it has no word for, the model would never see."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.ollama.tools import encode_tools, parameters_schema
from kova.tools import ToolDefinition
from tests.strategies import json_values

ADDRESS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def of(schema, **root):
    """What becomes of the schema of a property."""
    return parameters_schema({"type": "object", "properties": {"x": schema}, **root})["properties"]["x"]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": ["object", "null"]}, {"properties": {}}])
def test_the_schema_of_a_tool_is_an_object_with_properties(schema):
    assert parameters_schema(schema) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "description": "A city.", "enum": ["Oslo", "Rome"]},
        {"type": ["integer", "null"], "default": {"$ref": "#/$defs/Address"}},
        {"type": "array", "items": ADDRESS},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ADDRESS,
    ],
)
def test_what_ollama_knows_stays_as_it_is(schema):
    assert of(schema) == schema


def test_references_are_written_in_place():
    """FastMCP's schemas have them wherever a parameter is a model."""
    schema = {
        "type": "object",
        "properties": {
            "home": {"$ref": "#/$defs/Address", "description": "Where it is."},
            "others": {"type": "array", "items": {"$ref": "#/$defs/Address"}},
            "maybe": {"anyOf": [{"$ref": "#/definitions/a~1b"}, {"type": "null"}]},
        },
        "$defs": {"Address": ADDRESS},
        "definitions": {"a/b": {"type": "integer"}},
    }
    before = repr(schema)
    assert parameters_schema(schema) == {
        "type": "object",
        "properties": {
            "home": {**ADDRESS, "description": "Where it is."},
            "others": {"type": "array", "items": ADDRESS},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    }
    assert repr(schema) == before


@pytest.mark.parametrize("reference", ["#/$defs/Nowhere", "#/type/x", "https://example.com/schema.json", "", 5])
def test_a_reference_that_leads_nowhere_says_nothing(reference):
    assert of({"$ref": reference}) in ({}, {"$ref": reference})


def test_a_schema_within_itself_ends():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert of({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}}) == {"type": "object", "properties": {"next": {}}}


def test_a_schema_that_stands_for_millions_stays_small():
    levels = {f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 2} for n in range(40)}
    assert len(json.dumps(of({"$ref": "#/$defs/L0"}, **{"$defs": levels}))) < 100_000


@pytest.mark.parametrize(
    ("schema", "known"),
    [
        (True, {}),
        (False, {}),
        ({"oneOf": [{"type": "string"}, True]}, {"anyOf": [{"type": "string"}, {}]}),
        ({"const": "a"}, {"enum": ["a"]}),
        ({"allOf": [ADDRESS], "title": "Home"}, {**ADDRESS, "title": "Home"}),
        (
            {"allOf": [ADDRESS, {"properties": {"zip": {"type": "string"}}, "required": ["zip", "city"]}]},
            {
                **ADDRESS,
                "properties": {**ADDRESS["properties"], "zip": {"type": "string"}},
                "required": ["city", "zip"],
            },
        ),
    ],
)
def test_what_ollama_does_not_know_is_said_in_its_words(schema, known):
    assert of(schema) == known


@given(
    st.dictionaries(st.sampled_from(["$ref", "allOf", "anyOf", "oneOf", "const", "items", "properties"]), json_values)
)
def test_any_schema_is_written_or_refused(schema):
    try:
        _, written = encode_tools([ToolDefinition("f", "", {"properties": {"x": schema}})])
    except (TypeError, ValueError):
        return
    assert json.loads(written)[0]["function"]["parameters"]["type"] == "object"
