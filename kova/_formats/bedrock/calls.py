"""Tool calls of an answer, by the number of their content block."""

from __future__ import annotations

from typing import Any

from attrs import define

from ... import _json
from ..._assembly import MADE_UP_ID
from ...responses import StreamEvent, TextDelta, ToolUseDelta
from ..wire import WireRequest

__all__ = ["CallReader"]

SERVER_TOOL = "server_tool_use"  # `type` of a call of a tool that Bedrock runs itself


@define
class _Call:
    """A call as far as it is known.

    Attributes:
        position: Its place among the answer's calls, which is the index that kova gives it.
        id: The id that it has in kova.
        name: The tool's own name.
    """

    position: int
    id: str
    name: str


@define
class _Answer:
    """A call of the tool whose input is the answer.

    Attributes:
        is_empty: Whether nothing has come of it.
    """

    is_empty: bool = True


class CallReader:
    """Makes events of the tool calls of one answer.

    Args:
        request: What the answer is to.
    """

    def __init__(self, request: WireRequest) -> None:
        self._request = request
        self._calls: dict[Any, _Call | _Answer | None] = {}  # None: one that is not for the user to run
        self._ids: set[str] = set()
        self._count = 0

    def begin(self, index: Any, start: dict[str, Any], events: list[StreamEvent]) -> None:
        """Add the event with which a call begins.

        Args:
            index: The number of its content block.
            start: Its id and name.
            events: Where the event goes.
        """
        wire_name = start.get("name")
        if start.get("type") == SERVER_TOOL:
            self._calls[index] = None
        elif wire_name is not None and wire_name == self._request.answer_tool:
            self._calls[index] = _Answer()
        else:
            own = self._request.tool_names.own(wire_name) if isinstance(wire_name, str) else ""
            self._begin_call(index, start.get("toolUseId"), own, events)

    def has(self, index: Any) -> bool:
        """Whether a call has begun in this content block."""
        return index in self._calls

    def go_on(self, index: Any, text: Any, events: list[StreamEvent]) -> None:
        """Add the event of the next piece of a call's input."""
        call = self._calls[index]
        piece = text if isinstance(text, str) else _json.dumps(text).decode()
        if isinstance(call, _Call):
            events.append(ToolUseDelta(call.id, call.name, piece, None, call.position))
        elif call is not None and piece:
            call.is_empty = False
            events.append(TextDelta(piece))

    def end(self, index: Any, events: list[StreamEvent]) -> None:
        """Add what the end of a content block makes known: an answer of which nothing has come is an empty object."""
        call = self._calls.get(index)
        if isinstance(call, _Answer) and call.is_empty:
            call.is_empty = False
            events.append(TextDelta("{}"))

    def _begin_call(self, index: Any, wire_id: Any, name: str, events: list[StreamEvent]) -> None:
        position = self._count
        self._count += 1
        metadata = None
        if not isinstance(wire_id, str) or not wire_id or wire_id in self._ids:
            wire_id, metadata = self._request.made_up_id(position), {MADE_UP_ID: True}
        self._ids.add(wire_id)
        self._calls[index] = _Call(position, wire_id, name)
        events.append(ToolUseDelta(wire_id, name, "", metadata, position))
