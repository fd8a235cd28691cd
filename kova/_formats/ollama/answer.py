"""What a line of a stream and a complete answer have in common: both are read as pieces of a message.

{"model": "…", "created_at": "…", "message": {"role": "assistant", "content": "Hel"}, "done": false}
{"model": "…", "created_at": "…", "message": {…}, "done": true, "done_reason": "stop", "eval_count": 6, …}
"""

from __future__ import annotations

from typing import Any

from ... import _json
from ..._assembly import MADE_UP_ID
from ...messages import ThinkingBlock
from ...responses import (
    StopEvent,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    UsageEvent,
    UsageStats,
)
from ..text_pieces import TextPieces
from ..wire import WireRequest
from .errors import payload_error
from .messages import THINKING_FIELD

__all__ = ["AnswerReader"]

# "load" and "unload" answer a request without messages: nothing was generated, and nothing has come to its end.
_STOP_REASON = {"stop": StopReason.END_TURN, "length": StopReason.MAX_TOKENS}


class AnswerReader:
    """Makes events of the lines of one answer, or of a complete one.

    Args:
        request: What the answer is to.
        in_stream: Whether the answer comes as a stream.

    Attributes:
        model: The model that answers, as the server names it.
        has_message: Whether there has been an answer at all.
    """

    def __init__(self, request: WireRequest, *, in_stream: bool) -> None:
        self.model: str | None = None
        self.has_message = False
        self._request = request
        self._in_stream = in_stream
        self._done_reason: str | None = None
        self._pieces = TextPieces()
        self._thinking: list[str] = []  # what has not gone into a block yet
        self._calls: dict[str, tuple[int, str, str]] = {}  # by the server's id: line, name and arguments
        self._call_count = 0
        self._line_count = 0  # of the lines that have calls
        self._counts: tuple[int | None, int | None] = None, None  # tokens of the prompt and of the answer

    def read(self, line: Any, events: list[StreamEvent]) -> bool:
        """Add a line's events to a list, and say whether it was the last one.

        Raises:
            KovaError: The line reports an error.
        """
        try:
            message = line["message"]
            text = message["content"]
            # Nearly all lines are a piece of text and nothing else. The first one also says which model it is.
            if (
                len(message) == 2
                and "role" in message
                and len(line) == 4
                and line["done"] is False
                and "model" in line
                and "created_at" in line
                and type(text) is str
                and self.has_message
            ):
                if self._pieces.half or not text.isascii():
                    text = self._pieces.whole(text)
                if text:
                    events.append(TextDelta(text))
                return False
        except (KeyError, TypeError):
            pass
        return self._read_any(line, events)

    def stop(self) -> StopEvent:
        """Why the answer ended, in the server's words and as kova's word for them.

        The reason is left out where the connection to the model's process was lost after the last token, and by
        servers of 2023; an answer that is `done` is one all the same.
        """
        reason = _STOP_REASON.get(self._done_reason, StopReason.UNKNOWN) if self._done_reason else StopReason.END_TURN
        return StopEvent(reason, self._done_reason)

    def _read_any(self, line: Any, events: list[StreamEvent]) -> bool:
        """Read a line that may be anything."""
        if not isinstance(line, dict):
            return False
        if line.get("error"):
            raise payload_error(line, self._request, in_stream=self._in_stream)
        self.model = _text(line, "model") or self.model
        if isinstance(message := line.get("message"), dict):
            self.has_message = True
            self._read_message(message, events)
        self._read_usage(line, events)
        if line.get("done") is not True:
            return False
        self.has_message = True
        self._done_reason = _text(line, "done_reason") or None
        return True

    def _read_message(self, message: dict[str, Any], events: list[StreamEvent]) -> None:
        if thinking := _text(message, "thinking"):
            self._thinking.append(thinking)
            events.append(ThinkingDelta(thinking))
        if text := self._pieces.whole(_text(message, "content")):
            events.append(TextDelta(text))
        calls = message.get("tool_calls")
        if calls and isinstance(calls, list):
            self._read_calls(calls, events)

    def _read_calls(self, calls: list[Any], events: list[StreamEvent]) -> None:
        if self._thinking:  # only a message with calls takes its thinking back: inside a round, models go on from it
            events.append(ThinkingBlock("".join(self._thinking), provider_metadata={THINKING_FIELD: True}))
            self._thinking.clear()
        self._line_count += 1
        for entry in calls:
            if isinstance(entry, dict):
                self._read_call(entry, events)

    def _read_call(self, entry: dict[str, Any], events: list[StreamEvent]) -> None:
        """Read one call, which always comes whole."""
        function = entry.get("function")
        if not isinstance(function, dict):
            function = {}
        name, server_id = self._request.tool_names.own(_text(function, "name")), _text(entry, "id")
        arguments = _arguments_text(function.get("arguments"))
        known = self._calls.get(server_id)
        if known is not None and known[0] < self._line_count and known[1:] == (name, arguments):
            return  # a later line sums up what has come
        position = self._call_count
        self._call_count += 1
        if server_id and known is None:
            self._calls[server_id] = (self._line_count, name, arguments)
            events.append(ToolUseDelta(server_id, name, arguments, None, position))
        else:
            made_up = self._request.made_up_id(position)
            events.append(ToolUseDelta(made_up, name, arguments, {MADE_UP_ID: True}, position))

    def _read_usage(self, line: dict[str, Any], events: list[StreamEvent]) -> None:
        counts = _count(line.get("prompt_eval_count")), _count(line.get("eval_count"))
        if counts != self._counts and counts != (None, None):
            self._counts = counts
            events.append(UsageEvent(UsageStats(*counts)))


def _text(fields: dict[str, Any], name: str) -> str:
    """A field that is a text; empty where it is missing, null or something else."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _arguments_text(arguments: Any) -> str:
    """Arguments as text: an object at Ollama; a text, or nothing at all, at others."""
    if isinstance(arguments, str):
        return arguments if arguments.strip() else "{}"
    return "{}" if arguments is None else _json.dumps(arguments).decode()


def _count(value: Any) -> int | None:
    """A number of tokens; the server leaves out what is 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
