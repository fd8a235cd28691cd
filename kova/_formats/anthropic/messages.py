"""A history as the Messages API wants it: the content of each message as a JSON fragment, neighbours of one role merged.

A fragment is made once and kept on its message, so that a tool loop over a long history encodes only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...messages import ConversationMessage, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ..fragments import fragment_of, keep_fragment
from ..tool_names import ToolNames
from .blocks import RESULT, encode_assistant_block, encode_user_block, is_blank, is_trailing_thinking

__all__ = ["encode_history", "system_prompt"]

KEY = "anthropic"

# What a message has besides results. Results come before all else in what the user says after a call: 400 "tool_use
# ids were found without tool_result blocks immediately after" where a text stands before them.
BESIDE_RESULTS = "anthropic beside results"

USERS = b'{"role":"user","content":['
MODELS = b'{"role":"assistant","content":['

_OPENINGS = {Role.USER: USERS, Role.TOOL: USERS, Role.ASSISTANT: MODELS}


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
    turn: list[bytes] = []  # the fragments of the message that is put together
    results = 0  # how many of them are results
    said: list[ConversationMessage] = []  # what they are of, where it is the model's
    opening, system = USERS, Role.SYSTEM
    for message in messages:
        if message.role is system:
            continue
        fragment = fragment_of(message, KEY)
        if fragment is None:
            fragment = _encode(message, names)
        if not fragment:
            continue
        if _OPENINGS[message.role] is not opening:
            if turn:
                encoded.append(b"".join((opening, b",".join(turn), b"]}")))
            opening, turn, results, said = _OPENINGS[message.role], [], 0, []
        if opening is MODELS:
            said.append(message)
        elif fragment.startswith(RESULT):
            turn.insert(results, fragment)
            results += 1
            fragment = fragment_of(message, BESIDE_RESULTS)
        if fragment:
            turn.append(fragment)
    if said:
        turn = _without_loose_end(said, turn, names)
    if turn:
        encoded.append(b"".join((opening, b",".join(turn), b"]}")))
    return encoded


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


def _without_loose_end(said: list[ConversationMessage], turn: list[bytes], names: ToolNames) -> list[bytes]:
    """The fragments of a last message that is the model's, which it goes on from.

    400 "final assistant content cannot end with trailing whitespace", and 400 "The final block in an assistant message
    cannot be `thinking`".

    Args:
        said: What the message is made of.
        turn: The fragment of each of these.
        names: The names of tools.
    """
    for kept in reversed(range(len(said))):
        blocks = list(said[kept].content)
        while blocks and (is_blank(blocks[-1]) or is_trailing_thinking(blocks[-1])):
            blocks.pop()
        if blocks and isinstance(last := blocks[-1], TextBlock):
            blocks[-1] = TextBlock(last.text.rstrip())
        if fragment := _joined(encode_assistant_block(block, names) for block in blocks):
            return [*turn[:kept], fragment]
    return []
