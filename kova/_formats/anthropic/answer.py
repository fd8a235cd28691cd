"""What an event of a stream and a complete answer have in common: both are made of content blocks."""

from __future__ import annotations

from typing import Any

from ..._assembly import merge_usage
from ..._log import log
from ...errors import StreamError
from ...responses import StopEvent, StopReason, StreamEvent, TextDelta, UsageEvent, UsageStats
from ..error_body import is_error
from ..secrets import plain_name
from ..text_pieces import TextPieces
from ..wire import WireRequest
from .block_readers import BlockReader, CallReader, Calls, RawReader, TextReader, ThinkingReader, arguments_text
from .errors import payload_error
from .usage import read_usage

__all__ = ["AnswerReader"]

_STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "pause_turn": StopReason.PAUSE_TURN,
    "refusal": StopReason.REFUSAL,
    # OpenAI's, which gateways to it let through
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
}

# What ends an answer in the middle of its last block: "the truncated response contains an incomplete tool use block".
_CUTTING = ("max_tokens", "model_context_window_exceeded", "refusal", "length", "content_filter")

# The block that a delta belongs to which comes without the start of one.
_IMPLIED = {"text_delta": "text", "thinking_delta": "thinking"}

_IS_OF: dict[type[BlockReader], str] = {TextReader: "text", ThinkingReader: "thinking"}

_NONE = -1  # an index that no block has


class AnswerReader:
    """Makes events of the events of a stream, or of a complete answer.

    Args:
        request: What the answer is to.
        in_stream: Whether the answer comes as a stream.

    Attributes:
        model: The model that answers, as the server names it.
        stop_reason: Why it stopped, in the server's words; None until it has said so.
    """

    def __init__(self, request: WireRequest, *, in_stream: bool) -> None:
        self.model: str | None = None
        self.stop_reason: str | None = None
        self._request = request
        self._in_stream = in_stream
        self._calls = Calls(request)
        self._text = TextPieces()
        self._open: dict[int, BlockReader] = {}  # blocks that have begun, by their index, the latest last
        self._latest = _NONE  # index of the latest block that is no call
        self._text_index = _NONE  # the same, if that is text
        self._usage = UsageStats()

    def read(self, value: Any, events: list[StreamEvent]) -> bool:
        """Add the events of one of the stream's to a list, or those of a complete answer.

        Returns:
            Whether that was the end of the answer.

        Raises:
            KovaError: It reports an error.
        """
        try:
            # Nearly all events of a stream are a piece of text and nothing else.
            delta = value["delta"]
            if delta["type"] == "text_delta" and value["index"] == self._text_index:
                text = self._text.whole(delta["text"])
                if text:
                    events.append(TextDelta(text))
                return False
        except (KeyError, TypeError, AttributeError):
            pass
        return self._read_any(value, events)

    def stop(self) -> StopEvent:
        """Why the answer ended, in the server's words and as kova's word for them."""
        reason = _STOP_REASONS.get(self.stop_reason or "", StopReason.UNKNOWN)
        return StopEvent(reason, self.stop_reason)

    def _read_any(self, value: Any, events: list[StreamEvent]) -> bool:
        """Read an event that may be anything."""
        if not isinstance(value, dict):
            return self._read_list(value)
        match value.get("type"):
            case "content_block_start":
                self._begin(value, events)
            case "content_block_delta":
                self._read_delta(value, events)
            case "content_block_stop":
                self._end(self._index_of(value), events)
            case "message_start":
                self._read_message(value.get("message"), events)
            case "message_delta":
                self._read_message({**_fields(value.get("delta")), "usage": value.get("usage")}, events)
            case "message_stop":
                self._end_all(events)
                return True
            case "message" if not self._in_stream or isinstance(value.get("content"), list):
                self._read_whole(value, events)
                return not self._in_stream or self.stop_reason is not None  # else it is only the beginning of one
            case None if value.get("role") == "assistant" and isinstance(value.get("content"), list):
                self._read_whole(value, events)
                return not self._in_stream or self.stop_reason is not None
            case kind:
                self._read_other(kind, value)
        return False

    def _read_other(self, kind: Any, value: dict[str, Any]) -> None:
        if kind == "error" or value.get("error") or (kind is None and is_error(value)):
            raise payload_error(value, self._request, in_stream=self._in_stream)
        if kind != "ping":
            log.debug("an event of a stream is skipped", kind=plain_name(kind))

    def _read_list(self, value: Any) -> bool:
        """Read what is no event: Vertex wraps its errors in an array."""
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict) and item.get("error"):
                raise payload_error(item, self._request, in_stream=self._in_stream)
        return False

    def _read_message(self, message: Any, events: list[StreamEvent]) -> None:
        """Read what is known of the message besides its content."""
        fields = _fields(message)
        if isinstance(model := fields.get("model"), str) and model:
            self.model = model
        if isinstance(reason := fields.get("stop_reason"), str) and reason:
            self.stop_reason = reason
        usage = merge_usage(self._usage, read_usage(_fields(fields.get("usage"))))
        if usage != self._usage:
            self._usage = usage
            events.append(UsageEvent(usage))

    def _read_whole(self, message: dict[str, Any], events: list[StreamEvent]) -> None:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        blocks = [_fields(block) for block in content] if isinstance(content, list) else []
        is_cut = message.get("stop_reason") in _CUTTING
        for index, block in enumerate(blocks):
            if block.get("type") == "tool_use":
                # Cut off in the middle, they are an object all the same; and `{}` is all there is, with no deltas to come.
                arguments = "" if is_cut and block is blocks[-1] else arguments_text(block.get("input"))
                block = {**block, "input": arguments}
            self._begin({"index": index, "content_block": block}, events)
            self._end(index, events)
        self._read_message(message, events)

    def _begin(self, value: dict[str, Any], events: list[StreamEvent]) -> None:
        """Begin a block. What came before it is over, except for calls: gateways send several of them at once."""
        index, start = self._index_of(value, default=len(self._open)), _fields(value.get("content_block"))
        self._end(index, events)
        self._end(self._latest, events)
        kind = start.get("type")
        if kind == "tool_use":
            self._open[index] = CallReader(start, self._calls, events)
            return
        self._latest = index
        if kind == "text":
            self._open[index] = TextReader(start, self._text, events)
            self._text_index = index
        else:
            self._open[index] = ThinkingReader(start, events) if kind == "thinking" else RawReader(start)

    def _read_delta(self, value: dict[str, Any], events: list[StreamEvent]) -> None:
        index, delta = self._index_of(value), _fields(value.get("delta"))
        kind = delta.get("type")
        implied = _IMPLIED.get(kind) if isinstance(kind, str) else None
        reader = self._open.get(index)
        if kind == "input_json_delta" and (reader is None or (type(reader) in _IS_OF and delta.get("partial_json"))):
            raise StreamError("the stream holds arguments of a tool call that it has not begun")
        if implied is not None and isinstance(reader, CallReader):
            self._read_beside(implied, delta, events)
            return
        # Gateways forget to begin a block, or to end the one before it: text in what began as thinking is text.
        if reader is None or (implied is not None and _IS_OF.get(type(reader), implied) != implied):
            self._begin({"index": index, "content_block": {"type": implied}}, events)
        self._open[index].read(delta, events)

    def _read_beside(self, kind: str, delta: dict[str, Any], events: list[StreamEvent]) -> None:
        """Read text or thinking that has a call's number: SGLang goes on with both, the one and the other."""
        if kind == "text":
            TextReader(delta, self._text, events)
        else:
            ThinkingReader(delta, events)

    def _end(self, index: int, events: list[StreamEvent]) -> None:
        reader = self._open.pop(index, None)
        if reader is not None:
            reader.end(events)
        if index == self._latest:
            self._latest = self._text_index = _NONE

    def _end_all(self, events: list[StreamEvent]) -> None:
        for index in list(self._open):
            self._end(index, events)

    def _index_of(self, value: dict[str, Any], *, default: int | None = None) -> int:
        """The index in an event; where there is none, the latest block is meant."""
        index = value.get("index")
        if isinstance(index, int):
            return index
        return default if default is not None else next(reversed(self._open), 0)


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
