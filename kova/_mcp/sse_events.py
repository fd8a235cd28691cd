"""Server-sent events as MCP uses them: with their names and ids, and with the server's wish when to come back.

The rules are WHATWG's, as in `kova._wire.sse`. A block without data is no event, but its id and its `retry` count:
servers begin a stream with one, so that the client can come back to it.
"""

from __future__ import annotations

from attrs import define

from .._wire.sse import LINE_LIMIT, SSELines

__all__ = ["SSEEvent", "SSEEventParser"]


@define
class SSEEvent:
    """One event.

    Attributes:
        name: Its kind, "message" where it says none.
        data: Its data, not empty.
    """

    name: str
    data: bytes


class SSEEventParser(SSELines[SSEEvent]):
    """Takes a stream apart into events.

    Args:
        limit: Bytes that a line, and the data of one event, may have.

    Attributes:
        last_event_id: Where to go on after the last block that was complete; empty where the server has not said.
        retry: Seconds after which the server wants to be asked again; None where it has not said.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        super().__init__(limit)
        self.last_event_id = ""
        self.retry: float | None = None
        self._name = b""
        self._id: str | None = None  # of the unfinished block
        self._data: list[bytes] = []
        self._data_size = 0

    def _read(self, text: bytes) -> list[SSEEvent]:
        events: list[SSEEvent] = []
        lines = text.split(b"\n")
        lines.pop()  # what follows the last LF, which is nothing
        for line in lines:
            if line:
                self._read_field(line)
            else:
                self._end_block(events)
        return events

    def _read_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_size += len(value) + 1
            if self._data_size > self._limit + 1:
                raise self._too_long()
        elif name == b"event":
            self._name = value
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry = int(value) / 1000

    def _end_block(self, events: list[SSEEvent]) -> None:
        if self._id is not None:
            self.last_event_id = self._id
        data = b"\n".join(self._data)
        if data:
            events.append(SSEEvent(self._name.decode(errors="replace") or "message", data))
        self._name, self._id, self._data_size = b"", None, 0
        self._data.clear()
