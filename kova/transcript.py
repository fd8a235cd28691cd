"""Transcripts: a history that can show itself, in a notebook and in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from . import _dialogue, _json
from ._terminal import plain
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

__all__ = ["Transcript"]


class Transcript(tuple[ConversationMessage, ...]):
    """A history that can show itself: a tuple of its messages.

    As the last line of a notebook's cell it is a page of who said what: text, tool calls with their results, images
    that are part of a message. All of it is escaped, and nothing is fetched from an address that a message holds.
    `str()` is the same as text, without the escapes that a terminal would obey.

        kova.Transcript(history + response.new_messages)

    Args:
        messages: The history.

    Raises:
        TypeError: It is no sequence of messages.
    """

    __slots__ = ()

    def __new__(cls, messages: Iterable[ConversationMessage]) -> Self:
        return super().__new__(cls, checked_messages(messages))

    def __str__(self) -> str:
        return "\n".join(plain(f"{who}: {_as_text(block)}") for who, _, block in self._blocks())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _dialogue.dialogue(_dialogue.Speech(who, look, [_as_html(block)]) for who, look, block in self._blocks())

    def _blocks(self) -> Iterator[tuple[str, str, ContentBlock]]:
        """Each block, with who it is from, and how it looks."""
        names = {
            block.id: block.name for message in self for block in message.content if isinstance(block, ToolUseBlock)
        }
        for message in self:
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    look = "failed" if block.is_error else "tool"
                    yield names.get(block.tool_use_id, block.tool_use_id), look, block
                else:
                    yield message.role.value, "tool" if message.role is Role.TOOL else message.role.value, block


def _as_text(block: ContentBlock) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ToolUseBlock():
            return _call(block)
        case ToolResultBlock(content=content, is_error=is_error):
            result = content if isinstance(content, str) else "\n".join(map(_as_text, content))
            return f"[failed] {result}" if is_error else result
        case ThinkingBlock(thinking=thinking):
            return f"[thinking] {thinking}"
        case ImageBlock():
            return f"[{block.media_type}]"


def _as_html(block: ContentBlock) -> str:
    match block:
        case TextBlock(text=text):
            return _dialogue.said(text)
        case ToolUseBlock():
            return _dialogue.code(_call(block))
        case ToolResultBlock(content=content):
            return _dialogue.code(content) if isinstance(content, str) else "".join(map(_as_html, content))
        case ThinkingBlock(thinking=thinking):
            return _dialogue.folded("thinking", thinking)
        case ImageBlock(media_type=media_type, data=data, url=url):
            return _dialogue.picture(media_type, data, url)


def _call(block: ToolUseBlock) -> str:
    if block.invalid_arguments is not None:
        return f"{block.name}({block.invalid_arguments})"
    return f"{block.name}({', '.join(f'{name}={_value(value)}' for name, value in block.input.items())})"


def _value(value: object) -> str:
    try:
        return _json.dumps(value).decode()
    except (TypeError, ValueError):
        return repr(value)
