"""A history as the chat completions API wants it: one JSON fragment for each message.

A fragment is made once and kept on its message, so that a tool loop over a long history encodes only what is new.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from ... import _json
from ...messages import (
    ContentBlock,
    ConversationMessage,
    ImageBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ..fragments import fragment_of, keep_fragment
from ..media import image_url
from ..tool_ids import acceptable_id
from ..tool_names import ToolNames
from .hosts import Host

__all__ = ["EXTRA_CONTENT", "REASONING_FIELD", "encode_history"]

logger = logging.getLogger("kova")

EXTRA_CONTENT = "extra_content"
"""Key in a tool call's `provider_metadata`: the call's field of this name, as it came."""

REASONING_FIELD = "reasoning_field"
"""Key in a thinking block's `provider_metadata`: the message field that the reasoning goes back in."""

# Added to a dialect's name: what a tool message has besides results. A result can hold no image, so that images follow
# as a message of the user's, after all results of the round: nothing may stand between calls and their results.
AFTER_RESULTS = " after results"


def encode_history(messages: Iterable[ConversationMessage], host: Host, names: ToolNames) -> list[bytes]:
    """The messages as JSON, without those in which nothing is left to send."""
    dialect, tool = host.dialect, Role.TOOL
    after_results = dialect + AFTER_RESULTS
    fragments: list[bytes] = []
    held: list[bytes] = []
    for message in messages:
        if held and message.role is not tool:
            fragments += held
            held.clear()
        fragment = fragment_of(message, dialect)
        if fragment is None:
            fragment = _encode(message, host, names)
        if fragment:
            fragments.append(fragment)
        if message.role is tool and (rest := fragment_of(message, after_results)):
            held.append(rest)
    return fragments + held


def _encode(message: ConversationMessage, host: Host, names: ToolNames) -> bytes:
    if message.role is Role.SYSTEM:
        written = _system(message.content)
    elif message.role is Role.ASSISTANT:
        written = _assistant(message.content, host, names)
    else:
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        written = [_result(block, host) for block in results]
        rest = [*filter(None, map(_result_images, results)), *_user(message.content)]
        if message.role is Role.USER:
            written += rest
        elif rest:
            keep_fragment(message, host.dialect + AFTER_RESULTS, _encoded(rest))
    fragment = _encoded(written)
    # A rewritten name depends on the other tools of the request; everything else on the message alone.
    if all(names.is_acceptable(block.name) for block in message.content if isinstance(block, ToolUseBlock)):
        keep_fragment(message, host.dialect, fragment)
    return fragment


def _encoded(written: list[dict[str, Any]]) -> bytes:
    return b",".join(map(_json.dumps, written))


def _system(blocks: Sequence[ContentBlock]) -> list[dict[str, Any]]:
    _warn_of_images(blocks, "system")
    text = _text(blocks)
    return [{"role": "system", "content": text}] if text else []


def _user(blocks: Sequence[ContentBlock]) -> list[dict[str, Any]]:
    content = _content(blocks)
    return [{"role": "user", "content": content}] if content else []


def _assistant(blocks: Sequence[ContentBlock], host: Host, names: ToolNames) -> list[dict[str, Any]]:
    _warn_of_images(blocks, "assistant")
    text = "".join([block.text for block in blocks if isinstance(block, TextBlock) and not block.text.isspace()])
    calls = [_call(block, host, names) for block in blocks if isinstance(block, ToolUseBlock)]
    if not text and not calls:
        return []
    # With calls alone the content is null: servers fail where it is missing, and Bedrock-backed ones where it is "".
    written: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        written["tool_calls"] = calls
    reasoning = [block.thinking for block in blocks if isinstance(block, ThinkingBlock) and _goes_back(block, host)]
    if reasoning and host.reasoning_field:
        written[host.reasoning_field] = "".join(reasoning)
    return [written]


def _goes_back(block: ThinkingBlock, host: Host) -> bool:
    """Whether thinking is of this kind of host: another provider's is signed, and would be refused or misread."""
    return host.reasoning_field is not None and (block.provider_metadata or {}).get(REASONING_FIELD) is not None


def _call(block: ToolUseBlock, host: Host, names: ToolNames) -> dict[str, Any]:
    # Arguments that were no JSON object stay out: llama.cpp answers a history that has them with a 500. What was
    # wrong with them is in the result of the call.
    function = {"name": names.wire(block.name), "arguments": _json.dumps(dict(block.input)).decode()}
    call: dict[str, Any] = {"id": acceptable_id(block.id, host.tool_id), "type": "function", "function": function}
    if host.has_extra_content and (extra := (block.provider_metadata or {}).get(EXTRA_CONTENT)):
        call["extra_content"] = extra
    return call


def _result(block: ToolResultBlock, host: Host) -> dict[str, Any]:
    text = block.content if isinstance(block.content, str) else _text(block.content)
    if not text and _images(block.content):
        text = "The result is the image in the next message."
    return {"role": "tool", "tool_call_id": acceptable_id(block.tool_use_id, host.tool_id), "content": text}


def _result_images(block: ToolResultBlock) -> dict[str, Any] | None:
    images = _images(block.content)
    if not images:
        return None
    caption = {"type": "text", "text": f"Images in the result of tool call {block.tool_use_id}:"}
    return {"role": "user", "content": [caption, *map(_image, images)]}


def _images(blocks: str | Sequence[ContentBlock]) -> list[ImageBlock]:
    return [block for block in blocks if isinstance(block, ImageBlock)]


def _warn_of_images(blocks: Sequence[ContentBlock], role: str) -> None:
    if _images(blocks):
        logger.warning("an image in a message of role %s is left out: OpenAI's API takes none there", role)


def _content(blocks: Sequence[ContentBlock]) -> str | list[dict[str, Any]]:
    """Text as a string, which every server takes, and parts only where there are images."""
    if not _images(blocks):
        return _text(blocks)
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, ImageBlock):
            parts.append(_image(block))
        elif isinstance(block, TextBlock) and block.text.strip():
            parts.append({"type": "text", "text": block.text})
    return parts


def _text(blocks: Iterable[ContentBlock]) -> str:
    """The text of the blocks; a line break parts them, as vLLM does where it is given parts."""
    return "\n".join([block.text for block in blocks if isinstance(block, TextBlock) and block.text.strip()])


def _image(block: ImageBlock) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image_url(block)}}
