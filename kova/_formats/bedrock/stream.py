"""Streamed answers of Converse: an AWS event stream, whose frames hold JSON.

    messageStart  contentBlockStart  contentBlockDelta …  contentBlockStop  messageStop  metadata

`messageStop` ends the answer; usage comes after it, in `metadata`. Each payload also has a key `p` of random length,
which means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import _json
from ..._log import log
from ..._wire.aws_eventstream import AWSEventStreamParser, Frame
from ...errors import KovaError, StreamError
from ...responses import StreamEvent
from ..secrets import mask, plain_name
from ..stream_driver import StreamDriver
from ..wire import WireRequest
from .answer import AnswerReader
from .errors import frame_error, payload_error

__all__ = ["StreamParser"]

LAST_EVENTS = frozenset({"messageStop", "metadata"})
EVENTS = LAST_EVENTS | {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop"}


class StreamParser(StreamDriver[Frame]):
    """Makes events of a stream's bytes.

    A frame begins with its length, and none is as long as one would be that begins like JSON or a page.

    Args:
        request: What the answer is to.
    """

    _reader: AnswerReader

    def __init__(self, request: WireRequest) -> None:
        super().__init__(request, AWSEventStreamParser(), AnswerReader(request), "messageStop")
        self._has_metadata = False

    def _is_over(self) -> bool:
        """Whether the answer has come to its end; usage may still follow."""
        return self._reader.has_ended

    def _read(self, frames: Iterable[Frame], events: list[StreamEvent]) -> None:
        read, loads = self._reader.read, _json.loads
        for headers, payload in frames:
            kind = headers.get(":event-type")
            if headers.get(":message-type") != "event":
                raise self._fault(headers, payload)
            if kind not in EVENTS:
                log.debug("an event of a stream is skipped", kind=plain_name(kind))
                continue
            try:
                fields = loads(payload or b"{}")
            except ValueError:
                raise StreamError("the stream holds malformed JSON") from None
            read(kind, fields, events)
            if kind in LAST_EVENTS and self._is_complete(kind):
                self.finished = True
                return

    def _read_whole(self, value: Any, events: list[StreamEvent]) -> None:
        if not isinstance(value, dict) or not self._reader.read_answer(value, events):
            raise payload_error(value, self._request) or StreamError("the answer is JSON, but none of Converse's")

    def _fault(self, headers: dict[str, Any], payload: bytes) -> KovaError:
        """The error that a frame is which is no event."""
        kind = headers.get(":message-type")
        if kind in ("exception", "error"):
            return frame_error(headers, payload, self._request)
        shown = mask(repr(kind), self._request.secrets)[:100]
        return StreamError(f"the event stream holds a message of unknown type: {shown}")

    def _is_complete(self, kind: str) -> bool:
        """Whether the answer has ended and its usage is known."""
        self._has_metadata = self._has_metadata or kind == "metadata"
        return self._has_metadata and self._reader.has_ended
