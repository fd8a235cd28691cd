"""How events become an answer: the one routine for streams, complete answers, and users' own providers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from . import _json
from .errors import StreamError
from .messages import ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock
from .responses import (
    ModelResponse,
    StopEvent,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    UsageEvent,
    UsageStats,
)

__all__ = ["MADE_UP_ID", "Assembler", "merge_usage", "parse_arguments", "random_id"]

MADE_UP_ID = "made_up_id"
"""Key in a tool call's `provider_metadata`: the provider gave no usable id, and kova made this one.

A format whose API has no ids leaves such an id out of the history again.
"""

# What ends an answer in the middle of whatever the model was writing.
_CUTTING = frozenset({StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER, StopReason.REFUSAL})


MANY_PIECES = 1_000


def random_id(position: int) -> str:
    """An id for a tool call, where nothing is known that a reproducible one could be made from."""
    return f"call_{os.urandom(12).hex()}"


class Assembler:
    """Puts the events of one answer together.

    Args:
        make_id: Gives an id to the answer's n-th tool call where the provider gave none, or one that it had used.
    """

    def __init__(self, make_id: Callable[[int], str] = random_id) -> None:
        self._make_id = make_id
        self._blocks: list[list[str] | _Call | ThinkingBlock] = []
        self._text: list[str] | None = None  # the pieces of the last block, while that is text
        self._joined = 0  # how many of them have been joined already
        self._thinking: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._usage = UsageStats()
        self._stop: StopEvent | None = None

    def add(self, event: StreamEvent) -> None:
        """Take the next event.

        Raises:
            StreamError: It is not an event.
        """
        if type(event) is TextDelta:
            if self._text is None:
                self._open_text()
            self._text.append(event.text)  # type: ignore[union-attr]  # it is open now
        else:
            self._add_other(event)

    def extend(self, events: Iterable[StreamEvent]) -> None:
        """Take the next events."""
        for event in events:
            if type(event) is TextDelta and self._text is not None:
                self._text.append(event.text)
            else:
                self.add(event)
        if self._text is not None and len(self._text) - self._joined > MANY_PIECES:
            self._join_pieces(self._text)

    @property
    def usage(self) -> UsageStats:
        """Tokens reported so far."""
        return self._usage

    def response(self, *, model: str | None = None) -> ModelResponse:
        """The answer that the events so far come to.

        Args:
            model: The model that answered, as the provider names it.
        """
        said = None if self._stop is None else self._stop.stop_reason
        calls = [block for block in self._blocks if isinstance(block, _Call)]
        cut = calls[-1] if calls and said in _CUTTING and calls[-1].is_unfinished() else None
        self._settle_ids(calls)
        return ModelResponse(
            content=tuple(self._content(cut)),
            stop_reason=_stop_reason(said, has_calls=bool(calls), was_cut=cut is not None),
            raw_stop_reason=None if self._stop is None else self._stop.raw_stop_reason,
            usage=self._usage,
            thinking=_joined(self._thinking) or None,
            model=model,
        )

    def _join_pieces(self, pieces: list[str]) -> None:
        """Join what has come since the last time: a long answer's pieces take twenty times the memory of its text."""
        pieces[self._joined :] = ["".join(pieces[self._joined :])]
        self._joined += 1

    def _open_text(self) -> None:
        self._joined = 0
        self._text = []
        self._blocks.append(self._text)

    def _add_other(self, event: StreamEvent) -> None:
        match event:
            case ThinkingDelta(text=text):
                self._thinking.append(text)
            case ToolUseDelta():
                self._add_call(event)
            case UsageEvent(usage=usage):
                self._usage = merge_usage(self._usage, usage)
            case StopEvent():
                self._stop = event
            case ThinkingBlock():
                self._blocks.append(event)
                self._text = None
            case _:
                raise StreamError(f"a provider's stream consists of stream events, not of {type(event).__name__}")

    def _add_call(self, event: ToolUseDelta) -> None:
        call = self._calls.get(event.index)
        if call is None or not call.takes(event):
            call = self._calls[event.index] = _Call()
            self._blocks.append(call)
            self._text = None
        call.add(event)

    def _settle_ids(self, calls: list[_Call]) -> None:
        """Give each call an id of its own; the ids stay, so that asking twice gives the same answer."""
        used: set[str] = set()
        for position, call in enumerate(calls):
            if not call.id or call.id in used:
                call.id = self._make_id(position)
                call.metadata = {**call.metadata, MADE_UP_ID: True}
            used.add(call.id)

    def _content(self, cut: _Call | None) -> Iterable[ContentBlock]:
        for block in self._blocks:
            if isinstance(block, _Call):
                if block is not cut:
                    yield block.block()
            elif isinstance(block, ThinkingBlock):
                yield block
            elif text := _joined(block):
                yield TextBlock(text)


class _Call:
    """A tool call as far as it is known."""

    __slots__ = ("id", "metadata", "name", "pieces")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.metadata: dict[str, Any] = {}

    def takes(self, event: ToolUseDelta) -> bool:
        """Whether a piece with this call's index belongs to it: a different id says no.

        A user's provider may leave every index at its default. An id that was made up gives way to a real one.
        """
        return not event.id or event.id == self.id or not self.id or MADE_UP_ID in self.metadata

    def add(self, event: ToolUseDelta) -> None:
        if event.id and event.id != self.id:
            self.id = event.id
            self.metadata.pop(MADE_UP_ID, None)
        if event.name:
            self.name = event.name
        if event.input_delta:
            self.pieces.append(event.input_delta)
        if event.provider_metadata:
            self.metadata.update(event.provider_metadata)

    def is_unfinished(self) -> bool:
        """Whether the answer may have ended in the middle of this call."""
        text = _joined(self.pieces)
        return not text.strip() or parse_arguments(text)[1] is not None

    def block(self) -> ToolUseBlock:
        arguments, invalid = parse_arguments(_joined(self.pieces))
        return ToolUseBlock(self.id, self.name, arguments, self.metadata or None, invalid)


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments of a tool call, from their JSON text.

    Nothing, blanks and `null` mean no arguments, and a JSON text inside a JSON string is decoded twice: all of these
    are sent by servers for calls that are meant. Anything else that is not an object is not guessed at.

    Returns:
        The arguments, and the raw text where they are invalid (the arguments are then empty).
    """
    value = _decoded(text)
    if isinstance(value, str):
        value = _decoded(value)
    return (value, None) if isinstance(value, dict) else ({}, text)


def _decoded(text: str) -> object:
    if not text.strip():
        return {}
    try:
        value = _json.loads(text)
    except ValueError:
        return None
    return {} if value is None else value


_COUNTS = ("input_tokens", "output_tokens", "thinking_tokens", "cache_read_tokens", "cache_creation_tokens")


def merge_usage(known: UsageStats, latest: UsageStats) -> UsageStats:
    """The latest usage, with what only earlier reports knew: counts are cumulative, and null does not erase."""
    before = {name: getattr(known, name) for name in _COUNTS}
    after = {name: getattr(latest, name) for name in _COUNTS}
    merged = {name: before[name] if after[name] is None else after[name] for name in _COUNTS}
    if merged == before and (latest.total_tokens is None or merged != after):
        return known
    return latest if merged == after else UsageStats(**merged)


def _stop_reason(said: StopReason | None, *, has_calls: bool, was_cut: bool) -> StopReason:
    """Tool calls decide, not the provider's word: servers say "stop" with calls, and "tool use" without any."""
    if was_cut and said is not None:
        return said
    if has_calls:
        return StopReason.TOOL_USE
    return StopReason.END_TURN if said in (None, StopReason.TOOL_USE) else said


_SURROGATE = re.compile("[\ud800-\udfff]")


def _joined(pieces: list[str]) -> str:
    """The text. Halves of one character that came in different pieces, each escaped (`\\ud83d`), are put together."""
    text = "".join(pieces)
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
