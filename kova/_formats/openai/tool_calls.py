"""Which call a piece of a streamed tool call belongs to.

OpenAI numbers its calls, and gives id and name on a call's first piece. Others leave the number out or say 0 for each
call, repeat id and name on every piece, change the id on the way, give two calls one id or none any, send the name in
two pieces, put `{}` before the arguments, or repeat the whole call at the end. Number, id and name together still tell the calls apart.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field

from ... import _json
from ..._assembly import MADE_UP_ID, parse_arguments
from ...responses import StreamEvent, ToolUseDelta
from ..wire import WireRequest
from .messages import EXTRA_CONTENT

__all__ = ["ToolCallReader"]

NO_ARGUMENTS = "{}"

MOST_CHECKS = 16  # of a call's arguments for being complete: keeps the time linear in what the server sends


@define
class _Piece:
    """One entry of a `tool_calls` list; `is_first` if none stands before it in the list."""

    index: int | None
    id: str
    name: str
    arguments: str
    extra: Any
    is_first: bool = True


@define(eq=False)
class _Call:
    """A call as far as it is known.

    Attributes:
        position: Its place among the answer's calls, which is the index that kova gives it.
        index: The number that the server gives it.
        server_id: The id that the server gives it, though another call may have it too.
        id: The id that it has in kova.
        name: Its name on the wire.
        pieces: Those of its arguments.
        checks: How often the arguments were looked at.
        is_held: The arguments are `{}` and were not handed out yet: gateways put that before the real ones.
    """

    position: int
    index: int | None
    server_id: str
    id: str
    name: str
    pieces: list[str] = field(factory=list)
    checks: int = 0
    is_held: bool = False

    def arguments(self) -> dict[str, Any] | None:
        """The arguments, if they are complete."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}") or self.checks >= MOST_CHECKS:
            return None
        self.checks += 1
        arguments, invalid = parse_arguments("".join(self.pieces))
        return arguments if invalid is None else None


class ToolCallReader:
    """Makes events of the `tool_calls` of one answer's deltas.

    Args:
        request: What the answer is to.
    """

    def __init__(self, request: WireRequest) -> None:
        self._request = request
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def read(self, entries: list[Any], events: list[StreamEvent], *, whole: bool = False) -> None:
        """Add the events for the entries of one delta.

        Args:
            entries: The delta's `tool_calls`.
            events: Where the events go.
            whole: Whether each entry is a call of its own, as in a message.
        """
        for position, entry in enumerate(entries):
            if isinstance(entry, dict):
                piece = _piece(entry)
                piece.is_first = position == 0
                if whole:
                    piece.index = position
                self._read_piece(piece, events)

    @property
    def has_calls(self) -> bool:
        """Whether there has been any call."""
        return bool(self._calls)

    def finish(self, events: list[StreamEvent]) -> None:
        """Add the events that are due when no more deltas come."""
        for call in self._calls:
            if call.is_held:
                call.is_held = False
                events.append(self._event(call, NO_ARGUMENTS))

    def _read_piece(self, piece: _Piece, events: list[StreamEvent]) -> None:
        call = self._call_of(piece)
        if call is not None:
            call = self._unless_complete(call, piece)
        if call is None:
            if piece.id or piece.name or piece.arguments:
                self._begin(piece, events)
        elif self._continue(call, piece) or piece.arguments or piece.extra:
            events.append(self._event(call, piece.arguments, piece.extra))

    def _call_of(self, piece: _Piece) -> _Call | None:
        """The call that a piece continues; None for the first piece of a new one."""
        at_index = None if piece.index is None else self._by_index.get(piece.index)
        of_id = self._by_id.get(piece.id) if piece.id else None
        last = self._calls[-1] if self._calls else None
        if at_index is not None:
            if not piece.id or piece.id == at_index.server_id:
                return at_index
            if of_id is not None:
                return of_id
            # A new id with a name is a new call, even at a number that is taken; without a name it is no news.
            return None if piece.name and at_index.server_id else at_index
        if of_id is not None and (
            piece.index is None or of_id.index is None or not piece.name or self._is_again(of_id, piece)
        ):
            return of_id
        if piece.name:
            return self._repeated_name(piece, last)
        if piece.id and piece.index is not None:
            return None
        return last

    def _is_again(self, call: _Call, piece: _Piece) -> bool:
        """Whether a piece with the call's id is of it though its number is another: LocalAI sends a call so."""
        if piece.name != call.name or not piece.arguments:
            return False
        known = call.arguments()
        return not call.pieces or (known is not None and parse_arguments(piece.arguments) == (known, None))

    def _repeated_name(self, piece: _Piece, last: _Call | None) -> _Call | None:
        """The last call, where a piece with neither number nor id repeats its name before it is complete."""
        if not piece.is_first or piece.id or piece.index is not None or last is None or last.name != piece.name:
            return None
        return last if last.arguments() is None else None

    def _unless_complete(self, call: _Call, piece: _Piece) -> _Call | None:
        """The call, unless it is complete and the piece begins another one in its place.

        Arguments that say again what is complete already are a summary, and are dropped.
        """
        begins = piece.arguments.lstrip().startswith("{")
        is_news = begins or piece.name not in ("", call.name)
        known = call.arguments() if is_news else None
        if known is None:
            return call
        if begins and parse_arguments(piece.arguments) == (known, None):
            piece.arguments = ""
            return call
        is_same = call.is_held and bool(piece.id) and piece.id == call.server_id
        return None if piece.name and not is_same else call

    def _begin(self, piece: _Piece, events: list[StreamEvent]) -> None:
        position = len(self._calls)
        is_usable = bool(piece.id) and piece.id not in self._by_id
        own_id = piece.id if is_usable else self._request.made_up_id(position)
        call = _Call(position, piece.index, piece.id, own_id, piece.name)
        self._calls.append(call)
        if is_usable:
            self._by_id[piece.id] = call
        if piece.index is not None:
            self._by_index[piece.index] = call
        if piece.arguments:
            call.pieces.append(piece.arguments)
        call.is_held = piece.arguments.strip() == NO_ARGUMENTS
        event = self._event(call, "" if call.is_held else piece.arguments, piece.extra)
        if not is_usable:
            event.provider_metadata = {**(event.provider_metadata or {}), MADE_UP_ID: True}
        events.append(event)

    def _continue(self, call: _Call, piece: _Piece) -> bool:
        """Add a piece to its call; whether id or name are now better known."""
        before = call.id, call.name
        if piece.id and not call.server_id and piece.id not in self._by_id:
            call.server_id = call.id = piece.id
            self._by_id[piece.id] = call
        if piece.index is not None:
            call.index = piece.index if call.index is None else call.index
            self._by_index.setdefault(piece.index, call)
        if piece.name.startswith(call.name):
            call.name = piece.name or call.name
        elif not call.pieces and piece.name:
            call.name += piece.name
        self._add_arguments(call, piece)
        return (call.id, call.name) != before

    def _add_arguments(self, call: _Call, piece: _Piece) -> None:
        if not piece.arguments:
            return
        if call.is_held:
            call.is_held = False
            call.pieces.clear()
            if not piece.arguments.lstrip().startswith("{"):  # else here they are, and the `{}` was none of them
                piece.arguments = NO_ARGUMENTS + piece.arguments
        elif not call.pieces and piece.arguments.strip() == NO_ARGUMENTS:
            call.pieces.append(piece.arguments)
            call.is_held = True
            piece.arguments = ""
            return
        call.pieces.append(piece.arguments)

    def _event(self, call: _Call, arguments: str, extra: Any = None) -> ToolUseDelta:
        name = self._request.tool_names.own(call.name)
        metadata = {EXTRA_CONTENT: extra} if extra else None
        return ToolUseDelta(call.id, name, arguments, metadata, call.position)


def _piece(entry: dict[str, Any]) -> _Piece:
    function = entry.get("function")
    if not isinstance(function, dict):
        function = entry  # name and arguments may be beside the id
    index, call_id, name = entry.get("index"), entry.get("id"), function.get("name")
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    return _Piece(
        index=index if isinstance(index, int) else None,
        id="" if call_id is None else str(call_id),
        name=name if isinstance(name, str) else "",
        arguments=_arguments_text(function.get("arguments")),
        extra=entry.get("extra_content"),
    )


def _arguments_text(arguments: Any) -> str:
    """Arguments as text; some servers send the object itself."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else _json.dumps(arguments).decode()
