"""Streamed answers of Ollama: a JSON object in each line, the last one with `"done": true`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import _json
from ..._wire.ndjson import NDJSONParser
from ...responses import StreamEvent
from ..stream_driver import StreamDriver, odd_value
from ..wire import WireRequest
from .answer import AnswerReader

__all__ = ["StreamParser"]


class StreamParser(StreamDriver[bytes]):
    """Makes events of a stream's bytes.

    Args:
        request: What the answer is to.
    """

    _reader: AnswerReader

    def __init__(self, request: WireRequest) -> None:
        reader = AnswerReader(request, in_stream=True)
        super().__init__(request, NDJSONParser(), reader, 'line with "done": true', "lines of JSON")
        self._has_begun = False  # a line of JSON has come

    def _begins(self, data: bytes) -> bool:
        """Whether to read a piece; that a body is no stream is seen by its first line only."""
        if self.error is not None:
            raise self.error
        self._is_flowing = not self.finished
        return self._is_flowing

    def _read(self, frames: Iterable[bytes], events: list[StreamEvent]) -> None:
        read, loads = self._reader.read, _json.loads
        for line in frames:
            if self._bare is not None:
                self._keep_bare(line + b"\n")
                continue
            try:
                value = loads(line)
            except ValueError:
                if not self._has_begun and _begins_a_body(line):
                    self._keep_bare(line + b"\n")
                    continue
                value = odd_value(line, self._request.secrets)
            if read(value, events):
                self.finished = True
                return
            self._has_begun = True

    def _read_whole(self, value: Any, events: list[StreamEvent]) -> None:
        self._reader = AnswerReader(self._request, in_stream=False)
        self.finished = self._reader.read(value, events)


def _begins_a_body(line: bytes) -> bool:
    """Whether a first line is that of a page, or of JSON with line breaks in it."""
    line = line.strip()
    return line.startswith(b"<") or line in (b"{", b"[")
