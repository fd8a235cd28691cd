"""Streamed answers of the Gemini API."""

from __future__ import annotations

import attrs

from ...responses import ModelResponse
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
        super().__init__(request, AnswerReader, "finishReason")

    def response(self) -> ModelResponse:
        """The answer; of a stream that broke off, what it came to."""
        self._assembler.extend(self._reader.unreported_usage())
        return attrs.evolve(super().response(), request_id=self._reader.response_id)

    def _is_over(self) -> bool:
        return self.finished or self._reader.is_over()
