"""Histories: what is wrong with one, an acceptable copy of it, a shorter one, and its size.

Model APIs agree on what a history must be: each tool call is followed by its result before anything else is said,
results come in the order of the calls, ids are unique, no text is blank, and a role has the blocks that are its own.
All of this is pure; what is given is never changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Sequence
from typing import TypeAlias

import attrs

from ._token_estimate import estimate_tokens
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

__all__ = ["check_history", "estimate_tokens", "repair_history", "trim_history"]

INTERRUPTED = "The call was interrupted: there is no result."

# Results may also stand in a message of the user's, where Anthropic's API has them.
_BLOCKS_OF: dict[Role, tuple[type, ...]] = {
    Role.SYSTEM: (TextBlock,),
    Role.USER: (TextBlock, ImageBlock, ToolResultBlock),
    Role.ASSISTANT: (TextBlock, ImageBlock, ThinkingBlock, ToolUseBlock),
    Role.TOOL: (ToolResultBlock,),
}


def _is_blank(block: ContentBlock) -> bool:
    return isinstance(block, TextBlock) and (not block.text or block.text.isspace())


# ---- what is wrong


def check_history(messages: Iterable[ConversationMessage]) -> list[str]:
    """Say what is wrong with a history.

    A message without any content is not wrong: it is not sent. Nor need a history begin with a system prompt, or with
    the user.

    Args:
        messages: The history.

    Returns:
        What some provider would refuse, each with its place, such as "messages[2].content[0]: blank text"; nothing
        for a history that every provider accepts.

    Raises:
        TypeError: It is no sequence of messages.
    """
    check = _Check()
    for index, message in enumerate(checked_messages(messages)):
        check.message(index, message)
    check.end_of_round()
    return check.problems


Place: TypeAlias = tuple[int, int]


class _Check:
    """What is wrong with the messages so far."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._ids: set[str] = set()
        self._waiting: dict[str, Place] = {}  # calls that have no result yet

    def message(self, index: int, message: ConversationMessage) -> None:
        allowed = _BLOCKS_OF[message.role]
        called: dict[str, Place] = {}
        for number, block in enumerate(message.content):
            if not isinstance(block, allowed):
                self._say((index, number), f"{type(block).__name__} does not fit role {message.role}")
                continue
            if isinstance(block, ToolResultBlock):
                self._result((index, number), block)
                continue
            if self._waiting:
                self.end_of_round()
            if isinstance(block, ToolUseBlock):
                called[block.id] = index, number
                self._call((index, number), block)
            elif _is_blank(block):
                self._say((index, number), "blank text")
        if called:
            self._waiting = called

    def end_of_round(self) -> None:
        """No more results are coming: something else is said."""
        for call_id, place in self._waiting.items():
            self._say(place, f"the call {call_id!r} has no result")
        self._waiting = {}

    def _call(self, place: Place, call: ToolUseBlock) -> None:
        if call.id in self._ids:
            self._say(place, f"an earlier call has the id {call.id!r} too")
        self._ids.add(call.id)

    def _result(self, place: Place, result: ToolResultBlock) -> None:
        call_id = result.tool_use_id
        if call_id not in self._waiting:
            self._say(place, f"a result for {call_id!r}, which is no call that waits for one")
        else:
            first = next(iter(self._waiting))
            if call_id != first:
                self._say(place, f"the result for {call_id!r} comes before that for {first!r}")
            del self._waiting[call_id]
        if not isinstance(result.content, str) and any(map(_is_blank, result.content)):
            self._say(place, "blank text in a result")

    def _say(self, place: Place, problem: str) -> None:
        self.problems.append(f"messages[{place[0]}].content[{place[1]}]: {problem}")


# ---- an acceptable copy


def repair_history(messages: Iterable[ConversationMessage]) -> list[ConversationMessage]:
    """An acceptable copy of a history: `check_history` finds nothing wrong with it.

    A call without a result gets an error result that says so. Results are put in the order of the calls; those without
    a call are dropped, and so are blank text, blocks that do not fit their role, and messages in which nothing is left.
    A call that has the id of an earlier one gets another id, and so does its result.

    Args:
        messages: Any messages.

    Returns:
        The copy. Messages that need no change are the same objects, and so a good history comes back as it is.

    Raises:
        TypeError: They are no sequence of messages.
    """
    history = checked_messages(messages)
    if not check_history(history):
        return history
    used_ids: set[str] = set()
    repaired: list[ConversationMessage] = []
    for messages_of_round in _rounds(filter(None, map(_cleaned, history))):
        repaired += _repaired_round(messages_of_round, used_ids)
    return repaired


def _cleaned(message: ConversationMessage) -> ConversationMessage | None:
    """The message without what is wrong by itself; None when nothing is left."""
    fitting = [block for block in message.content if isinstance(block, _BLOCKS_OF[message.role])]
    return _with_content(message, [without_blanks(block) for block in fitting if not _is_blank(block)])


def without_blanks(block: ContentBlock) -> ContentBlock:
    """A tool result without the blank texts among its blocks; itself where there are none, as any other block."""
    if not isinstance(block, ToolResultBlock) or isinstance(block.content, str):
        return block
    content = [inner for inner in block.content if not _is_blank(inner)]
    return block if len(content) == len(block.content) else attrs.evolve(block, content=content or "")


def _with_content(message: ConversationMessage, blocks: Sequence[ContentBlock]) -> ConversationMessage | None:
    """The message with these blocks, itself if they are its own; None when it has lost them all."""
    if list(map(id, blocks)) == list(map(id, message.content)):
        return message
    return ConversationMessage(message.role, blocks) if blocks else None


def _rounds(messages: Iterable[ConversationMessage]) -> list[list[ConversationMessage]]:
    """Each message of the model with those that follow it; before these, what comes before the first."""
    rounds: list[list[ConversationMessage]] = [[]]
    for message in messages:
        if message.role is Role.ASSISTANT and message.content:
            rounds.append([])
        rounds[-1].append(message)
    return rounds


def _repaired_round(messages: list[ConversationMessage], used_ids: set[str]) -> list[ConversationMessage]:
    """The same round, with a result for each call right after the message that makes the calls."""
    calls = [block for message in messages for block in message.content if isinstance(block, ToolUseBlock)]
    ids = _unique_ids(calls, used_ids)
    if ids == [call.id for call in calls] and not check_history(messages):
        return messages
    results = _results_by_id(messages)
    answers = [_answer(results.get(call.id), new_id) for call, new_id in zip(calls, ids, strict=True)]
    others = [other for message in messages if (other := _without_results(message, ids)) is not None]
    return others[:1] + answers + others[1:] if calls else others


def _unique_ids(calls: Iterable[ToolUseBlock], used_ids: set[str]) -> list[str]:
    """An id for each call that no other has: its own where that is free."""
    ids: list[str] = []
    for call in calls:
        ids.append(unique_id(call.id, used_ids))
        used_ids.add(ids[-1])
    return ids


def unique_id(wanted: str, used_ids: Container[str]) -> str:
    """An id that is not used: the wanted one, or one like it."""
    unique, number = wanted, 1
    while unique in used_ids:
        number += 1
        unique = f"{wanted}_{number}"
    return unique


Results: TypeAlias = deque[tuple[ToolResultBlock, ConversationMessage]]


def _results_by_id(messages: Iterable[ConversationMessage]) -> dict[str, Results]:
    """The results of a round by the ids of their calls, each with the message that it is in."""
    results: dict[str, Results] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                results.setdefault(block.tool_use_id, deque()).append((block, message))
    return results


def _answer(results: Results | None, call_id: str) -> ConversationMessage:
    """The message with the next of these results, as the answer to the call."""
    if not results:
        return ConversationMessage(Role.TOOL, [ToolResultBlock(call_id, INTERRUPTED, is_error=True)])
    block, message = results.popleft()
    if block.tool_use_id == call_id and message.role is Role.TOOL and len(message.content) == 1:
        return message
    return ConversationMessage(Role.TOOL, [attrs.evolve(block, tool_use_id=call_id)])


def _without_results(message: ConversationMessage, ids: Iterable[str]) -> ConversationMessage | None:
    """The message without its results, its calls having these ids."""
    following = iter(ids)
    blocks: list[ContentBlock] = []
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            call_id = next(following)
            blocks.append(block if block.id == call_id else attrs.evolve(block, id=call_id))
        elif not isinstance(block, ToolResultBlock):
            blocks.append(block)
    return _with_content(message, blocks)


# ---- a shorter one


def trim_history(messages: Iterable[ConversationMessage], max_messages: int) -> list[ConversationMessage]:
    """The latest messages of a history, cut where it can be cut.

    The oldest messages are dropped, up to a message of the user's, so that no call is parted from its result. A system
    message at the beginning stays, and is counted.

    Args:
        messages: The history.
        max_messages: How many messages to keep at most; but the last message of the user's and all that follows it
            are kept, even if they are more.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: `max_messages` is less than 1.
    """
    given: object = max_messages
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"max_messages must be an int, not {type(given).__name__}")
    if max_messages < 1:
        raise ValueError(f"max_messages must be at least 1, not {max_messages}")
    history = checked_messages(messages)
    if len(history) <= max_messages:
        return history
    head = history[:1] if history[0].role is Role.SYSTEM else []
    cuts = _cuts(history)
    short_enough = [cut for cut in cuts if len(head) + len(history) - cut <= max_messages]
    cut = (short_enough or cuts[-1:] or [len(head)])[0]
    return head + history[cut:]


def _cuts(history: Sequence[ConversationMessage]) -> list[int]:
    """Where the user speaks, and nothing from there on answers a call from before."""
    place_of_call: dict[str, int] = {}
    reaches: list[int] = []  # for each message, the first message that it answers a call of, or else itself
    for index, message in enumerate(history):
        reach = index
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                place_of_call[block.id] = index
            elif isinstance(block, ToolResultBlock):
                reach = min(reach, place_of_call.get(block.tool_use_id, index))
        reaches.append(reach)
    cuts: list[int] = []
    earliest = len(history)
    for index in reversed(range(len(history))):
        earliest = min(earliest, reaches[index])
        if earliest == index and history[index].role is Role.USER:
            cuts.append(index)
    return cuts[::-1]
