"""Newline-delimited JSON: bytes go in as they arrive, whole lines come out.

A line ends in LF, CRLF or CR and nothing else: U+2028, U+2029 and U+0085 are text, and JSON cannot hold a raw CR.
Blank lines and one byte-order mark at the start are dropped; what is unterminated at the end of the body is a line.

Every byte is looked at a fixed number of times, whatever the size of lines and pieces.
"""

from __future__ import annotations

from ..errors import StreamError

__all__ = ["LINE_LIMIT", "NDJSONParser"]

LINE_LIMIT = 64 * 1024 * 1024  # bytes
BOM = b"\xef\xbb\xbf"


class NDJSONParser:
    """Takes a stream apart.

    Args:
        limit: Bytes that a line may have.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._is_first = True  # nothing has come that may not begin with a byte-order mark
        self._line: list[bytes] = []  # the pieces of the unfinished line, joined once when it ends
        self._line_size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that the next piece of the body completes, without their ends.

        Raises:
            StreamError: A line is larger than the limit.
        """
        if b"\r" in data:
            data = data.replace(b"\r", b"\n")  # a CRLF, cut in two or not, is then followed by a blank line
        end = data.rfind(b"\n") + 1
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
        if self._is_first:
            self._is_first = False
            lines = lines.removeprefix(BOM)
        whole = [line for line in lines.split(b"\n") if line and not line.isspace()]
        if len(lines) > self._limit and max(map(len, whole), default=0) > self._limit:
            raise self._too_long()
        return whole

    def close(self) -> list[bytes]:
        """The line that the end of the body completes, if there is one."""
        return self.feed(b"\n")

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._line.append(piece)
            self._line_size += len(piece)
        if self._line_size > self._limit:
            raise self._too_long()

    def _too_long(self) -> StreamError:
        return StreamError(f"a line of the stream is larger than {self._limit} bytes")
