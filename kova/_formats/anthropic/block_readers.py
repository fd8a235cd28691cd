"""Content blocks as they arrive: a start that may hold all of it, deltas that add to it, and an end.

A block of a complete answer is read as a start and an end with nothing between them.
"""

from __future__ import annotations

from typing import Any, Protocol

from ... import _json
from ..._assembly import MADE_UP_ID, parse_arguments
from ..._log import log
from ...messages import ThinkingBlock
from ...responses import StreamEvent, TextDelta, ThinkingDelta, ToolUseDelta
from ..secrets import plain_name
from ..text_pieces import TextPieces
from ..wire import WireRequest
from .blocks import KEPT_OF_CALLS, RAW_BLOCK

__all__ = ["BlockReader", "CallReader", "Calls", "RawReader", "TextReader", "ThinkingReader", "arguments_text"]

# The caller of a tool that is not called by code which the API runs; it need not go back.
DIRECT = {"type": "direct"}


class BlockReader(Protocol):
    """Makes events of one block."""

    def read(self, delta: dict[str, Any], events: list[StreamEvent]) -> None:
        """Add the events of a delta to a list."""

    def end(self, events: list[StreamEvent]) -> None:
        """Add the events that are due when the block is complete."""


class TextReader:
    """Reads text. With citations a sentence is spread over several blocks; the citations are no part of it.

    Args:
        start: The block as it begins.
        pieces: The answer's text.
        events: Where the events go.
    """

    def __init__(self, start: dict[str, Any], pieces: TextPieces, events: list[StreamEvent]) -> None:
        self._pieces = pieces
        self.read(start, events)

    def read(self, delta: dict[str, Any], events: list[StreamEvent]) -> None:
        if text := self._pieces.whole(_text(delta, "text")):
            events.append(TextDelta(text))

    def end(self, events: list[StreamEvent]) -> None:
        pass


class ThinkingReader:
    """Reads thinking, which goes back as a block if it is signed. What is signed may be nothing: the omitted kind.

    Args:
        start: The block as it begins.
        events: Where the events go.
    """

    def __init__(self, start: dict[str, Any], events: list[StreamEvent]) -> None:
        self._pieces = TextPieces()
        self._thinking: list[str] = []
        self._signature = ""
        self.read(start, events)

    def read(self, delta: dict[str, Any], events: list[StreamEvent]) -> None:
        if text := self._pieces.whole(_text(delta, "thinking")):
            self._thinking.append(text)
            events.append(ThinkingDelta(text))
        self._signature = _text(delta, "signature") or self._signature

    def end(self, events: list[StreamEvent]) -> None:
        if self._signature:
            events.append(ThinkingBlock("".join(self._thinking), self._signature))


class RawReader:
    """Keeps a block of which nothing need be understood, so that it can go back as it came.

    Such are redacted thinking, calls of tools that the API runs itself, their results, and whatever kinds of block are
    yet to come. One that grows in a way that is not known is lost: half of it could not go back.

    Args:
        start: The block as it begins.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self._block = dict(start)
        self._input: list[str] = []
        self._is_whole = bool(_text(start, "type"))

    def read(self, delta: dict[str, Any], events: list[StreamEvent]) -> None:
        match delta.get("type"):
            case "input_json_delta":
                self._input.append(_text(delta, "partial_json"))
            case "compaction_delta":
                self._block.update({name: value for name, value in delta.items() if name != "type"})
            case _:
                self._is_whole = False

    def end(self, events: list[StreamEvent]) -> None:
        if text := "".join(self._input):
            self._block["input"], invalid = parse_arguments(text)
            self._is_whole = self._is_whole and invalid is None
        if self._is_whole:
            events.append(ThinkingBlock("", provider_metadata={RAW_BLOCK: self._block}))
        else:
            log.debug("a block is left out: it is not known how it grows", kind=plain_name(self._block.get("type")))


class Calls:
    """The tool calls of one answer: which number, id and name each of them has.

    Args:
        request: What the answer is to.
    """

    def __init__(self, request: WireRequest) -> None:
        self._request = request
        self._ids: set[str] = set()
        self._count = 0

    def begin(self, start: dict[str, Any]) -> ToolUseDelta:
        """The first event of the next call, from the block as it begins."""
        position = self._count
        self._count += 1
        call_id, name = _text(start, "id"), _text(start, "name")
        metadata = {key: start[key] for key in KEPT_OF_CALLS if start.get(key) not in (None, DIRECT)}
        if not call_id or call_id in self._ids:
            call_id = self._request.made_up_id(position)
            metadata[MADE_UP_ID] = True
        self._ids.add(call_id)
        return ToolUseDelta(call_id, self._request.tool_names.own(name), "", metadata or None, position)


class CallReader:
    """Reads a tool call. Its start has `{}` for the arguments that are to come; gateways may have all of them there.

    Others send the `{}` as the first delta, too, which is part of the arguments only if it is all of them.

    Args:
        start: The block as it begins.
        calls: The calls of the answer.
        events: Where the events go.
    """

    def __init__(self, start: dict[str, Any], calls: Calls, events: list[StreamEvent]) -> None:
        self._given = start.get("input")
        self._first = calls.begin(start)
        self._has_deltas = False
        self._held = ""
        events.append(self._first)

    def read(self, delta: dict[str, Any], events: list[StreamEvent]) -> None:
        piece = arguments_text(delta.get("partial_json"))
        if not piece:
            return
        if not self._has_deltas and piece.strip() == "{}":
            self._held = piece
        else:
            held = "" if piece.lstrip().startswith("{") else self._held
            self._held = ""
            self._add(held + piece, events)
        self._has_deltas = True

    def end(self, events: list[StreamEvent]) -> None:
        if self._held:
            self._add(self._held, events)
        elif self._given and not self._has_deltas:
            self._add(arguments_text(self._given), events)

    def _add(self, piece: str, events: list[StreamEvent]) -> None:
        events.append(ToolUseDelta(self._first.id, self._first.name, piece, None, self._first.index))


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def arguments_text(value: Any) -> str:
    """Arguments as text; some gateways send the object itself in a delta."""
    if value is None:
        return ""
    return value if isinstance(value, str) else _json.dumps(value).decode()
