"""Content blocks as Converse has them, each as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import _json
from ..._log import log
from ...messages import ContentBlock, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..media import inline_base64
from ..tool_ids import acceptable_id
from ..tool_names import ToolNames

__all__ = ["OWN", "RESULT", "Unsendable", "encode_assistant_block", "encode_user_block", "told_call", "told_result"]

OWN = "bedrock"
"""Key in a thinking block's `provider_metadata`: the reasoning is Bedrock's, and this is what it has besides text and
signature: `redactedContent`, or nothing."""

RESULT = b'{"toolResult":'  # how a result begins

NO_OUTPUT = "(no output)"

_TOOL_ID = "[a-zA-Z0-9_.:-]{1,64}"

_IMAGE_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}


class Unsendable(ValueError):
    """Something in a history that the API has no form for, and that cannot be left out."""


def encode_user_block(block: ContentBlock) -> bytes | None:
    """A block of a message of the user's or of tools; None where nothing of it is sent.

    Raises:
        Unsendable: It is an image that the API cannot take.
    """
    if isinstance(block, TextBlock):
        return _text(block.text)
    if isinstance(block, ImageBlock):
        return _json.dumps(_image(block))
    return _result(block) if isinstance(block, ToolResultBlock) else None


def encode_assistant_block(block: ContentBlock, names: ToolNames) -> bytes | None:
    """A block of a message of the model's; None where nothing of it is sent."""
    if isinstance(block, TextBlock):
        return _text(block.text)
    if isinstance(block, ToolUseBlock):
        return _call(block, names)
    if isinstance(block, ThinkingBlock):
        return _reasoning(block)
    if isinstance(block, ImageBlock):
        log.warning("an image is left out of a request: models on Bedrock take none there", role="assistant")
    return None


def told_call(block: ToolUseBlock) -> TextBlock:
    """A tool call in words, for a request that has no tools."""
    return TextBlock(f"[Call {block.id} of tool {block.name}: {_json.dumps(dict(block.input)).decode()}]")


def told_result(block: ToolResultBlock) -> list[ContentBlock]:
    """A tool's result in words, images apart."""
    blocks = [TextBlock(block.content)] if isinstance(block.content, str) else block.content
    text = "\n".join([inner.text for inner in blocks if isinstance(inner, TextBlock)])
    images = [inner for inner in blocks if isinstance(inner, ImageBlock)]
    kind = "Error" if block.is_error else "Result"
    return [TextBlock(f"[{kind} of call {block.tool_use_id}: {text or NO_OUTPUT}]"), *images]


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _text(text: str) -> bytes | None:
    """A text; None for a blank one: "The text field in the ContentBlock object at … is blank"."""
    return None if _is_blank(text) else b'{"text":' + _json.dumps(text) + b"}"


def _image(block: ImageBlock) -> dict[str, Any]:
    kind = _IMAGE_FORMATS.get(block.media_type.strip().lower())
    if kind is None:
        raise Unsendable(f"Bedrock takes no images of type {block.media_type!r:.100}")
    if block.url is not None and block.url.startswith("s3://"):
        return {"image": {"format": kind, "source": {"s3Location": {"uri": block.url}}}}
    data = inline_base64(block)
    if data is None:
        raise Unsendable("Bedrock takes the bytes of an image or an s3:// address, and kova fetches no URL")
    return {"image": {"format": kind, "source": {"bytes": data}}}


def _call(block: ToolUseBlock, names: ToolNames) -> bytes:
    # Arguments that were no JSON object stay out: the API takes an object only. What was wrong with them is in the
    # result of the call.
    call = {
        "toolUseId": acceptable_id(block.id, _TOOL_ID),
        "name": names.wire(block.name),
        "input": dict(block.input),
    }
    return b'{"toolUse":' + _json.dumps(call) + b"}"


def _reasoning(block: ThinkingBlock) -> bytes | None:
    """Bedrock's own reasoning as it came; None for another provider's, which it would refuse."""
    own = (block.provider_metadata or {}).get(OWN)
    if not isinstance(own, Mapping):
        return None
    if isinstance(redacted := own.get("redactedContent"), str):
        return _json.dumps({"reasoningContent": {"redactedContent": redacted}})
    if block.signature is None:
        return None
    text = {"text": block.thinking, "signature": block.signature}
    return _json.dumps({"reasoningContent": {"reasoningText": text}})


def _result(block: ToolResultBlock) -> bytes:
    result: dict[str, Any] = {
        "toolUseId": acceptable_id(block.tool_use_id, _TOOL_ID),
        "content": _result_content(block),
    }
    if block.is_error:  # the field is refused by models that do not know it, and success goes without saying
        result["status"] = "error"
    return RESULT + _json.dumps(result) + b"}"


def _result_content(block: ToolResultBlock) -> list[dict[str, Any]]:
    """What is in a result. It must not be empty, nor may a text in it be blank."""
    inner = [TextBlock(block.content)] if isinstance(block.content, str) else block.content
    content = [
        {"text": each.text} if isinstance(each, TextBlock) else _image(each)
        for each in inner
        if not (isinstance(each, TextBlock) and _is_blank(each.text))
    ]
    return content or [{"text": NO_OUTPUT}]
