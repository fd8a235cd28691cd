"""A history as Converse wants it: the content of each message as a JSON fragment, neighbours of one role merged.

A fragment is made once and kept on its message, so that a tool loop over a long history encodes only what is new.
Where a request has no tools, those of the history are told in words: the API refuses their blocks without a toolConfig,
some models refuse the toolConfig, and with one the model might call what nobody offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..._log import log
from ...messages import (
    ContentBlock,
    ConversationMessage,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ..fragments import fragment_of, keep_fragment
from ..tool_names import ToolNames
from .blocks import RESULT, encode_assistant_block, encode_user_block, told_call, told_result

__all__ = ["encode_history", "system_blocks"]

# The forms that a message has: with its tool blocks as they are, and told in words.
KEYS = {False: "bedrock", True: "bedrock told"}

# What a message has besides results. Results come before all else in what the user says after a call: "tool_use ids
# were found without tool_result blocks immediately after" where a text stands before them.
BESIDE_RESULTS = "bedrock beside results"

# Stands before a history that begins with the model, as a trimmed one may: "A conversation must start with a user
# message".
_BEGINNING = b'{"role":"user","content":[{"text":"(The conversation goes on.)"}]}'

_OPENINGS = {False: b'{"role":"user","content":[', True: b'{"role":"assistant","content":['}


def system_blocks(messages: Iterable[ConversationMessage]) -> list[dict[str, str]]:
    """The system prompts, which have a place of their own, beside the messages."""
    blocks = [block for message in messages if message.role is Role.SYSTEM for block in message.content]
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    if len(texts) < len(blocks):
        log.warning("an image is left out of a request: models on Bedrock take none there", role="system")
    return [{"text": text} for text in texts if text and not text.isspace()]


def encode_history(messages: Sequence[ConversationMessage], names: ToolNames, *, told: bool) -> list[bytes]:
    """The messages as JSON, without system prompts, and without those in which nothing is left to send.

    Args:
        messages: The history.
        names: The names of the request's tools.
        told: Whether calls and results are told in words.

    Raises:
        Unsendable: An image is one that the API cannot take.
    """
    key = KEYS[told]
    encoded: list[bytes] = []
    turn = _Turn(is_models=False)
    for message in _without_loose_end(messages):
        if message.role is Role.SYSTEM:
            continue
        fragment = fragment_of(message, key)
        if fragment is None:
            fragment = _encode(message, names, key)
        is_models = message.role is Role.ASSISTANT
        if fragment and is_models is not turn.is_models:
            encoded += turn.encoded()
            turn = _Turn(is_models=is_models)
        turn.add(message, fragment)
    encoded += turn.encoded()
    return [_BEGINNING, *encoded] if encoded and encoded[0].startswith(_OPENINGS[True]) else encoded


class _Turn:
    """Neighbouring messages of one role, which are one message on the wire: "roles must alternate".

    Args:
        is_models: Whether they are the model's.
    """

    def __init__(self, *, is_models: bool) -> None:
        self.is_models = is_models
        self._results: list[bytes] = []
        self._others: list[bytes] = []

    def add(self, message: ConversationMessage, fragment: bytes) -> None:
        if fragment.startswith(RESULT):
            self._results.append(fragment)
            fragment = fragment_of(message, BESIDE_RESULTS) or b""
        if fragment:
            self._others.append(fragment)

    def encoded(self) -> list[bytes]:
        """The turn as a message; none where there is nothing in it."""
        fragments = self._results + self._others
        return [_OPENINGS[self.is_models] + b",".join(fragments) + b"]}"] if fragments else []


def _without_loose_end(messages: Sequence[ConversationMessage]) -> Sequence[ConversationMessage]:
    """The messages, which do not end in a blank or in reasoning if the end is the model's, to go on from.

    "final assistant content cannot end with trailing whitespace", "The final block in an assistant message cannot be
    `thinking`"
    """
    kept = len(messages)
    while kept and (last := messages[kept - 1]).role in (Role.ASSISTANT, Role.SYSTEM):
        blocks = list(last.content) if last.role is Role.ASSISTANT else []
        while blocks and _is_loose(blocks[-1]):
            blocks.pop()
        if blocks:
            if isinstance(end := blocks[-1], TextBlock):
                blocks[-1] = TextBlock(end.text.rstrip())
            is_same = len(blocks) == len(last.content) and blocks[-1] == last.content[-1]
            return messages if is_same and kept == len(messages) else [*messages[: kept - 1], _models(blocks)]
        kept -= 1
    return messages[:kept]


def _is_loose(block: ContentBlock) -> bool:
    """Whether a message of the model's must not end with this."""
    return isinstance(block, ThinkingBlock) or (isinstance(block, TextBlock) and not block.text.strip())


def _models(blocks: list[ContentBlock]) -> ConversationMessage:
    return ConversationMessage(Role.ASSISTANT, tuple(blocks))


def _encode(message: ConversationMessage, names: ToolNames, key: str) -> bytes:
    content = _told(message.content) if key == KEYS[True] else message.content
    if message.role is not Role.ASSISTANT:
        return _encode_users(message, content, key)
    fragment = _encode_models(content, names)
    # A rewritten name depends on the other tools of the request; everything else on the message alone.
    if all(names.is_acceptable(block.name) for block in content if isinstance(block, ToolUseBlock)):
        keep_fragment(message, key, fragment)
    return fragment


def _encode_users(message: ConversationMessage, content: Sequence[ContentBlock], key: str) -> bytes:
    """The fragment of a message of the user's or of tools; what is beside results is kept apart."""
    results = _joined(encode_user_block(block) for block in content if isinstance(block, ToolResultBlock))
    others = _joined(encode_user_block(block) for block in content if not isinstance(block, ToolResultBlock))
    if results and others:
        keep_fragment(message, BESIDE_RESULTS, others)
    keep_fragment(message, key, results or others)
    return results or others


def _encode_models(content: Sequence[ContentBlock], names: ToolNames) -> bytes:
    """The fragment of a message of the model's.

    Nothing of it is sent where only reasoning is left: newer models take such a message for the beginning of their
    answer, and refuse it, wherever it stands ("does not support assistant message prefill").
    """
    others = [block for block in content if not isinstance(block, ThinkingBlock)]
    if not any(encode_assistant_block(block, names) for block in others):
        return b""
    return _joined(encode_assistant_block(block, names) for block in content)


def _told(content: Iterable[ContentBlock]) -> list[ContentBlock]:
    """The content with its calls and results in words."""
    told: list[ContentBlock] = []
    for block in content:
        if isinstance(block, ToolUseBlock):
            told.append(told_call(block))
        elif isinstance(block, ToolResultBlock):
            told += told_result(block)
        else:
            told.append(block)
    return told


def _joined(encoded: Iterable[bytes | None]) -> bytes:
    return b",".join([block for block in encoded if block])
