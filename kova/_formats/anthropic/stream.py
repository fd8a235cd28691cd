"""Streamed answers of the Messages API."""

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

    def __init__(self, request: WireRequest) -> None:
        super().__init__(request, AnswerReader, "message_stop")
