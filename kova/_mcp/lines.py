"""Lines out of a stream of bytes, as the stdio transport frames its messages."""

from __future__ import annotations

from ..errors import StreamError

__all__ = ["MAX_LINE", "LineTooLong", "Lines"]

MAX_LINE = 64 * 1024 * 1024  # bytes
_HEAD = 1024  # bytes of a line that is too long, for finding out what it was


class LineTooLong(StreamError):
    """A line is longer than the limit.

    Args:
        limit: The limit, in bytes.
        head: How the line begins.
    """

    def __init__(self, limit: int, head: bytes) -> None:
        super().__init__(f"the server sent a line of more than {limit:,} bytes")
        self.head = head


class Lines:
    """Splits on `\\n` alone: JSON may hold the other characters that text calls line ends.

    Args:
        limit: The longest line, in bytes.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []  # of the line that is not complete yet
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete with this data, without their ends.

        Raises:
            LineTooLong: One of them is longer than the limit, or will be; there is no going on.
        """
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if len(rest) > 0:
            self._parts.append(rest)
            self._size += len(rest)
        if self._size > self._limit:
            raise LineTooLong(self._limit, b"".join(self._parts[:2])[:_HEAD])
        for line in lines:
            if len(line) > self._limit:
                raise LineTooLong(self._limit, line[:_HEAD])
        return lines
