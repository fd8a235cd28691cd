"""Streamed answers of the chat completions API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ... import _json
from ...responses import StreamEvent
from ..event_stream import DONE, EventStreamParser, run_together
from ..stream_driver import odd_value
from ..wire import WireRequest
from .answer import AnswerReader

__all__ = ["StreamParser"]


class StreamParser(EventStreamParser):
    """Makes events of a stream's bytes.

    Args:
        request: What the answer is to.
    """

    _reader: AnswerReader

    def __init__(self, request: WireRequest) -> None:
        super().__init__(request, AnswerReader, "finish_reason, and no [DONE]")

    def _is_over(self) -> bool:
        """Whether the answer has come to its end; a finish reason is one, though usage may still follow."""
        return self.finished or self._reader.finish_reason is not None

    def _read(self, frames: Iterable[bytes], events: list[StreamEvent]) -> None:
        read, loads = self._reader.read, _json.loads
        for payload in frames:
            lines: Sequence[bytes] = ()
            try:
                chunk = loads(payload)
            except ValueError:
                if payload.strip() == DONE:
                    self.finished = True
                    return
                lines = run_together(payload)
                chunk = None if lines else odd_value(payload, self._request.secrets)
            if lines:  # not while the error is handled: it holds the payload, and would be the context of another
                self._read(lines, events)
                if self.finished:
                    return
                continue
            read(chunk, events)
