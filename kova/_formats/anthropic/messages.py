"""A history as the Messages API wants it: the content of each message as a JSON fragment, neighbours of one role merged.

A fragment is made once and kept on its message, so that a tool loop over a long history encodes only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...messages import ContentBlock, ConversationMessage, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ..fragments import fragment_of, keep_fragment
from ..tool_names import ToolNames
from .blocks import RESULT, encode_assistant_block, encode_user_block, is_blank, is_trailing_thinking

__all__ = ["encode_history", "system_prompt"]

KEY = "anthropic"

# What a message has besides results. Results come before all else in what the user says after a call: 400 "tool_use
# ids were found without tool_result blocks immediately after" where a text stands before them.
BESIDE_RESULTS = "anthropic beside results"

_OPENINGS = {False: b'{"role":"user","content":[', True: b'{"role":"assistant","content":['}


def system_prompt(messages: Iterable[ConversationMessage]) -> str | list[dict[str, str]] | None:
    """The system prompt, which has a place of its own, beside the messages."""
    texts = [
        block.text
        for message in messages
        if message.role is Role.SYSTEM
        for block in message.content
        if isinstance(block, TextBlock) and not is_blank(block)
    ]
    if len(texts) > 1:
        return [{"type": "text", "text": text} for text in texts]
    return texts[0] if texts else None


def encode_history(messages: Iterable[ConversationMessage], names: ToolNames) -> list[bytes]:
    """The messages as JSON, without system prompts, and without those in which nothing is left to send."""
    encoded: list[bytes] = []
    turn = _Turn(is_models=False)
    for message in messages:
        if message.role is Role.SYSTEM:
            continue
        fragment = fragment_of(message, KEY)
        if fragment is None:
            fragment = _encode(message, names)
        is_models = message.role is Role.ASSISTANT
        if fragment and is_models is not turn.is_models:
            encoded += turn.encoded()
            turn = _Turn(is_models=is_models)
        turn.add(message, fragment)
    turn.finish(names)
    return encoded + turn.encoded()


class _Turn:
    """Neighbouring messages of one role, which are one message on the wire.

    Args:
        is_models: Whether they are the model's.
    """

    def __init__(self, *, is_models: bool) -> None:
        self.is_models = is_models
        self._results: list[bytes] = []
        self._others: list[bytes] = []
        self._messages: list[ConversationMessage] = []  # the model's; as many as there are others

    def add(self, message: ConversationMessage, fragment: bytes) -> None:
        if not fragment:
            return
        if self.is_models:
            self._messages.append(message)
        elif fragment.startswith(RESULT):
            self._results.append(fragment)
            fragment = fragment_of(message, BESIDE_RESULTS) or b""
        if fragment:
            self._others.append(fragment)

    def finish(self, names: ToolNames) -> None:
        """Make this the last turn of a request.

        The model goes on from a last message of its own: 400 "final assistant content cannot end with trailing
        whitespace", and 400 "The final block in an assistant message cannot be `thinking`".
        """
        while self._messages:
            blocks = _without_loose_end(self._messages.pop().content)
            self._others.pop()
            if fragment := _joined(encode_assistant_block(block, names) for block in blocks):
                self._others.append(fragment)
                return

    def encoded(self) -> list[bytes]:
        """The turn as a message; none where there is nothing in it."""
        fragments = self._results + self._others
        return [_OPENINGS[self.is_models] + b",".join(fragments) + b"]}"] if fragments else []


def _encode(message: ConversationMessage, names: ToolNames) -> bytes:
    if message.role is not Role.ASSISTANT:
        return _encode_users(message)
    fragment = _joined(encode_assistant_block(block, names) for block in message.content)
    # A rewritten name depends on the other tools of the request; everything else on the message alone.
    if all(names.is_acceptable(block.name) for block in message.content if type(block) is ToolUseBlock):
        keep_fragment(message, KEY, fragment)
    return fragment


def _encode_users(message: ConversationMessage) -> bytes:
    """The fragment of a message of the user's or of tools; what is beside results is kept apart."""
    results = _joined(encode_user_block(block) for block in message.content if isinstance(block, ToolResultBlock))
    others = _joined(encode_user_block(block) for block in message.content if not isinstance(block, ToolResultBlock))
    if results and others:
        keep_fragment(message, BESIDE_RESULTS, others)
    keep_fragment(message, KEY, results or others)
    return results or others


def _joined(encoded: Iterable[bytes | None]) -> bytes:
    return b",".join([block for block in encoded if block])


def _without_loose_end(content: Sequence[ContentBlock]) -> list[ContentBlock]:
    blocks = list(content)
    while blocks and (is_blank(blocks[-1]) or is_trailing_thinking(blocks[-1])):
        blocks.pop()
    if blocks and isinstance(last := blocks[-1], TextBlock):
        blocks[-1] = TextBlock(last.text.rstrip())
    return blocks
