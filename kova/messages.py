"""Messages: who said what, in content blocks.

A `ConversationMessage` has a role and a tuple of blocks: text, tool calls, tool results, thinking, images. Messages
are immutable and equal by value. Their stable JSON form is in `messages_to_json` and `messages_from_json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from attrs import field, frozen
from attrs.validators import optional

__all__ = [
    "ContentBlock",
    "ConversationMessage",
    "ImageBlock",
    "Role",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "assistant_message",
    "system_message",
    "tool_message",
    "user_message",
]

JSONObject: TypeAlias = Mapping[str, Any]
T = TypeVar("T")


class Role(StrEnum):
    """Who a message is from."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


# ---- what fields may hold


def must_be(kind: type) -> Callable[[Any, Any, Any], None]:
    """A validator: the field's value is of this class."""

    def check(instance: object, attribute: Any, value: object) -> None:
        if not isinstance(value, kind):
            name, got = f"{type(instance).__name__}.{attribute.name}", type(value).__name__
            raise TypeError(f"{name} must be {kind.__name__}, not {got}")

    return check


_text = must_be(str)


def copied(value: JSONObject) -> JSONObject:
    """The same as a dict that nobody else holds; what is no mapping is left to the validator."""
    given: object = value
    return dict(value) if isinstance(given, Mapping) else value


def copied_if_any(value: JSONObject | None) -> JSONObject | None:
    """The same for a field that may be None."""
    return None if value is None else copied(value)


def _tuple_of(types: tuple[type, ...], values: Iterable[T], rule: str) -> tuple[T, ...]:
    given: object = values
    if not isinstance(given, Iterable):
        raise TypeError(f"{rule}: got {type(given).__name__}")
    blocks = tuple(values)
    for block in blocks:
        if not isinstance(block, types):
            raise TypeError(f"{rule}: got {type(block).__name__}")
    return blocks


# ---- blocks


@frozen
class TextBlock:
    """Plain text.

    Attributes:
        text: The text.
    """

    text: str = field(validator=_text)


@frozen
class ImageBlock:
    """An image, as bytes or by its URL. kova never fetches a URL.

    Attributes:
        media_type: MIME type, such as "image/png".
        data: The bytes of the image file.
        url: Where the provider finds the image, in place of `data`.
    """

    media_type: str = field(validator=_text)
    data: bytes | None = field(default=None, validator=optional(must_be(bytes)))
    url: str | None = field(default=None, validator=optional(_text))

    def __attrs_post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise ValueError("an ImageBlock has either data or url")

    def __repr__(self) -> str:
        # A "data:" URL holds the whole image.
        content = f"url={self.url!r:.200}" if self.data is None else f"<{len(self.data)} bytes>"
        return f"ImageBlock({self.media_type!r}, {content})"


@frozen
class ToolUseBlock:
    """A call of a tool, by the model.

    Attributes:
        id: Identifies the call; its result carries the same id.
        name: Name of the tool.
        input: The arguments.
        provider_metadata: What the provider wants back with the call, such as a thought signature.
        invalid_arguments: The raw text of arguments that were not a JSON object; `input` is then empty.
    """

    id: str = field(validator=_text)
    name: str = field(validator=_text)
    input: JSONObject = field(converter=copied, validator=must_be(dict), hash=False)
    provider_metadata: JSONObject | None = field(
        default=None, converter=copied_if_any, validator=optional(must_be(dict)), hash=False
    )
    invalid_arguments: str | None = field(default=None, validator=optional(_text))


def result_content(content: str | Iterable[TextBlock | ImageBlock]) -> str | tuple[TextBlock | ImageBlock, ...]:
    """What a tool gave back, as a result holds it.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(content, str):
        return content
    return _tuple_of((TextBlock, ImageBlock), content, "a tool result holds text, or blocks of text and images")


@frozen
class ToolResultBlock:
    """What a tool gave back, or how it failed.

    Attributes:
        tool_use_id: Id of the call that this answers.
        content: Text, or blocks of text and images.
        is_error: Whether the call failed; the content then says how.
    """

    tool_use_id: str = field(validator=_text)
    content: str | tuple[TextBlock | ImageBlock, ...] = field(converter=result_content)
    is_error: bool = field(default=False, validator=must_be(bool))


@frozen
class ThinkingBlock:
    """Reasoning that its provider wants back in the history, word for word.

    Attributes:
        thinking: The reasoning as text; may be empty.
        signature: The provider's signature of it.
        provider_metadata: What else the provider wants back, such as redacted reasoning.
    """

    thinking: str = field(validator=_text)
    signature: str | None = field(default=None, validator=optional(_text))
    provider_metadata: JSONObject | None = field(
        default=None, converter=copied_if_any, validator=optional(must_be(dict)), hash=False
    )


ContentBlock: TypeAlias = TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock

_BLOCKS = (TextBlock, ImageBlock, ToolUseBlock, ToolResultBlock, ThinkingBlock)


# ---- messages


def content_blocks(content: str | Iterable[ContentBlock]) -> tuple[ContentBlock, ...]:
    """The content of a message as blocks; a string stands for one text block.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(content, str):
        return (TextBlock(content),)
    return _tuple_of(_BLOCKS, content, "a message consists of text or of content blocks")


def _role(role: Role | str) -> Role:
    given: object = role
    try:
        return Role(role)
    except ValueError:
        kind = ValueError if isinstance(given, str) else TypeError
        raise kind(f"role must be one of {', '.join(Role)}, not {role!r}") from None


@frozen(getstate_setstate=False)
class ConversationMessage:
    """One message of a conversation.

    Attributes:
        role: Who it is from; the names "user", "assistant", "system" and "tool" are understood too.
        content: Its blocks; a string stands for one text block.
    """

    role: Role = field(converter=_role)
    content: tuple[ContentBlock, ...] = field(converter=content_blocks)
    # What requests are put together from, by format, so that a long history is encoded once; not a part of the value.
    _fragments: dict[str, bytes] | None = field(default=None, init=False, eq=False, repr=False)

    @property
    def text(self) -> str:
        """The text of all text blocks."""
        return "".join([block.text for block in self.content if isinstance(block, TextBlock)])

    def __getstate__(self) -> tuple[Role, tuple[ContentBlock, ...]]:
        return self.role, self.content

    def __setstate__(self, state: tuple[Role, tuple[ContentBlock, ...]]) -> None:
        for name, value in zip(("role", "content", "_fragments"), (*state, None), strict=True):
            object.__setattr__(self, name, value)


def checked_messages(messages: Iterable[ConversationMessage]) -> list[ConversationMessage]:
    """The messages as a list.

    Raises:
        TypeError: They are something else.
    """
    given: object = messages
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping)):
        raise TypeError(f"messages must be a sequence of messages, not {type(given).__name__}")
    checked = list(messages)
    for index, message in enumerate(checked):
        if not isinstance(message, ConversationMessage):
            reader = ": messages_from_json reads such" if isinstance(message, Mapping) else ""
            raise TypeError(f"messages[{index}] must be a ConversationMessage, not {type(message).__name__}{reader}")
    return checked


def user_message(text: str, *blocks: ContentBlock) -> ConversationMessage:
    """A message from the user: text, and further blocks such as images."""
    return _message(Role.USER, text, blocks)


def assistant_message(text: str, *blocks: ContentBlock) -> ConversationMessage:
    """A message from the model."""
    return _message(Role.ASSISTANT, text, blocks)


def system_message(text: str) -> ConversationMessage:
    """Instructions to the model."""
    return _message(Role.SYSTEM, text, ())


def tool_message(
    tool_use_id: str, content: str | Iterable[TextBlock | ImageBlock], *, is_error: bool = False
) -> ConversationMessage:
    """The result of one tool call."""
    return ConversationMessage(Role.TOOL, (ToolResultBlock(tool_use_id, content, is_error),))


def _message(role: Role, text: str, blocks: tuple[ContentBlock, ...]) -> ConversationMessage:
    given: object = text
    if not isinstance(given, str):
        raise TypeError(f"text must be a str, which may be empty before blocks; not {type(given).__name__}")
    return ConversationMessage(role, blocks if blocks and text == "" else (TextBlock(text), *blocks))
