"""Messages and blocks as values, and their stable JSON form."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import attrs
import pytest
from hypothesis import example, given

import kova
from kova import _json
from tests import strategies

PIXEL = kova.ImageBlock("image/png", b"\x89PNG")
WORK = kova.ToolUseBlock("call_1", "add", {"a": 2, "b": {"c": [3]}})

BLOCKS: list[kova.ContentBlock] = [
    kova.TextBlock("Hello"),
    PIXEL,
    kova.ImageBlock("image/jpeg", url="https://example.com/a.jpg"),
    WORK,
    kova.ToolUseBlock("call_2", "add", {}, {"signature": "c2ln"}, invalid_arguments='{"a": 2,'),
    kova.ToolResultBlock("call_1", "5"),
    kova.ToolResultBlock("call_2", [kova.TextBlock("not valid JSON"), PIXEL], is_error=True),
    kova.ThinkingBlock("Two and three…", "c2ln", {"redacted": False}),
]

every_block = pytest.mark.parametrize("block", BLOCKS, ids=repr)


# ---- making messages


def test_what_each_side_says() -> None:
    assert kova.user_message("Hi") == kova.ConversationMessage(kova.Role.USER, (kova.TextBlock("Hi"),))
    assert kova.assistant_message("Hello").role is kova.Role.ASSISTANT
    assert kova.system_message("Be brief.").role is kova.Role.SYSTEM
    assert kova.tool_message("call_1", "5") == kova.ConversationMessage("tool", [kova.ToolResultBlock("call_1", "5")])
    assert kova.tool_message("call_1", "no", is_error=True).content == (kova.ToolResultBlock("call_1", "no", True),)


def test_a_string_stands_for_one_text_block() -> None:
    assert kova.ConversationMessage("user", "Hi") == kova.user_message("Hi")


def test_blocks_follow_the_text() -> None:
    assert kova.user_message("What is this?", PIXEL).content == (kova.TextBlock("What is this?"), PIXEL)
    assert kova.assistant_message("Let me see.", WORK).content == (kova.TextBlock("Let me see."), WORK)


def test_empty_text_beside_blocks_is_left_out() -> None:
    assert kova.user_message("", PIXEL).content == (PIXEL,)
    assert kova.user_message("").content == (kova.TextBlock(""),)


def test_the_text_of_a_message_is_that_of_all_its_text_blocks() -> None:
    assert kova.assistant_message("Let me ", WORK, kova.TextBlock("see.")).text == "Let me see."
    assert kova.ConversationMessage("user", [PIXEL]).text == ""


@pytest.mark.parametrize(
    ("make", "arguments", "complaint"),
    [
        (kova.user_message, (None,), "text must be a str, .*; not NoneType"),
        (kova.user_message, (PIXEL,), "text must be a str, .*; not ImageBlock"),
        (kova.user_message, ("Hi", "there"), "a message consists of text or of content blocks: got str"),
        (kova.ConversationMessage, (3, "Hi"), "role must be one of user, assistant, system, tool, not 3"),
        (kova.ConversationMessage, ("user", None), "text or of content blocks: got NoneType"),
        (kova.ConversationMessage, ("user", PIXEL), "text or of content blocks: got ImageBlock"),
        (kova.ConversationMessage, ("user", [{"type": "text"}]), "text or of content blocks: got dict"),
        (kova.ImageBlock, ("image/png", "iVBORw0="), "ImageBlock.data must be bytes, not str"),
        (kova.ImageBlock, ("image/png", None, b"https://"), "ImageBlock.url must be str, not bytes"),
        (kova.ToolUseBlock, (1, "add", {}), "ToolUseBlock.id must be str, not int"),
        (kova.ToolUseBlock, ("1", "add", '{"a": 1}'), "ToolUseBlock.input must be dict, not str"),
        (kova.ToolUseBlock, ("1", "add", {}, "sig"), "ToolUseBlock.provider_metadata must be dict, not str"),
        (kova.ToolUseBlock, ("1", "add", {}, None, {}), "ToolUseBlock.invalid_arguments must be str, not dict"),
        (kova.ToolResultBlock, ("1", None), "text, or blocks of text and images: got NoneType"),
        (kova.ToolResultBlock, ("1", [WORK]), "text, or blocks of text and images: got ToolUseBlock"),
        (kova.ToolResultBlock, ("1", "5", "no"), "ToolResultBlock.is_error must be bool, not str"),
        (kova.ThinkingBlock, (b"",), "ThinkingBlock.thinking must be str, not bytes"),
        (kova.ThinkingBlock, ("", b"sig"), "ThinkingBlock.signature must be str, not bytes"),
    ],
)
def test_a_wrong_type_is_named(make: Callable[..., object], arguments: tuple[object, ...], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        make(*arguments)


def test_an_unknown_role_is_named() -> None:
    with pytest.raises(ValueError, match="role must be one of user, assistant, system, tool, not 'bot'"):
        kova.ConversationMessage("bot", "Hi")


def test_an_image_is_either_bytes_or_a_url() -> None:
    with pytest.raises(ValueError, match="either data or url"):
        kova.ImageBlock("image/png")
    with pytest.raises(ValueError, match="either data or url"):
        kova.ImageBlock("image/png", b"\x89PNG", "https://example.com/a.png")


# ---- messages as values


@every_block
def test_blocks_are_immutable(block: kova.ContentBlock) -> None:
    for attribute in attrs.fields(type(block)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(block, attribute.name, "other")
    with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
        block.note = "more"  # type: ignore[union-attr]  # that is the point


def test_messages_are_immutable() -> None:
    message = kova.user_message("Hi")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        message.role = kova.Role.SYSTEM  # type: ignore[misc]  # that is the point
    assert isinstance(message.content, tuple)


def test_the_caller_can_change_neither_arguments_nor_blocks_afterwards() -> None:
    arguments, metadata = {"a": 2}, {"signature": "c2ln"}
    blocks: list[kova.ContentBlock] = [kova.ToolUseBlock("call_1", "add", arguments, metadata)]
    message = kova.ConversationMessage("assistant", blocks)
    arguments["a"] = 3
    metadata.clear()
    blocks.clear()
    assert message.content == (kova.ToolUseBlock("call_1", "add", {"a": 2}, {"signature": "c2ln"}),)


def test_any_mapping_is_good_for_arguments() -> None:
    assert kova.ToolUseBlock("1", "add", MappingProxyType({"a": 2})) == kova.ToolUseBlock("1", "add", {"a": 2})


@given(strategies.any_messages)
def test_equal_by_value(message: kova.ConversationMessage) -> None:
    twin = kova.ConversationMessage(message.role, copy.deepcopy(message.content))
    assert twin == message
    assert hash(twin) == hash(message)
    assert twin in {message}
    assert message != kova.ConversationMessage(message.role, (*message.content, kova.TextBlock("more")))


@given(strategies.any_messages)
def test_messages_pickle_and_copy(message: kova.ConversationMessage) -> None:
    assert copy.copy(message) == copy.deepcopy(message) == pickle.loads(pickle.dumps(message)) == message


def test_what_is_kept_for_requests_is_no_part_of_the_value() -> None:
    message, plain = kova.user_message("Hi"), kova.user_message("Hi")
    object.__setattr__(message, "_fragments", {"openai": b"canary"})
    assert message == plain
    assert repr(message) == repr(plain)
    assert b"canary" not in pickle.dumps(message)
    assert copy.copy(message)._fragments is None


def test_an_image_is_not_printed() -> None:
    assert repr(kova.ImageBlock("image/png", b"x" * 1_000_000)) == "ImageBlock('image/png', <1000000 bytes>)"
    assert len(repr(kova.ImageBlock("image/png", url="data:image/png;base64," + "x" * 1_000_000))) < 300


# ---- their JSON form


def test_the_form_is_stable() -> None:
    """C3: what is stored today is read by every later release."""
    history = [
        kova.user_message("What is this?", PIXEL, kova.ImageBlock("image/jpeg", url="https://example.com/a.jpg")),
        kova.assistant_message("", kova.ThinkingBlock("Hm.", "c2ln", {"redacted": False}), WORK),
        kova.tool_message("call_1", "5"),
        kova.tool_message("call_2", [kova.TextBlock("seen"), PIXEL], is_error=True),
        kova.assistant_message("", kova.ToolUseBlock("call_3", "add", {}, {"x": None}, invalid_arguments="{")),
    ]
    stored = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "media_type": "image/png", "data": "iVBORw=="},
                {"type": "image", "media_type": "image/jpeg", "url": "https://example.com/a.jpg"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln", "provider_metadata": {"redacted": False}},
                {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 2, "b": {"c": [3]}}},
            ],
        },
        {
            "role": "tool",
            "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "5", "is_error": False}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_2",
                    "content": [
                        {"type": "text", "text": "seen"},
                        {"type": "image", "media_type": "image/png", "data": "iVBORw=="},
                    ],
                    "is_error": True,
                }
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "call_3",
                    "name": "add",
                    "input": {},
                    "provider_metadata": {"x": None},
                    "invalid_arguments": "{",
                }
            ],
        },
    ]
    assert json.loads(kova.messages_to_json(history)) == stored
    assert kova.messages_from_json(stored) == history


@pytest.fixture(params=["orjson", "standard"])
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "standard":
        monkeypatch.setitem(sys.modules, "orjson", None)  # what the import system reads as "not there"
    monkeypatch.setattr(_json, "_engine", functools.cache(_json._engine.__wrapped__))


@given(strategies.any_histories)
@example([kova.user_message("\ud800 and \U0001f600")])
@example([kova.assistant_message("", kova.ToolUseBlock("1", "add", {"n": 2**64, "m": -(10**400), "x": 1e16}))])
@example([kova.tool_message("1", [PIXEL, kova.TextBlock("")], is_error=True)])
@example([kova.ConversationMessage("assistant", ())])
@example([])
def test_a_history_comes_back_as_it_was(history: list[kova.ConversationMessage]) -> None:
    text = kova.messages_to_json(history)
    text.encode()  # it can be written to any file
    assert repr(kova.messages_from_json(text)) == repr(history)  # tells 1 from 1.0 and True
    assert kova.messages_from_json(text.encode()) == history
    assert kova.messages_from_json(json.loads(text)) == history
    assert kova.messages_to_json(kova.messages_from_json(text)) == text


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize("number", [2**53 + 1, 2**64, -(2**63) - 1, 10**400])
def test_large_integers_are_exact(number: int) -> None:
    history = [kova.assistant_message("", kova.ToolUseBlock("1", "add", {"n": [number]}))]
    assert kova.messages_from_json(kova.messages_to_json(history)) == history


@pytest.mark.usefixtures("_engine")
def test_arguments_may_be_nested_deeply() -> None:
    value: object = "bottom"
    for _ in range(500):
        value = {"a": [value]} if isinstance(value, list) else [value]
    history = [kova.assistant_message("", kova.ToolUseBlock("1", "add", {"n": value}))]
    text = kova.messages_to_json(history)
    assert kova.messages_to_json(kova.messages_from_json(text)) == text


@pytest.mark.usefixtures("_engine")
def test_nesting_beyond_all_bounds_is_a_serialization_error() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(kova.SerializationError, match=r"messages\[0\] .*nested too deeply"):
        kova.messages_to_json([kova.assistant_message("", kova.ToolUseBlock("1", "add", {"n": value}))])
    with pytest.raises(kova.SerializationError, match="nested too deeply"):
        kova.messages_from_json("[" * 100_000 + "]" * 100_000)


def test_results_within_results_within_results_are_no_recursion() -> None:
    block: dict[str, Any] = {"type": "text", "text": "bottom"}
    for _ in range(100_000):
        block = {"type": "tool_result", "tool_use_id": "1", "content": [block]}
    place = r"messages\[0\]\.content\[0\]\.content\[0\]\.type: expected text or image, got 'tool_result'"
    with pytest.raises(kova.SerializationError, match=place):
        kova.messages_from_json([{"role": "tool", "content": [block]}])


def test_unknown_fields_are_ignored() -> None:
    text = '[{"role": "user", "content": [{"type": "text", "text": "Hi", "new": 1}], "at": "2031-01-01"}]'
    assert kova.messages_from_json(text) == [kova.user_message("Hi")]


def test_null_is_the_same_as_left_out() -> None:
    block: dict[str, object] = {"type": "tool_use", "id": "1", "name": "add", "input": {}, "provider_metadata": None}
    assert kova.messages_from_json([{"role": "assistant", "content": [block]}]) == [
        kova.assistant_message("", kova.ToolUseBlock("1", "add", {}))
    ]


def within(block: object) -> list[object]:
    return [{"role": "user", "content": []}, {"role": "assistant", "content": [{"type": "text", "text": "Hi"}, block]}]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("", "the messages are not JSON"),
        ("[", "the messages are not JSON"),
        ("[NaN]", "the messages are not JSON"),
        (b"\xff\xfe", "the messages are not JSON"),
        ('{"role": "user", "content": []}', "expected a list, got an object"),
        ('"Hi"', "expected a list, got a string"),
        (None, "expected a list, got nothing"),
        (["Hi"], "messages[0]: expected an object, got a string"),
        ([{"content": []}], "messages[0].role: expected a string, got nothing"),
        ([{"role": "bot", "content": []}], "messages[0].role: unknown role 'bot'"),
        ([{"role": ["user"], "content": []}], "messages[0].role: expected a string, got a list"),
        ([{"role": "user", "content": "Hi"}], "messages[0].content: expected a list of blocks, got a string"),
        (within("Hi"), "messages[1].content[1]: expected an object, got a string"),
        (within({"type": 3}), "messages[1].content[1].type: expected a string, got a number"),
        (within({"type": "video"}), "messages[1].content[1].type: expected text or image or tool_use"),
        (within({"type": "text"}), "messages[1].content[1].text: expected a string, got nothing"),
        (within({"type": "image", "media_type": "image/png"}), "messages[1].content[1]: an image has either"),
        (within({"type": "image", "data": "iVBORw=="}), "[1].media_type: expected a string, got nothing"),
        (within({"type": "image", "media_type": "image/png", "data": "iVBORw"}), "[1].data: not base64"),
        (within({"type": "image", "media_type": "image/png", "data": "größe"}), "[1].data: not base64"),
        (within({"type": "image", "media_type": "image/png", "data": [1]}), "[1].data: expected a string, got a list"),
        (within({"type": "tool_use", "id": "1", "name": "add"}), "[1].input: expected an object, got nothing"),
        (within({"type": "tool_use", "id": 1, "name": "add", "input": {}}), "[1].id: expected a string, got a number"),
        (
            within({"type": "tool_use", "id": "1", "name": "add", "input": {}, "provider_metadata": [1]}),
            "[1].provider_metadata: expected an object, got a list",
        ),
        (
            within({"type": "tool_result", "tool_use_id": "1", "content": None}),
            "[1].content: expected a string or a list of blocks, got nothing",
        ),
        (
            within({"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": True}]}),
            "messages[1].content[1].content[0].text: expected a string, got a boolean",
        ),
        (
            within({"type": "tool_result", "tool_use_id": "1", "content": "5", "is_error": "no"}),
            "[1].is_error: expected a boolean, got a string",
        ),
        (within({"type": "thinking", "signature": "c2ln"}), "[1].thinking: expected a string, got nothing"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(data: Any, complaint: str) -> None:
    with pytest.raises(kova.SerializationError) as caught:
        kova.messages_from_json(data)
    assert complaint in str(caught.value)


@given(strategies.json_values)
def test_any_other_json_is_a_serialization_error(value: Any) -> None:
    try:
        messages = kova.messages_from_json([value])
    except kova.SerializationError:
        return
    assert len(messages) == 1


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, b"bytes", 10**5_000], ids=type)
def test_arguments_that_json_cannot_say_are_named_by_their_message(value: object) -> None:
    history = [kova.user_message("Hi"), kova.assistant_message("", kova.ToolUseBlock("1", "add", {"n": value}))]
    with pytest.raises(kova.SerializationError, match=r"messages\[1\] cannot be written as JSON"):
        kova.messages_to_json(history)


@pytest.mark.parametrize("wrong", [["Hi"], "Hi", [{"role": "user", "content": []}], kova.user_message("Hi")])
def test_what_is_no_history_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"messages must be|messages\[0\] must be|not ConversationMessage"):
        kova.messages_to_json(wrong)
