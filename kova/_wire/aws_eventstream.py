"""AWS event streams: bytes go in as they arrive, frames come out; botocore's parser takes them apart.

    length of the frame · length of its headers · CRC of these two        the prelude, 12 bytes
    headers · payload · CRC of all that comes before it

botocore checks both CRCs, the first of them before the rest of a frame is waited for: who believes a wrong length waits
for bytes that never come. Its parser copies all that it holds for each piece that goes in and for each frame that comes
out. It is therefore given one frame at a time, so that every byte is copied a fixed number of times, whatever the size
of frames and pieces.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from ..errors import StreamError

__all__ = ["FRAME_LIMIT", "AWSEventStreamParser", "Frame"]

FRAME_LIMIT = 24 * 1024 * 1024  # bytes; botocore takes no larger payload

PRELUDE_SIZE = 12
LEAST_SIZE = PRELUDE_SIZE + 4  # that of a frame with neither headers nor payload

_LENGTHS = struct.Struct(">II")

Frame: TypeAlias = tuple[dict[str, Any], bytes]  # headers and payload


class AWSEventStreamParser:
    """Takes a stream apart. After an error it is of no more use.

    Args:
        limit: Bytes that a frame may have.
    """

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        from botocore.eventstream import EventStreamBuffer, ParserError

        self._limit = limit
        self._buffer = EventStreamBuffer()
        # KeyError: a header of a type that does not exist.
        self._faults = (ParserError, KeyError, UnicodeDecodeError, struct.error)
        self._held: list[bytes] = []  # what has come and is too little to go on with, joined once it is enough
        self._held_size = 0
        self._wanted = PRELUDE_SIZE  # bytes without which it does not go on
        self._has_prelude = False  # botocore has that of the present frame already

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that the next piece of the body completes.

        They come one by one, so that what is before a corrupt frame is not lost with it; ask for all of them.

        Raises:
            StreamError: A frame is corrupt, or larger than the limit.
        """
        if self._held:
            self._held.append(data)
            self._held_size += len(data)
            if self._held_size < self._wanted:
                return
            data = b"".join(self._held)
            self._held.clear()
        start, size = 0, len(data)
        while size - start >= self._wanted:
            end = start + (self._wanted if self._has_prelude else self._frame_size(data, start))
            if end > size:
                self._begin(data[start : start + PRELUDE_SIZE], end - start)
                start += PRELUDE_SIZE
                continue
            message = self._next(data[start:end])
            start = end
            self._wanted = PRELUDE_SIZE
            self._has_prelude = False
            yield message.headers, message.payload
        if start < size:
            self._held.append(data[start:])
            self._held_size = size - start

    def close(self) -> Iterable[Frame]:
        """The frames that the end of the body completes: none, since each says how long it is."""
        return ()

    def _frame_size(self, data: bytes, start: int) -> int:
        """The length that a frame claims to have; whether that is true is for its CRC to say."""
        size, headers_size = _LENGTHS.unpack_from(data, start)
        if size > self._limit:
            raise StreamError(f"a frame of the event stream is larger than {self._limit} bytes, or corrupt")
        if size < LEAST_SIZE + headers_size:
            raise StreamError("the event stream is corrupt: a frame is too short for its headers")
        return int(size)

    def _begin(self, prelude: bytes, size: int) -> None:
        self._next(prelude)
        self._has_prelude = True
        self._wanted = size - PRELUDE_SIZE

    def _next(self, data: bytes) -> Any:
        """The frame that the data completes, as botocore's message; None after a prelude."""
        self._buffer.add_data(data)
        try:
            return next(self._buffer, None)
        except self._faults as error:
            raise StreamError(f"the event stream is corrupt: {type(error).__name__}: {error}") from None
