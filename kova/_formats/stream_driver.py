"""Streamed answers: what the parsers of all formats have in common, in whatever frames a stream comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from .. import _json
from .._assembly import Assembler
from ..errors import KovaError, StreamError
from ..responses import ModelResponse, StopEvent, StreamEvent
from .error_body import body_text, json_body
from .wire import WireRequest

__all__ = ["StreamDriver", "odd_value"]

BARE_LIMIT = 64 * 1024 * 1024  # bytes of an answer that is no stream
LEAD = b"\xef\xbb\xbf \t\r\n"  # what may come before a body of either kind, a byte-order mark included

F_co = TypeVar("F_co", covariant=True)


class Framing(Protocol[F_co]):
    """Takes the bytes of a stream apart; see `kova._wire`."""

    def feed(self, data: bytes) -> Iterable[F_co]:
        """The frames that the next piece of the body completes."""

    def close(self) -> Iterable[F_co]:
        """Those that the end of the body completes."""


class Reader(Protocol):
    """What is known of the answer beside its events; it makes these, and each format has its own way to ask for them."""

    @property
    def model(self) -> str | None:
        """The model that answers, as the server names it."""

    def stop(self) -> StopEvent:
        """Why the answer ended."""


F = TypeVar("F")


class StreamDriver(Generic[F]):
    """Makes events of a stream's bytes; the base of each format's parser, which reads the frames.

    Whoever drives it feeds it until it is `finished` or the body ends, and then closes it. What came before an error
    in the same piece of the body is not lost: it is returned, and the error is raised by the next call.

    Args:
        request: What the answer is to.
        frames: Takes the stream apart.
        reader: Makes events of the frames.
        mark: The name of the terminal mark, for the error of a stream that ends without it.
        form: What the stream is, for the error of a body that is something else.

    Attributes:
        finished: The terminal mark was seen; nothing more needs to be read.
        error: An error that the next call will raise, so that there is no need to read on before.
    """

    def __init__(
        self, request: WireRequest, frames: Framing[F], reader: Reader, mark: str, form: str = "an event stream"
    ) -> None:
        self.finished = False
        self.error: KovaError | None = None
        self._request = request
        self._frames = frames
        self._take = frames.feed
        self._reader = reader
        self._mark = mark
        self._form = form
        self._assembler = Assembler(request.made_up_id)
        self._is_flowing = False  # what comes is the next piece of a stream
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
            self._read(self._take(data), events)
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
        try:
            self._read(self._frames.close(), events)
            if self._bare is not None:
                self._read_bare(b"".join(self._bare), events)
        except StreamError:
            if not self._is_over():
                raise  # else the answer is complete, and only what follows it was cut off
        if not self._is_over():
            raise self._cut()
        self._assembler.extend(events)
        return [*events, self._stop()]

    def response(self) -> ModelResponse:
        """The answer, once the stream is finished."""
        return self._assembler.response(model=self._reader.model)

    # ---- what a format says

    def _read(self, frames: Iterable[F], events: list[StreamEvent]) -> None:
        """Add the frames' events to a list, and note whether the terminal mark was among them."""
        raise NotImplementedError

    def _read_whole(self, value: Any, events: list[StreamEvent]) -> None:
        """The same for the value of a body that is no stream."""
        raise NotImplementedError

    def _is_over(self) -> bool:
        """Whether the body may end here; not only after the terminal mark, where more may come than the answer needs."""
        return self.finished

    def _begins(self, data: bytes) -> bool:
        """Whether a piece that does not come in the midst of a stream is to be read as one."""
        if self.error is not None:
            raise self.error
        if self.finished:
            return False
        if self._bare is None:
            data = data.lstrip(LEAD)
            if data[:1] not in (b"{", b"[", b"<"):
                self._is_flowing = bool(data)
                return True
        self._keep_bare(data)
        return False

    # ---- what all have

    def _cut(self) -> StreamError:
        return StreamError(f"the stream ended before the answer did: there was no {self._mark}")

    def _keep_bare(self, data: bytes) -> None:
        self._bare = self._bare or []
        self._bare.append(data)
        self._bare_size += len(data)
        if self._bare_size > BARE_LIMIT:
            raise StreamError(f"the answer is larger than {BARE_LIMIT} bytes")

    def _read_bare(self, body: bytes, events: list[StreamEvent]) -> None:
        value = json_body(body)
        if value is None:
            raise StreamError(f"the answer is neither {self._form} nor JSON: {body_text(body, self._request.secrets)}")
        self._read_whole(value, events)

    def _stop(self) -> StopEvent:
        """The last event. Its reason is that of the response, which minds the tool calls."""
        self.finished = True
        self._is_flowing = False
        stop = self._reader.stop()
        self._assembler.add(stop)
        return StopEvent(self.response().stop_reason, stop.raw_stop_reason)


def odd_value(payload: bytes, secrets: Iterable[str]) -> Any:
    """The value of a payload that is not quite JSON.

    Its errors show no context: that of the JSON library holds the whole payload.
    """
    if not payload.strip():
        return None
    try:
        return _json.loads(payload.decode(errors="replace"))  # a model's half character, sent as it was
    except ValueError:
        pass
    if payload.lstrip().startswith((b"{", b"[")):
        raise StreamError("the stream holds malformed JSON, or JSON that was cut") from None
    raise StreamError(f"the stream holds something that is no JSON: {body_text(payload, secrets)}") from None
