"""The stable JSON form in which histories are kept.

`{"role": "user", "content": [{"type": "text", "text": "…"}]}`, with the field names of the block classes; None fields
are left out, unknown fields are ignored, and what is wrong is reported with its place.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from . import _json
from .errors import SerializationError
from .messages import (
    ContentBlock,
    ConversationMessage,
    ImageBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    checked_messages,
)

__all__ = ["messages_from_json", "messages_to_json"]


def messages_to_json(messages: Iterable[ConversationMessage]) -> str:
    """The persisted form of a history.

    Raises:
        SerializationError: JSON has no form for a tool call's input or for metadata; the text names the message.
        TypeError: It is not a history.
    """
    written: list[str] = []
    for index, message in enumerate(checked_messages(messages)):
        try:
            written.append(_json.dumps(_message_to_dict(message)).decode())
        except (TypeError, ValueError) as error:
            raise SerializationError(f"messages[{index}] cannot be written as JSON: {error}") from error
    return f"[{','.join(written)}]"


def messages_from_json(data: str | bytes | list[Any]) -> list[ConversationMessage]:
    """A history from its persisted form.

    Args:
        data: JSON text, or the list that it decodes to.

    Raises:
        SerializationError: It is not a list of messages; the text names the place.
    """
    if isinstance(data, (str, bytes)):
        try:
            data = _json.loads(data)
        except ValueError as error:
            raise SerializationError(f"the messages are not JSON: {error}") from None
    if not isinstance(data, list):
        raise SerializationError(f"the messages: expected a list, got {_kind(data)}")
    return [_message_from_dict(item, f"messages[{index}]") for index, item in enumerate(data)]


# ---- writing


def _message_to_dict(message: ConversationMessage) -> dict[str, Any]:
    return {"role": message.role.value, "content": [_block_to_dict(block) for block in message.content]}


def _block_to_dict(block: ContentBlock) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ImageBlock(media_type, data, url):
            encoded = None if data is None else base64.b64encode(data).decode()
            return _present("image", media_type=media_type, data=encoded, url=url)
        case ToolUseBlock(call_id, name, arguments, metadata, invalid):
            return _present(
                "tool_use",
                id=call_id,
                name=name,
                input=arguments,
                provider_metadata=metadata,
                invalid_arguments=invalid,
            )
        case ToolResultBlock(call_id, content, is_error):
            written = content if isinstance(content, str) else [_block_to_dict(inner) for inner in content]
            return _present("tool_result", tool_use_id=call_id, content=written, is_error=is_error)
        case ThinkingBlock(thinking, signature, metadata):
            return _present("thinking", thinking=thinking, signature=signature, provider_metadata=metadata)


def _present(kind: str, **fields: object) -> dict[str, Any]:
    return {"type": kind} | {name: value for name, value in fields.items() if value is not None}


# ---- reading


B = TypeVar("B", bound=ContentBlock)
Fields: TypeAlias = dict[str, Any]
Readers: TypeAlias = Mapping[str, Callable[[Fields, str], B]]

_ROLES = frozenset(Role)


def _message_from_dict(item: object, place: str) -> ConversationMessage:
    fields = _object(item, place)
    role = _text(fields, "role", place)
    if role not in _ROLES:
        raise SerializationError(f"{place}.role: unknown role {role!r}")
    content = fields.get("content")
    if not isinstance(content, list):
        raise SerializationError(f"{place}.content: expected a list of blocks, got {_kind(content)}")
    return ConversationMessage(role, _blocks_from_list(content, f"{place}.content", _READERS))


def _blocks_from_list(items: list[Any], place: str, readers: Readers[B]) -> list[B]:
    return [_block_from_dict(item, f"{place}[{index}]", readers) for index, item in enumerate(items)]


def _block_from_dict(item: object, place: str, readers: Readers[B]) -> B:
    fields = _object(item, place)
    kind = _text(fields, "type", place)
    if kind not in readers:
        raise SerializationError(f"{place}.type: expected {' or '.join(readers)}, got {kind!r}")
    return readers[kind](fields, place)


def _read_text(fields: Fields, place: str) -> TextBlock:
    return TextBlock(_text(fields, "text", place))


def _read_image(fields: Fields, place: str) -> ImageBlock:
    data = _optional(fields, "data", str, place)
    url = _optional(fields, "url", str, place)
    if (data is None) == (url is None):
        raise SerializationError(f"{place}: an image has either data or url")
    try:
        raw = None if data is None else base64.b64decode(data, validate=True)
    except ValueError as error:
        raise SerializationError(f"{place}.data: not base64: {error}") from None
    return ImageBlock(_text(fields, "media_type", place), raw, url)


def _read_tool_use(fields: Fields, place: str) -> ToolUseBlock:
    return ToolUseBlock(
        _text(fields, "id", place),
        _text(fields, "name", place),
        _object(fields.get("input"), f"{place}.input"),
        _optional(fields, "provider_metadata", dict, place),
        _optional(fields, "invalid_arguments", str, place),
    )


def _read_tool_result(fields: Fields, place: str) -> ToolResultBlock:
    content = fields.get("content")
    if not isinstance(content, (str, list)):
        raise SerializationError(f"{place}.content: expected a string or a list of blocks, got {_kind(content)}")
    return ToolResultBlock(
        _text(fields, "tool_use_id", place),
        content if isinstance(content, str) else _blocks_from_list(content, f"{place}.content", _RESULT_READERS),
        _optional(fields, "is_error", bool, place) or False,
    )


def _read_thinking(fields: Fields, place: str) -> ThinkingBlock:
    return ThinkingBlock(
        _text(fields, "thinking", place),
        _optional(fields, "signature", str, place),
        _optional(fields, "provider_metadata", dict, place),
    )


_RESULT_READERS: Readers[TextBlock | ImageBlock] = {"text": _read_text, "image": _read_image}
_READERS: Readers[ContentBlock] = {
    **_RESULT_READERS,
    "tool_use": _read_tool_use,
    "tool_result": _read_tool_result,
    "thinking": _read_thinking,
}


def _object(value: object, place: str) -> Fields:
    if not isinstance(value, dict):
        raise SerializationError(f"{place}: expected an object, got {_kind(value)}")
    return value


def _text(fields: Fields, name: str, place: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise SerializationError(f"{place}.{name}: expected a string, got {_kind(value)}")
    return value


def _optional(fields: Fields, name: str, kind: type[Any], place: str) -> Any:
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        raise SerializationError(f"{place}.{name}: expected {_KINDS[kind]}, got {_kind(value)}")
    return value


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)
