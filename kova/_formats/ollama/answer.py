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
        self._text = TextPieces()
        self._thinking: list[str] = []  # what has not gone into a block yet
        self._calls: dict[str, tuple[int, str, str]] = {}  # by the server's id: line, name and arguments
        self._call_count = 0
        self._line_count = 0  # of the lines that have calls
        self._usage: UsageStats | None = None

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
                if self._text.half or not text.isascii():
                    text = self._text.whole(text)
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
        if isinstance(model := line.get("model"), str) and model:
            self.model = model
        if isinstance(message := line.get("message"), dict):
            self.has_message = True
            self._read_message(message, events)
        self._read_usage(line, events)
        if line.get("done") is not True:
            return False
        self.has_message = True
        reason = line.get("done_reason")
        self._done_reason = reason if isinstance(reason, str) and reason else None
        return True

    def _read_message(self, message: dict[str, Any], events: list[StreamEvent]) -> None:
        thinking, text, calls = message.get("thinking"), message.get("content"), message.get("tool_calls")
        if thinking and isinstance(thinking, str):
            self._thinking.append(thinking)
            events.append(ThinkingDelta(thinking))
        if text and isinstance(text, str) and (whole := self._text.whole(text)):
            events.append(TextDelta(whole))
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
        wire_name, server_id = function.get("name"), entry.get("id")
        name = self._request.tool_names.own(wire_name) if isinstance(wire_name, str) else ""
        arguments = _arguments_text(function.get("arguments"))
        has_id = isinstance(server_id, str) and server_id != ""
        known = self._calls.get(server_id) if has_id else None
        if known is not None and known[0] < self._line_count and known[1:] == (name, arguments):
            return  # a later line sums up what has come
        position = self._call_count
        self._call_count += 1
        if has_id and known is None:
            self._calls[server_id] = (self._line_count, name, arguments)
            events.append(ToolUseDelta(server_id, name, arguments, None, position))
        else:
            made_up = self._request.made_up_id(position)
            events.append(ToolUseDelta(made_up, name, arguments, {MADE_UP_ID: True}, position))

    def _read_usage(self, line: dict[str, Any], events: list[StreamEvent]) -> None:
        usage = UsageStats(_count(line.get("prompt_eval_count")), _count(line.get("eval_count")))
        if usage != UsageStats() and usage != self._usage:
            self._usage = usage
            events.append(UsageEvent(usage))


def _arguments_text(arguments: Any) -> str:
    """Arguments as text: an object at Ollama; a text, or nothing at all, at others."""
    if isinstance(arguments, str):
        return arguments if arguments.strip() else "{}"
    return "{}" if arguments is None else _json.dumps(arguments).decode()


def _count(value: Any) -> int | None:
    """A number of tokens; the server leaves out what is 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
