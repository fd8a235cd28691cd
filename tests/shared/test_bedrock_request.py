"""Requests of Bedrock's format."""

import base64
import json
import re
from functools import cache
from itertools import pairwise

import pytest
from botocore.session import Session
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.bedrock import blocks as encoding_blocks
from kova._formats.bedrock import messages as encoding
from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.bedrock.request import build_models_request, build_request
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

PING = ToolDefinition("ping", "No arguments.", {"type": "object", "properties": {}})
IMAGE = ImageBlock("image/png", b"png")
IMAGE_PART = {"image": {"format": "png", "source": {"bytes": "cG5n"}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def build(history, tools=(), inference=None, *, stream=False, **options):
    if isinstance(history, ConversationMessage):
        history = [history]
    config = BedrockProviderConfig("m", region="us-east-1", **options)
    return build_request(config, None, history, tools, inference or InferenceConfig(), stream=stream)


def body(*arguments, **options):
    return json.loads(build(*arguments, **options).body)


def sent(*history, tools=(PING,), **options):
    """The messages on the wire, without what stands before a history that begins with the model."""
    messages = body(list(history), tools, **options)["messages"]
    return messages[1:] if history[0].role is Role.ASSISTANT else messages


def call(id="c1", name="ping", **fields):
    return ToolUseBlock(id, name, fields.pop("input", {}), **fields)


def refusal(*arguments, **options):
    with pytest.raises(ProviderError) as caught:
        build(*arguments, **options)
    assert (caught.value.provider_class, caught.value.model) == (ProviderErrorClass.INVALID_REQUEST, "m")
    return str(caught.value)


@cache
def converse():
    """What boto3 knows of a request."""
    return Session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def problems(written):
    """What boto3's validation finds wrong with a body; it takes bytes where JSON has base64."""
    report = ParamValidator().validate({"modelId": "m", **with_bytes(written)}, converse())
    return report.generate_report()


def with_bytes(value):
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64decode(item) if name in ("bytes", "redactedContent") else item if name in ("input", "json")
        else with_bytes(item)
        for name, item in value.items()
    }  # fmt: skip


# ---- messages


def test_a_plain_exchange():
    history = [system_message("Be brief."), user_message("Hi"), assistant_message("Hello"), user_message("And?")]
    assert body(history) == {
        "messages": [
            {"role": "user", "content": [{"text": "Hi"}]},
            {"role": "assistant", "content": [{"text": "Hello"}]},
            {"role": "user", "content": [{"text": "And?"}]},
        ],
        "system": [{"text": "Be brief."}],
    }


def test_system_prompts_have_a_place_of_their_own_wherever_they_stand():
    history = [
        system_message("a"),
        system_message(" "),
        user_message("Hi"),
        ConversationMessage("system", (TextBlock("b"), TextBlock("c"))),
    ]
    assert body(history)["system"] == [{"text": "a"}, {"text": "b"}, {"text": "c"}]


def test_blank_texts_and_empty_messages_are_not_sent_and_neighbours_are_merged():
    """L12."""
    history = [
        ConversationMessage("user", (TextBlock(""), TextBlock("a"), TextBlock("\n"))),
        ConversationMessage("assistant", ()),
        assistant_message(" "),
        user_message("b"),
        assistant_message("c"),
        assistant_message("d"),
        user_message(" "),
        user_message("e"),
    ]
    assert sent(*history) == [
        {"role": "user", "content": [{"text": "a"}, {"text": "b"}]},
        {"role": "assistant", "content": [{"text": "c"}, {"text": "d"}]},
        {"role": "user", "content": [{"text": "e"}]},
    ]


def test_nothing_to_send_is_an_error_before_sending():
    assert "nothing to send" in refusal([user_message(" "), system_message("Be brief.")])


def test_a_history_that_begins_with_the_model_has_a_user_before_it():
    messages = body([user_message(" "), assistant_message("Hello"), user_message("Hi")])["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"][0]["text"]


@pytest.mark.parametrize(
    "end",
    [
        [assistant_message("a ", TextBlock(" \n"))],
        [assistant_message("a "), assistant_message(" ")],
        [assistant_message("a ", ThinkingBlock("t", "s", {encoding_blocks.OWN: {}}))],
        [assistant_message("a "), system_message("Be brief.")],
    ],
)
def test_what_is_left_out_at_the_end_does_not_leave_a_blank_there(end):
    assert sent(user_message("Hi"), *end)[1]["content"] == [{"text": "a"}]


def test_a_last_message_of_the_models_does_not_end_in_blanks():
    assert sent(user_message("Hi"), assistant_message("a \n"))[1]["content"] == [{"text": "a"}]
    assert sent(user_message("Hi"), assistant_message("a \n"), user_message("b"))[1]["content"] == [{"text": "a \n"}]


def test_calls_and_results():
    history = [
        user_message("Go."),
        assistant_message("Both.", call(input={"a": 1}), call("c2")),
        tool_message("c1", "one"),
        ConversationMessage("tool", (ToolResultBlock("c2", [TextBlock("t"), TextBlock(" "), IMAGE], is_error=True),)),
        user_message("And?"),
    ]
    assert sent(*history)[1:] == [
        {
            "role": "assistant",
            "content": [
                {"text": "Both."},
                {"toolUse": {"toolUseId": "c1", "name": "ping", "input": {"a": 1}}},
                {"toolUse": {"toolUseId": "c2", "name": "ping", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "one"}]}},
                {"toolResult": {"toolUseId": "c2", "content": [{"text": "t"}, IMAGE_PART], "status": "error"}},
                {"text": "And?"},
            ],
        },
    ]


def test_results_come_before_all_else_that_the_user_says():
    mixed = ConversationMessage("user", (TextBlock("And?"), ToolResultBlock("c1", "one")))
    blocks = sent(assistant_message("", call(), call("c2")), mixed, tool_message("c2", "two"))[1]["content"]
    assert [*map(next, map(iter, blocks))] == ["toolResult", "toolResult", "text"]


@pytest.mark.parametrize("content", ["", " \n", [], [TextBlock(" ")]])
def test_an_empty_result_says_that_it_is_empty(content):
    result = sent(assistant_message("", call()), tool_message("c1", content, is_error=True))[1]["content"][0]
    assert result["toolResult"]["content"] == [{"text": "(no output)"}]


def test_arguments_that_were_no_json_do_not_go_back():
    message = sent(assistant_message("", call(invalid_arguments='{"a": ')))[0]
    assert message["content"] == [{"toolUse": {"toolUseId": "c1", "name": "ping", "input": {}}}]


@pytest.mark.parametrize(
    ("id", "pattern"),
    [
        ("c1", "c1"),
        ("a.b:c-d_e", "a.b:c-d_e"),
        ("x" * 64, "x" * 64),
        ("x" * 65, r"call_[0-9a-f]{24}"),
        ("call_1|fc_1", r"call_[0-9a-f]{24}"),
        ("", r"call_[0-9a-f]{24}"),
    ],
)
def test_ids_that_would_be_refused_are_rewritten_alike_in_call_and_result(id, pattern):
    asked, answered = sent(assistant_message("", call(id)), tool_message(id, "r"))
    ids = asked["content"][0]["toolUse"]["toolUseId"], answered["content"][0]["toolResult"]["toolUseId"]
    assert ids[0] == ids[1]
    assert re.fullmatch(pattern, ids[0])


# ---- images


@pytest.mark.parametrize(
    ("image", "written"),
    [
        (IMAGE, {"format": "png", "source": {"bytes": "cG5n"}}),
        (ImageBlock("image/JPG", b"x"), {"format": "jpeg", "source": {"bytes": "eA=="}}),
        (ImageBlock("image/webp", url="data:image/webp;base64,eA=="), {"format": "webp", "source": {"bytes": "eA=="}}),
        (
            ImageBlock("image/gif", url="s3://bucket/a.gif"),
            {"format": "gif", "source": {"s3Location": {"uri": "s3://bucket/a.gif"}}},
        ),
    ],
)
def test_images_are_named_by_format_and_encoded_once(image, written):
    assert sent(user_message("Look:", image))[0]["content"] == [{"text": "Look:"}, {"image": written}]


@pytest.mark.parametrize(
    "image", [ImageBlock("image/bmp", b"x"), ImageBlock("image/png", url="https://example.com/a.png")]
)
def test_an_image_that_cannot_be_sent_is_an_error_before_sending(image):
    """S2: kova fetches no URL."""
    refusal(user_message("Look:", image))
    refusal([assistant_message("", call()), tool_message("c1", [image])], (PING,))


def test_an_image_where_none_can_be_is_left_out_with_a_warning(caplog):
    assert sent(assistant_message("a", IMAGE), user_message("b"))[0]["content"] == [{"text": "a"}]
    assert "an image is left out of a request" in caplog.text


# ---- reasoning


def test_bedrocks_own_reasoning_goes_back_as_it_came_and_in_place():
    """L8."""
    blocks = (
        ThinkingBlock("hm", "c2ln", {"bedrock": {}}),
        ThinkingBlock("", "only signed", {"bedrock": {}}),
        ThinkingBlock("", None, {"bedrock": {"redactedContent": "b3BhcXVl"}}),
        call(),
    )
    assert sent(ConversationMessage("assistant", blocks))[0]["content"][:3] == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "only signed"}}},
        {"reasoningContent": {"redactedContent": "b3BhcXVl"}},
    ]


@pytest.mark.parametrize(
    "foreign",
    [
        ThinkingBlock("hm"),
        ThinkingBlock("hm", "anthropic's"),
        ThinkingBlock("", None, {"anthropic_block": {"type": "redacted_thinking", "data": "x"}}),
        ThinkingBlock("hm", None, {"bedrock": {}}),
        ThinkingBlock("hm", "s", {"bedrock": "x"}),
    ],
)
def test_thinking_of_another_provider_does_not_go_back(foreign):
    """L8."""
    assert sent(ConversationMessage("assistant", (foreign, TextBlock("a"))))[0]["content"] == [{"text": "a"}]


def test_a_message_with_nothing_but_reasoning_is_not_sent():
    only = ConversationMessage("assistant", (ThinkingBlock("hm", "s", {"bedrock": {}}), TextBlock(" ")))
    assert sent(user_message("a"), only, user_message("b")) == [
        {"role": "user", "content": [{"text": "a"}, {"text": "b"}]}
    ]


# ---- tools


def test_a_schema_has_no_alternatives_for_all_arguments():
    """Claude on Bedrock refuses all tools for one such schema."""
    one = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    parameters = {"anyOf": [{"$ref": "#/$defs/One"}, {"properties": {"m": {}}}], "$defs": {"One": one}}
    written = body(user_message("Hi"), [ToolDefinition("pick", "", parameters)])["toolConfig"]["tools"][0]
    assert written["toolSpec"]["inputSchema"]["json"] == {
        "$defs": {"One": one},
        "type": "object",
        "properties": {"n": {"type": "integer"}, "m": {}},
    }


def test_tools_and_their_names():
    tools = (PING, ToolDefinition("fs.read", " ", {"type": "object"}))
    request = build([user_message("Read."), assistant_message("", call(name="fs.read"))], tools)
    written = json.loads(request.body)
    assert written["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "ping",
                    "description": "No arguments.",
                    "inputSchema": {"json": {"type": "object", "properties": {}}},
                }
            },
            {"toolSpec": {"name": "fs_read", "inputSchema": {"json": {"type": "object", "properties": {}}}}},
        ]
    }
    assert written["messages"][1]["content"][0]["toolUse"]["name"] == "fs_read"
    assert request.tool_names.own("fs_read") == "fs.read"


def test_the_json_of_a_tuple_of_tools_is_made_once(monkeypatch):
    tools = (PING,)
    first = body(user_message("Hi"), tools)
    monkeypatch.setattr("kova._formats.bedrock.tool_config._spec", None)
    assert body(user_message("Hi"), tools) == first


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", {"auto": {}}),
        ("required", {"any": {}}),
        ("ping", {"tool": {"name": "ping"}}),
        ("a.b", {"tool": {"name": "a_b"}}),
    ],
)
def test_tool_choice(choice, written):
    tools = (PING, ToolDefinition("a.b", "", {}))
    assert body(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))["toolConfig"]["toolChoice"] == written
    assert "toolChoice" not in body(user_message("Hi"), tools)["toolConfig"]


def test_no_tool_is_on_offer_where_none_may_be_called():
    assert body(user_message("Hi"), (PING,), InferenceConfig(tool_choice="none")).keys() == {"messages"}
    assert body(user_message("Hi"), (), InferenceConfig(tool_choice="auto")).keys() == {"messages"}


@pytest.mark.parametrize(("choice", "tools"), [("required", ()), ("ping", ()), ("pong", (PING,))])
def test_a_choice_that_cannot_be_met_is_an_error_before_sending(choice, tools):
    assert "tool_choice" in refusal(user_message("Hi"), tools, InferenceConfig(tool_choice=choice))


TOOL_HISTORY = [
    user_message("Go."),
    ConversationMessage("assistant", (ThinkingBlock("hm", "s", {"bedrock": {}}), call(input={"a": 1}), call("c2"))),
    tool_message("c1", "one"),
    tool_message("c2", [TextBlock("bad"), IMAGE], is_error=True),
    assistant_message("Done."),
    user_message("Sum up."),
]


@pytest.mark.parametrize(
    ("tools", "inference"), [((), InferenceConfig()), ((PING,), InferenceConfig(tool_choice="none"))]
)
def test_without_tools_on_offer_those_of_the_history_are_told_in_words(tools, inference):
    """Their blocks would be refused without a toolConfig, and with one the model could call them."""
    written = body(TOOL_HISTORY, tools, inference)
    assert "toolConfig" not in written
    assert written["messages"][1:3] == [
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"text": '[Call c1 of tool ping: {"a":1}]'},
                {"text": "[Call c2 of tool ping: {}]"},
            ],
        },
        {
            "role": "user",
            "content": [{"text": "[Result of call c1: one]"}, {"text": "[Error of call c2: bad]"}, IMAGE_PART],
        },
    ]
    assert "toolUse" in sent(*TOOL_HISTORY)[1]["content"][1]
    given_config = InferenceConfig(extra_body={"toolConfig": {"tools": [{"toolSpec": {}}]}})
    assert "toolUse" in body(TOOL_HISTORY, (), given_config)["messages"][1]["content"][1]


# ---- structured output


def test_an_answer_of_a_given_form_is_the_input_of_a_tool_that_must_be_called():
    request = build(user_message("Hi"), (), InferenceConfig(response_format=ResponseFormat(SCHEMA, name="my answer")))
    config = json.loads(request.body)["toolConfig"]
    assert [tool["toolSpec"]["name"] for tool in config["tools"]] == ["my_answer"]
    assert config["tools"][0]["toolSpec"]["inputSchema"] == {"json": SCHEMA}
    assert config["toolChoice"] == {"tool": {"name": "my_answer"}}
    assert request.answer_tool == "my_answer"


def test_beside_other_tools_one_of_them_or_the_answer_must_be_called():
    inference = InferenceConfig(response_format=ResponseFormat(SCHEMA, name="ping"))
    request = build(user_message("Hi"), (PING,), inference)
    config = json.loads(request.body)["toolConfig"]
    assert [tool["toolSpec"]["name"] for tool in config["tools"]] == ["ping", "ping_2"]
    assert (config["toolChoice"], request.answer_tool) == ({"any": {}}, "ping_2")
    alone = build(user_message("Hi"), (PING,), inference.replace(tool_choice="none"))
    assert json.loads(alone.body)["toolConfig"]["toolChoice"] == {"tool": {"name": "ping"}}


@pytest.mark.parametrize("choice", ["required", "ping"])
def test_where_a_tool_must_be_called_the_answer_is_not_wanted_yet(choice):
    inference = InferenceConfig(response_format=ResponseFormat(SCHEMA), tool_choice=choice)
    request = build(user_message("Hi"), (PING,), inference)
    assert len(json.loads(request.body)["toolConfig"]["tools"]) == 1
    assert request.answer_tool is None


@pytest.mark.parametrize("thinking", [{"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}])
def test_a_model_that_thinks_cannot_be_made_to_answer_in_a_form(thinking):
    inference = InferenceConfig(response_format=ResponseFormat(SCHEMA))
    fields = {"thinking": thinking}
    assert "while thinking is on" in refusal(user_message("Hi"), (), inference, additional_model_request_fields=fields)
    body(user_message("Hi"), (), inference, additional_model_request_fields={"thinking": {"type": "disabled"}})


def test_a_form_that_is_no_object_is_an_error_before_sending():
    inference = InferenceConfig(response_format=ResponseFormat({"type": "array"}))
    assert "must be an object" in refusal(user_message("Hi"), (), inference)


# ---- options


def test_options_have_their_names_on_the_wire():
    inference = InferenceConfig(
        model="other", max_tokens=9, temperature=0.0, top_p=0.5, stop_sequences=["a"], extra_body={"serviceTier": {}}
    )
    request = build(user_message("Hi"), (), inference, additional_model_request_fields={"top_k": 2})
    assert json.loads(request.body) == {
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.0, "topP": 0.5, "stopSequences": ["a"]},
        "additionalModelRequestFields": {"top_k": 2},
        "serviceTier": {},
    }
    assert request.url.endswith("/model/other/converse")


def test_a_seed_is_left_out_with_a_warning(caplog):
    assert body(user_message("Hi"), (), InferenceConfig(seed=1)).keys() == {"messages"}
    assert "is left out of a request" in caplog.text
    assert "option='seed'" in caplog.text


def test_extra_body_is_merged_last_and_may_replace_anything():
    extra = {"messages": [], "toolConfig": None, "system": [], "additionalModelRequestFields": {}}
    written = body(
        [system_message("s"), user_message("Hi")],
        (PING,),
        InferenceConfig(extra_body=extra),
        additional_model_request_fields={"a": 1},
    )
    assert written == extra


@pytest.mark.parametrize(
    ("history", "inference"),
    [
        ([assistant_message("", call(input={"a": object()}))], InferenceConfig()),
        ([user_message("Hi")], InferenceConfig(extra_body={"a": object()})),
        ([user_message("Hi")], InferenceConfig(temperature=float("inf"))),
    ],
)
def test_what_is_no_json_is_an_error_before_sending(history, inference):
    for tools in ((), (PING,)):
        with pytest.raises(SerializationError, match="cannot be written as JSON"):
            build(history, tools, inference)


# ---- headers


def test_headers():
    request = build(user_message("Hi"), stream=True, default_headers={"X-Trace": "t", "X-Api-Key": "header-secret"})
    assert request.method == "POST"
    assert request.headers == {
        "accept": "application/vnd.amazon.eventstream",
        "content-type": "application/json",
        "x-trace": "t",
        "x-api-key": "header-secret",
    }
    assert request.secrets == ("header-secret",)
    assert build(user_message("Hi")).headers["accept"] == "application/json"
    assert build_models_request(BedrockProviderConfig("m", region="r"), None).headers == {"accept": "application/json"}


# ---- any history


def test_boto3_would_find_a_fault():
    assert "content" in problems({"messages": [{"role": "user"}]})
    assert "toolUseId" in problems({"messages": [{"role": "user", "content": [{"toolResult": {"content": []}}]}]})


@given(histories, st.sampled_from([(), (PING,), [PING]]))
def test_any_history_is_accepted_and_left_as_it_is(history, tools):
    """L8: by boto3's validation too."""
    before = [(message.role, message.content) for message in history]
    try:
        written = body(history, tools)
    except ProviderError:
        return
    finally:
        assert [(message.role, message.content) for message in history] == before
    assert problems(written) == ""
    roles = [message["role"] for message in written["messages"]]
    assert all(role != following for role, following in pairwise(roles))
    blocks = [block for message in written["messages"] for block in message["content"]]
    assert all(block.get("text", "x").strip() for block in blocks)
    if any("toolUse" in block or "toolResult" in block for block in blocks):
        assert "toolConfig" in written


@given(histories, st.sampled_from([(), (PING,)]))
def test_a_history_has_the_same_form_whenever_it_is_sent(history, tools):
    try:
        first = build(history, tools).body
    except ProviderError:
        return
    assert build(history, tools).body == first == build(history, tools, stream=True).body


@given(st.lists(answers(), min_size=1, max_size=3))
def test_a_history_that_openais_format_has_written_is_accepted_and_does_not_change(given_answers):
    """L8: tool calls, results, images and thinking."""
    history = [system_message("Be brief."), user_message("Go.", IMAGE)]
    asked = build_openai_request(
        OpenAIProviderConfig("m", base_url="https://api.deepseek.com"),
        "k",
        history,
        (),
        InferenceConfig(),
        stream=False,
    )
    for number, answer in enumerate(given_answers):
        reply = parse_openai_response(openai_body(answer, number), "application/json", asked)
        history.append(ConversationMessage(Role.ASSISTANT, reply.content))
        history += [tool_message(made.id, [TextBlock("ok"), IMAGE]) for made in reply.tool_calls]
        history.append(user_message("And?"))
    before = [(message.role, message.content) for message in history]
    for tools in ((), (PING,)):
        written = body(history, tools)
        assert problems(written) == ""
        assert "reasoningContent" not in json.dumps(written)
    assert [(message.role, message.content) for message in history] == before


def openai_body(answer, number):
    """A complete answer of OpenAI's, with reasoning that its host wants back."""
    calls = [
        {
            "id": f"call|{number}|{made['id']}",
            "type": "function",
            "function": {"name": made["name"], "arguments": json.dumps(made["arguments"])},
        }
        for made in answer["calls"]
    ]
    message = {"content": answer["text"], "reasoning_content": answer["reasoning"], "tool_calls": calls}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


# ---- fragments


def test_each_message_is_encoded_once(monkeypatch):
    encoded = []
    encode = encoding._encode
    monkeypatch.setattr(encoding, "_encode", lambda message, *rest: encoded.append(message) or encode(message, *rest))
    history = [user_message("Hi"), assistant_message("", call()), tool_message("c1", [IMAGE]), user_message("")]
    build(history, (PING,))
    assert len(encoded) == 4
    build([*history, user_message("More")], (PING,), stream=True)
    assert encoded[4:] == [user_message("More")]


def test_what_depends_on_other_tools_is_not_kept():
    message = assistant_message("", call(name="fs.read"))
    dotted, plain = ToolDefinition("fs.read", "", {}), ToolDefinition("fs_read", "", {})
    assert sent(message, tools=[dotted])[0]["content"][0]["toolUse"]["name"] == "fs_read"
    assert sent(message, tools=[dotted, plain])[0]["content"][0]["toolUse"]["name"] != "fs_read"


def test_made_up_ids_are_the_same_streamed_or_not():
    streamed, complete = build(user_message("Hi"), stream=True), build(user_message("Hi"))
    assert streamed.made_up_id(1) == complete.made_up_id(1) != complete.made_up_id(0)
