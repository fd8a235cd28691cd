"""What all formats share: names and ids that an API accepts, schemas, secrets, and the time to wait."""

import re
import string
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.openai.request import NAMES
from kova._formats.retry_after import retry_after
from kova._formats.schemas import complete_schema, is_strict_schema
from kova._formats.secrets import mask, mask_url, plain_name, secret_headers
from kova._formats.tool_ids import acceptable_id
from kova._formats.tool_names import ToolNames
from tests.strategies import json_values, texts, tool_names

# ---- names


def test_acceptable_names_stay_as_they_are():
    names = ToolNames(["add", "get-weather_2", "x" * 64], NAMES)
    for name in ("add", "get-weather_2", "x" * 64, "unknown"):
        assert names.wire(name) == names.own(name) == name


@pytest.mark.parametrize(
    ("name", "wire"), [("fs.read", "fs_read"), ("a/b c", "a_b_c"), ("größe", "gr__e"), ("x" * 65, "x" * 64)]
)
def test_other_names_are_rewritten_and_mapped_back(name, wire):
    names = ToolNames([name], NAMES)
    assert names.wire(name) == wire
    assert names.own(wire) == name


def test_a_rewritten_name_never_takes_another_tools():
    names = ToolNames(["fs_read", "fs.read", "fs/read"], NAMES)
    wires = [names.wire(name) for name in ("fs_read", "fs.read", "fs/read")]
    assert wires[0] == "fs_read"
    assert len(set(wires)) == 3
    assert [names.own(wire) for wire in wires] == ["fs_read", "fs.read", "fs/read"]


@given(st.lists(tool_names | texts, max_size=8))
def test_any_names_come_back(own):
    names = ToolNames(own, NAMES)
    wires = {name: names.wire(name) for name in own}
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", wire) for wire in wires.values())
    assert len(set(wires.values())) == len(wires)
    assert all(names.own(wire) == name for name, wire in wires.items())


def test_a_name_that_only_the_history_knows_is_rewritten_too():
    names = ToolNames(["fs_read"], NAMES)
    assert names.wire("a.b") == "a_b"
    assert names.wire("fs.read") == ToolNames(["add", "fs.write"], NAMES).wire("fs.read") == "fs_read"


# ---- ids


@given(texts, texts)
def test_ids_are_acceptable_and_stay_distinct(one, other):
    for accepted in (r"(?s).{1,40}", "[a-zA-Z0-9]{9}", "[a-zA-Z0-9_-]+"):
        made = [acceptable_id(id, accepted) for id in (one, other)]
        assert all(re.fullmatch(accepted, id) for id in made)
        assert (made[0] == made[1]) == (one == other)


# ---- schemas


@pytest.mark.parametrize(
    ("schema", "completed"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        (
            {"properties": {"a": {"type": "array"}, "b": {"type": ["array", "null"]}}},
            {
                "type": "object",
                "properties": {"a": {"type": "array", "items": {}}, "b": {"type": ["array", "null"], "items": {}}},
            },
        ),
        (
            {"properties": {"a": {"type": "array", "items": {"type": "array"}, "default": [{"type": "array"}]}}},
            {
                "type": "object",
                "properties": {
                    "a": {"type": "array", "items": {"type": "array", "items": {}}, "default": [{"type": "array"}]}
                },
            },
        ),
    ],
)
def test_schemas_are_completed(schema, completed):
    before = repr(schema)
    assert complete_schema(schema) == completed
    assert repr(schema) == before


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "is_strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "properties": {"a": CLOSED}}, True),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": CLOSED}}}, True),
        ({**CLOSED, "properties": {"a": {"anyOf": [CLOSED, {"type": "null"}]}}}, True),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "additionalProperties": True}, False),
        ({**CLOSED, "properties": {"a": {"type": "object"}}}, False),
        ({**CLOSED, "properties": {"a": {"type": "string", "default": "x"}}}, False),
        ({**CLOSED, "$defs": {"b": {"type": "object"}}}, False),
        ({"type": "array", "items": CLOSED}, False),
        ({}, False),
    ],
)
def test_schemas_that_can_be_enforced(schema, is_strict):
    assert is_strict_schema(schema) is is_strict


@given(json_values)
def test_any_schema_is_judged(value):
    for name in ("properties", "items", "$defs", "anyOf", "required", "additionalProperties", "type"):
        complete_schema({**CLOSED, name: value})
        is_strict_schema({**CLOSED, name: value})


# ---- secrets


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("the key canary-0123456789 is wrong", "the key *** is wrong"),
        ("canary%2B0123456789", "canary%2B0123456789"),
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer ***"),
        ('{"api-key": "abcdefghijklmnop"}', '{"api-key": "***"}'),
        ("https://host/v1?key=abcdefghijklmnop&x=1", "https://host/v1?key=***&x=1"),
        ("sk-proj-abcdefghijkl", "***"),
        ("AIza" + "x" * 35, "***"),
        ("risk-assessment-of-the-year", "risk-assessment-of-the-year"),
        ("basic authentication is not supported", "basic authentication is not supported"),
        ("the api key: missing", "the api key: missing"),
        ("You asked for the token limit", "You asked for the token limit"),
    ],
)
def test_secrets_are_masked(text, masked):
    """R7."""
    assert mask(text, ["canary-0123456789", "k", "none"]) == masked


def test_a_secret_is_masked_in_a_url_too():
    assert mask("https://host/?x=a%2Bb%2Fcdefg", ["a+b/cdefg"]) == "https://host/?x=***"


@given(st.text(string.ascii_letters + string.digits + "-_+/=. ", min_size=7, max_size=40), texts, texts)
def test_a_secret_is_masked_wherever_it_is(secret, before, after):
    """R7."""
    assert secret not in mask(f"{before}{secret}{after}{secret}", [secret]).replace("***", "")


def test_a_url_is_shown_without_what_its_query_says():
    assert mask_url("https://host/v1?key=abc&x=") == "https://host/v1?key=***&x="
    assert mask_url("https://host/v1") == "https://host/v1"


def test_headers_that_hold_secrets():
    headers = {"authorization": "Bearer abc", "x-api-key": "def", "content-type": "text/plain", "cookie": "a=b"}
    assert set(secret_headers(headers)) == {"Bearer abc", "abc", "def", "a=b"}


# ---- the time to wait

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "nonsense", "retry-after": "2"}, 2.0),
        ({"x-ms-retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after": "Tue Nov 14 22:14:20 2023"}, 60.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": "Mon, 99 Feb 2020 10:00:00 GMT"}, None),
        ({"retry-after": "9" * 400}, None),
    ],
)
def test_retry_after(headers, seconds):
    """R2."""
    assert retry_after(headers, now=NOW) == seconds


@given(texts)
def test_any_text_is_a_time_or_none(text):
    waited = retry_after({"retry-after": text, "retry-after-ms": text})
    assert waited is None or waited >= 0


@pytest.mark.parametrize("name", ["server_tool_use", "text_editor_20250124", "response.created", "redactedContent"])
def test_names_of_things_are_shown_in_the_log(name):
    assert plain_name(name) == name


@pytest.mark.parametrize("name", ["sk-abc0123456789", "Zecret-77aa55", "a" * 41, "two words", 5, None, ["a"]])
def test_what_could_be_a_secret_is_not(name):
    """S2."""
    assert plain_name(name) == "***"
