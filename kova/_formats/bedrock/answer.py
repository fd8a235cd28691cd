"""What the events of a stream and a complete answer have in common: content blocks, why the answer ended, usage."""

from __future__ import annotations

from typing import Any

from ..._log import log
from ...errors import StreamError
from ...responses import StopEvent, StopReason, StreamEvent, TextDelta, UsageEvent, UsageStats
from ..secrets import plain_name
from ..text_pieces import TextPieces
from ..wire import WireRequest
from .calls import CallReader
from .reasoning import Reasoning

__all__ = ["AnswerReader"]

_OF_BLOCKS = frozenset({"contentBlockStart", "contentBlockDelta", "contentBlockStop"})

_STOP_REASON = {
    "end_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "guardrail_intervened": StopReason.CONTENT_FILTER,  # what is shown in place of the answer is the text
    "content_filtered": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
}


class AnswerReader:
    """Makes events of one answer.

    Args:
        request: What the answer is to.

    Attributes:
        model: The model that answers, where a prompt router has chosen one; Bedrock names none else.
        has_ended: Whether it has said that it ends here.
    """

    def __init__(self, request: WireRequest) -> None:
        self.model: str | None = None
        self.has_ended = False
        self._stop_reason: str | None = None
        self._calls = CallReader(request)
        self._text = TextPieces()
        self._reasoning: Reasoning | None = None  # the block that is open

    def read(self, kind: Any, fields: Any, events: list[StreamEvent]) -> None:
        """Add what an event of a stream comes to.

        Args:
            kind: The event's type.
            fields: Its payload.
            events: Where the events go.

        Raises:
            StreamError: The event makes no sense.
        """
        if kind == "contentBlockDelta" and self._reasoning is None:
            try:
                text = fields["delta"]["text"]
                if type(text) is str:  # as in nearly all events of a stream
                    if whole := self._text.whole(text):
                        events.append(TextDelta(whole))
                    return
            except (KeyError, TypeError):
                pass
        if isinstance(fields, dict):
            self._read_any(kind, fields, events)

    def read_answer(self, answer: dict[str, Any], events: list[StreamEvent]) -> bool:
        """Add what a complete answer comes to, and say whether it is one."""
        output = answer.get("output")
        message = output.get("message") if isinstance(output, dict) else None
        if not isinstance(message, dict):
            return False
        for index, block in enumerate(_objects(message.get("content"))):
            self._read_block(index, block, events)
        self._read_stop(answer)
        self._read_metadata(answer, events)
        return True

    def stop(self) -> StopEvent:
        """Why the answer ended, in Bedrock's words and as kova's word for them."""
        return StopEvent(_STOP_REASON.get(self._stop_reason or "", StopReason.UNKNOWN), self._stop_reason)

    # ---- streams

    def _read_any(self, kind: Any, fields: dict[str, Any], events: list[StreamEvent]) -> None:
        index = _index(fields)
        if self._reasoning is not None and kind in _OF_BLOCKS and self._reasoning.index != index:
            self._end_reasoning(events)
        match kind:
            case "contentBlockStart":
                self._read_start(index, fields.get("start"), events)
            case "contentBlockDelta":
                self._read_delta(index, fields.get("delta"), events)
            case "contentBlockStop":
                self._end_reasoning(events)
                self._calls.end(index, events)
            case "messageStop":
                self._end_reasoning(events)
                self._read_stop(fields)
            case "metadata":
                self._read_metadata(fields, events)

    def _read_start(self, index: Any, start: Any, events: list[StreamEvent]) -> None:
        """Read the beginning of a block. Text and reasoning have none; nor is that of an image needed."""
        call = start.get("toolUse") if isinstance(start, dict) else None
        if isinstance(call, dict):
            self._calls.begin(index, call, events)

    def _read_delta(self, index: Any, delta: Any, events: list[StreamEvent]) -> None:
        if not isinstance(delta, dict):
            return
        text, call, reasoning = delta.get("text"), delta.get("toolUse"), delta.get("reasoningContent")
        if isinstance(text, str):
            self._read_text(text, events)
        elif isinstance(call, dict):
            if not self._calls.has(index):
                raise StreamError("the stream holds a piece of a tool call that has not begun")
            self._calls.go_on(index, call.get("input", ""), events)
        elif isinstance(reasoning, dict):
            self._read_reasoning(index, reasoning, events)
        else:
            log.debug("a piece of an answer is skipped", has=list(map(plain_name, delta)))

    # ---- complete answers

    def _read_block(self, index: int, block: dict[str, Any], events: list[StreamEvent]) -> None:
        text, call, reasoning = block.get("text"), block.get("toolUse"), block.get("reasoningContent")
        cited = block.get("citationsContent")
        if isinstance(text, str):
            self._read_text(text, events)
        elif isinstance(call, dict):
            arguments = call.get("input")
            self._calls.begin(index, call, events)
            self._calls.go_on(index, {} if arguments is None else arguments, events)
        elif isinstance(reasoning, dict):
            self._read_reasoning(index, {**reasoning, **_object(reasoning.get("reasoningText"))}, events)
            self._end_reasoning(events)
        elif isinstance(cited, dict):  # in a stream its text comes like any other
            for part in _objects(cited.get("content")):
                self._read_block(index, part, events)
        else:
            log.debug("a block of an answer is skipped", has=list(map(plain_name, block)))

    # ---- both

    def _read_text(self, text: str, events: list[StreamEvent]) -> None:
        if whole := self._text.whole(text):
            events.append(TextDelta(whole))

    def _read_reasoning(self, index: Any, content: dict[str, Any], events: list[StreamEvent]) -> None:
        if self._reasoning is None:
            self._reasoning = Reasoning(index)
        self._reasoning.read(content, events)

    def _end_reasoning(self, events: list[StreamEvent]) -> None:
        reasoning, self._reasoning = self._reasoning, None
        if reasoning is not None:
            reasoning.end(events)

    def _read_stop(self, fields: dict[str, Any]) -> None:
        reason = fields.get("stopReason")
        self._stop_reason = reason if isinstance(reason, str) else None
        self.has_ended = True

    def _read_metadata(self, fields: dict[str, Any], events: list[StreamEvent]) -> None:
        usage = fields.get("usage")
        if isinstance(usage, dict):
            events.append(UsageEvent(_usage(usage)))
        model = _object(_object(fields.get("trace")).get("promptRouter")).get("invokedModelId")
        if isinstance(model, str) and model:
            self.model = model


def _usage(usage: dict[str, Any]) -> UsageStats:
    """The usage of one call; `inputTokens` has neither what was read from a cache nor what was written to it."""
    return UsageStats(
        input_tokens=_count(usage.get("inputTokens")),
        output_tokens=_count(usage.get("outputTokens")),
        total_tokens=_count(usage.get("totalTokens")),
        cache_read_tokens=_count(usage.get("cacheReadInputTokens")),
        cache_creation_tokens=_count(usage.get("cacheWriteInputTokens")),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _index(fields: dict[str, Any]) -> int | None:
    index = fields.get("contentBlockIndex")
    return index if isinstance(index, int) else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
