"""Histories as kova's turns make them, for whatever provider: an agent runs scripts that hypothesis draws."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import kova
from kova import ConversationMessage, ImageBlock, TextBlock, ThinkingBlock, ThinkingDelta, ToolDefinition, ToolUseBlock
from kova.testing import Part, ScriptedProvider
from tests.strategies import json_objects, texts, words

__all__ = ["DEFINITIONS", "FIRST_MESSAGES", "TOOLS", "WEB_IMAGE", "histories"]

PIXEL = b"\x89PNG\r\n\x1a\n"


@kova.tool
def add(a: int, b: int) -> int:
    """Add.

    Args:
        a: The one.
        b: The other.
    """
    return a + b


@kova.tool(name="fs.read")
def read(path: str = "", options: dict[str, list[int | str]] | None = None) -> str:
    """Read a file whose name no API takes as it is."""
    return path


@kova.tool
def look() -> list[TextBlock | ImageBlock]:
    """Look out of the window."""
    return [TextBlock("Outside:"), ImageBlock("image/png", PIXEL), TextBlock(" ")]


@kova.tool
def shrug() -> str:
    """Give nothing."""
    return " "


@kova.tool
def fail(why: str = "") -> str:
    """Fail."""
    raise ValueError(why)


@kova.tool
def delete() -> str:
    """Delete everything, which is always denied."""
    return "gone"


TOOLS = (add, read, look, shrug, fail, delete)

# As MCP servers and people describe their tools.
_PLACE = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
DEFINITIONS = [tool.definition for tool in TOOLS] + [
    ToolDefinition("bare", "", {}),
    ToolDefinition("closed", "Closed.", {"type": "object", "additionalProperties": False}),
    ToolDefinition("either", "Either.", {"type": "object", "anyOf": [_PLACE, {"required": []}], "properties": {}}),
    ToolDefinition(
        "a tool/with.everything",
        "All of it.",
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "place": {"$ref": "#/$defs/Place"},
                "when": {"type": ["string", "null"], "format": "date-time", "default": None},
                "many": {"type": "array"},
                "kind": {"const": "kind"},
                "any": True,
                "size": {"oneOf": [{"type": "integer", "minimum": 0}, {"enum": ["s", "m", 3, None]}]},
            },
            "required": ["place"],
            "$defs": {"Place": _PLACE},
        },
    ),
]


# ---- what models say

_signatures = st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode())


def _own(name: str, value: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda drawn: {name: drawn}, value)


def _fields(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    given = {name: field if isinstance(field, st.SearchStrategy) else st.just(field) for name, field in fields.items()}
    return st.fixed_dictionaries(given)


# Reasoning as each format keeps it: signed, signed without a text, encrypted, unsigned.
_thinking = st.one_of(
    st.builds(ThinkingBlock, texts, _signatures),
    st.builds(ThinkingBlock, st.just(""), _signatures),
    st.builds(ThinkingBlock, texts),
    st.builds(
        ThinkingBlock,
        st.just(""),
        provider_metadata=_own("anthropic_block", _fields(type="redacted_thinking", data=_signatures)),
    ),
    st.builds(ThinkingBlock, texts, _signatures, st.just({"bedrock": {}})),
    st.builds(ThinkingBlock, st.just(""), provider_metadata=_own("bedrock", _fields(redactedContent=_signatures))),
    st.builds(
        ThinkingBlock,
        texts,
        provider_metadata=_own("gemini_part", _fields(text=texts, thought=True, thoughtSignature=_signatures)),
    ),
    st.builds(
        ThinkingBlock,
        st.just(""),
        provider_metadata=_fields(gemini_signature=_signatures, gemini_signed_length=st.integers(0, 5)),
    ),
    st.builds(ThinkingBlock, texts, provider_metadata=st.just({"ollama_thinking": True})),
    st.builds(ThinkingBlock, texts, provider_metadata=st.just({"reasoning_field": "reasoning_content"})),
)

_call_metadata = st.none() | st.one_of(
    _fields(gemini_signature=_signatures, gemini_call_id=words),
    st.just({"made_up_id": True}),
    st.just({"caller": {"type": "direct"}}),
)
_ids = words | st.sampled_from(["", "call:1/2", "toolu_" + "x" * 80, "größe"])
_sums = st.fixed_dictionaries({"a": st.integers(), "b": st.integers()})
_calls = st.one_of(
    st.builds(ToolUseBlock, _ids, st.just("add"), _sums | json_objects, _call_metadata),
    st.builds(
        ToolUseBlock,
        _ids,
        st.sampled_from(["fs.read", "look", "shrug", "fail", "delete"]),
        st.just({}),
        _call_metadata,
    ),
    st.builds(ToolUseBlock, _ids, words | st.sampled_from(["no.such tool", ""]), json_objects),
    st.builds(
        ToolUseBlock, _ids, st.just("add"), st.just({}), invalid_arguments=st.sampled_from(['{"a": 1, "b"', "[1]", "…"])
    ),
)

_parts = st.one_of(texts, st.builds(ThinkingDelta, texts), _thinking, _calls)
_answers = st.lists(_parts, max_size=5)
_scripts = st.lists(_answers, max_size=4)


# ---- turns

WEB_IMAGE = ImageBlock("image/jpeg", url="https://example.com/a.jpg")

_images = st.sampled_from(
    [
        ImageBlock("image/png", PIXEL),
        ImageBlock("image/png", url="data:image/png;base64," + base64.b64encode(PIXEL).decode()),
        WEB_IMAGE,
    ]
)
FIRST_MESSAGES = st.builds(
    lambda text, images: kova.user_message(text if text.strip() else "?", *images), texts, st.lists(_images, max_size=1)
)


def _decide(call: ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
    return kova.ApprovalDecision.denied("no") if call.name == "delete" else kova.ApprovalDecision.APPROVED


@st.composite
def histories(draw: st.DrawFn) -> list[ConversationMessage]:
    """What some turns leave behind, and a last word of the user's; a turn that fails leaves nothing."""
    history: list[ConversationMessage] = []
    for script in draw(st.lists(_scripts, max_size=3)):
        said = draw(FIRST_MESSAGES)
        history += [said, *_turn([*history, said], script)]
    return [*history, draw(FIRST_MESSAGES)]


def _turn(history: Sequence[ConversationMessage], script: list[list[Part]]) -> Sequence[ConversationMessage]:
    model = ScriptedProvider(*script, "That is all.")
    agent = kova.Agent(model, tools=TOOLS, tool_errors="report", approval_handler=_decide)
    return agent.run(history).new_messages
