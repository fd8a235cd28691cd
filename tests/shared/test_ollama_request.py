"""Requests of Ollama's format."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.ollama import messages as encoding
from kova._formats.ollama.config import OllamaProviderConfig
from kova._formats.ollama.request import build_models_request, build_request
from kova._formats.ollama.response import parse_response
from kova._formats.openai.config import OpenAIProviderConfig
from kova._formats.openai.request import build_request as build_openai_request
from kova._formats.openai.response import parse_response as parse_openai_response
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
from tests.strategies import answers, histories

LOCAL = "http://localhost:11434"
PING = ToolDefinition("ping", "No arguments.", {"type": "object", "properties": {}})
IMAGE = ImageBlock("image/png", b"png")
LINK = ImageBlock("image/png", url="https://example.com/a.png")
MADE_UP = {"made_up_id": True}
THOUGHT = ThinkingBlock("hm", provider_metadata={"ollama_thinking": True})


def build(history, tools=(), inference=None, *, stream=False, **options):
    if isinstance(history, ConversationMessage):
        history = [history]
    config = OllamaProviderConfig("m", base_url=LOCAL, **options)
    return build_request(config, None, history, tools, inference or InferenceConfig(), stream=stream)


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
        ConversationMessage("assistant", (THOUGHT,)),
        assistant_message(" \n", call()),
        tool_message("c1", ""),
        user_message(""),
    ]
    assert [(message["role"], message["content"]) for message in sent(*history)] == [
        ("user", "Hi"),
        ("assistant", ""),
        ("tool", ""),
    ]


def test_nothing_to_send_is_an_error_before_sending():
    """Without messages, the server would load the model and answer nothing."""
    with pytest.raises(ProviderError, match="nothing to send") as caught:
        build([user_message(" ")])
    assert (caught.value.provider_class, caught.value.model) == (ProviderErrorClass.INVALID_REQUEST, "m")


def test_several_texts_are_one_string():
    assert sent(user_message("a", TextBlock("b")))[0]["content"] == "a\nb"
    assert sent(assistant_message("a", TextBlock("b")))[0]["content"] == "ab"


# ---- images


def test_images_are_bare_base64_beside_the_text():
    inline = ImageBlock("image/png", url="data:image/png;base64,cG5n")
    assert sent(user_message("Look:", IMAGE, inline)) == [
        {"role": "user", "content": "Look:", "images": ["cG5n", "cG5n"]}
    ]
    assert sent(user_message("", IMAGE)) == [{"role": "user", "content": "", "images": ["cG5n"]}]


def test_images_in_a_result_go_with_the_result():
    results = ConversationMessage(
        "tool", (ToolResultBlock("c1", [TextBlock("Here:"), IMAGE]), ToolResultBlock("c2", [IMAGE]))
    )
    messages = sent(assistant_message("", call(), call("c2")), results)
    assert [(message["content"], message["images"]) for message in messages[1:]] == [
        ("Here:", ["cG5n"]),
        ("", ["cG5n"]),
    ]


@pytest.mark.parametrize("message", [user_message("Look:", LINK), tool_message("c1", [LINK])])
def test_an_image_that_is_somewhere_else_is_an_error_before_sending(message):
    """S2."""
    with pytest.raises(ProviderError, match="kova fetches no URL") as caught:
        build(message)
    assert (caught.value.provider_class, caught.value.model) == (ProviderErrorClass.INVALID_REQUEST, "m")


def test_an_image_where_none_can_be_is_left_out_with_a_warning(caplog):
    history = [
        ConversationMessage("system", (TextBlock("a"), IMAGE)),
        assistant_message("b", IMAGE),
        user_message("c"),
    ]
    assert [message.keys() for message in sent(*history)] == [{"role", "content"}] * 3
    assert caplog.text.count("is left out") == 2


# ---- calls and results


def test_arguments_are_an_object_and_results_name_their_tool():
    history = [
        assistant_message("Both.", call(input={"a": 1}), call("c2", "pong")),
        ConversationMessage(
            "tool", (ToolResultBlock("c2", "two"), ToolResultBlock("c1", [TextBlock("o"), TextBlock("ne")]))
        ),
    ]
    assert sent(*history) == [
        {
            "role": "assistant",
            "content": "Both.",
            "tool_calls": [
                {"id": "c1", "function": {"name": "ping", "arguments": {"a": 1}}},
                {"id": "c2", "function": {"name": "pong", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "o\nne", "tool_name": "ping", "tool_call_id": "c1"},
        {"role": "tool", "content": "two", "tool_name": "pong", "tool_call_id": "c2"},
    ]


def test_ids_that_were_made_up_stay_at_home():
    call_message, result = sent(assistant_message("", call(provider_metadata=MADE_UP)), tool_message("c1", "one"))
    assert call_message["tool_calls"] == [{"function": {"name": "ping", "arguments": {}}}]
    assert result == {"role": "tool", "content": "one", "tool_name": "ping"}


def test_a_result_is_of_the_latest_call_with_its_id():
    history = [assistant_message("", call("0", "a")), tool_message("0", "1")]
    history += [assistant_message("", call("0", "b", provider_metadata=MADE_UP)), tool_message("0", "2")]
    history += [tool_message("unknown", "3"), tool_message("", "4")]
    assert [message for message in sent(*history) if message["role"] == "tool"] == [
        {"role": "tool", "content": "1", "tool_name": "a", "tool_call_id": "0"},
        {"role": "tool", "content": "2", "tool_name": "b"},
        {"role": "tool", "content": "3", "tool_call_id": "unknown"},
        {"role": "tool", "content": "4"},
    ]


def test_the_same_result_after_another_call_names_the_other_tool():
    """It is kept on its message under the tool's name, and is not of that message alone."""
    result = tool_message("c1", "one")
    for name, metadata in [("a", None), ("b", None), ("a", MADE_UP), ("a", None)]:
        written = sent(assistant_message("", call(name=name, provider_metadata=metadata)), result)[1]
        assert written.get("tool_call_id") == (None if metadata else "c1")
        assert written["tool_name"] == name


def test_results_in_a_message_of_the_users_come_before_its_text():
    mixed = ConversationMessage("user", (TextBlock("And?"), ToolResultBlock("c1", "one")))
    messages = sent(assistant_message("", call()), mixed)
    assert [(message["role"], message["content"]) for message in messages[1:]] == [("tool", "one"), ("user", "And?")]


def test_arguments_that_were_no_json_do_not_go_back():
    message = sent(assistant_message("", call(invalid_arguments='{"a": ')))[0]
    assert message["tool_calls"][0]["function"]["arguments"] == {}


# ---- thinking


def test_ollamas_thinking_goes_back_in_its_field():
    """L8."""
    message = sent(ConversationMessage("assistant", (THOUGHT, TextBlock("a"), call(), THOUGHT)))[0]
    assert (message["thinking"], message["content"]) == ("hmhm", "a")


def test_thinking_of_others_does_not_go_back():
    """L8."""
    blocks = (
        ThinkingBlock("hm", signature="s"),
        ThinkingBlock("", provider_metadata={"redacted": "x"}),
        ThinkingBlock("hm", provider_metadata={"reasoning_field": "reasoning_content"}),
    )
    assert sent(ConversationMessage("assistant", (*blocks, TextBlock("a")))) == [{"role": "assistant", "content": "a"}]


# ---- histories of others


def openai_answer(answer):
    """What OpenAI's format makes of an answer, with reasoning that its host wants back."""
    config = OpenAIProviderConfig("m", base_url="https://api.deepseek.com")
    request = build_openai_request(config, None, [user_message("Hi")], (), InferenceConfig(), stream=False)
    calls = [
        {"id": call["id"], "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}}
        for call in answer["calls"]
    ]
    message = {"content": answer["text"], "reasoning_content": answer["reasoning"], "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": answer["finish_reason"]}
    return parse_openai_response(json.dumps({"choices": [choice]}).encode(), "application/json", request)


@given(st.lists(answers(), min_size=1, max_size=3))
def test_a_history_that_openai_wrote_is_accepted_and_stays_as_it_is(rounds):
    """L8."""
    history = [user_message("Look:", IMAGE)]
    for answer in map(openai_answer, rounds):
        history.append(ConversationMessage("assistant", answer.content))
        history += [tool_message(block.id, [TextBlock("r"), IMAGE]) for block in answer.tool_calls]
    before = repr(history)
    messages = sent(*history)
    assert repr(history) == before
    assert "thinking" not in {name for message in messages for name in message}
    names = [call["function"]["name"] for message in messages for call in message.get("tool_calls", ())]
    assert names == [message["tool_name"] for message in messages if message["role"] == "tool"]
    assert all(message.keys() >= {"role", "content"} for message in messages)


@given(answers())
def test_what_ollama_said_goes_back_to_it_word_for_word(answer):
    """L8: thinking too, where the message calls tools."""
    calls = [{"id": each["id"], "function": {**each, "index": n}} for n, each in enumerate(answer["calls"])]
    said = {"role": "assistant", "content": answer["text"], "thinking": answer["reasoning"], "tool_calls": calls}
    reply = json.dumps({"message": said, "done": True}).encode()
    response = parse_response(reply, "application/json", build(user_message("Hi")))
    written = sent(user_message("Hi"), ConversationMessage("assistant", response.content))[1:]
    for message in written:
        if calls:
            assert message.get("thinking", "") == answer["reasoning"]
            assert [(each["id"], each["function"]) for each in message["tool_calls"]] == [
                (each["id"], {"name": each["name"], "arguments": each["arguments"]}) for each in answer["calls"]
            ]
        assert message["content"] == ("" if answer["text"].isspace() else answer["text"])
    assert len(written) == bool(calls or answer["text"].strip())


@given(histories)
def test_any_history_is_accepted_and_left_as_it_is(history):
    """L8."""
    before = [(message.role, message.content) for message in history]
    try:
        messages = sent(*history)
    except ProviderError:
        return
    assert [(message.role, message.content) for message in history] == before
    for message in messages:
        assert isinstance(message["content"], str)
        assert message["content"] or message.keys() & {"tool_calls", "images"} or message["role"] == "tool"
        assert all(isinstance(each["function"]["arguments"], dict) for each in message.get("tool_calls", ()))


@given(histories)
def test_a_history_has_the_same_form_whenever_it_is_sent(history):
    try:
        first = build(history).body
    except ProviderError:
        return
    assert build(history).body == first


@given(st.sampled_from(list(Role)), histories)
def test_the_body_is_json_whatever_the_history(role, history):
    links = [block for message in history for block in message.content if "https://" in repr(block)]
    if not links:
        json.loads(build([user_message("Hi"), *history, ConversationMessage(role, ())]).body)


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


def test_what_depends_on_other_tools_is_not_kept():
    history = [assistant_message("", call(name="fs.read")), tool_message("c1", "one")]
    dotted, plain = ToolDefinition("fs.read", "", {}), ToolDefinition("fs_read", "", {})
    assert [sent(*history, tools=[dotted])[1]["tool_name"]] == ["fs_read"]
    messages = sent(*history, tools=[dotted, plain])
    assert messages[0]["tool_calls"][0]["function"]["name"] == messages[1]["tool_name"] != "fs_read"


def test_the_history_is_the_first_part_of_the_body_streamed_or_not():
    history = [user_message("Hi")]
    streamed, complete = build(history, (PING,), stream=True), build(history, (PING,))
    assert streamed.body[: streamed.history_size] == complete.body[: complete.history_size]
    assert streamed.made_up_id(1) == complete.made_up_id(1) != complete.made_up_id(0)


# ---- tools


def test_tools_and_their_names():
    tools = (PING, ToolDefinition("fs.read", "", {"type": "object"}))
    request = build(user_message("Hi"), tools)
    empty = {"type": "object", "properties": {}}
    assert json.loads(request.body)["tools"] == [
        {"type": "function", "function": {"name": "ping", "description": "No arguments.", "parameters": empty}},
        {"type": "function", "function": {"name": "fs_read", "parameters": empty}},
    ]
    assert request.tool_names.own("fs_read") == "fs.read"


def test_without_tools_the_field_is_left_out():
    assert body(user_message("Hi")).keys() == {"messages", "model", "stream"}


def test_the_json_of_a_tuple_of_tools_is_made_once(monkeypatch):
    tools = (PING,)
    first = body(user_message("Hi"), tools)
    monkeypatch.setattr("kova._formats.ollama.tools._definition", None)
    assert body(user_message("Hi"), tools) == first


@pytest.mark.parametrize("choice", ["auto", None])
def test_tools_are_there_for_the_model_to_choose(choice):
    assert "tool_choice" not in (written := body(user_message("Hi"), (PING,), InferenceConfig(tool_choice=choice)))
    assert len(written["tools"]) == 1


def test_a_model_that_must_not_call_tools_is_shown_none():
    assert "tools" not in body(user_message("Hi"), (PING,), InferenceConfig(tool_choice="none"))
    assert "tools" not in body(user_message("Hi"), (), InferenceConfig(tool_choice="none"))


@pytest.mark.parametrize(
    ("choice", "tools", "message"),
    [
        ("required", (PING,), "Ollama cannot make a model call a tool"),
        ("ping", (PING,), "Ollama cannot make a model call a tool"),
        ("pong", (PING,), "names a tool that is not there"),
        ("required", (), "there are no tools"),
    ],
)
def test_a_choice_that_cannot_be_met_is_an_error_before_sending(choice, tools, message):
    with pytest.raises(ProviderError, match=message) as caught:
        build(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))
    assert caught.value.provider_class is ProviderErrorClass.INVALID_REQUEST


# ---- options


def test_options_have_their_names_on_the_wire():
    inference = InferenceConfig(
        model="other",
        max_tokens=9,
        temperature=0.0,
        top_p=0.5,
        stop_sequences=["a"],
        seed=7,
        extra_body={"shift": False},
    )
    assert body(user_message("Hi"), (), inference, stream=True, keep_alive=0, think=False) == {
        "messages": [{"role": "user", "content": "Hi"}],
        "model": "other",
        "stream": True,
        "think": False,
        "keep_alive": 0,
        "options": {"num_predict": 9, "temperature": 0.0, "top_p": 0.5, "stop": ["a"], "seed": 7},
        "shift": False,
    }


def test_what_a_complete_answer_needs_is_said():
    """Left out, `stream` means true."""
    assert body(user_message("Hi"))["stream"] is False


@pytest.mark.parametrize("think", [True, "low", "max"])
def test_thinking_is_no_option_of_the_model(think):
    written = body(user_message("Hi"), think=think, extra_options={"num_ctx": 8192})
    assert (written["think"], written["options"]) == (think, {"num_ctx": 8192})


def test_what_a_call_asks_for_wins_over_the_settings():
    settings = {"num_ctx": 1, "top_k": 1, "temperature": 1}
    inference = InferenceConfig(
        temperature=0, extra_body={"options": {"num_ctx": 2}, "think": None, "keep_alive": "1m"}
    )
    written = body(user_message("Hi"), (), inference, extra_options=settings, think=True, keep_alive="5m")
    assert written["options"] == {"num_ctx": 2, "top_k": 1, "temperature": 0}
    assert (written["think"], written["keep_alive"]) == (None, "1m")


def test_extra_body_may_replace_anything():
    extra = {"messages": [], "tools": None, "model": "x", "options": None}
    assert body(user_message("Hi"), (PING,), InferenceConfig(extra_body=extra, seed=1)) == {**extra, "stream": False}


def test_structured_output_is_the_bare_schema():
    schema = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    written = body(user_message("Hi"), (), InferenceConfig(response_format=ResponseFormat(schema)))
    assert written["format"] == schema


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
    config = OllamaProviderConfig("m", default_headers={"X-Trace": "t", "Accept": "*/*", "X-Api-Key": "header-secret"})
    request = build_request(config, "k", [user_message("Hi")], (), InferenceConfig(), stream=True)
    assert (request.method, request.url) == ("POST", f"{LOCAL}/api/chat")
    assert request.headers == {
        "accept": "*/*",
        "authorization": "Bearer k",
        "content-type": "application/json",
        "x-trace": "t",
        "x-api-key": "header-secret",
    }
    assert set(request.secrets) == {"Bearer k", "k", "header-secret"}
    assert "header-secret" not in repr(request)


def test_accept_says_what_is_expected():
    assert build(user_message("Hi"), stream=True).headers["accept"] == "application/x-ndjson"
    assert build(user_message("Hi")).headers["accept"] == "application/json"


def test_the_list_of_models():
    request = build_models_request(OllamaProviderConfig("m", base_url=LOCAL), "k")
    assert (request.method, request.url, request.body) == ("GET", f"{LOCAL}/api/tags", b"")
    assert request.headers == {"accept": "application/json", "authorization": "Bearer k"}
