"""Answers as Anthropic's Messages API writes them (https://platform.claude.com/docs/en/api/messages)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .. import _json
from ..errors import ProviderError, ProviderErrorClass
from ..responses import ModelInfo, StopEvent, StopReason, StreamEvent, UsageStats
from ._blocks import Block, Blocks, Kind, Piece
from ._wire import Question, WireFormat, error_class, known, request_body, with_words

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = ["ANTHROPIC"]

# The other words that kova has for reasons are this API's own; its filters end an answer as a refusal.
_STOP_REASONS = {StopReason.CONTENT_FILTER: "refusal"}

_TYPES = {
    ProviderErrorClass.AUTH_INVALID: "authentication_error",
    ProviderErrorClass.AUTH_FORBIDDEN: "permission_error",
    ProviderErrorClass.RATE_LIMITED: "rate_limit_error",
    ProviderErrorClass.OVERLOADED: "overloaded_error",
    ProviderErrorClass.INVALID_REQUEST: "invalid_request_error",
    ProviderErrorClass.NOT_FOUND: "not_found_error",
}

_TOO_LONG = "prompt is too long"


def _read(exchange: Exchange) -> Question:
    body = request_body(exchange)
    contents = [message["content"] for message in body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    calls = sum(block["type"] == "tool_use" for block in blocks)
    return Question(str(body["model"]), body.get("stream") is True, calls)


def _complete(question: Question, events: Sequence[StreamEvent]) -> object:
    blocks = Blocks(events)
    message = _message(question, [_block(block) for block in blocks.all], blocks.usage)
    return {**message, "stop_reason": _stop_reason(blocks.stop)}


class _StreamWriter:
    """Server-sent events with names: the message, its blocks one after the other, how it ended."""

    def __init__(self, question: Question) -> None:
        self._blocks = Blocks()
        self._open: Block | None = None
        self._start = _sse("message_start", message=_message(question, [], None))

    def event(self, event: StreamEvent) -> bytes:
        piece = self._blocks.add(event)
        return self._begin() + (b"" if piece is None else self._piece(piece))

    def error(self, error: ProviderError) -> bytes:
        return b"event: error\ndata: " + _json.dumps(_error(error)) + b"\n\n"

    def end(self) -> bytes:
        delta = {"stop_reason": _stop_reason(self._blocks.stop), "stop_sequence": None}
        last = _sse("message_delta", delta=delta, usage=_usage(self._blocks.usage))
        return self._begin() + self._close() + last + _sse("message_stop")

    def _begin(self) -> bytes:
        start, self._start = self._start, b""
        return start

    def _piece(self, piece: Piece) -> bytes:
        block, before = piece.block, b""
        if block is not self._open:
            empty = _block(Block(block.kind, block.number, id=block.id, name=block.name))
            before = self._close() + _sse("content_block_start", index=block.number, content_block=empty)
            self._open = block
        deltas = [_delta(block.kind, piece.text)] if piece.text else []
        if piece.signature is not None:
            deltas.append({"type": "signature_delta", "signature": piece.signature})
        return before + b"".join([_sse("content_block_delta", index=block.number, delta=delta) for delta in deltas])

    def _close(self) -> bytes:
        block, self._open = self._open, None
        return b"" if block is None else _sse("content_block_stop", index=block.number)


def _sse(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: ".encode() + _json.dumps({"type": kind, **fields}) + b"\n\n"


def _message(question: Question, content: list[object], usage: UsageStats | None) -> dict[str, object]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": question.model,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(usage),
    }


def _block(block: Block) -> dict[str, object]:
    match block.kind:
        case Kind.TEXT:
            return {"type": "text", "text": block.text}
        case Kind.THINKING:
            return {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}
        case Kind.CALL:
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments()}


def _delta(kind: Kind, text: str) -> dict[str, object]:
    match kind:
        case Kind.TEXT:
            return {"type": "text_delta", "text": text}
        case Kind.THINKING:
            return {"type": "thinking_delta", "thinking": text}
        case Kind.CALL:
            return {"type": "input_json_delta", "partial_json": text}


def _stop_reason(stop: StopEvent) -> str:
    return stop.raw_stop_reason or _STOP_REASONS.get(stop.stop_reason, stop.stop_reason.value)


def _usage(usage: UsageStats | None) -> dict[str, object]:
    """The two counts that are always there are null where the script says nothing of them."""
    usage = usage or UsageStats()
    thinking = None if usage.thinking_tokens is None else {"thinking_tokens": usage.thinking_tokens}
    more = {
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_creation_tokens,
        "output_tokens_details": thinking,
    }
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, **known(more)}


def _error(error: ProviderError) -> object:
    kind = "billing_error" if error.is_quota_exhausted else _TYPES.get(error_class(error), "scripted_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": with_words(error, _TOO_LONG)},
        "request_id": error.request_id,
    }


def _models(models: Sequence[ModelInfo]) -> object:
    entries = [{"type": "model", "display_name": model.id, **model.raw, **_model(model)} for model in models]
    return {"data": entries, "has_more": False}


def _model(model: ModelInfo) -> dict[str, object]:
    created = None if model.created is None else datetime.fromtimestamp(model.created, UTC).isoformat()
    return known({"id": model.id, "created_at": created, "owned_by": model.owned_by})


ANTHROPIC = WireFormat(
    chat=re.compile(r"/messages$"),
    models=re.compile(r"/models$"),
    read=_read,
    complete=_complete,
    stream_type="text/event-stream",
    stream=_StreamWriter,
    error=_error,
    models_body=_models,
    header="anthropic-version",
    request_id_header="request-id",
)
