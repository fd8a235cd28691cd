"""Answers as the content blocks that most APIs divide them into: text, thinking, tool calls."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from attrs import define, field, frozen

from .._assembly import merge_usage, parse_arguments
from ..messages import JSONObject, ThinkingBlock
from ..responses import (
    StopEvent,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    UsageEvent,
    UsageStats,
)

__all__ = ["Block", "Blocks", "Kind", "Piece", "WholeCalls"]


class Kind(Enum):
    """What a block is."""

    TEXT = auto()
    THINKING = auto()
    CALL = auto()


@define(eq=False)
class Block:
    """A content block as far as it has come.

    Attributes:
        kind: What it is.
        number: Its place in the answer.
        index: Which of the answer's calls it is.
        id: Id of a call.
        name: Name of the tool.
        metadata: What a provider attaches to a call.
        pieces: Text, thinking, or the JSON text of arguments.
        signature: Signature of thinking, which ends it.
    """

    kind: Kind
    number: int
    index: int = 0
    id: str = ""
    name: str = ""
    metadata: JSONObject | None = None
    pieces: list[str] = field(factory=list)
    signature: str | None = None

    @property
    def text(self) -> str:
        """All its text."""
        return "".join(self.pieces)

    def arguments(self) -> object:
        """The arguments of a call: an object, as APIs have it, or the raw text where a script has made it no JSON."""
        value, invalid = parse_arguments(self.text)
        return value if invalid is None else invalid


@frozen
class Piece:
    """What an event adds to a block.

    Attributes:
        block: The block, which may have begun with this.
        text: The text that is added.
        signature: The signature that ends the block.
    """

    block: Block
    text: str
    signature: str | None = None


class Blocks:
    """The blocks of one answer, and what it says besides.

    Args:
        events: The events so far.
        in_order: Whether one block must end before the next one begins.

    Attributes:
        all: The blocks.
        stop: Why the answer ended.
        usage: Tokens spent; None where nothing is said of them.
    """

    def __init__(self, events: Iterable[StreamEvent] = (), *, in_order: bool = True) -> None:
        self._in_order = in_order
        self.all: list[Block] = []
        self.stop = StopEvent(StopReason.END_TURN)
        self.usage: UsageStats | None = None
        for event in events:
            self.add(event)

    def add(self, event: StreamEvent) -> Piece | None:
        """Take the next event; what it adds to a block, if anything.

        Raises:
            TypeError: It goes on with a call after another one has begun.
        """
        match event:
            case TextDelta(text=text):
                return self._grow(self._latest(Kind.TEXT) or self._begin(Kind.TEXT), text)
            case ThinkingDelta(text=text):
                return self._grow(self._thinking() or self._begin(Kind.THINKING), text)
            case ThinkingBlock():
                return self._sign(event)
            case ToolUseDelta():
                return self._grow(self._call(event), event.input_delta)
            case UsageEvent(usage=usage):
                self.usage = merge_usage(self.usage or UsageStats(), usage)
            case StopEvent():
                self.stop = event
        return None

    def text(self, kind: Kind) -> str:
        """The text of all blocks of a kind."""
        return "".join([block.text for block in self.all if block.kind is kind])

    def _begin(self, kind: Kind) -> Block:
        self.all.append(Block(kind, len(self.all)))
        return self.all[-1]

    def _latest(self, kind: Kind) -> Block | None:
        """The last block, if it is of this kind."""
        return self.all[-1] if self.all and self.all[-1].kind is kind else None

    def _thinking(self) -> Block | None:
        block = self._latest(Kind.THINKING)
        return None if block is None or block.signature is not None else block

    def _sign(self, event: ThinkingBlock) -> Piece:
        """Read a block of thinking, of which the text may have come before as deltas."""
        block = self._thinking()
        if block is None or block.text != event.thinking:
            block = self._begin(Kind.THINKING)
        block.signature = event.signature
        return self._grow(block, "" if block.pieces else event.thinking, event.signature)

    def _call(self, event: ToolUseDelta) -> Block:
        calls = [block for block in self.all if block.kind is Kind.CALL and block.index == event.index]
        if not calls or event.id not in ("", calls[-1].id):
            self.all.append(Block(Kind.CALL, len(self.all), event.index, event.id, event.name, event.provider_metadata))
            return self.all[-1]
        if self._in_order and calls[-1] is not self.all[-1]:
            raise TypeError(f"the call {event.id} goes on after another block has begun, which this API cannot say")
        return calls[-1]

    def _grow(self, block: Block, text: str, signature: str | None = None) -> Piece:
        if text:
            block.pieces.append(text)
        return Piece(block, text, signature)


class WholeCalls:
    """The pieces of a stream in whose API each call comes whole: it is held back until something else comes.

    Attributes:
        blocks: The blocks so far.
    """

    def __init__(self) -> None:
        self.blocks = Blocks()
        self._held: Block | None = None

    def add(self, event: StreamEvent) -> list[Piece]:
        """What is due with the next event."""
        piece = self.blocks.add(event)
        if piece is None or piece.block.kind is not Kind.CALL:
            return [*self.rest(), *([] if piece is None else [piece])]
        due = [] if piece.block is self._held else self.rest()
        self._held = piece.block
        return due

    def rest(self) -> list[Piece]:
        """The call that is held back."""
        held, self._held = self._held, None
        return [] if held is None else [Piece(held, held.text)]
