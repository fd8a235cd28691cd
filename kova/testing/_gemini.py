"""Answers as the Gemini API writes them (https://ai.google.dev/api/generate-content)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .. import _json
from .._formats.gemini.parts import SIGNATURE
from ..errors import ProviderError, ProviderErrorClass
from ..responses import ModelInfo, StopEvent, StopReason, StreamEvent, UsageStats
from ._blocks import Blocks, Kind, Piece, WholeCalls
from ._wire import Question, WireFormat, error_class, http_status, known, request_body, with_words

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = ["GEMINI"]

_CHAT = re.compile(r"/([^/:]+):(generateContent|streamGenerateContent)$")

_FINISH = {
    StopReason.END_TURN: "STOP",
    StopReason.TOOL_USE: "STOP",
    StopReason.STOP_SEQUENCE: "STOP",
    StopReason.MAX_TOKENS: "MAX_TOKENS",
    StopReason.CONTENT_FILTER: "SAFETY",
    StopReason.REFUSAL: "PROHIBITED_CONTENT",
}

# https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
_STATUSES = {
    ProviderErrorClass.AUTH_INVALID: "UNAUTHENTICATED",
    ProviderErrorClass.AUTH_FORBIDDEN: "PERMISSION_DENIED",
    ProviderErrorClass.RATE_LIMITED: "RESOURCE_EXHAUSTED",
    ProviderErrorClass.OVERLOADED: "UNAVAILABLE",
    ProviderErrorClass.INVALID_REQUEST: "INVALID_ARGUMENT",
    ProviderErrorClass.NOT_FOUND: "NOT_FOUND",
    ProviderErrorClass.OTHER: "UNIMPLEMENTED",
}

_TOO_LONG = "The input token count exceeds the maximum number of tokens allowed"
_TYPE = "type.googleapis.com/google.rpc."


def _read(exchange: Exchange) -> Question:
    found = _CHAT.search(exchange.path)
    if found is None:
        raise ValueError(f"{exchange.path} is no path for answers")
    parts = [part for content in request_body(exchange)["contents"] for part in content.get("parts", ())]
    calls = sum("functionCall" in part for part in parts)
    return Question(unquote(found[1]), found[2] == "streamGenerateContent", calls)


def _complete(question: Question, events: Sequence[StreamEvent]) -> object:
    blocks = Blocks(events)
    parts = [_part(Piece(block, block.text, block.signature)) for block in blocks.all]
    return _chunk(question, parts, blocks)


class _StreamWriter:
    """Server-sent events, each with parts of the answer; the last one says why it ended."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._calls = WholeCalls()

    def event(self, event: StreamEvent) -> bytes:
        return b"".join([_sse(_chunk(self._question, [_part(piece)])) for piece in self._calls.add(event)])

    def error(self, error: ProviderError) -> bytes:
        return _sse(_error(error))

    def end(self) -> bytes:
        parts = [_part(piece) for piece in self._calls.rest()] or [{"text": ""}]
        return _sse(_chunk(self._question, parts, self._calls.blocks))


def _sse(value: object) -> bytes:
    return b"data: " + _json.dumps(value) + b"\r\n\r\n"


def _chunk(question: Question, parts: Iterable[object], over: Blocks | None = None) -> object:
    """A piece of an answer, or a whole one.

    Args:
        question: What the answer is to.
        parts: What it says.
        over: The whole answer, if this is the end of it.
    """
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    end = None if over is None else _finish(over.stop)
    usage = None if over is None or over.usage is None else _usage(over.usage)
    more = {"usageMetadata": usage, "modelVersion": question.model, "responseId": "scripted"}
    return {"candidates": [{**candidate, **known({"finishReason": end})}], **known(more)}


def _part(piece: Piece) -> object:
    block = piece.block
    match block.kind:
        case Kind.TEXT:
            return {"text": piece.text}
        case Kind.THINKING:
            return {"text": piece.text, "thought": True, **known({"thoughtSignature": piece.signature})}
        case Kind.CALL:
            call = {"id": block.id, "name": block.name, "args": block.arguments()}
            return {"functionCall": call, **known({"thoughtSignature": (block.metadata or {}).get(SIGNATURE)})}


def _finish(stop: StopEvent) -> str:
    return stop.raw_stop_reason or _FINISH.get(stop.stop_reason, "OTHER")


def _usage(usage: UsageStats) -> dict[str, object]:
    """Thoughts are counted beside the answer, and all of a prompt in one number."""
    output, thoughts = usage.output_tokens, usage.thinking_tokens
    counts = {
        "promptTokenCount": usage.prompt_tokens,
        "candidatesTokenCount": None if output is None else max(output - (thoughts or 0), 0),
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    return known(counts)


def _error(error: ProviderError) -> object:
    details: list[object] = []
    if error.is_quota_exhausted:
        quota = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}
        details.append({"@type": f"{_TYPE}QuotaFailure", "violations": [quota]})
    if error.retry_after is not None:
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{error.retry_after:.9g}s"})
    fields = {
        "code": http_status(error),
        "message": with_words(error, _TOO_LONG),
        "status": _STATUSES[error_class(error)],
        "details": details or None,
    }
    return {"error": known(fields)}


def _models(models: Sequence[ModelInfo]) -> object:
    return {"models": [{**model.raw, "name": f"models/{model.id}"} for model in models]}


GEMINI = WireFormat(
    chat=_CHAT,
    models=re.compile(r"/v\d+(alpha|beta)\d*/models$"),
    read=_read,
    complete=_complete,
    stream_type="text/event-stream",
    stream=_StreamWriter,
    error=_error,
    models_body=_models,
    request_id_header="x-goog-request-id",
)
