"""Answers as Bedrock's Converse API writes them.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html

Its streams are AWS's event streams: frames with a length, headers, a payload, and checksums.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .. import _json
from ..errors import ProviderError, ProviderErrorClass
from ..responses import ModelInfo, StopEvent, StopReason, StreamEvent, UsageStats
from ._blocks import Block, Blocks, Kind, Piece
from ._wire import Question, WireFormat, error_class, known, request_body, with_words

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = ["BEDROCK"]

_CHAT = re.compile(r"/model/([^/]+)/converse(-stream)?$")

_STOP_REASONS = {StopReason.CONTENT_FILTER: "content_filtered"}  # the other words are kova's too

_NAMES = {
    ProviderErrorClass.AUTH_INVALID: "UnrecognizedClientException",
    ProviderErrorClass.AUTH_FORBIDDEN: "AccessDeniedException",
    ProviderErrorClass.RATE_LIMITED: "ThrottlingException",
    ProviderErrorClass.OVERLOADED: "ServiceUnavailableException",
    ProviderErrorClass.INVALID_REQUEST: "ValidationException",
    ProviderErrorClass.NOT_FOUND: "ResourceNotFoundException",
    ProviderErrorClass.OTHER: "ModelErrorException",
}
_QUOTA = "ServiceQuotaExceededException"

_TOO_LONG = "Input is too long for requested model."

_METRICS = {"metrics": {"latencyMs": 1}}

_TEXT_HEADER = 7  # the type of a header's value


def _read(exchange: Exchange) -> Question:
    found = _CHAT.search(exchange.path)
    if found is None:
        raise ValueError(f"{exchange.path} is no path for answers")
    blocks = [block for message in request_body(exchange)["messages"] for block in message["content"]]
    calls = sum("toolUse" in block for block in blocks)
    return Question(unquote(found[1]), found[2] is not None, calls)


def _complete(question: Question, events: Sequence[StreamEvent]) -> object:
    blocks = Blocks(events)
    message = {"role": "assistant", "content": [_block(block) for block in blocks.all]}
    end = {"stopReason": _stop_reason(blocks.stop), **_metadata(blocks.usage)}
    return {"output": {"message": message}, **end}


class _StreamWriter:
    """Frames: the message, its blocks one after the other, how it ended, and what it took."""

    def __init__(self, question: Question) -> None:
        self._blocks = Blocks()
        self._open: Block | None = None
        self._start = _event("messageStart", role="assistant")

    def event(self, event: StreamEvent) -> bytes:
        piece = self._blocks.add(event)
        return self._begin() + (b"" if piece is None else self._piece(piece))

    def error(self, error: ProviderError) -> bytes:
        name = _name(error)
        headers = {":message-type": "exception", ":exception-type": name[0].lower() + name[1:]}
        return _frame(headers, _error(error))

    def end(self) -> bytes:
        stop = _event("messageStop", stopReason=_stop_reason(self._blocks.stop))
        return self._begin() + self._close() + stop + _event("metadata", **_metadata(self._blocks.usage))

    def _begin(self) -> bytes:
        start, self._start = self._start, b""
        return start

    def _piece(self, piece: Piece) -> bytes:
        """What a piece adds; only calls say how they begin."""
        block, before = piece.block, b""
        if block is not self._open:
            before = self._close()
            if block.kind is Kind.CALL:
                start = {"toolUse": {"toolUseId": block.id, "name": block.name}}
                before += _event("contentBlockStart", contentBlockIndex=block.number, start=start)
            self._open = block
        deltas = [_delta(block.kind, piece.text)] if piece.text else []
        if piece.signature is not None:
            deltas.append({"reasoningContent": {"signature": piece.signature}})
        frames = [_event("contentBlockDelta", contentBlockIndex=block.number, delta=delta) for delta in deltas]
        return before + b"".join(frames)

    def _close(self) -> bytes:
        block, self._open = self._open, None
        return b"" if block is None else _event("contentBlockStop", contentBlockIndex=block.number)


def _event(kind: str, **fields: object) -> bytes:
    return _frame({":event-type": kind, ":message-type": "event"}, fields)


def _frame(headers: Mapping[str, str], payload: object) -> bytes:
    """A frame of an event stream (https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html)."""
    given = {**headers, ":content-type": "application/json"}
    head = b"".join([_header(name.encode(), value.encode()) for name, value in given.items()])
    body = _json.dumps(payload)
    prelude = struct.pack(">II", len(head) + len(body) + 16, len(head))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return frame + struct.pack(">I", zlib.crc32(frame))


def _header(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + struct.pack(">BH", _TEXT_HEADER, len(value)) + value


def _block(block: Block) -> object:
    match block.kind:
        case Kind.TEXT:
            return {"text": block.text}
        case Kind.THINKING:
            return {
                "reasoningContent": {"reasoningText": {"text": block.text, **known({"signature": block.signature})}}
            }
        case Kind.CALL:
            return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": block.arguments()}}


def _delta(kind: Kind, text: str) -> object:
    match kind:
        case Kind.TEXT:
            return {"text": text}
        case Kind.THINKING:
            return {"reasoningContent": {"text": text}}
        case Kind.CALL:
            return {"toolUse": {"input": text}}


def _stop_reason(stop: StopEvent) -> str:
    return stop.raw_stop_reason or _STOP_REASONS.get(stop.stop_reason, stop.stop_reason.value)


def _metadata(usage: UsageStats | None) -> dict[str, object]:
    if usage is None:
        return {**_METRICS}
    counts = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
        "cacheReadInputTokens": usage.cache_read_tokens,
        "cacheWriteInputTokens": usage.cache_creation_tokens,
    }
    return {"usage": known(counts), **_METRICS}


def _error(error: ProviderError) -> object:
    return {"message": with_words(error, _TOO_LONG)}


def _name(error: ProviderError) -> str:
    return _QUOTA if error.is_quota_exhausted else _NAMES[error_class(error)]


def _error_headers(error: ProviderError) -> Mapping[str, str]:
    return {"x-amzn-errortype": f"{_name(error)}:http://internal.amazon.com/coral/com.amazon.bedrock/"}


def _models(models: Sequence[ModelInfo]) -> object:
    return {"modelSummaries": [{**model.raw, **_model(model)} for model in models]}


def _model(model: ModelInfo) -> dict[str, object]:
    start = None if model.created is None else datetime.fromtimestamp(model.created, UTC).isoformat()
    lifecycle = None if start is None else {"status": "ACTIVE", "startOfLifeTime": start}
    return known({"modelId": model.id, "providerName": model.owned_by, "modelLifecycle": lifecycle})


BEDROCK = WireFormat(
    chat=_CHAT,
    models=re.compile(r"/foundation-models$"),
    read=_read,
    complete=_complete,
    stream_type="application/vnd.amazon.eventstream",
    stream=_StreamWriter,
    error=_error,
    models_body=_models,
    request_id_header="x-amzn-requestid",
    error_headers=_error_headers,
)
