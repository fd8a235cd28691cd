"""Requests of Gemini's format."""

import base64
import copy
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.gemini import messages as encoding
from kova._formats.gemini.config import GeminiProviderConfig
from kova._formats.gemini.request import NAMES, build_request
from kova._formats.gemini.schemas import clean_schema, parameters_schema
from kova._formats.openai.config import OpenAIProviderConfig
from kova._formats.openai.request import build_request as build_openai_request
from kova._formats.openai.response import parse_response as parse_openai_response
from kova._formats.tool_names import ToolNames
from kova.config import InferenceConfig, ResponseFormat
from kova.errors import ProviderError, ProviderErrorClass, SerializationError
from kova.messages import (
    ConversationMessage,
    ImageBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    assistant_message,
    system_message,
    tool_message,
    user_message,
)
from kova.tools import ToolDefinition
from tests.strategies import any_histories, histories, json_values

PING = ToolDefinition("ping", "No arguments.", {"type": "object", "properties": {}})
ADD = ToolDefinition("add", "", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
IMAGE = ImageBlock("image/png", b"png")
IMAGE_PART = {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}


def build(history, tools=(), inference=None, *, stream=False, model="m", **options):
    if isinstance(history, ConversationMessage):
        history = [history]
    config = GeminiProviderConfig(model, base_url="http://localhost:8000", **options)
    return build_request(config, "k", history, tools, inference or InferenceConfig(), stream=stream)


def body(*arguments, **options):
    return json.loads(build(*arguments, **options).body)


def sent(*history, **options):
    return body(list(history), **options)["contents"]


def call(id="c1", name="ping", **fields):
    return ToolUseBlock(id, name, fields.pop("input", {}), **fields)


def answer(*blocks):
    return ConversationMessage("assistant", blocks)


# ---- contents


def test_a_plain_exchange():
    history = [system_message("Be brief."), user_message("Hi"), assistant_message("Hello"), user_message("And?")]
    assert body(history) == {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [{"text": "Hello"}]},
            {"role": "user", "parts": [{"text": "And?"}]},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
    }


def test_all_system_messages_are_instructions():
    history = [system_message("One."), system_message(" "), user_message("Hi"), system_message("Two.")]
    assert body(history)["systemInstruction"] == {"parts": [{"text": "One."}, {"text": "Two."}]}


def test_neighbours_of_one_role_are_one_content():
    history = [user_message("a"), user_message("b"), assistant_message("c"), answer(call()), tool_message("c1", "d")]
    assert [(content["role"], len(content["parts"])) for content in sent(*history)] == [
        ("user", 2),
        ("model", 2),
        ("user", 1),
    ]


def test_blank_texts_and_empty_messages_are_not_sent():
    """L12."""
    history = [
        ConversationMessage("user", (TextBlock(""), TextBlock("Hi"), TextBlock("\n"))),
        ConversationMessage("assistant", ()),
        user_message(" "),
        assistant_message(" \n", call()),
        tool_message("c1", ""),
    ]
    assert sent(*history) == [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "ping", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ping", "response": {"output": ""}}}]},
    ]


@pytest.mark.parametrize("history", [[], [user_message(" ")], [system_message("Be brief.")]])
def test_nothing_to_send_is_an_error_before_sending(history):
    with pytest.raises(ProviderError, match="nothing to send") as caught:
        build(history)
    assert caught.value.provider_class is ProviderErrorClass.INVALID_REQUEST


def test_a_history_that_begins_with_the_model_has_a_user_before_it():
    contents = sent(answer(call()), tool_message("c1", "r"))
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert contents[0]["parts"][0]["text"]


def test_images_are_parts_among_the_text():
    by_url = ImageBlock("image/jpeg", url="https://example.com/a.jpg")
    inline = ImageBlock("image/png", url="data:image/png;base64,cG5n")
    assert sent(user_message("Look:", IMAGE, TextBlock(" "), by_url, inline))[0]["parts"] == [
        {"text": "Look:"},
        IMAGE_PART,
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://example.com/a.jpg"}},
        IMAGE_PART,
    ]
    assert sent(user_message("Draw."), answer(IMAGE))[1] == {"role": "model", "parts": [IMAGE_PART]}


# ---- calls and results


def test_results_have_the_name_of_their_call_and_their_text_as_it_is():
    history = [
        user_message("Go."),
        answer(TextBlock("Both."), call(input={"a": 1}), call("c2", "add")),
        ConversationMessage("tool", (ToolResultBlock("c1", '{"id": 12345678901234567890}'),)),
        tool_message("c2", [TextBlock("t"), TextBlock("w")], is_error=True),
    ]
    assert sent(*history)[1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "Both."},
                {"functionCall": {"name": "ping", "args": {"a": 1}}},
                {"functionCall": {"name": "add", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "ping", "response": {"output": '{"id": 12345678901234567890}'}}},
                {"functionResponse": {"name": "add", "response": {"error": "t\nw"}}},
            ],
        },
    ]


def test_only_ids_that_the_api_gave_go_back():
    history = [
        user_message("Go."),
        answer(
            call("call_openai"),
            call("made", provider_metadata={"made_up_id": True}),
            call("renamed", provider_metadata={"gemini_call_id": "fc-1"}),
        ),
        *[tool_message(id, "r") for id in ("call_openai", "made", "renamed")],
    ]
    _, calls, results = sent(*history)
    assert [part["functionCall"].get("id") for part in calls["parts"]] == [None, None, "fc-1"]
    assert [part["functionResponse"].get("id") for part in results["parts"]] == [None, None, "fc-1"]


def test_a_text_after_results_is_a_content_of_its_own():
    after = [user_message("And?"), ConversationMessage("user", (TextBlock("And?"), ToolResultBlock("c1", "r")))]
    one = sent(user_message("Go."), answer(call()), tool_message("c1", "r"), after[0])
    other = sent(user_message("Go."), answer(call()), after[1])
    assert one == other
    assert [list(part) for content in one[2:] for part in content["parts"]] == [["functionResponse"], ["text"]]
    assert [content["role"] for content in one] == ["user", "model", "user", "user"]


def test_images_in_results_follow_after_all_results_of_the_round():
    history = [
        user_message("Go."),
        answer(call(), call("c2", "add")),
        tool_message("c1", [IMAGE]),
        tool_message("c2", "two"),
    ]
    images = {"role": "user", "parts": [{"text": "Images in the result of ping:"}, IMAGE_PART]}
    for further in ([], [assistant_message("Nice."), user_message("Go on.")]):
        contents = sent(*history, *further)
        assert [part["functionResponse"]["response"]["output"] for part in contents[2]["parts"]] == [
            "The result is the image in the next message.",
            "two",
        ]
        assert contents[3] == images
    assert sent(*history, user_message("Which?"))[3]["parts"] == [*images["parts"], {"text": "Which?"}]


def test_a_result_without_a_call_is_sent_under_its_id():
    assert sent(user_message("Go."), tool_message("c 1", "r"))[1]["parts"][0]["functionResponse"]["name"] == "c_1"


def test_arguments_that_were_no_json_do_not_go_back():
    assert sent(user_message("Go."), answer(call(invalid_arguments='{"a": ')))[1]["parts"] == [
        {"functionCall": {"name": "ping", "args": {}}}
    ]


# ---- thoughts and signatures


def test_thinking_of_other_providers_and_without_a_signature_does_not_go_back():
    """L8."""
    blocks = (
        ThinkingBlock("hm", signature="anthropic"),
        ThinkingBlock("", provider_metadata={"anthropic_block": {"type": "redacted_thinking", "data": "x"}}),
        ThinkingBlock("hm", provider_metadata={"reasoning_field": "reasoning_content"}),
        ThinkingBlock("hm"),
    )
    assert sent(user_message("Hi"), answer(*blocks, TextBlock("a")))[1]["parts"] == [{"text": "a"}]


def test_a_signature_goes_back_on_its_own_part():
    """L8."""
    thought = {"text": "hm", "thought": True, "thoughtSignature": "s0"}
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
    signed = answer(
        ThinkingBlock("hm", provider_metadata={"gemini_part": thought}),
        TextBlock("Hello"),
        ThinkingBlock("", provider_metadata={"gemini_signature": "s1", "gemini_signed_length": 2}),
        ThinkingBlock("", provider_metadata={"gemini_signature": "s2", "gemini_signed_length": 0}),
        ThinkingBlock("", provider_metadata={"gemini_part": code}),
        call(provider_metadata={"gemini_signature": "s3"}),
        call("c2"),
    )
    assert sent(user_message("Hi"), signed)[1]["parts"] == [
        thought,
        {"text": "Hel"},
        {"text": "lo", "thoughtSignature": "s1"},
        {"text": "", "thoughtSignature": "s2"},
        code,
        {"functionCall": {"name": "ping", "args": {}}, "thoughtSignature": "s3"},
        {"functionCall": {"name": "ping", "args": {}}},
    ]


@pytest.mark.parametrize("length", [5, 6, 0, None, "x"])
def test_a_signature_whose_text_is_gone_goes_with_an_empty_one(length):
    signature = ThinkingBlock("", provider_metadata={"gemini_signature": "s", "gemini_signed_length": length})
    assert sent(user_message("Hi"), answer(TextBlock("four"), signature))[1]["parts"] == [
        {"text": "four"},
        {"text": "", "thoughtSignature": "s"},
    ]


def test_models_that_want_signatures_are_told_where_there_is_none():
    unsigned = answer(call(), call("c2"))
    signed = answer(call(provider_metadata={"gemini_signature": "s"}), call("c2"))
    for model, expected in [("gemini-3-pro-preview", "skip_thought_signature_validator"), ("gemini-2.5-flash", None)]:
        for message, first in [(unsigned, expected), (signed, "s")]:
            parts = sent(user_message("Hi"), message, model=model)[1]["parts"]
            assert [part.get("thoughtSignature") for part in parts] == [first, None]


# ---- histories of any origin

REASONED = json.dumps(
    {
        "model": "deepseek-reasoner",
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "Let me see.",
                    "reasoning_content": "They want both.",
                    "tool_calls": [
                        {"id": f"call_{n}", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
                        for n in (1, 2)
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
    }
).encode()


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-preview"])
def test_a_history_that_another_provider_wrote_is_accepted_and_left_as_it_is(model):
    """L8."""
    asked = [system_message("Be brief."), user_message("Both of these?", IMAGE)]
    deepseek = OpenAIProviderConfig("deepseek-reasoner", base_url="https://api.deepseek.com")
    request = build_openai_request(deepseek, None, asked, (ADD,), InferenceConfig(), stream=False)
    given = parse_openai_response(REASONED, "application/json", request)
    assert any(isinstance(block, ThinkingBlock) for block in given.content)
    results = [tool_message("call_1", "2"), tool_message("call_2", [TextBlock("3"), IMAGE], is_error=True)]
    history = [*asked, ConversationMessage("assistant", given.content), *results, user_message("And?")]
    before = copy.deepcopy([(message.role, message.content) for message in history])
    signature = {"thoughtSignature": "skip_thought_signature_validator"} if "3" in model else {}
    for _ in range(2):  # what is kept on the messages makes no difference
        assert sent(*history, tools=(ADD,), model=model) == [
            {"role": "user", "parts": [{"text": "Both of these?"}, IMAGE_PART]},
            {
                "role": "model",
                "parts": [
                    {"text": "Let me see."},
                    {"functionCall": {"name": "add", "args": {"a": 1}}, **signature},
                    {"functionCall": {"name": "add", "args": {"a": 1}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "add", "response": {"output": "2"}}},
                    {"functionResponse": {"name": "add", "response": {"error": "3"}}},
                ],
            },
            {"role": "user", "parts": [{"text": "Images in the result of add:"}, IMAGE_PART, {"text": "And?"}]},
        ]
    assert [(message.role, message.content) for message in history] == before


@given(histories)
def test_any_history_is_accepted_and_left_as_it_is(history):
    """L8."""
    before = [(message.role, message.content) for message in history]
    try:
        contents = sent(*history)
    except ProviderError:
        return
    assert [(message.role, message.content) for message in history] == before
    assert contents[0]["role"] == "user"
    for content in contents:
        assert content.keys() == {"role", "parts"}
        assert content["role"] in ("user", "model")
        assert all(len(part.keys() - {"thoughtSignature"}) == 1 for part in content["parts"])
        assert len({"functionResponse" in part for part in content["parts"]}) == 1
        for part in content["parts"]:
            named = part.get("functionCall", part.get("functionResponse"))
            assert named is None or re.fullmatch("[a-zA-Z_][a-zA-Z0-9_-]{0,62}", named["name"])


@given(any_histories, st.sampled_from(["m", "gemini-3-pro-preview"]))
def test_a_history_has_the_same_form_whenever_it_is_sent(history, model):
    try:
        first = build(history, model=model).body
    except (ProviderError, SerializationError):
        return
    assert build(history, model=model).body == first


@given(st.sampled_from(list(Role)), histories)
def test_the_body_is_json_whatever_the_history(role, history):
    json.loads(build([user_message("Hi"), *history, ConversationMessage(role, ())]).body)


# ---- fragments


def test_each_message_is_encoded_once(monkeypatch):
    encoded = []
    join = encoding._joined
    monkeypatch.setattr(encoding, "_joined", lambda parts: encoded.append(1) or join(parts))
    history = [user_message("Hi", IMAGE), answer(call(), call("c2")), tool_message("c1", [IMAGE]), user_message("")]
    first = build(history, (ADD,))
    encoded_before = list(encoded)
    again = build([*history, user_message("More")], (ADD,), stream=True)
    assert encoded == encoded_before != []
    assert again.body.startswith(first.body[: first.history_size - 2])


def test_a_result_is_encoded_for_the_call_that_it_answers():
    result = tool_message("c1", "r")
    for name in ("ping", "add"):
        contents = sent(user_message("Hi"), answer(call(name=name)), result)
        assert contents[2]["parts"][0]["functionResponse"]["name"] == name


def test_what_depends_on_other_tools_is_not_kept():
    history = [user_message("Hi"), answer(call(name="fs.read")), tool_message("c1", "r")]
    dotted, plain = ToolDefinition("fs.read", "", {}), ToolDefinition("fs_read", "", {})

    def names(tools):
        _, calls, results = sent(*history, tools=tools)
        return calls["parts"][0]["functionCall"]["name"], results["parts"][0]["functionResponse"]["name"]

    assert names([dotted]) == ("fs_read", "fs_read")
    assert names([dotted, plain])[0] == names([dotted, plain])[1] != "fs_read"


def test_the_history_is_the_first_part_of_the_body_streamed_or_not():
    history = [system_message("Be brief."), user_message("Hi")]
    streamed, complete = build(history, (PING,), stream=True), build(history, (PING,))
    assert streamed.body == complete.body
    assert complete.body[: complete.history_size] == b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}'
    assert streamed.made_up_id(1) == complete.made_up_id(1) != complete.made_up_id(0)


# ---- tools


def test_tools_are_functions_of_one_entry():
    request = build(user_message("Hi"), (PING, ADD, ToolDefinition("fs.read", "Read.", {"type": "object"})))
    assert json.loads(request.body)["tools"] == [
        {
            "functionDeclarations": [
                {"name": "ping", "description": "No arguments."},
                {"name": "add", "parametersJsonSchema": dict(ADD.parameters)},
                {"name": "fs_read", "description": "Read."},
            ]
        }
    ]
    assert request.tool_names.own("fs_read") == "fs.read"


def test_without_tools_the_field_is_left_out():
    assert body(user_message("Hi")).keys() == {"contents"}


def test_the_json_of_a_tuple_of_tools_is_made_once(monkeypatch):
    tools = (ADD,)
    first = body(user_message("Hi"), tools)
    monkeypatch.setattr("kova._formats.gemini.request._declaration", None)
    assert body(user_message("Hi"), tools) == first


@given(st.lists(st.sampled_from(["1st", "2st", "-a", "größe", "a b", "x" * 90, "fs.read", "fs_read", "", "_st"])))
def test_any_names_are_acceptable_and_come_back(own):
    names = ToolNames(own, NAMES)
    wires = {name: names.wire(name) for name in own}
    assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_-]{0,62}", wire) for wire in wires.values())
    assert len(set(wires.values())) == len(wires)
    assert all(names.own(wire) == name for name, wire in wires.items())


# ---- schemas

NODE = {"type": "object", "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}}


@pytest.mark.parametrize(
    ("schema", "cleaned"),
    [
        (
            {"type": "object", "properties": {"a": {"type": ["string", "null"], "format": "uuid", "minLength": 1}}},
            {"type": "object", "properties": {"a": {"type": ["string", "null"], "format": "uuid", "minLength": 1}}},
        ),
        (
            {"$schema": "x", "$id": "y", "title": "T", "type": "array", "items": {"title": "I", "type": "string"}},
            {"type": "array", "items": {"type": "string"}},
        ),
        (
            {"properties": {"title": {"type": "string"}, "$ref": {"type": "string"}, "const": {"const": 1}}},
            {
                "properties": {
                    "title": {"type": "string"},
                    "$ref": {"type": "string"},
                    "const": {"type": "integer", "enum": [1]},
                }
            },
        ),
        ({"const": True}, {"type": "boolean", "enum": [True]}),
        ({"const": None}, {"enum": [None]}),
        (
            {"default": {"title": "kept"}, "enum": [{"title": "kept"}]},
            {"default": {"title": "kept"}, "enum": [{"title": "kept"}]},
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/A", "description": "An A."}}, "$defs": {"A": {"type": "string"}}},
            {"properties": {"a": {"type": "string", "description": "An A."}}},
        ),
        (
            {
                "properties": {"a": {"$ref": "#/definitions/A~1B"}},
                "definitions": {"A/B": {"$ref": "#/definitions/C"}, "C": {}},
            },
            {"properties": {"a": {}}},
        ),
        (
            {"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}},
            {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, {"type": "integer"}),
        ({"$ref": "https://example.com/a.json", "description": "Far away."}, {"description": "Far away."}),
        ({"$ref": "#/$defs/Nowhere"}, {}),
        (
            {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
            {"type": "object", "properties": {"value": {"type": "string"}, "next": {"type": "object"}}},
        ),
        ({"$ref": "#"}, {}),
        (
            {"allOf": [{"$ref": "#/$defs/A"}], "description": "An A.", "$defs": {"A": {"type": "string"}}},
            {"type": "string", "description": "An A."},
        ),
        (
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {}}, "required": ["a"]},
                    {"properties": {"b": {}}, "required": ["a", "b"]},
                ],
            },
            {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        ),
        (
            {"items": False, "additionalProperties": True, "not": {"title": "T"}},
            {"items": False, "additionalProperties": True, "not": {}},
        ),
    ],
)
def test_schemas_are_cleaned_and_left_as_they_are(schema, cleaned):
    before = copy.deepcopy(schema)
    assert clean_schema(schema) == cleaned
    assert schema == before


def test_references_that_double_each_other_come_to_an_end():
    definitions = {f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(60)}
    assert len(json.dumps(clean_schema({"$ref": "#/$defs/D0", "$defs": definitions}))) < 100_000


@given(json_values, json_values)
def test_any_schema_is_cleaned(value, other):
    for name in ("properties", "items", "$defs", "anyOf", "allOf", "required", "$ref", "const"):
        schema = {"type": "object", name: value, "allOf": [{name: other}], "$defs": {"a": other}}
        clean_schema(schema)
        parameters_schema(schema)


@pytest.mark.parametrize(
    ("schema", "is_sent"),
    [
        ({}, False),
        ({"type": "object", "properties": {}, "additionalProperties": False}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, True),
        ({"anyOf": [{"required": ["a"]}]}, True),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"a": {}}}}}, True),
    ],
)
def test_a_function_without_parameters_has_no_schema(schema, is_sent):
    assert (parameters_schema(schema) is not None) is is_sent


# ---- options


def test_options_have_their_names_on_the_wire():
    inference = InferenceConfig(
        model="other", max_tokens=9, temperature=0.0, top_p=0.5, stop_sequences=["a"], seed=7, extra_body={"labels": {}}
    )
    request = build(user_message("Hi"), (), inference, thinking_budget=256)
    assert request.url == "http://localhost:8000/v1beta/models/other:generateContent"
    assert json.loads(request.body) == {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": {
            "maxOutputTokens": 9,
            "temperature": 0.0,
            "topP": 0.5,
            "stopSequences": ["a"],
            "seed": 7,
            "thinkingConfig": {"thinkingBudget": 256, "includeThoughts": True},
        },
        "labels": {},
    }


@pytest.mark.parametrize(
    ("budget", "written"),
    [
        (-1, {"thinkingBudget": -1, "includeThoughts": True}),
        (0, {"thinkingBudget": 0}),
        (512, {"thinkingBudget": 512, "includeThoughts": True}),
    ],
)
def test_a_thinking_budget_asks_for_thoughts_where_there_are_any(budget, written):
    assert body(user_message("Hi"), thinking_budget=budget)["generationConfig"] == {"thinkingConfig": written}


def test_extra_body_is_merged_object_by_object():
    extra = {"generationConfig": {"topK": 5, "thinkingConfig": {"thinkingLevel": "low"}}, "safetySettings": []}
    written = body(user_message("Hi"), (), InferenceConfig(max_tokens=9, extra_body=extra), thinking_budget=-1)
    assert written["generationConfig"] == {
        "maxOutputTokens": 9,
        "topK": 5,
        "thinkingConfig": {"thinkingBudget": -1, "includeThoughts": True, "thinkingLevel": "low"},
    }
    assert written["safetySettings"] == []


def test_extra_body_may_replace_anything():
    extra = {"contents": [], "tools": [{"googleSearch": {}}], "systemInstruction": None}
    history = [system_message("Be brief."), user_message("Hi")]
    assert body(history, (PING,), InferenceConfig(extra_body=extra)) == extra


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("ping", {"mode": "ANY", "allowedFunctionNames": ["ping"]}),
        ("a.b", {"mode": "ANY", "allowedFunctionNames": ["a_b"]}),
    ],
)
def test_tool_choice(choice, written):
    tools = (PING, ToolDefinition("a.b", "", {}))
    asked = body(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))
    assert asked["toolConfig"] == {"functionCallingConfig": written}


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_choice_that_changes_nothing_is_left_out_without_tools(choice):
    assert "toolConfig" not in body(user_message("Hi"), (), InferenceConfig(tool_choice=choice))


@pytest.mark.parametrize(("choice", "tools"), [("required", ()), ("ping", ()), ("pong", (PING,))])
def test_a_choice_that_cannot_be_met_is_an_error_before_sending(choice, tools):
    with pytest.raises(ProviderError, match="tool_choice") as caught:
        build(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))
    assert caught.value.provider_class is ProviderErrorClass.INVALID_REQUEST


def test_structured_output():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    written = body(user_message("Hi"), (), InferenceConfig(response_format=ResponseFormat(schema)))
    assert written["generationConfig"] == {"responseMimeType": "application/json", "responseJsonSchema": schema}


@pytest.mark.parametrize(
    ("history", "inference"),
    [
        ([answer(call(input={"a": object()}))], InferenceConfig()),
        ([user_message("Hi")], InferenceConfig(extra_body={"a": object()})),
        ([user_message("Hi")], InferenceConfig(temperature=float("inf"))),
    ],
)
def test_what_is_no_json_is_an_error_before_sending(history, inference):
    with pytest.raises(SerializationError, match="cannot be written as JSON"):
        build(history, (), inference)


# ---- headers


def test_headers():
    request = build(user_message("Hi"), stream=True, default_headers={"X-Trace": "t", "Accept": "*/*"})
    assert request.method == "POST"
    assert request.headers == {
        "accept": "*/*",
        "x-goog-api-key": "k",
        "content-type": "application/json",
        "x-trace": "t",
    }
    assert request.secrets == ("k",)


def test_accept_says_what_is_expected():
    assert build(user_message("Hi"), stream=True).headers["accept"] == "text/event-stream"
    assert build(user_message("Hi")).headers["accept"] == "application/json"


def test_images_are_in_base64():
    image = ImageBlock("image/png", bytes(range(256)))
    part = sent(user_message("", image))[0]["parts"][0]
    assert base64.b64decode(part["inlineData"]["data"]) == image.data
