"""Histories: what is wrong with one, an acceptable copy of it, a shorter one, and how large one is.

Model APIs agree on what a history must be: every tool call is followed by its result before anything else is said,
results come in the order of the calls, ids are unique, no text is blank, and each role holds the blocks that are its
own. These functions are pure, and never change what they are given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

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
)

if TYPE_CHECKING:
    from .tools import ToolDefinition

__all__ = ["check_history", "estimate_tokens", "repair_history", "trim_history"]

INTERRUPTED = "The call was interrupted: there is no result."

# The blocks of each role. A result may also stand in a message of the user's, where Anthropic's API has it.
_BLOCKS: dict[Role, tuple[type, ...]] = {
    Role.SYSTEM: (TextBlock,),
    Role.USER: (TextBlock, ImageBlock, ToolResultBlock),
    Role.ASSISTANT: (TextBlock, ImageBlock, ThinkingBlock, ToolUseBlock),
    Role.TOOL: (ToolResultBlock,),
}


def _fits(block: ContentBlock, role: Role) -> bool:
    return isinstance(block, _BLOCKS[role])


def _is_blank(block: ContentBlock) -> bool:
    return isinstance(block, TextBlock) and (not block.text or block.text.isspace())


def _calls(message: ConversationMessage) -> list[ToolUseBlock]:
    return [block for block in message.content if isinstance(block, ToolUseBlock)]


# ---- what is wrong


def check_history(messages: Iterable[ConversationMessage]) -> list[str]:
    """Say what is wrong with a history.

    Whatever an agent returns or stores has nothing wrong with it. A message without any content is not wrong: it is
    not sent.

    Args:
        messages: The history, from any of its beginnings: the system prompt may be missing.

    Returns:
        What a provider would refuse, each with its place, such as "messages[2].content[0]: …"; nothing for a history
        that every provider accepts.
    """
    check = _Check()
    for index, message in enumerate(messages):
        check.message(message, f"messages[{index}]")
    check.end_of_round()
    return check.problems


class _Check:
    """Reads a history from its beginning, and collects what is wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._used_ids: set[str] = set()
        self._waiting: deque[tuple[str, str]] = deque()  # ids of calls that have no result yet, with their places

    def message(self, message: ConversationMessage, at: str) -> None:
        called: list[tuple[str, str]] = []
        for index, block in enumerate(message.content):
            place = f"{at}.content[{index}]"
            if not _fits(block, message.role):
                self._say(place, f"a {type(block).__name__} in a message of role {message.role}")
            elif isinstance(block, ToolResultBlock):
                self._result(block, place)
            else:
                self.end_of_round()
                if _is_blank(block):
                    self._say(place, "blank text")
                elif isinstance(block, ToolUseBlock):
                    self._call(block, place)
                    called.append((block.id, place))
        self._waiting += called

    def end_of_round(self) -> None:
        """Something else is said, so that no result can come any more."""
        while self._waiting:
            call_id, place = self._waiting.popleft()
            self._say(place, f"the call {call_id!r} has no result after it")

    def _call(self, block: ToolUseBlock, place: str) -> None:
        if block.id in self._used_ids:
            self._say(place, f"the id {block.id!r} belongs to an earlier call")
        self._used_ids.add(block.id)

    def _result(self, block: ToolResultBlock, place: str) -> None:
        ids = [call_id for call_id, _ in self._waiting]
        if block.tool_use_id not in ids:
            self._say(place, f"a result for {block.tool_use_id!r}, which is no call that waits for one")
        else:
            if block.tool_use_id != ids[0]:
                self._say(place, f"the result for {block.tool_use_id!r} comes before that for {ids[0]!r}")
            del self._waiting[ids.index(block.tool_use_id)]
        if not isinstance(block.content, str):
            for index, inner in enumerate(block.content):
                if _is_blank(inner):
                    self._say(f"{place}.content[{index}]", "blank text")

    def _say(self, place: str, problem: str) -> None:
        self.problems.append(f"{place}: {problem}")


# ---- an acceptable copy


def repair_history(messages: Iterable[ConversationMessage]) -> list[ConversationMessage]:
    """An acceptable copy of a history: `check_history` finds nothing wrong with it.

    A call without a result gets an error result that says so. Results are put in the order of the calls; those without
    a call are dropped, and so are blank text, blocks that do not fit the role, and messages in which nothing is left.
    A call whose id an earlier one has gets another id, and so does its result.

    Args:
        messages: Any messages.

    Returns:
        The copy. Messages that need no change are the same objects, so that a good history comes back as it is.
    """
    kept = [message for message in map(_cleaned, messages) if message is not None]
    used_ids: set[str] = set()
    repaired: list[ConversationMessage] = []
    for caller, followers in _rounds(kept):
        repaired += _paired(caller, followers, used_ids)
    return repaired


def _cleaned(message: ConversationMessage) -> ConversationMessage | None:
    """The message with nothing in it that is wrong by itself; None when nothing is left."""
    blocks = [_unblanked(block) for block in message.content if _fits(block, message.role) and not _is_blank(block)]
    return _with_content(message, blocks)


def _unblanked(block: ContentBlock) -> ContentBlock:
    if not isinstance(block, ToolResultBlock) or isinstance(block.content, str):
        return block
    content = [inner for inner in block.content if not _is_blank(inner)]
    return block if len(content) == len(block.content) else attrs.evolve(block, content=content or "")


def _with_content(message: ConversationMessage, blocks: Sequence[ContentBlock]) -> ConversationMessage | None:
    """The message with these blocks, itself if they are its own; None when it has lost them all."""
    if len(blocks) == len(message.content) and all(map(_is, blocks, message.content)):
        return message
    return ConversationMessage(message.role, blocks) if blocks else None


def _is(one: object, other: object) -> bool:
    return one is other


def _rounds(
    messages: Iterable[ConversationMessage],
) -> Iterator[tuple[ConversationMessage | None, list[ConversationMessage]]]:
    """Each message of the model with those that follow it; first, those that follow none."""
    caller: ConversationMessage | None = None
    followers: list[ConversationMessage] = []
    for message in messages:
        if message.role is Role.ASSISTANT and message.content:
            yield caller, followers
            caller, followers = message, []
        else:
            followers.append(message)
    yield caller, followers


def _paired(
    caller: ConversationMessage | None, followers: list[ConversationMessage], used_ids: set[str]
) -> Iterator[ConversationMessage]:
    """A round in which each call has one result, next to it and in order."""
    calls = [] if caller is None else _calls(caller)
    ids = _unique_ids(calls, used_ids)
    if [call.id for call in calls] == ids and _answers(followers, ids):
        yield from followers if caller is None else (caller, *followers)
        return
    if caller is not None:
        renamed = iter(ids)
        blocks = [_with_id(block, next(renamed)) if isinstance(block, ToolUseBlock) else block for block in caller.content]
        yield _with_content(caller, blocks) or caller
    results = _results_by_id(followers)
    for call, call_id in zip(calls, ids, strict=True):
        found = results.get(call.id)
        yield _answered(found.popleft(), call_id) if found else _answer(ToolResultBlock(call_id, INTERRUPTED, True))
    for message in followers:
        rest = [block for block in message.content if not isinstance(block, ToolResultBlock)]
        if (kept := _with_content(message, rest)) is not None:
            yield kept


def _unique_ids(calls: Iterable[ToolUseBlock], used_ids: set[str]) -> list[str]:
    """An id for each call that no other call has; its own where that is still free."""
    ids: list[str] = []
    for call in calls:
        unique, number = call.id, 1
        while unique in used_ids:
            number += 1
            unique = f"{call.id}_{number}"
        used_ids.add(unique)
        ids.append(unique)
    return ids


def _answers(followers: Iterable[ConversationMessage], ids: list[str]) -> bool:
    """Whether the messages begin with the results of these calls, and hold no others."""
    blocks = [block for message in followers for block in message.content]
    results = [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]
    return results == ids and all(isinstance(block, ToolResultBlock) for block in blocks[: len(ids)])


def _with_id(call: ToolUseBlock, call_id: str) -> ToolUseBlock:
    return call if call.id == call_id else attrs.evolve(call, id=call_id)


_Found = tuple[ToolResultBlock, ConversationMessage]


def _results_by_id(messages: Iterable[ConversationMessage]) -> dict[str, deque[_Found]]:
    results: dict[str, deque[_Found]] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                results.setdefault(block.tool_use_id, deque()).append((block, message))
    return results


def _answered(found: _Found, call_id: str) -> ConversationMessage:
    block, message = found
    if block.tool_use_id != call_id:
        return _answer(attrs.evolve(block, tool_use_id=call_id))
    return message if message.role is Role.TOOL and len(message.content) == 1 else _answer(block)


def _answer(block: ToolResultBlock) -> ConversationMessage:
    return ConversationMessage(Role.TOOL, (block,))


# ---- a shorter one


def trim_history(messages: Iterable[ConversationMessage], max_messages: int) -> list[ConversationMessage]:
    """The latest messages of a history, cut where it may be cut.

    The oldest messages are dropped, up to a message of the user's, so that no tool call loses its result. A system
    message at the beginning is kept, and counted.

    Args:
        messages: The history.
        max_messages: How many messages to keep at most. The last message of the user's and all that follows it are
            kept even if they are more.

    Raises:
        ValueError: `max_messages` is less than 1.
    """
    if max_messages < 1:
        raise ValueError(f"max_messages must be at least 1, not {max_messages}")
    history = list(messages)
    if len(history) <= max_messages:
        return history
    head = history[:1] if history[0].role is Role.SYSTEM else []
    cuts = _cuts(history)
    short_enough = (cut for cut in cuts if len(head) + len(history) - cut <= max_messages)
    cut = next(short_enough, cuts[-1] if cuts else len(head))
    return head + history[cut:]


def _cuts(history: Sequence[ConversationMessage]) -> list[int]:
    """Where the user speaks, and no result from there on answers a call from before."""
    place_of_call: dict[str, int] = {}
    reaches: list[int] = []  # for each message, how far back the calls are that it answers
    for index, message in enumerate(history):
        reach = index
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                place_of_call[block.id] = index
            elif isinstance(block, ToolResultBlock):
                reach = min(reach, place_of_call.get(block.tool_use_id, index))
        reaches.append(reach)
    cuts: list[int] = []
    furthest = len(history)
    for index in reversed(range(len(history))):
        furthest = min(furthest, reaches[index])
        if history[index].role is Role.USER and furthest == index:
            cuts.append(index)
    return cuts[::-1]


# ---- how large one is

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1_000  # providers count from 85 to 1,600, by a size in pixels that kova does not look at
TOKENS_AROUND = 4  # what frames a message, or a tool


def estimate_tokens(messages: Iterable[ConversationMessage], tools: Iterable[ToolDefinition] = ()) -> int:
    """About how many tokens a prompt has, measured offline.

    A token is taken to be 4 characters. A character beyond ASCII counts as its bytes in UTF-8, since tokenizers need
    more tokens for it. The estimate of two histories together is the sum of both.

    Args:
        messages: The messages, system prompt included.
        tools: What the model is told about its tools.

    Returns:
        The estimate, in tokens.

    Raises:
        SerializationError: JSON has no form for a tool call's input or a tool's parameters.
    """
    return sum(map(_tokens_of_message, messages)) + sum(map(_tokens_of_tool, tools))


def _tokens_of_message(message: ConversationMessage) -> int:
    size, images = 0, 0
    for block in message.content:
        for part in block.content if _is_parted(block) else (block,):
            if isinstance(part, ImageBlock):
                images += 1
            else:
                size += _size_of_block(part)
    return _tokens(size) + images * TOKENS_PER_IMAGE
