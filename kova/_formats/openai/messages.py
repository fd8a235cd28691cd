"""A history as the chat completions API wants it: one JSON fragment for each message.

A fragment is made once and kept on its message, so that a tool loop over a long history encodes only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ... import _json
from ..._log import log
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
from .reasoning_details import DETAILS

__all__ = ["EXTRA_CONTENT", "REASONING_FIELD", "encode_history"]

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
            fragment = _encode(message, host, names, dialect)
        if fragment:
            fragments.append(fragment)
        if message.role is tool and (rest := fragment_of(message, after_results)):
            held.append(rest)
    return fragments + held


def _encode(message: ConversationMessage, host: Host, names: ToolNames, dialect: str) -> bytes:
    fragment = _encode_plain(message, host)
    if fragment is None:
        fragment = _encode_any(message, host, names, dialect)
    # A rewritten name depends on the other tools of the request; everything else on the message alone.
    if all(names.is_acceptable(block.name) for block in message.content if type(block) is ToolUseBlock):
        keep_fragment(message, dialect, fragment)
    return fragment


_PLAIN = {role: b'{"role":"%b","content":' % role.encode() for role in (Role.SYSTEM, Role.USER, Role.ASSISTANT)}


def _encode_plain(message: ConversationMessage, host: Host) -> bytes | None:
    """The fragment of a message that is one text, as most are: without a dict on the way, in a third of the time."""
    if len(message.content) != 1:
        return None
    block = message.content[0]
    if type(block) is TextBlock and message.role in _PLAIN:
        return _PLAIN[message.role] + _json.dumps(block.text) + b"}" if block.text.strip() else b""
    if type(block) is ToolResultBlock and type(block.content) is str and message.role is Role.TOOL:
        return _result(block.tool_use_id, block.content, host)
    return None


def _encode_any(message: ConversationMessage, host: Host, names: ToolNames, dialect: str) -> bytes:
    if message.role is Role.SYSTEM:
        return _system(message.content)
    if message.role is Role.ASSISTANT:
        return _assistant(message.content, host, names)
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    written = [_result(block.tool_use_id, _result_text(block), host) for block in results]
    rest = [*filter(None, map(_result_images, results)), *_user(message.content)]
    if message.role is Role.USER:
        written += rest
    elif rest:
        keep_fragment(message, dialect + AFTER_RESULTS, b",".join(rest))
    return b",".join(written)


def _system(blocks: Sequence[ContentBlock]) -> bytes:
    _warn_of_images(blocks, "system")
    text = _text(blocks)
    return _PLAIN[Role.SYSTEM] + _json.dumps(text) + b"}" if text else b""


def _user(blocks: Sequence[ContentBlock]) -> list[bytes]:
    content = _content(blocks)
    return [_PLAIN[Role.USER] + _json.dumps(content) + b"}"] if content else []


def _assistant(blocks: Sequence[ContentBlock], host: Host, names: ToolNames) -> bytes:
    _warn_of_images(blocks, "assistant")
    text = "".join([block.text for block in blocks if isinstance(block, TextBlock) and not block.text.isspace()])
    calls = [_call(block, host, names) for block in blocks if isinstance(block, ToolUseBlock)]
    if not text and not calls:
        return b""
    # With calls alone the content is null: servers fail where it is missing, and Bedrock-backed ones where it is "".
    parts = [_PLAIN[Role.ASSISTANT], _json.dumps(text or None)]
    if calls:
        parts += [b',"tool_calls":[', b",".join(calls), b"]"]
    if reasoning := _reasoning(blocks, host):
        parts += [b",", _json.dumps(host.reasoning_field), b":", _json.dumps(reasoning)]
    return b"".join([*parts, b"}"])


def _reasoning(blocks: Sequence[ContentBlock], host: Host) -> str | list[dict[str, Any]]:
    """What goes back in the host's field for reasoning; nothing where there is none, or no such field."""
    own = [block for block in blocks if isinstance(block, ThinkingBlock) and _goes_back(block, host)]
    if host.reasoning_field == DETAILS:
        return [detail for block in own for detail in (block.provider_metadata or {}).get(DETAILS, ())]
    return "".join([block.thinking for block in own])


def _goes_back(block: ThinkingBlock, host: Host) -> bool:
    """Whether thinking is of this kind of host: another provider's is signed, and would be refused or misread."""
    field = (block.provider_metadata or {}).get(REASONING_FIELD)
    return field is not None and field == host.reasoning_field


def _call(block: ToolUseBlock, host: Host, names: ToolNames) -> bytes:
    # Arguments that were no JSON object stay out: llama.cpp answers a history that has them with a 500. What was
    # wrong with them is in the result of the call.
    arguments = _json.dumps(dict(block.input)).decode()
    parts = [
        b'{"id":',
        _json.dumps(acceptable_id(block.id, host.tool_id)),
        b',"type":"function","function":{"name":',
        _json.dumps(names.wire(block.name)),
        b',"arguments":',
        _json.dumps(arguments),
        b"}",
    ]
    if host.has_extra_content and (extra := (block.provider_metadata or {}).get(EXTRA_CONTENT)):
        parts += [b',"extra_content":', _json.dumps(extra)]
    return b"".join([*parts, b"}"])


def _result(tool_use_id: str, text: str, host: Host) -> bytes:
    shown_id = _json.dumps(acceptable_id(tool_use_id, host.tool_id))
    return b"".join([b'{"role":"tool","tool_call_id":', shown_id, b',"content":', _json.dumps(text), b"}"])


def _result_text(block: ToolResultBlock) -> str:
    text = block.content if isinstance(block.content, str) else _text(block.content)
    return "The result is the image in the next message." if not text and _images(block.content) else text


def _result_images(block: ToolResultBlock) -> bytes | None:
    images = _images(block.content)
    if not images:
        return None
    caption = {"type": "text", "text": f"Images in the result of tool call {block.tool_use_id}:"}
    return _json.dumps({"role": "user", "content": [caption, *map(_image, images)]})


def _images(blocks: str | Sequence[ContentBlock]) -> list[ImageBlock]:
    if isinstance(blocks, str):
        return []
    return [block for block in blocks if isinstance(block, ImageBlock)]


def _warn_of_images(blocks: Sequence[ContentBlock], role: str) -> None:
    if _images(blocks):
        log.warning("an image is left out of a request: OpenAI's API takes none there", role=role)


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
