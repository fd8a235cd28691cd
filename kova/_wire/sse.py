"""Server-sent events: bytes go in as they arrive, the data of each event comes out.

The rules are WHATWG's (https://html.spec.whatwg.org/multipage/server-sent-events.html): a line ends in LF, CRLF or CR
and nothing else (U+2028 and U+0085 are text), one byte-order mark at the start is dropped, several `data` lines make
one payload, comments and blocks without data are no events. In two points servers are met half way:

- what is unterminated at the end of the body is an event, since servers close right after their last line;
- a line `error: {...}` (llama.cpp in 2025) and bare JSON, in one line or indented over several, become payloads, since
  that is how servers report a failure in the middle of a stream.

Every byte is looked at a fixed number of times, whatever the size of lines and pieces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from .. import _json
from ..errors import StreamError

__all__ = ["LINE_LIMIT", "SSELines", "SSEParser"]

T = TypeVar("T")

LINE_LIMIT = 64 * 1024 * 1024  # bytes
BOM = b"\xef\xbb\xbf"


class SSELines(ABC, Generic[T]):
    """Takes a stream apart into lines; what it makes of them is a subclass's.

    Args:
        limit: Bytes that a line, and the data of one event, may have.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._start: bytes | None = b""  # what has come of a byte-order mark; None once that is settled
        self._after_cr = False
        self._line: list[bytes] = []  # the pieces of the unfinished line, joined once when it ends
        self._line_size = 0

    def feed(self, data: bytes) -> list[T]:
        """What the next piece of the body completes.

        Raises:
            StreamError: A line or an event is larger than the limit.
        """
        return self._feed_any(data)

    def close(self) -> list[T]:
        """What the end of the body completes."""
        lines = [*self._line, b"\n\n"]
        self._line.clear()
        return self._read(b"".join(lines))

    @abstractmethod
    def _read(self, text: bytes) -> list[T]:
        """What is in whole lines, each of which ends in LF."""

    def _feed_any(self, data: bytes) -> list[T]:
        """What a piece completes that begins or ends anywhere."""
        if self._start is not None:
            data = self._without_bom(data)
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")  # the second half of a CRLF
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end:
            self._keep(data)
            return []
        lines, rest = data[:end], data[end:]
        if self._line:
            lines = b"".join([*self._line, lines])
            self._line.clear()
            self._line_size = 0
        if rest:
            self._keep(rest)
        elif lines.endswith(b"\r"):
            self._after_cr = True
        if b"\r" in lines:
            lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if len(lines) > self._limit and max(map(len, lines.split(b"\n"))) > self._limit:
            raise self._too_long()
        return self._read(lines)

    def _without_bom(self, data: bytes) -> bytes:
        data = (self._start or b"") + data
        if len(data) < len(BOM) and BOM.startswith(data):
            self._start = data
            return b""
        self._start = None
        return data.removeprefix(BOM)

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._line.append(piece)
            self._line_size += len(piece)
        if self._line_size > self._limit:
            raise self._too_long()

    def _too_long(self) -> StreamError:
        return StreamError(f"a line or an event of the stream is larger than {self._limit} bytes")


class SSEParser(SSELines[bytes]):
    """Takes a stream apart into the payloads of its events.

    Names and ids of events are not kept: the model APIs repeat in the data whatever they say in them.

    Args:
        limit: Bytes that a line, and the data of one event, may have.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        super().__init__(limit)
        self._data: bytes | None = None  # the first data line of the unfinished event
        self._more_data: list[bytes] = []  # the others
        self._data_size = 0
        self._bare: list[bytes] = []  # the lines so far of JSON that is not data
        self._bare_size = 0
        self._is_plain = False  # nothing is unfinished: a piece of whole events needs none of the above

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads of the events that the next piece of the body completes.

        Raises:
            StreamError: A line or an event is larger than the limit.
        """
        if self._is_plain and data[-2:] == b"\n\n" and b"\r" not in data and len(data) <= self._limit:
            if data[:6] == b"data: " and data.find(b"\n") == len(data) - 2:
                return [data[6:-2]]  # one event in a piece of its own: the usual way of a stream
            return self._read(data)
        payloads = self._feed_any(data)
        is_within = self._line or self._after_cr or self._data is not None
        self._is_plain = not is_within and self._start is None
        return payloads

    def close(self) -> list[bytes]:
        """The payloads that the end of the body completes, whole or cut off."""
        payloads = super().close()
        if self._bare:
            payloads.append(self._whole_bare())
        return payloads

    def _read(self, text: bytes) -> list[bytes]:
        """The payloads in whole lines, each of which ends in LF."""
        payloads: list[bytes] = []
        lines = text.split(b"\n")
        lines.pop()  # what follows the last LF, which is nothing
        data = self._data
        for line in lines:
            if not line:
                if data is not None:
                    payloads.append(self._whole(data) if self._more_data else data)
                    data = None
            elif data is None and line[:6] == b"data: ":
                data = line[6:]
            elif line[:6] != b"event:":  # which half of the lines are at Anthropic
                data = self._read_line(line, data, payloads)
        self._data = data
        return payloads

    def _read_line(self, line: bytes, data: bytes | None, payloads: list[bytes]) -> bytes | None:
        """Read any line of an event; the event's first data line as it is then known."""
        if line.startswith(b"data:") or line == b"data":
            value = line[6:] if line.startswith(b" ", 5) else line[5:]
            if data is None:
                return value
            self._more_data.append(value)
            self._data_size += len(value) + 1
            if len(data) + self._data_size > self._limit:
                raise self._too_long()
        elif self._bare or line.startswith((b"error:", b"{", b"[{")) or line == b"[":
            if data is not None:
                payloads.append(self._whole(data))
            self._read_failure(line, payloads)
            return None
        return data

    def _read_failure(self, line: bytes, payloads: list[bytes]) -> None:
        """Read a line that reports a failure without being data, or a part of it."""
        if not self._bare and line.startswith(b"error:"):
            payloads.append(_failure(line))
            return
        self._bare.append(line)
        self._bare_size += len(line) + 1
        if self._bare_size > self._limit:
            raise self._too_long()
        if _ends_bare(self._bare[0], line):
            payloads.append(self._whole_bare())

    def _whole_bare(self) -> bytes:
        whole = b"\n".join(self._bare)
        self._bare.clear()
        self._bare_size = 0
        return whole

    def _whole(self, data: bytes) -> bytes:
        """The data of an event of several lines."""
        whole = b"\n".join([data, *self._more_data])
        self._more_data.clear()
        self._data_size = 0
        return whole


def _failure(line: bytes) -> bytes:
    """The payload for a line `error: …`."""
    value = line.removeprefix(b"error:").strip()
    if not value.startswith((b"{", b'"')):
        value = _json.dumps(value.decode(errors="replace"))
    return b'{"error":' + value + b"}"


def _ends_bare(first: bytes, line: bytes) -> bool:
    """Whether bare JSON ends with a line: at its margin, with the counterpart of the bracket that it begins with."""
    bracket = b"}" if first.startswith(b"{") else b"]"
    return line.rstrip().endswith(bracket) and (line is first or line.startswith((b"}", b"]")))
