"""The order of results, for APIs that pair them with calls by name and order.

Tools end in any order, and histories of other clients have their results as they came. An API without ids takes the
second result of a tool for that of the tool's second call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from ..messages import ConversationMessage, Role, ToolResultBlock, ToolUseBlock

__all__ = ["in_call_order"]


def in_call_order(messages: Sequence[ConversationMessage]) -> Sequence[ConversationMessage]:
    """The messages, in which the results of each round are in the order of their calls; mostly the very same."""
    positions: dict[str, int] = {}
    count = last = 0
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock:
                count += 1
                positions[block.id] = count
            elif type(block) is ToolResultBlock:
                position = positions.get(block.tool_use_id, last)
                if position < last:
                    return _reordered(messages)
                last = position
    return messages


def _reordered(messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    reordered: list[ConversationMessage] = []
    positions: dict[str, int] = {}
    results: list[ConversationMessage] = []  # what has come since the last message of the model's
    for message in messages:
        if message.role is not Role.ASSISTANT:
            results.append(message)
            continue
        reordered += [*_sorted(results, positions), message]
        results.clear()
        calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
        positions.update({call.id: len(positions) + number for number, call in enumerate(calls)})
    return [*reordered, *_sorted(results, positions)]


def _sorted(messages: list[ConversationMessage], positions: dict[str, int]) -> list[ConversationMessage]:
    """The messages with their results in order; where there was one, there is one again."""
    results = [block for message in messages for block in message.content if isinstance(block, ToolResultBlock)]
    ordered = sorted(results, key=lambda result: positions.get(result.tool_use_id, len(positions)))
    if ordered == results:
        return messages
    rest = iter(ordered)
    return [_filled(message, rest) for message in messages]


def _filled(message: ConversationMessage, results: Iterator[ToolResultBlock]) -> ConversationMessage:
    """The message with the next results in the places of its own."""
    if not any(isinstance(block, ToolResultBlock) for block in message.content):
        return message
    content = [next(results) if isinstance(block, ToolResultBlock) else block for block in message.content]
    return evolve(message, content=tuple(content))
