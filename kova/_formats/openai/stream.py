"""Streamed answers of the chat completions API."""

from __future__ import annotations

from ..event_stream import EventStreamParser
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

    def _read_done(self) -> None:
        """Take the mark for the end, whatever came before it."""
        self.finished = True
