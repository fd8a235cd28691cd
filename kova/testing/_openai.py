"""Answers as OpenAI's chat completions API writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import _json
from ..errors import ProviderError, ProviderErrorClass
from ..responses import ModelInfo, StopEvent, StopReason, StreamEvent, UsageEvent, UsageStats
from ._blocks import Block, Blocks, Kind, Piece
from ._wire import Question, WireFormat, error_class, known

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = ["OPENAI"]

_ID = "chatcmpl-scripted"
_CREATED = 1_700_000_000  # seconds; clients want a number and do not mind which

_FINISH = {StopReason.END_TURN: "stop", StopReason.TOOL_USE: "tool_calls", StopReason.MAX_TOKENS: "length"}

_CODES = {
    ProviderErrorClass.AUTH_INVALID: "invalid_api_key",
    ProviderErrorClass.AUTH_FORBIDDEN: "permission_denied",
    ProviderErrorClass.RATE_LIMITED: "rate_limit_exceeded",
    ProviderErrorClass.OVERLOADED: "server_overloaded",
    ProviderErrorClass.INVALID_REQUEST: "invalid_value",
    ProviderErrorClass.NOT_FOUND: "model_not_found",
}


def _read(exchange: Exchange) -> Question:
    body = exchange.json()
    calls = [call for message in body.get("messages", ()) for call in message.get("tool_calls") or ()]
    return Question(str(body.get("model")), body.get("stream") is True, len(calls))


def _complete(question: Question, events: Sequence[StreamEvent]) -> object:
    blocks = Blocks(events, in_order=False)
    calls = [_call(block, block.text) for block in blocks.all if block.kind is Kind.CALL]
    thinking = blocks.text(Kind.THINKING)
    message = {
        "role": "assistant",
        "content": blocks.text(Kind.TEXT) or None,
        **known({"reasoning_content": thinking or None, "tool_calls": calls or None}),
    }
    choice = {"index": 0, "message": message, "finish_reason": _finish(blocks.stop)}
    usage = None if blocks.usage is None else _usage(blocks.usage)
    return {**_head(question, "chat.completion"), "choices": [choice], **known({"usage": usage})}


class _StreamWriter:
    """Server-sent events, each with a chunk of the answer."""

    def __init__(self, question: Question) -> None:
        self._head = _head(question, "chat.completion.chunk")
        self._blocks = Blocks(in_order=False)
        self._role = {"role": "assistant"}  # which the first chunk says

    def event(self, event: StreamEvent) -> bytes:
        piece = self._blocks.add(event)
        match event:
            case UsageEvent(usage=usage):
                return _sse({**self._head, "choices": [], "usage": _usage(usage)})
            case StopEvent():
                return self._delta({}, _finish(event))
        return b"" if piece is None else self._delta(_piece(piece))

    def error(self, error: ProviderError) -> bytes:
        return _sse(_error(error))

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"

    def _delta(self, delta: Mapping[str, object], finish: str | None = None) -> bytes:
        role, self._role = self._role, {}
        choice = {"index": 0, "delta": {**role, **delta}, "finish_reason": finish}
        return _sse({**self._head, "choices": [choice]})


def _sse(value: object) -> bytes:
    return b"data: " + _json.dumps(value) + b"\n\n"


def _head(question: Question, kind: str) -> dict[str, object]:
    return {"id": _ID, "object": kind, "created": _CREATED, "model": question.model}


def _piece(piece: Piece) -> dict[str, object]:
    match piece.block.kind:
        case Kind.TEXT:
            return {"content": piece.text}
        case Kind.THINKING:
            return {"reasoning_content": piece.text}  # signatures have no place in this API
        case Kind.CALL:
            return {"tool_calls": [{"index": piece.block.index, **_call(piece.block, piece.text)}]}


def _call(block: Block, arguments: str) -> dict[str, object]:
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def _finish(event: StopEvent) -> str:
    return event.raw_stop_reason or _FINISH.get(event.stop_reason, event.stop_reason.value)


def _usage(usage: UsageStats) -> dict[str, object]:
    prompt = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_creation_tokens}
    counts = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": known(prompt) or None,
        "completion_tokens_details": known({"reasoning_tokens": usage.thinking_tokens}) or None,
    }
    return known(counts)


def _error(error: ProviderError) -> object:
    code = _CODES.get(error_class(error), "scripted")
    if error.is_quota_exhausted:
        code = "insufficient_quota"
    if error.is_context_length:
        code = "context_length_exceeded"
    return {"error": {"message": error.message, "type": "scripted_error", "param": None, "code": code}}


def _models(models: Sequence[ModelInfo]) -> object:
    entries = [
        {**model.raw, **known({"id": model.id, "created": model.created, "owned_by": model.owned_by})}
        for model in models
    ]
    return {"object": "list", "data": [{"object": "model", **entry} for entry in entries]}


OPENAI = WireFormat(
    chat=re.compile(r"/chat/completions$"),
    models=re.compile(r"/models$"),
    read=_read,
    complete=_complete,
    stream_type="text/event-stream",
    stream=_StreamWriter,
    error=_error,
    models_body=_models,
)
