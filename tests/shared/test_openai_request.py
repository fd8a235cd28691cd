"""Requests of OpenAI's format."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.openai import messages as encoding
from kova._formats.openai.config import OpenAIProviderConfig
from kova._formats.openai.request import build_models_request, build_request
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
IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}


def build(history, tools=(), inference=None, *, stream=False, base_url=LOCAL, **options):
    if isinstance(history, ConversationMessage):
        history = [history]
    config = OpenAIProviderConfig("m", base_url=base_url, **options)
    return build_request(config, "k", history, tools, inference or InferenceConfig(), stream=stream)


def body(*arguments, **options):
    return json.loads(build(*arguments, **options).body)


def sent(*history, **options):
    return body(list(history), **options)["messages"]


def call(id="c1", name="ping", **fields):
    return ToolUseBlock(id, name, fields.pop("input", {}), **fields)


# ---- messages


def test_a_plain_exchange():
    history = [system_message("Be brief."), user_message("Hi"), assistant_message("Hello"), user_message("And?")]
    assert sent(*history) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "And?"},
    ]


def test_blank_texts_and_empty_messages_are_not_sent():
    """L12."""
    history = [
        system_message(" "),
        ConversationMessage("user", (TextBlock(""), TextBlock("Hi"), TextBlock("\n"))),
        ConversationMessage("assistant", ()),
        assistant_message(" \n", call()),
        tool_message("c1", ""),
        user_message(""),
    ]
    assert [(message["role"], message["content"]) for message in sent(*history)] == [
        ("user", "Hi"),
        ("assistant", None),
        ("tool", ""),
    ]


def test_nothing_to_send_is_an_error_before_sending():
    with pytest.raises(ProviderError, match="nothing to send") as caught:
        build([user_message(" ")])
    assert caught.value.provider_class is ProviderErrorClass.INVALID_REQUEST


def test_several_texts_are_one_string():
    assert sent(user_message("a", TextBlock("b")))[0]["content"] == "a\nb"
    assert sent(assistant_message("a", TextBlock("b")))[0]["content"] == "ab"


def test_images_are_parts_among_the_text():
    by_url = ImageBlock("image/jpeg", url="https://example.com/a.jpg")
    assert sent(user_message("Look:", IMAGE, TextBlock(" "), by_url))[0]["content"] == [
        {"type": "text", "text": "Look:"},
        IMAGE_PART,
        {"type": "image_url", "image_url": {"url": "https://example.com/a.jpg"}},
    ]


def test_an_image_where_none_can_be_is_left_out_with_a_warning(caplog):
    assert sent(assistant_message("a", IMAGE), user_message("b"))[0] == {"role": "assistant", "content": "a"}
    assert "an image is left out of a request" in caplog.text


def test_calls_and_results():
    history = [
        assistant_message("Both.", call(input={"a": 1}), call("c2")),
        ConversationMessage(
            "tool", (ToolResultBlock("c1", "one"), ToolResultBlock("c2", [TextBlock("t"), TextBlock("w")]))
        ),
    ]
    function = {"name": "ping", "arguments": '{"a":1}'}
    assert sent(*history) == [
        {
            "role": "assistant",
            "content": "Both.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": function},
                {"id": "c2", "type": "function", "function": {"name": "ping", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "t\nw"},
    ]


def test_results_in_a_message_of_the_users_come_before_its_text():
    mixed = ConversationMessage("user", (TextBlock("And?"), ToolResultBlock("c1", "one")))
    assert [message["role"] for message in sent(assistant_message("", call()), mixed)] == ["assistant", "tool", "user"]


def test_images_in_results_follow_after_all_results_of_the_round():
    history = [
        assistant_message("", call(), call("c2")),
        tool_message("c1", [IMAGE]),
        tool_message("c2", "two"),
        assistant_message("Nice."),
        user_message("Go on."),
    ]
    messages = sent(*history)
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user", "assistant", "user"]
    assert messages[1]["content"] == "The result is the image in the next message."
    assert messages[3]["content"] == [{"type": "text", "text": "Images in the result of tool call c1:"}, IMAGE_PART]
    assert sent(*history[:3])[-1]["role"] == "user"


def test_arguments_that_were_no_json_do_not_go_back():
    message = sent(assistant_message("", call(invalid_arguments='{"a": ')))[0]
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_thinking_does_not_go_back():
    """L8."""
    blocks = (ThinkingBlock("hm", signature="s"), ThinkingBlock("hm", provider_metadata={"redacted": "x"}))
    assert sent(ConversationMessage("assistant", (*blocks, TextBlock("a"))), base_url="https://api.deepseek.com") == [
        {"role": "assistant", "content": "a"}
    ]


def test_deepseek_gets_its_reasoning_back_with_the_calls():
    """L8."""
    thinking = ThinkingBlock("hm", provider_metadata={"reasoning_field": "reasoning_content"})
    message = ConversationMessage("assistant", (thinking, call()))
    assert sent(message, base_url="https://api.deepseek.com")[0]["reasoning_content"] == "hm"
    assert "reasoning_content" not in sent(message)[0]


def test_openrouter_gets_its_details_back_as_they_were():
    """L8."""
    details = [{"type": "reasoning.text", "text": "hm", "signature": "s"}, {"type": "reasoning.encrypted", "data": "E"}]
    kept = ThinkingBlock("", provider_metadata={"reasoning_field": "reasoning_details", "reasoning_details": details})
    deepseeks = ThinkingBlock("hm", provider_metadata={"reasoning_field": "reasoning_content"})
    message = ConversationMessage("assistant", (deepseeks, call(), kept))
    assert sent(message, base_url="https://openrouter.ai/api/v1")[0]["reasoning_details"] == details
    assert sent(message, base_url="https://api.deepseek.com")[0]["reasoning_content"] == "hm"
    assert not {"reasoning_details", "reasoning_content"} & sent(message)[0].keys()


def test_gemini_gets_its_thought_signature_back_with_the_call():
    extra = {"google": {"thought_signature": "s"}}
    message = assistant_message("", call(provider_metadata={"extra_content": extra}))
    gemini = sent(message, base_url="https://generativelanguage.googleapis.com")
    assert gemini[0]["tool_calls"][0]["extra_content"] == extra
    assert "extra_content" not in sent(message)[0]["tool_calls"][0]


@pytest.mark.parametrize(
    ("base_url", "id", "pattern"),
    [
        (LOCAL, "c1", "c1"),
        (LOCAL, "x" * 41, r"call_[0-9a-f]{24}"),
        (LOCAL, "", r"call_[0-9a-f]{24}"),
        ("https://api.mistral.ai", "abcABC019", "abcABC019"),
        ("https://api.mistral.ai", "call_1", r"[a-zA-Z0-9]{9}"),
    ],
)
def test_ids_that_would_be_refused_are_rewritten_alike_in_call_and_result(base_url, id, pattern):
    import re

    messages = sent(assistant_message("", call(id)), tool_message(id, "r"), base_url=base_url)
    assert messages[0]["tool_calls"][0]["id"] == messages[1]["tool_call_id"]
    assert re.fullmatch(pattern, messages[1]["tool_call_id"])


@given(histories)
def test_any_history_is_accepted_and_left_as_it_is(history):
    """L8."""
    before = [(message.role, message.content) for message in history]
    try:
        messages = sent(*history)
    except ProviderError:
        return
    assert [(message.role, message.content) for message in history] == before
    assert all(message.get("content") or message.get("tool_calls") or message["role"] == "tool" for message in messages)
    for message in messages:
        for each in message.get("tool_calls", ()):
            assert isinstance(json.loads(each["function"]["arguments"]), dict)


@given(histories)
def test_a_history_has_the_same_form_whenever_it_is_sent(history):
    try:
        first = build(history).body
    except ProviderError:
        return
    assert build(history).body == first


# ---- fragments


def test_each_message_is_encoded_once(monkeypatch):
    encoded = []
    encode = encoding._encode
    monkeypatch.setattr(encoding, "_encode", lambda message, *rest: encoded.append(message) or encode(message, *rest))
    history = [user_message("Hi"), assistant_message("", call()), tool_message("c1", [IMAGE]), user_message("")]
    first = build(history, (PING,))
    assert len(encoded) == 4
    assert build([*history, user_message("More")], (PING,), stream=True).body.startswith(
        first.body[: first.history_size - 2]
    )
    assert encoded[4:] == [user_message("More")]


def test_each_dialect_has_fragments_of_its_own():
    history = [assistant_message("", call("c1")), tool_message("c1", "r")]
    here, mistral = sent(*history), sent(*history, base_url="https://api.mistral.ai")
    assert here[0]["tool_calls"][0]["id"] == "c1"
    assert len(mistral[0]["tool_calls"][0]["id"]) == 9
    assert sent(*history) == here


def test_what_depends_on_other_tools_is_not_kept():
    message = assistant_message("", call(name="fs.read"))
    dotted, plain = ToolDefinition("fs.read", "", {}), ToolDefinition("fs_read", "", {})
    assert sent(message, tools=[dotted])[0]["tool_calls"][0]["function"]["name"] == "fs_read"
    assert sent(message, tools=[dotted, plain])[0]["tool_calls"][0]["function"]["name"] != "fs_read"


def test_the_history_is_the_first_part_of_the_body_streamed_or_not():
    history = [user_message("Hi")]
    streamed, complete = build(history, (PING,), stream=True), build(history, (PING,))
    assert streamed.body[: streamed.history_size] == complete.body[: complete.history_size]
    assert streamed.made_up_id(1) == complete.made_up_id(1) != complete.made_up_id(0)


# ---- tools


def test_tools_and_their_names():
    tools = (PING, ToolDefinition("fs.read", "", {"type": "object"}))
    request = build(user_message("Hi"), tools)
    assert json.loads(request.body)["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "ping",
                "description": "No arguments.",
                "parameters": {"type": "object", "properties": {}},
            },
        },
        {"type": "function", "function": {"name": "fs_read", "parameters": {"type": "object", "properties": {}}}},
    ]
    assert request.tool_names.own("fs_read") == "fs.read"


def test_without_tools_the_field_is_left_out():
    assert body(user_message("Hi")).keys() == {"messages", "model"}


def test_the_json_of_a_tuple_of_tools_is_made_once(monkeypatch):
    tools = (PING,)
    first = body(user_message("Hi"), tools)
    monkeypatch.setattr("kova._formats.openai.request._definition", None)
    assert body(user_message("Hi"), tools) == first


# ---- options


def test_options_have_their_names_on_the_wire():
    inference = InferenceConfig(
        model="other", max_tokens=9, temperature=0.0, top_p=0.5, stop_sequences=["a"], seed=7, extra_body={"top_k": 1}
    )
    assert body(user_message("Hi"), (), inference, reasoning_effort="low", extra_body={"top_k": 2, "user": "u"}) == {
        "messages": [{"role": "user", "content": "Hi"}],
        "model": "other",
        "max_tokens": 9,
        "temperature": 0.0,
        "top_p": 0.5,
        "stop": ["a"],
        "seed": 7,
        "reasoning_effort": "low",
        "top_k": 1,
        "user": "u",
    }


@pytest.mark.parametrize(
    ("base_url", "options", "field"),
    [
        ("https://api.openai.com", {}, "max_completion_tokens"),
        ("https://me.openai.azure.com", {}, "max_completion_tokens"),
        (LOCAL, {}, "max_tokens"),
        (LOCAL, {"max_tokens_field": "max_completion_tokens"}, "max_completion_tokens"),
        ("https://api.openai.com", {"max_tokens_field": "max_tokens"}, "max_tokens"),
    ],
)
def test_the_token_limit_has_the_name_that_the_host_wants(base_url, options, field):
    written = body(user_message("Hi"), (), InferenceConfig(max_tokens=9), base_url=base_url, **options)
    assert written.keys() & {"max_tokens", "max_completion_tokens"} == {field}


def test_a_stream_asks_for_usage_where_that_is_understood():
    written = body(user_message("Hi"), stream=True)
    assert (written["stream"], written["stream_options"]) == (True, {"include_usage": True})
    mistral = body(user_message("Hi"), (), InferenceConfig(seed=1), stream=True, base_url="https://api.mistral.ai")
    assert mistral.keys() == {"messages", "model", "stream", "random_seed"}


def test_extra_body_is_merged_last_and_may_replace_anything():
    extra = {"messages": [], "tools": None, "model": "x", "stream_options": None}
    written = body(user_message("Hi"), (PING,), InferenceConfig(extra_body=extra), stream=True)
    assert written == {**extra, "stream": True}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("ping", {"type": "function", "function": {"name": "ping"}}),
        ("a.b", {"type": "function", "function": {"name": "a_b"}}),
    ],
)
def test_tool_choice(choice, written):
    tools = (PING, ToolDefinition("a.b", "", {}))
    assert body(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))["tool_choice"] == written


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_choice_that_changes_nothing_is_left_out_without_tools(choice):
    assert "tool_choice" not in body(user_message("Hi"), (), InferenceConfig(tool_choice=choice))


@pytest.mark.parametrize(("choice", "tools"), [("required", ()), ("ping", ()), ("pong", (PING,))])
def test_a_choice_that_cannot_be_met_is_an_error_before_sending(choice, tools):
    with pytest.raises(ProviderError, match="tool_choice") as caught:
        build(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))
    assert caught.value.provider_class is ProviderErrorClass.INVALID_REQUEST


def test_structured_output():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    open_, closed = ResponseFormat(schema), ResponseFormat({**schema, "additionalProperties": False}, name="my answer")
    assert body(user_message("Hi"), (), InferenceConfig(response_format=open_))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "response", "schema": schema},
    }
    assert body(user_message("Hi"), (), InferenceConfig(response_format=closed))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "my_answer", "schema": dict(closed.schema), "strict": True},
    }


@pytest.mark.parametrize(
    ("history", "inference"),
    [
        ([assistant_message("", call(input={"a": object()}))], InferenceConfig()),
        ([user_message("Hi")], InferenceConfig(extra_body={"a": object()})),
        ([user_message("Hi")], InferenceConfig(temperature=float("inf"))),
    ],
)
def test_what_is_no_json_is_an_error_before_sending(history, inference):
    with pytest.raises(SerializationError, match="cannot be written as JSON"):
        build(history, (), inference)


# ---- headers


def test_headers():
    request = build(
        user_message("Hi"),
        stream=True,
        organization="o",
        project="p",
        default_headers={"X-Trace": "t", "Accept": "*/*", "X-Api-Key": "header-secret"},
    )
    assert request.method == "POST"
    assert request.headers == {
        "accept": "*/*",
        "authorization": "Bearer k",
        "content-type": "application/json",
        "openai-organization": "o",
        "openai-project": "p",
        "x-trace": "t",
        "x-api-key": "header-secret",
    }
    assert set(request.secrets) == {"Bearer k", "k", "header-secret"}
    assert "header-secret" not in repr(request)


def test_accept_says_what_is_expected():
    assert build(user_message("Hi"), stream=True).headers["accept"] == "text/event-stream"
    assert build(user_message("Hi")).headers["accept"] == "application/json"


def test_the_list_of_models():
    request = build_models_request(OpenAIProviderConfig("m", base_url=LOCAL), "k")
    assert (request.method, request.url, request.body) == ("GET", f"{LOCAL}/v1/models", b"")
    assert request.headers == {"accept": "application/json", "authorization": "Bearer k"}


@given(st.sampled_from(list(Role)), histories)
def test_the_body_is_json_whatever_the_history(role, history):
    json.loads(build([user_message("Hi"), *history, ConversationMessage(role, ())]).body)
