"""Content blocks as the parts that the API has in their place, and what of its own parts goes back as it came.

A thought signature belongs to the part that it came with: "Always send the thought_signature back to the model inside
its original Part. Don't merge a Part containing a signature with one that does not."
(https://ai.google.dev/gemini-api/docs/thought-signatures)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...messages import ContentBlock, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..media import inline_base64
from ..tool_names import ToolNames

__all__ = [
    "CALL_ID",
    "Part",
    "RAW_PART",
    "SIGNATURE",
    "SIGNED_LENGTH",
    "call_id",
    "model_parts",
    "result_part",
    "user_parts",
]

Part = dict[str, Any]

SIGNATURE = "gemini_signature"
"""Key in the `provider_metadata` of a tool call: the signature of its part. In that of a thinking block: the signature
of the text before it."""

SIGNED_LENGTH = "gemini_signed_length"
"""Key beside that of a thinking block: how many of the last characters of the text came in the signed part."""

RAW_PART = "gemini_part"
"""Key in a thinking block's `provider_metadata`: a part that goes back as it came.

Signed thoughts are such parts, and so are calls of the tools that the API runs itself, and their results.
"""

CALL_ID = "gemini_call_id"
"""Key in a tool call's `provider_metadata`: the id that the API gave it.

No other id is sent: what answers behind this API without giving ids refuses them, "Unknown name "id" at
'contents[1].parts[0].function_call'", and pairs results with calls by name and order.
"""

# Google's word for "there is none", for calls of another model: https://ai.google.dev/gemini-api/docs/thought-signatures
NO_SIGNATURE = "skip_thought_signature_validator"


def model_parts(blocks: Iterable[ContentBlock], names: ToolNames, *, wants_signatures: bool) -> list[Part]:
    """The parts of a message of the model's.

    Args:
        blocks: The message's content.
        names: The names of tools on the wire.
        wants_signatures: Whether the model refuses calls without a signature.
    """
    parts: list[Part] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append({"text": block.text})
        elif isinstance(block, ToolUseBlock):
            parts.append(_call(block, names))
        elif isinstance(block, ThinkingBlock):
            _add_thinking(parts, block.provider_metadata or {})
        elif isinstance(block, ImageBlock):
            parts.append(_image(block))
    parts = [part for part in parts if not _is_blank(part)]
    first_call = next((part for part in parts if "functionCall" in part), None)
    if wants_signatures and first_call is not None:
        first_call.setdefault("thoughtSignature", NO_SIGNATURE)
    return parts


def user_parts(blocks: Iterable[ContentBlock]) -> list[Part]:
    """The parts of what the user says, or of what is in a result beside its text."""
    parts: list[Part] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append({"text": block.text})
        elif isinstance(block, ImageBlock):
            parts.append(_image(block))
    return [part for part in parts if not _is_blank(part)]


def result_part(block: ToolResultBlock, name: str, id: str | None) -> Part:
    """The part of a tool's result.

    The text stays a text, also where it is JSON: numbers of an object would become doubles on the way, and long ids
    others.

    Args:
        block: The result.
        name: The name of the tool on the wire.
        id: The call's id on the wire, if it has one.
    """
    response = {"error" if block.is_error else "output": _result_text(block)}
    return {"functionResponse": {**({} if id is None else {"id": id}), "name": name, "response": response}}


def call_id(call: ToolUseBlock) -> str | None:
    """The id of a call on the wire, if it has one."""
    given = (call.provider_metadata or {}).get(CALL_ID)
    return given if isinstance(given, str) else None


def _call(block: ToolUseBlock, names: ToolNames) -> Part:
    id, signature = call_id(block), (block.provider_metadata or {}).get(SIGNATURE)
    call = {**({} if id is None else {"id": id}), "name": names.wire(block.name), "args": dict(block.input)}
    return {"functionCall": call, **({"thoughtSignature": signature} if signature else {})}


def _add_thinking(parts: list[Part], metadata: Mapping[str, Any]) -> None:
    """Add what goes back of a thinking block: nothing of another provider's, nor of one that is not signed."""
    if isinstance(raw := metadata.get(RAW_PART), dict):
        parts.append(dict(raw))
    elif signature := metadata.get(SIGNATURE):
        _sign(parts, signature, metadata.get(SIGNED_LENGTH))


def _sign(parts: list[Part], signature: Any, length: Any) -> None:
    """Put a signature on the end of the last text, in a part of its own, as it came.

    Without a text it goes with an empty one, since a part without data is refused.
    """
    text = (_plain_text(parts[-1]) or "") if parts else ""
    if not isinstance(length, int) or not 0 < length <= len(text):
        parts.append({"text": "", "thoughtSignature": signature})
        return
    parts[-1:] = [{"text": text[:-length]}, {"text": text[-length:], "thoughtSignature": signature}]


def _image(block: ImageBlock) -> Part:
    data = inline_base64(block)
    if data is None:
        return {"fileData": {"mimeType": block.media_type, "fileUri": block.url}}
    return {"inlineData": {"mimeType": block.media_type, "data": data}}


def _plain_text(part: Part) -> str | None:
    """The text of a part that is nothing else; None for others."""
    text = part.get("text")
    return text if isinstance(text, str) and len(part) == 1 else None


def _is_blank(part: Part) -> bool:
    text = _plain_text(part)
    return text is not None and not text.strip()


def _result_text(block: ToolResultBlock) -> str:
    if isinstance(block.content, str):
        return block.content
    text = "\n".join([inner.text for inner in block.content if isinstance(inner, TextBlock) and inner.text.strip()])
    has_images = any(isinstance(inner, ImageBlock) for inner in block.content)
    return "The result is the image in the next message." if has_images and not text else text
