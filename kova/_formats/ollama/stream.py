"""Streamed answers of Ollama: a JSON object in each line, the last one with `"done": true`."""

from __future__ import annotations

from typing import Any

from ... import _json
from ..._assembly import Assembler
from ..._wire.ndjson import LINE_LIMIT, NDJSONParser
from ...errors import KovaError, StreamError
from ...responses import ModelResponse, StopEvent, StreamEvent
from ..error_body import body_text, json_body
from ..wire import WireRequest
from .answer import AnswerReader

__all__ = ["StreamParser"]


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
        self._lines = NDJSONParser()
        self._reader = AnswerReader(request, in_stream=True)
        self._assembler = Assembler(request.made_up_id)
        self._has_begun = False  # a line of JSON has come
        self._bare: list[bytes] | None = None  # the lines of a body that is none: a page, or JSON with line breaks
        self._bare_size = 0

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events in the next piece of the body.

        Raises:
            KovaError: The server reports an error, or the stream makes no sense.
        """
        if self.error is not None:
            raise self.error
        if self.finished:
            return []
        events: list[StreamEvent] = []
        try:
            self._read(self._lines.feed(data), events)
        except KovaError as error:
            self.error = error
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
        self._read(self._lines.close(), events)
        if self._bare is not None:
            self._read_bare(b"\n".join(self._bare), events)
        if not self.finished:
            raise StreamError('the stream ended before the answer did: there was no line with "done": true')
        self._assembler.extend(events)
        return [*events, self._stop()]

    def response(self) -> ModelResponse:
        """The answer, once the stream is finished."""
        return self._assembler.response(model=self._reader.model)

    def _read(self, lines: list[bytes], events: list[StreamEvent]) -> None:
        if self._bare is not None:
            self._keep_bare(lines)
            return
        read, loads = self._reader.read, _json.loads
        for position, line in enumerate(lines):
            try:
                value = loads(line)
            except ValueError:
                if not self._has_begun and _begins_a_body(line):
                    self._keep_bare(lines[position:])
                    return
                value = _odd_value(line)
            if read(value, events):
                self.finished = True
                return
            self._has_begun = True

    def _stop(self) -> StopEvent:
        """The last event. Its reason is that of the response, which minds the tool calls."""
        stop = self._reader.stop()
        self._assembler.add(stop)
        return StopEvent(self.response().stop_reason, stop.raw_stop_reason)

    def _keep_bare(self, lines: list[bytes]) -> None:
        self._bare = self._bare or []
        self._bare += lines
        self._bare_size += sum(map(len, lines)) + len(lines)
        if self._bare_size > LINE_LIMIT:
            raise StreamError(f"the answer is larger than {LINE_LIMIT} bytes")

    def _read_bare(self, body: bytes, events: list[StreamEvent]) -> None:
        value = json_body(body)
        if value is None:
            raise StreamError(f"the answer is neither lines of JSON nor JSON: {body_text(body)}")
        self._reader = AnswerReader(self._request, in_stream=False)
        self.finished = self._reader.read(value, events)


def _begins_a_body(line: bytes) -> bool:
    """Whether a first line is that of a page, or of JSON with line breaks in it."""
    line = line.strip()
    return line.startswith(b"<") or line in (b"{", b"[")


def _odd_value(line: bytes) -> Any:
    """The value of a line that is not quite JSON."""
    try:
        return _json.loads(line.decode(errors="replace"))  # a model's half character, sent as it was
    except ValueError:
        pass
    if line.lstrip().startswith((b"{", b"[")):
        raise StreamError("the stream holds malformed JSON, or ended within a line")
    raise StreamError(f"the stream holds something that is no JSON: {body_text(line)}")
