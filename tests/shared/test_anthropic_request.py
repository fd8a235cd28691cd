"""Requests of Anthropic's format."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats import anthropic, openai
from kova._formats.anthropic import messages as encoding
from kova._formats.anthropic.config import AnthropicProviderConfig
from kova._formats.anthropic.request import _warn_of, build_models_request, build_request
from kova._formats.anthropic.schemas import output_schema
from kova._formats.input_schema import input_schema
from kova._formats.openai.config import OpenAIProviderConfig
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
from tests.strategies import histories

LOCAL = "http://localhost:8000"
PING = ToolDefinition("ping", "No arguments.", {"type": "object", "properties": {}})
IMAGE = ImageBlock("image/png", b"png")
IMAGE_PART = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}}
SIGNED = ThinkingBlock("hm", "c2ln")
REDACTED = ThinkingBlock("", provider_metadata={"anthropic_block": {"type": "redacted_thinking", "data": "x"}})


def build(history, tools=(), inference=None, *, stream=False, model="claude-test", **options):
    if isinstance(history, ConversationMessage):
        history = [history]
    config = AnthropicProviderConfig(model, base_url=LOCAL, **options)
    return build_request(config, "k", history, tools, inference or InferenceConfig(), stream=stream)


def body(*arguments, **options):
    return json.loads(build(*arguments, **options).body)


def sent(*history, **options):
    return body(list(history), **options)["messages"]


def content(message):
    """What is sent of a message of the model's that is not the last one."""
    first, *_ = sent(message, user_message("And?"))
    assert first["role"] == "assistant"
    return first["content"]


def text(text):
    return {"type": "text", "text": text}


def call(id="c1", name="ping", **fields):
    return ToolUseBlock(id, name, fields.pop("input", {}), **fields)


# ---- messages


def test_a_plain_exchange():
    history = [system_message("Be brief."), user_message("Hi"), assistant_message("Hello"), user_message("And?")]
    written = body(history)
    assert written["system"] == "Be brief."
    assert written["messages"] == [
        {"role": "user", "content": [text("Hi")]},
        {"role": "assistant", "content": [text("Hello")]},
        {"role": "user", "content": [text("And?")]},
    ]


def test_system_prompts_stand_together_wherever_they_are():
    history = [system_message("a"), system_message(" "), user_message("Hi"), system_message("b")]
    assert body(history)["system"] == [text("a"), text("b")]
    assert "system" not in body(user_message("Hi"))


def test_blank_texts_and_empty_messages_are_not_sent():
    """L12."""
    history = [
        ConversationMessage("user", (TextBlock(""), TextBlock("Hi"), TextBlock("\n"))),
        ConversationMessage("assistant", ()),
        assistant_message(" \n", call()),
        tool_message("c1", ""),
        user_message(""),
    ]
    assert sent(*history) == [
        {"role": "user", "content": [text("Hi")]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ping", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
    ]


@pytest.mark.parametrize("history", [[], [user_message(" ")], [system_message("Be brief.")]])
def test_nothing_to_send_is_an_error_before_sending(history):
    with pytest.raises(ProviderError, match="nothing to send") as caught:
        build(history)
    assert caught.value.provider_class is ProviderErrorClass.INVALID_REQUEST


def test_neighbours_of_one_role_are_one_message():
    history = [user_message("a"), user_message("b"), assistant_message("c"), assistant_message("d"), user_message("e")]
    assert sent(*history) == [
        {"role": "user", "content": [text("a"), text("b")]},
        {"role": "assistant", "content": [text("c"), text("d")]},
        {"role": "user", "content": [text("e")]},
    ]


def test_neighbours_are_those_between_which_nothing_is_sent():
    history = [user_message("a"), assistant_message(" "), system_message("s"), user_message("b")]
    assert sent(*history) == [{"role": "user", "content": [text("a"), text("b")]}]


def test_results_come_first_in_what_the_user_says():
    history = [
        assistant_message("Both.", call(input={"a": 1}), call("c2")),
        ConversationMessage("user", (TextBlock("And?"), ToolResultBlock("c2", "two"))),
        tool_message("c1", "one"),
        user_message("Go on."),
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
        {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
    ]
    assert sent(*history)[1] == {"role": "user", "content": [*results, text("And?"), text("Go on.")]}
    assert sent(*history)[1] == sent(*history)[1], "as it is put together of fragments"


def test_what_a_result_holds():
    blocks = [TextBlock("t"), TextBlock(" "), IMAGE]
    results = [
        tool_message("a", blocks),
        tool_message("b", "no", is_error=True),
        tool_message("c", " ", is_error=True),
        tool_message("d", [TextBlock("")]),
    ]
    assert sent(assistant_message("", call("a"), call("b"), call("c"), call("d")), *results)[1]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [text("t"), IMAGE_PART]},
        {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True},
        # 400 "content cannot be empty if `is_error` is true"
        {"type": "tool_result", "tool_use_id": "c", "content": "The tool failed and gave no reason.", "is_error": True},
        {"type": "tool_result", "tool_use_id": "d"},
    ]


def test_images_are_blocks_among_the_text():
    by_url = ImageBlock("image/jpeg", url="https://example.com/a.jpg")
    as_url = ImageBlock("image/png", url="data:image/png;base64,cG5n")
    assert sent(user_message("Look:", IMAGE, TextBlock(" "), by_url, as_url))[0]["content"] == [
        text("Look:"),
        IMAGE_PART,
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.jpg"}},
        IMAGE_PART,
    ]


def test_an_image_where_none_can_be_is_left_out_with_a_warning(caplog):
    assert content(assistant_message("a", IMAGE)) == [text("a")]
    assert "an image is left out of a request" in caplog.text


def test_arguments_that_were_no_json_do_not_go_back():
    assert content(assistant_message("", call(invalid_arguments='{"a": ')))[0]["input"] == {}


def test_calls_from_code_that_the_api_runs_go_back_with_what_they_are_of():
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    foreign = {"extra_content": {"google": {}}, "made_up_id": True}
    assert content(assistant_message("", call(provider_metadata={"caller": caller, **foreign}))) == [
        {"type": "tool_use", "id": "c1", "name": "ping", "input": {}, "caller": caller}
    ]


@pytest.mark.parametrize(
    ("id", "pattern"), [("toolu_1-A", "toolu_1-A"), ("add:0", "call_[0-9a-f]{24}"), ("", "call_[0-9a-f]{24}")]
)
def test_ids_that_would_be_refused_are_rewritten_alike_in_call_and_result(id, pattern):
    messages = sent(assistant_message("", call(id)), tool_message(id, "r"))
    assert messages[0]["content"][0]["id"] == messages[1]["content"][0]["tool_use_id"]
    assert re.fullmatch(pattern, messages[1]["content"][0]["tool_use_id"])


# ---- thinking


def test_own_thinking_goes_back_in_place():
    """L8."""
    omitted = ThinkingBlock("", "b3RoZXI=")
    message = ConversationMessage("assistant", (SIGNED, TextBlock("a"), REDACTED, omitted, call()))
    assert content(message) == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        text("a"),
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": "", "signature": "b3RoZXI="},
        {"type": "tool_use", "id": "c1", "name": "ping", "input": {}},
    ]


@pytest.mark.parametrize(
    "foreign",
    [
        ThinkingBlock("hm"),
        ThinkingBlock("hm", ""),
        ThinkingBlock("hm", "c2ln", {"bedrock": {}}),
        ThinkingBlock("hm", provider_metadata={"reasoning_field": "reasoning_content"}),
        ThinkingBlock("hm", provider_metadata={"anthropic_block": "odd"}),
    ],
)
def test_other_thinking_does_not_go_back(foreign):
    """L8."""
    assert content(ConversationMessage("assistant", (foreign, TextBlock("a")))) == [text("a")]


# ---- a last message of the model's, which it goes on from


@pytest.mark.parametrize(
    ("blocks", "written"),
    [
        ([TextBlock("a "), TextBlock("b \n")], [text("a "), text("b")]),
        ([TextBlock("a "), TextBlock(" \n")], [text("a")]),
        ([SIGNED, TextBlock("a\n")], [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, text("a")]),
        ([TextBlock("a "), SIGNED, REDACTED], [text("a")]),
        (
            [ThinkingBlock("", provider_metadata={"anthropic_block": {"type": "server_tool_use", "id": "s"}})],
            [{"type": "server_tool_use", "id": "s"}],
        ),
    ],
)
def test_a_last_message_of_the_models_has_no_loose_end(blocks, written):
    last = ConversationMessage("assistant", blocks)
    history = [user_message("Hi"), last]
    assert sent(*history)[1:] == [{"role": "assistant", "content": written}]
    assert sent(*history, user_message(" "))[1:] == [{"role": "assistant", "content": written}]
    assert sent(*history, user_message("And?"))[1]["content"][0] == sent(*history, user_message("Or?"))[1]["content"][0]


def test_a_last_message_of_nothing_but_thinking_is_not_sent():
    for blocks in ([SIGNED], [IMAGE, SIGNED]):
        history = [user_message("Hi"), assistant_message("a "), ConversationMessage("assistant", blocks)]
        assert sent(*history)[1:] == [{"role": "assistant", "content": [text("a")]}]
        assert len(sent(history[0], history[2])) == 1


# ---- histories of whatever origin


@given(histories)
def test_any_history_is_accepted_and_left_as_it_is(history):
    """L8."""
    before = [(message.role, message.content) for message in history]
    try:
        messages = sent(*history)
    except ProviderError:
        return
    assert [(message.role, message.content) for message in history] == before
    assert all(first["role"] != second["role"] for first, second in pairwise(messages))
    for message in messages:
        kinds = [block["type"] for block in message["content"]]
        assert kinds
        assert kinds == sorted(kinds, key="tool_result".__ne__) or message["role"] == "assistant"
        assert all(block["text"].strip() for block in message["content"] if block["type"] == "text")


@given(histories)
def test_a_history_has_the_same_form_whenever_it_is_sent(history):
    try:
        first = build(history).body
    except ProviderError:
        return
    assert build(history).body == first


ANSWERS = {
    openai: {
        "model": "gpt",
        "choices": [
            {
                "message": {
                    "content": "Look.",
                    "reasoning_content": "hm",
                    "tool_calls": [{"id": "functions.see:0", "function": {"name": "fs.see", "arguments": '{"a":1}'}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
    },
    anthropic: {
        "type": "message",
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Look."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "tool_use", "id": "toolu_1", "name": "fs.see", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
    },
}
CONFIGS = {
    openai: OpenAIProviderConfig("m", base_url="https://api.deepseek.com"),
    anthropic: AnthropicProviderConfig("m", base_url=LOCAL),
}


def request_of(form, history):
    return form.FORMAT.build_request(CONFIGS[form], None, history, (), InferenceConfig(), stream=False)


@pytest.mark.parametrize(("writer", "reader"), [(openai, anthropic), (anthropic, openai), (anthropic, anthropic)])
def test_what_one_provider_has_written_another_one_reads(writer, reader):
    """L8."""
    question = user_message("What is it?", IMAGE)
    asked = request_of(writer, [question])
    answer = writer.FORMAT.parse_response(json.dumps(ANSWERS[writer]).encode(), "application/json", asked)
    history = [question, ConversationMessage("assistant", answer.content)]
    history += [tool_message(answer.tool_calls[0].id, [TextBlock("A dot."), IMAGE]), user_message("Sure?")]
    before = [(message.role, message.content) for message in history]
    messages = json.loads(request_of(reader, history).body)["messages"]
    assert [(message.role, message.content) for message in history] == before
    written = json.dumps(messages)
    assert ("c2ln" in written) is (writer is reader)
    assert "functions.see:0" not in written or reader is openai
    assert all(word in written for word in ("Look.", "A dot.", "Sure?", "cG5n", "fs_see"))


def test_what_the_api_itself_has_written_goes_back_word_for_word():
    """L8."""
    asked = request_of(anthropic, [user_message("Hi")])
    written = ANSWERS[anthropic]
    answer = anthropic.FORMAT.parse_response(json.dumps(written).encode(), "application/json", asked)
    tools = (ToolDefinition("fs.see", "", {}),)
    history = [ConversationMessage("assistant", answer.content), tool_message("toolu_1", "r")]
    *blocks, call = body(history, tools)["messages"][0]["content"]
    assert blocks == written["content"][:-1]
    assert call == {**written["content"][-1], "name": "fs_see"}


# ---- fragments


def test_each_message_is_encoded_once(monkeypatch):
    encoded = []
    encode = encoding._encode
    monkeypatch.setattr(encoding, "_encode", lambda message, names: encoded.append(message) or encode(message, names))
    history = [user_message("Hi"), assistant_message("", call()), tool_message("c1", [IMAGE]), user_message("")]
    first = build(history, (PING,))
    assert len(encoded) == 4
    longer = build([*history, assistant_message("Nice."), user_message("More")], (PING,), stream=True)
    assert longer.body.startswith(first.body[: first.history_size - 1])
    assert encoded[4:] == [assistant_message("Nice."), user_message("More")]


def test_what_depends_on_other_tools_is_not_kept():
    message = assistant_message("", call(name="fs.read"))
    dotted, plain = ToolDefinition("fs.read", "", {}), ToolDefinition("fs_read", "", {})
    assert sent(message, tools=[dotted])[0]["content"][0]["name"] == "fs_read"
    assert sent(message, tools=[dotted, plain])[0]["content"][0]["name"] != "fs_read"


def test_the_history_is_the_first_part_of_the_body_streamed_or_not():
    history = [user_message("Hi")]
    streamed, complete = build(history, (PING,), stream=True), build(history, (PING,))
    assert streamed.body[: streamed.history_size] == complete.body[: complete.history_size]
    assert streamed.made_up_id(1) == complete.made_up_id(1) != complete.made_up_id(0)


# ---- tools


def test_tools_and_their_names():
    tools = (PING, ToolDefinition("fs.read", "", {}))
    request = build(user_message("Hi"), tools)
    assert json.loads(request.body)["tools"] == [
        {"name": "ping", "description": "No arguments.", "input_schema": {"type": "object", "properties": {}}},
        {"name": "fs_read", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert request.tool_names.own("fs_read") == "fs.read"


def test_alternatives_for_all_arguments_are_taken_apart():
    a, b = {"type": "integer"}, {"type": "string"}
    branches = [{"properties": {"a": a}, "required": ["a"]}, {"properties": {"b": b}}, True]
    assert input_schema({"anyOf": branches, "properties": {"b": {"enum": ["x"]}}, "required": ["b"]}) == {
        "type": "object",
        "properties": {"a": a, "b": {"enum": ["x"]}},
        "required": ["b"],
    }
    assert input_schema({"properties": {"a": {"anyOf": [a, b]}}})["properties"] == {"a": {"anyOf": [a, b]}}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("ping", {"type": "tool", "name": "ping"}),
        ("a.b", {"type": "tool", "name": "a_b"}),
    ],
)
def test_tool_choice(choice, written):
    tools = (PING, ToolDefinition("a.b", "", {}))
    assert body(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))["tool_choice"] == written


@pytest.mark.parametrize(
    ("model", "choice", "thinking"),
    [
        ("claude-opus-4-6", "required", None),
        ("claude-opus-4-6", "ping", None),
        ("claude-opus-4-6", "auto", {"type": "adaptive"}),
        ("claude-opus-4-6", "none", {"type": "adaptive"}),
        ("claude-opus-5", "required", {"type": "disabled"}),
    ],
)
def test_a_call_that_is_forced_goes_without_thinking(model, choice, thinking):
    asked = InferenceConfig(model=model, tool_choice=choice)
    assert body(user_message("Hi"), (PING,), asked).get("thinking") == thinking


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_choice_that_changes_nothing_is_left_out_without_tools(choice):
    assert "tool_choice" not in body(user_message("Hi"), (), InferenceConfig(tool_choice=choice))


@pytest.mark.parametrize(("choice", "tools"), [("required", ()), ("ping", ()), ("pong", (PING,))])
def test_a_choice_that_cannot_be_met_is_an_error_before_sending(choice, tools):
    with pytest.raises(ProviderError, match="tool_choice") as caught:
        build(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))
    assert caught.value.provider_class is ProviderErrorClass.INVALID_REQUEST


# ---- options


def test_the_least_that_is_sent():
    assert body(user_message("Hi"), cache=False, adaptive_thinking=False) == {
        "messages": [{"role": "user", "content": [text("Hi")]}],
        "model": "claude-test",
        "max_tokens": 32_000,
    }


def test_options_have_their_names_on_the_wire():
    inference = InferenceConfig(model="other", max_tokens=9, stop_sequences=["a"], extra_body={"top_k": 1})
    written = body(user_message("Hi"), (), inference, effort="low", stream=True)
    del written["messages"]
    assert written == {
        "model": "other",
        "max_tokens": 9,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "stop_sequences": ["a"],
        "cache_control": {"type": "ephemeral"},
        "stream": True,
        "top_k": 1,
    }


@pytest.mark.parametrize(
    ("model", "given", "options", "written"),
    [
        ("claude-test", None, {}, 32_000),
        ("claude-test", None, {"default_max_tokens": 64_000}, 64_000),
        ("claude-3-haiku-20240307", None, {}, 4_096),
        ("claude-3-5-sonnet-latest", None, {"default_max_tokens": 100}, 100),
        ("claude-3-haiku-20240307", 9_000, {}, 9_000),  # asked for, and so for the API to answer
    ],
)
def test_the_limit_of_an_answer(model, given, options, written):
    inference = InferenceConfig(max_tokens=given)
    assert body(user_message("Hi"), (), inference, model=model, **options)["max_tokens"] == written


SAMPLED = InferenceConfig(temperature=0.0, top_p=0.5)


@pytest.mark.parametrize(
    ("model", "adaptive", "thinking", "is_sampled"),
    [
        ("claude-test", True, {"type": "adaptive"}, False),
        ("claude-test", False, None, True),
        ("claude-opus-4-6", True, {"type": "adaptive"}, False),
        ("claude-opus-4-7", False, None, False),
        ("claude-opus-5", False, {"type": "disabled"}, False),
        ("claude-3-haiku-20240307", True, None, True),
    ],
)
def test_thinking_and_what_it_forbids(model, adaptive, thinking, is_sampled):
    written = body(user_message("Hi"), (), SAMPLED, model=model, adaptive_thinking=adaptive)
    assert written.get("thinking") == thinking
    assert ("temperature" in written, "top_p" in written) == (is_sampled, is_sampled)
    if is_sampled:
        assert (written["temperature"], written["top_p"]) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("model", "is_single"),
    [
        ("claude-opus-4-0", False),
        ("claude-opus-4-1-20250805", True),
        ("claude-sonnet-4-5", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-5", True),
        ("claude-opus-4-6", True),
        ("claude-sonnet-4-6", True),
        ("llama-4", False),
    ],
)
def test_a_model_that_takes_one_of_temperature_and_top_p_gets_the_first(model, is_single):
    written = body(user_message("Hi"), (), SAMPLED, model=model, adaptive_thinking=False)
    assert (written["temperature"], written.get("top_p")) == (0.0, None if is_single else 0.5)
    alone = body(user_message("Hi"), (), InferenceConfig(top_p=0.5), model=model, adaptive_thinking=False)
    assert alone["top_p"] == 0.5


def test_what_a_model_does_not_take_is_left_out_with_one_warning(caplog):
    _warn_of.cache_clear()
    for _ in range(2):
        written = body(user_message("Hi"), (), SAMPLED.replace(seed=1), model="claude-opus-4-7", effort="low")
        assert not written.keys() & {"temperature", "top_p", "seed"}
        assert "output_config" not in body(user_message("Hi"), model="claude-haiku-4-5", effort="low")
    assert [(record.msg["model"], record.msg["options"]) for record in caplog.records] == [
        ("claude-opus-4-7", ["temperature", "top_p"]),
        ("claude-opus-4-7", ["seed"]),
        ("claude-haiku-4-5", ["effort"]),
    ]


def test_what_is_not_asked_for_is_not_warned_of(caplog):
    _warn_of.cache_clear()
    body(user_message("Hi"))
    assert not caplog.records


def test_extra_body_is_merged_last_and_may_replace_anything():
    extra = {"messages": [], "tools": None, "model": "x", "system": "s", "thinking": {"type": "disabled"}}
    written = body([system_message("S"), user_message("Hi")], (PING,), InferenceConfig(extra_body=extra))
    assert written == {**extra, "max_tokens": 32_000, "cache_control": {"type": "ephemeral"}}


# ---- structured output


def test_structured_output():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    written = body(user_message("Hi"), (), InferenceConfig(response_format=ResponseFormat(schema)), effort="low")
    assert written["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": {**schema, "additionalProperties": False}},
    }


def test_a_schema_that_the_api_takes_is_sent_as_it_is():
    schema = {
        "type": "object",
        "description": "All.",
        "properties": {
            "kind": {"enum": ["a", None]},
            "at": {"type": "string", "format": "date-time"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "of": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]},
        },
        "required": ["kind"],
        "additionalProperties": False,
        "$defs": {"N": {"const": 1}},
    }
    assert output_schema(schema) == schema


def test_keywords_that_the_api_does_not_take_are_told_in_words():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": "A number.", "minimum": 1},
            "s": {"type": "string", "format": "regex", "maxLength": 3},
            "l": {"type": "array", "items": False, "minItems": 2, "uniqueItems": True},
            "e": {"enum": [{}], "const": []},
            "o": {"oneOf": [{"type": "object", "properties": {}}]},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
    assert output_schema(schema) == {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": 'A number.\n\n{"minimum":1}'},
            "s": {"type": "string", "description": '{"format":"regex","maxLength":3}'},
            "l": {"type": "array", "description": '{"items":false,"minItems":2,"uniqueItems":true}'},
            "e": {"description": '{"enum":[{}],"const":[]}'},
            "o": {"anyOf": [{"type": "object", "properties": {}, "additionalProperties": False}]},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},  # which the API itself answers to
        },
        "additionalProperties": False,
    }


# ---- what cannot be written


@pytest.mark.parametrize(
    ("history", "inference"),
    [
        ([assistant_message("", call(input={"a": object()})), user_message("Hi")], InferenceConfig()),
        ([user_message("Hi")], InferenceConfig(extra_body={"a": object()})),
        ([user_message("Hi")], InferenceConfig(response_format=ResponseFormat({"x": object()}))),
    ],
)
def test_what_is_no_json_is_an_error_before_sending(history, inference):
    with pytest.raises(SerializationError, match="cannot be written as JSON"):
        build(history, (), inference)


# ---- headers


def test_headers():
    request = build(user_message("Hi"), stream=True, default_headers={"X-Trace": "t"}, beta_headers=["b"])
    assert (request.method, request.url) == ("POST", f"{LOCAL}/v1/messages")
    assert request.headers == {
        "accept": "text/event-stream",
        "anthropic-beta": "b",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "x-api-key": "k",
        "x-trace": "t",
    }
    assert request.secrets == ("k",)
    assert build(user_message("Hi")).headers["accept"] == "application/json"


def test_the_list_of_models():
    request = build_models_request(AnthropicProviderConfig("m", base_url=LOCAL), "k")
    assert (request.method, request.url, request.body) == ("GET", f"{LOCAL}/v1/models?limit=1000", b"")
    assert (request.headers["x-api-key"], request.headers["anthropic-version"]) == ("k", "2023-06-01")


@given(st.sampled_from(list(Role)), histories)
def test_the_body_is_json_whatever_the_history(role, history):
    json.loads(build([user_message("Hi"), *history, ConversationMessage(role, ())]).body)
