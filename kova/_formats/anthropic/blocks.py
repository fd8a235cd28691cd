"""Content blocks as the Messages API has them, each as JSON."""

from __future__ import annotations

from typing import Any

from ... import _json
from ..._log import log
from ...messages import ContentBlock, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..media import inline_base64
from ..tool_ids import acceptable_id
from ..tool_names import ToolNames

__all__ = [
    "KEPT_OF_CALLS",
    "RAW_BLOCK",
    "RESULT",
    "encode_assistant_block",
    "encode_user_block",
    "is_blank",
    "is_trailing_thinking",
]

RAW_BLOCK = "anthropic_block"
"""Key in a thinking block's `provider_metadata`: a block of the API's that goes back as it came.

Redacted thinking is one, and so are calls of the tools that the API runs itself, and their results.
"""

KEPT_OF_CALLS = ("caller", "toolset_name")
"""Keys in a tool call's `provider_metadata`: the call's fields of these names, which have to come back with it."""

RESULT = b'{"type":"tool_result"'  # how a result begins

NO_REASON = "The tool failed and gave no reason."

_TOOL_ID = r"[a-zA-Z0-9_-]+"


def is_blank(block: ContentBlock) -> bool:
    """Whether a block is a text that the API refuses: "text content blocks must contain non-whitespace text"."""
    return isinstance(block, TextBlock) and (not block.text or block.text.isspace())


def is_trailing_thinking(block: ContentBlock) -> bool:
    """Whether a block is thinking, which nothing can be that a model goes on from."""
    if not isinstance(block, ThinkingBlock):
        return False
    raw = _raw_block(block)
    return raw is None or raw.get("type") in ("thinking", "redacted_thinking")


def encode_user_block(block: ContentBlock) -> bytes | None:
    """A block of a message of the user's or of tools; None where nothing of it is sent."""
    if type(block) is TextBlock:
        return _text(block)
    if isinstance(block, ImageBlock):
        return _json.dumps(_image(block))
    return _result(block) if isinstance(block, ToolResultBlock) else None


def encode_assistant_block(block: ContentBlock, names: ToolNames) -> bytes | None:
    """A block of a message of the model's; None where nothing of it is sent."""
    if type(block) is TextBlock:
        return _text(block)
    if isinstance(block, ToolUseBlock):
        return _call(block, names)
    if isinstance(block, ThinkingBlock):
        return _thinking(block)
    if isinstance(block, ImageBlock):
        log.warning("an image is left out of a request: Anthropic's API takes none there", role="assistant")
    return None


def _text(block: TextBlock) -> bytes | None:
    return None if is_blank(block) else b'{"type":"text","text":' + _json.dumps(block.text) + b"}"


def _image(block: ImageBlock) -> dict[str, Any]:
    data = inline_base64(block)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": block.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": data}}


def _call(block: ToolUseBlock, names: ToolNames) -> bytes:
    # Arguments that were no JSON object stay out: the API takes an object only. What was wrong with them is in the
    # result of the call.
    kept = {name: value for name, value in (block.provider_metadata or {}).items() if name in KEPT_OF_CALLS}
    head = {"type": "tool_use", "id": acceptable_id(block.id, _TOOL_ID), "name": names.wire(block.name)}
    return _json.dumps({**head, "input": dict(block.input), **kept})


def _thinking(block: ThinkingBlock) -> bytes | None:
    """The API's own thinking as it came; None for another provider's, which it would refuse: it is not signed."""
    if block.provider_metadata is not None:
        raw = _raw_block(block)
        return None if raw is None else _json.dumps(raw)
    if not block.signature:
        return None
    return _json.dumps({"type": "thinking", "thinking": block.thinking, "signature": block.signature})


def _raw_block(block: ThinkingBlock) -> dict[str, Any] | None:
    raw = (block.provider_metadata or {}).get(RAW_BLOCK)
    return raw if isinstance(raw, dict) else None


def _result(block: ToolResultBlock) -> bytes:
    parts = [RESULT, b',"tool_use_id":', _json.dumps(acceptable_id(block.tool_use_id, _TOOL_ID))]
    content = _result_content(block)
    if content:
        parts += [b',"content":', _json.dumps(content)]
    if block.is_error:
        parts.append(b',"is_error":true')
    return b"".join([*parts, b"}"])


def _result_content(block: ToolResultBlock) -> str | list[dict[str, Any]]:
    """What is in a result; a blank one has no content, except that an error must: 400 "content cannot be empty"."""
    content: str | list[dict[str, Any]]
    if isinstance(block.content, str):
        content = "" if block.content.isspace() else block.content
    else:
        content = [
            {"type": "text", "text": inner.text} if isinstance(inner, TextBlock) else _image(inner)
            for inner in block.content
            if not is_blank(inner)
        ]
    return NO_REASON if block.is_error and not content else content
