"""Streamed answers of Converse: an AWS event stream, whose frames hold JSON.

    messageStart  contentBlockStart  contentBlockDelta …  contentBlockStop  messageStop  metadata

`messageStop` ends the answer; usage comes after it, in `metadata`. Each payload also has a key `p` of random length,
which means nothing.
"""

from __future__ import annotations

from typing import Any

from ... import _json
from ..._assembly import Assembler
from ..._log import logger
from ..._wire.aws_eventstream import AWSEventStreamParser
from ...errors import KovaError, StreamError
from ...responses import ModelResponse, StopEvent, StreamEvent
from ..error_body import body_text, json_body
from ..wire import WireRequest
from .answer import AnswerReader
from .errors import frame_error, payload_error

__all__ = ["StreamParser"]

LAST_EVENTS = frozenset({"messageStop", "metadata"})
EVENTS = LAST_EVENTS | {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop"}

BARE_LIMIT = 64 * 1024 * 1024  # bytes of an answer that is no event stream


class StreamParser:
    """Makes events of a stream's bytes.

    Whoever drives it feeds it until it is `finished` or the body ends, and then closes it. What came before an error
    in the same piece of the body is not lost: it is returned, and the error is raised by the next call.

    Args:
        request: What the answer is to.

    Attributes:
        finished: The terminal mark was seen; nothing more needs to be read.
        error: An error that the next call will raise, so that there is no need to read on before.
    """

    def __init__(self, request: WireRequest) -> None:
        self.finished = False
        self.error: KovaError | None = None
        self._request = request
        self._frames = AWSEventStreamParser()
        self._reader = AnswerReader(request)
        self._assembler = Assembler(request.made_up_id)
        self._has_metadata = False
        self._is_flowing = False  # what comes is the next piece of an event stream
        self._bare: list[bytes] | None = None  # the body, where it is none: a gateway's JSON, or a page
        self._bare_size = 0

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in the next piece of the body.

        Raises:
            KovaError: The server reports an error, or the stream makes no sense.
        """
        if not self._is_flowing and not self._begins(data):
            return []
        events: list[StreamEvent] = []
        try:
            self._read(data, events)
        except KovaError as error:
            self.error = error
            self._is_flowing = False
            if not events:
                raise
        self._assembler.extend(events)
        if self.finished:
            events.append(self._stop())
        return events

    def close(self) -> list[StreamEvent]:
        """The events that the end of the body completes.

        Raises:
            StreamError: The body ended before the answer did.
            KovaError: The server reports an error.
        """
        if self.error is not None:
            raise self.error
        if self.finished:
            return []
        events: list[StreamEvent] = []
        if self._bare is not None:
            self._read_bare(b"".join(self._bare), events)
        if not self._reader.has_ended:
            raise StreamError("the stream ended before the answer did: there was no messageStop")
        self._assembler.extend(events)
        return [*events, self._stop()]

    def response(self) -> ModelResponse:
        """The answer, once the stream is finished."""
        return self._assembler.response(model=self._reader.model)

    def _begins(self, data: bytes) -> bool:
        """Whether a piece that does not come in the midst of a stream is to be read as one.

        A frame begins with its length, and none is as long as one would be that begins like JSON or a page.
        """
        if self.error is not None:
            raise self.error
        if self.finished or not data:
            return False
        if self._bare is None and data[0] in b"{[<":
            self._bare = []
        if self._bare is None:
            self._is_flowing = True
            return True
        self._bare.append(data)
        self._bare_size += len(data)
        if self._bare_size > BARE_LIMIT:
            raise StreamError(f"the answer is larger than {BARE_LIMIT} bytes")
        return False

    def _read(self, data: bytes, events: list[StreamEvent]) -> None:
        read, loads = self._reader.read, _json.loads
        for headers, payload in self._frames.feed(data):
            kind = headers.get(":event-type")
            if headers.get(":message-type") != "event":
                raise self._fault(headers, payload)
            if kind not in EVENTS:
                logger.debug("an event of a stream is skipped: %s", kind)
                continue
            try:
                fields = loads(payload or b"{}")
            except ValueError:
                raise StreamError("the stream holds malformed JSON") from None
            read(kind, fields, events)
            if kind in LAST_EVENTS and self._is_complete(kind):
                self.finished = True
                return

    def _fault(self, headers: dict[str, Any], payload: bytes) -> KovaError:
        """The error that a frame is which is no event."""
        kind = headers.get(":message-type")
        if kind in ("exception", "error"):
            return frame_error(headers, payload, self._request)
        return StreamError(f"the event stream holds a message of unknown type: {kind!r}")

    def _is_complete(self, kind: str) -> bool:
        """Whether the answer has ended and its usage is known."""
        self._has_metadata = self._has_metadata or kind == "metadata"
        return self._has_metadata and self._reader.has_ended

    def _stop(self) -> StopEvent:
        """The last event. Its reason is that of the response, which minds the tool calls."""
        self.finished = True
        self._is_flowing = False
        stop = self._reader.stop()
        self._assembler.add(stop)
        return StopEvent(self.response().stop_reason, stop.raw_stop_reason)

    def _read_bare(self, body: bytes, events: list[StreamEvent]) -> None:
        value = json_body(body)
        if value is None:
            raise StreamError(f"the answer is neither an event stream nor JSON: {body_text(body)}")
        if not isinstance(value, dict) or not self._reader.read_answer(value, events):
            raise payload_error(value, self._request) or StreamError("the answer is JSON, but none of Converse's")
