"""Streamed answers that come as server-sent events: what the parsers of several formats have in common."""

from __future__ import annotations

from typing import Any, Protocol

from .. import _json
from .._assembly import Assembler
from .._wire.sse import LINE_LIMIT, SSEParser
from ..errors import KovaError, StreamError
from ..responses import ModelResponse, StopEvent, StreamEvent
from .error_body import body_text, json_body
from .wire import WireRequest

__all__ = ["EventStreamParser", "PayloadReader", "odd_value"]


class PayloadReader(Protocol):
    """Makes events of the payloads of one stream, or of a complete answer in its place."""

    @property
    def model(self) -> str | None:
        """The model that answers, as the server names it."""

    def read(self, payload: Any, events: list[StreamEvent]) -> bool | None:
        """Add a payload's events to a list, and say whether it was the terminal mark.

        Raises:
            KovaError: The payload reports an error.
        """

    def stop(self) -> StopEvent:
        """Why the answer ended."""


class MakeReader(Protocol):
    def __call__(self, request: WireRequest, *, in_stream: bool) -> PayloadReader: ...


class EventStreamParser:
    """Makes events of a stream's bytes.

    Whoever drives it feeds it until it is `finished` or the body ends, and then closes it. What came before an error
    in the same piece of the body is not lost: it is returned, and the error is raised by the next call.

    Args:
        request: What the answer is to.
        make_reader: Makes what reads the payloads, for a stream or for a complete answer.
        mark: The name of the terminal mark, for the error of a stream that ends without it.

    Attributes:
        finished: The terminal mark was seen; nothing more needs to be read.
        error: An error that the next call will raise, so that there is no need to read on before.
    """

    def __init__(self, request: WireRequest, make_reader: MakeReader, mark: str) -> None:
        self.finished = False
        self.error: KovaError | None = None
        self._request = request
        self._make_reader = make_reader
        self._mark = mark
        self._sse = SSEParser()
        self._reader = make_reader(request, in_stream=True)
        self._assembler = Assembler(request.made_up_id)
        self._is_flowing = False  # what comes is the next piece of an event stream
        self._bare: list[bytes] | None = None  # the body, where it is none: {"error": …}, or a complete answer
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
            self._read(self._sse.feed(data), events)
        except KovaError as error:
            self._fail(error)
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
        try:
            self._read_rest(events)
        except StreamError:
            if not self._is_over():
                raise  # else the answer is complete, and only what follows it was cut off
        if not self._is_over():
            raise StreamError(f"the stream ended before the answer did: there was no {self._mark}")
        self._assembler.extend(events)
        return [*events, self._stop()]

    def response(self) -> ModelResponse:
        """The answer, once the stream is finished."""
        return self._assembler.response(model=self._reader.model)

    def _read(self, payloads: list[bytes], events: list[StreamEvent]) -> None:
        read, loads = self._reader.read, _json.loads
        for payload in payloads:
            try:
                value = loads(payload)
            except ValueError:
                value = odd_value(payload)
            if read(value, events):
                self.finished = True
                return

    def _is_over(self) -> bool:
        """Whether the body may end here; not only after the terminal mark, where more may come than the answer needs."""
        return self.finished

    def _read_rest(self, events: list[StreamEvent]) -> None:
        if self._bare is None:
            self._read(self._sse.close(), events)
        else:
            self._read_bare(b"".join(self._bare), events)

    def _read_bare(self, body: bytes, events: list[StreamEvent]) -> None:
        value = json_body(body)
        if value is None:
            raise StreamError(f"the answer is neither an event stream nor JSON: {body_text(body)}")
        self.finished = bool(self._reader.read(value, events))

    def _stop(self) -> StopEvent:
        """The last event. Its reason is that of the response, which minds the tool calls."""
        self.finished = True
        self._is_flowing = False
        stop = self._reader.stop()
        self._assembler.add(stop)
        return StopEvent(self.response().stop_reason, stop.raw_stop_reason)

    def _fail(self, error: KovaError) -> None:
        self.error = error
        self._is_flowing = False

    def _begins(self, data: bytes) -> bool:
        """Whether a piece that does not come in the midst of a stream is to be read as one."""
        if self.error is not None:
            raise self.error
        if self.finished:
            return False
        head = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if self._bare is None and head and head in b"{[<":
            self._bare = []
            self._reader = self._make_reader(self._request, in_stream=False)
        if self._bare is None:
            self._is_flowing = bool(head)
            return True
        self._bare.append(data)
        self._bare_size += len(data)
        if self._bare_size > LINE_LIMIT:
            raise StreamError(f"the answer is larger than {LINE_LIMIT} bytes")
        return False


def odd_value(payload: bytes) -> Any:
    """The value of a payload that is not quite JSON."""
    if not payload.strip():
        return None
    try:
        return _json.loads(payload.decode(errors="replace"))  # a model's half character, sent as it was
    except ValueError:
        pass
    if payload.lstrip().startswith((b"{", b"[")):
        raise StreamError("the stream holds malformed JSON")
    raise StreamError(f"the stream holds something that is no JSON: {body_text(payload)}")
