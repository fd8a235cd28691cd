"""What a server may ask of the client while it works: a form to be filled in, a model's answer, the roots.

Sources: https://modelcontextprotocol.io/specification/2025-11-25/client (elicitation, sampling, roots).
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config import InferenceConfig
from ..errors import BuildError
from ..messages import ConversationMessage, ImageBlock, Role, TextBlock, system_message
from ..responses import ModelResponse, StopReason

__all__ = ["roots_result", "sampling_config", "sampling_messages", "sampling_result", "with_form_defaults"]

JSONObject = Mapping[str, Any]

STOP_REASONS = {
    StopReason.MAX_TOKENS: "maxTokens",
    StopReason.STOP_SEQUENCE: "stopSequence",
    StopReason.TOOL_USE: "toolUse",
}


def roots_result(roots: Sequence[str | os.PathLike[str]]) -> JSONObject:
    """The answer to `roots/list`: paths and URIs as roots.

    Raises:
        BuildError: One of them is neither.
    """
    if isinstance(roots, (str, bytes, os.PathLike)) or not isinstance(roots, Iterable):
        raise BuildError("roots must be a sequence of paths or URIs, not a single one")
    return {"roots": [_root(root) for root in roots]}


def _root(root: object) -> JSONObject:
    if isinstance(root, str) and "://" in root:
        return {"uri": root}
    if not isinstance(root, (str, os.PathLike)):
        raise BuildError(f"roots must be paths or URIs, not {type(root).__name__}")
    path = Path(root).absolute()
    try:
        return {"uri": path.as_uri(), "name": path.name or str(path)}
    except UnicodeEncodeError:
        raise BuildError(f"roots: {root!r} cannot be written as a URI") from None


def with_form_defaults(params: JSONObject, result: JSONObject) -> JSONObject:
    """An accepted form, in which what the handler left out has the default of its field."""
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    content = result.get("content", {})
    if result.get("action") != "accept" or not isinstance(fields, dict) or not isinstance(content, dict):
        return result
    defaults = {
        name: field["default"] for name, field in fields.items() if isinstance(field, dict) and "default" in field
    }
    return {**result, "content": defaults | content}


# ---- a kova provider as the model of a server


def sampling_messages(params: JSONObject) -> list[ConversationMessage]:
    """The conversation that a server wants continued.

    Raises:
        ValueError: It has a kind of content that no provider is given here.
    """
    messages = [_message(message) for message in params.get("messages", ())]
    prompt = params.get("systemPrompt")
    return [system_message(prompt), *messages] if isinstance(prompt, str) and prompt else messages


def _message(message: JSONObject) -> ConversationMessage:
    content = message["content"]
    blocks = [_block(block) for block in (content if isinstance(content, list) else [content])]
    return ConversationMessage(Role.ASSISTANT if message["role"] == "assistant" else Role.USER, blocks)


def _block(block: JSONObject) -> TextBlock | ImageBlock:
    match block["type"]:
        case "text":
            return TextBlock(block["text"])
        case "image":
            return ImageBlock(block["mimeType"], base64.b64decode(block["data"]))
        case kind:
            raise ValueError(f"{kind} content cannot be given to the model")


def sampling_config(params: JSONObject) -> InferenceConfig:
    """How the model is asked."""
    stop = params.get("stopSequences")
    return InferenceConfig(
        max_tokens=params.get("maxTokens"),
        temperature=params.get("temperature"),
        stop_sequences=tuple(stop) if stop else None,
    )


def sampling_result(response: ModelResponse) -> JSONObject:
    """The model's answer as the server wants it."""
    return {
        "role": "assistant",
        "content": {"type": "text", "text": response.text},
        "model": response.model or "unknown",
        "stopReason": STOP_REASONS.get(response.stop_reason, "endTurn"),
    }
