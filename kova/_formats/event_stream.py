"""Streamed answers that come as server-sent events: what the parsers of several formats have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from .. import _json
from .._wire.sse import SSEParser
from ..responses import StopEvent, StreamEvent
from .error_body import json_body
from .stream_driver import StreamDriver, odd_value
from .wire import WireRequest

__all__ = ["EventStreamParser", "PayloadReader"]

DONE = b"[DONE]"
"""The last payload of an OpenAI-compatible stream; gateways put it at the end of streams of other formats too."""


def _run_together(payload: bytes) -> list[bytes]:
    """The payloads in what should be one: servers leave out the blank line between two events.

    Args:
        payload: What is no JSON as a whole.
    """
    lines = [line for line in payload.split(b"\n") if line.strip()]
    return lines if len(lines) > 1 and isinstance(json_body(lines[0]), dict) else []


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


class EventStreamParser(StreamDriver[bytes]):
    """Makes events of a stream's bytes.

    Args:
        request: What the answer is to.
        make_reader: Makes what reads the payloads, for a stream or for a complete answer.
        mark: The name of the terminal mark, for the error of a stream that ends without it.
    """

    _reader: PayloadReader

    def __init__(self, request: WireRequest, make_reader: MakeReader, mark: str) -> None:
        super().__init__(request, SSEParser(), make_reader(request, in_stream=True), mark)
        self._make_reader = make_reader

    def _read(self, frames: Iterable[bytes], events: list[StreamEvent]) -> None:
        read, loads = self._reader.read, _json.loads
        for payload in frames:
            lines: Sequence[bytes] = ()
            try:
                value = loads(payload)
            except ValueError:
                if payload.strip() == DONE:
                    self._read_done()
                    return
                lines = _run_together(payload)
                value = None if lines else odd_value(payload, self._request.secrets)
            if lines:  # not while the error is handled: it holds the payload, and would be the context of another
                self._read(lines, events)
                if self.finished:
                    return
                continue
            if read(value, events):
                self.finished = True
                return

    def _read_done(self) -> None:
        """Nothing more comes: the answer is complete, or else it was cut."""
        if not self._is_over():
            raise self._cut()
        self.finished = True

    def _read_whole(self, value: Any, events: list[StreamEvent]) -> None:
        self._reader = self._make_reader(self._request, in_stream=False)
        self.finished = bool(self._reader.read(value, events))
