"""How many tokens a prompt has, about: measured offline, for the context budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import _json
from .errors import SerializationError
from .messages import (
    ContentBlock,
    ConversationMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    checked_messages,
)

if TYPE_CHECKING:
    from .tools import ToolDefinition

__all__ = ["estimate_tokens"]

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1_000  # providers count 85 to 1,600, by a size in pixels that kova does not look at
TOKENS_AROUND = 4  # what frames a message, or a tool


def estimate_tokens(messages: Iterable[ConversationMessage], tools: Iterable[ToolDefinition] = ()) -> int:
    """About how many tokens a prompt has, measured offline.

    A token is taken to be 4 characters. A character beyond ASCII counts as its bytes in UTF-8, since tokenizers spend
    more on it; an image counts as 1,000 tokens. The estimate of two histories together is the sum of both.

    Args:
        messages: The messages, system prompt included.
        tools: What the model is told about its tools.

    Returns:
        The estimate, in tokens.

    Raises:
        TypeError: The messages, or the tools, are something else.
        SerializationError: JSON has no form for the input of a tool call, or for the parameters of a tool.
    """
    prompt = sum([_tokens_around(sum(map(_size, message.content))) for message in checked_messages(messages)])
    described = list(map(_size_of_tool, tools))
    return prompt + sum(map(_tokens_around, described))


def _tokens_around(size: int) -> int:
    return TOKENS_AROUND - (-size // CHARACTERS_PER_TOKEN)


def _size(block: ContentBlock) -> int:
    """The size of a block, in characters."""
    if isinstance(block, TextBlock):
        return _length(block.text)
    if isinstance(block, ToolResultBlock):
        content = block.content
        return _length(block.tool_use_id) + (_length(content) if isinstance(content, str) else sum(map(_size, content)))
    if isinstance(block, ImageBlock):
        return TOKENS_PER_IMAGE * CHARACTERS_PER_TOKEN
    if isinstance(block, ThinkingBlock):
        return _length(block.thinking) + _length(block.signature or "")
    return _length(block.id) + _length(block.name) + _length_as_json(block.input)


def _size_of_tool(tool: object) -> int:
    from .tools import ToolDefinition  # which loads what an estimate of messages alone does not need

    if not isinstance(tool, ToolDefinition):
        raise TypeError(f"tools must be ToolDefinitions, not {type(tool).__name__}")
    return _length(tool.name) + _length(tool.description) + _length_as_json(tool.parameters)


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _length_as_json(value: object) -> int:
    try:
        return len(_json.dumps(value)) if value else 0
    except (TypeError, ValueError) as error:
        raise SerializationError(f"a prompt that cannot be written as JSON cannot be measured: {error}") from error
