"""Answers as Ollama writes them (https://docs.ollama.com/api/chat)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from .. import _json
from ..errors import ProviderError
from ..responses import ModelInfo, StopEvent, StopReason, StreamEvent, UsageStats
from ._blocks import Block, Blocks, Kind, Piece, WholeCalls
from ._wire import Question, WireFormat, http_status, known, request_body, with_words

if TYPE_CHECKING:
    from ._exchange import Exchange

__all__ = ["OLLAMA"]

_CREATED = "2024-01-01T00:00:00Z"  # clients want a time and do not mind which

_DONE = {StopReason.END_TURN: "stop", StopReason.TOOL_USE: "stop", StopReason.STOP_SEQUENCE: "stop"}
_DONE[StopReason.MAX_TOKENS] = "length"

_TOO_LONG = "the input length exceeds the context length"


def _read(exchange: Exchange) -> Question:
    body = request_body(exchange)
    calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    return Question(str(body["model"]), body.get("stream") is not False, len(calls))


def _complete(question: Question, events: Sequence[StreamEvent]) -> object:
    blocks = Blocks(events)
    thinking = blocks.text(Kind.THINKING)
    calls = [_call(block) for block in blocks.all if block.kind is Kind.CALL]
    more = {"thinking": thinking or None, "tool_calls": calls or None}
    return _line(question, {"content": blocks.text(Kind.TEXT), **known(more)}, blocks)


class _StreamWriter:
    """Lines of JSON, each with a piece of the message; the last one is `done`."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._calls = WholeCalls()

    def event(self, event: StreamEvent) -> bytes:
        return self._lines(self._calls.add(event))

    def error(self, error: ProviderError) -> bytes:
        """A cloud model's error has its status; the server's own is a text, and breaks the stream off."""
        status = http_status(error)
        head = {"StatusCode": status, "Status": f"{status} {HTTPStatus(status).phrase}"}
        return _json.dumps({**head, **_error(error)}) + b"\n"

    def end(self) -> bytes:
        last = _line(self._question, {"content": ""}, self._calls.blocks)
        return self._lines(self._calls.rest()) + _json.dumps(last) + b"\n"

    def _lines(self, pieces: Sequence[Piece]) -> bytes:
        messages = [_message(piece) for piece in pieces]
        return b"".join([_json.dumps(_line(self._question, message)) + b"\n" for message in messages])


def _line(question: Question, message: dict[str, object], over: Blocks | None = None) -> object:
    """A piece of an answer, or a whole one.

    Args:
        question: What the answer is to.
        message: What it says.
        over: The whole answer, if this is the end of it.
    """
    head = {"model": question.model, "created_at": _CREATED, "message": {"role": "assistant", **message}}
    if over is None:
        return {**head, "done": False}
    return {**head, "done": True, "done_reason": _reason(over.stop), **_usage(over.usage)}


def _message(piece: Piece) -> dict[str, object]:
    match piece.block.kind:
        case Kind.TEXT:
            return {"content": piece.text}
        case Kind.THINKING:
            return {"content": "", "thinking": piece.text}  # signatures have no place in this API
        case Kind.CALL:
            return {"content": "", "tool_calls": [_call(piece.block)]}


def _call(block: Block) -> object:
    return {"id": block.id, "function": {"index": block.index, "name": block.name, "arguments": block.arguments()}}


def _reason(stop: StopEvent) -> str:
    return stop.raw_stop_reason or _DONE.get(stop.stop_reason, stop.stop_reason.value)


def _usage(usage: UsageStats | None) -> dict[str, object]:
    if usage is None:
        return {}
    return known({"prompt_eval_count": usage.prompt_tokens, "eval_count": usage.output_tokens})


def _error(error: ProviderError) -> dict[str, object]:
    return {"error": with_words(error, _TOO_LONG)}


def _models(models: Sequence[ModelInfo]) -> object:
    return {"models": [{**model.raw, **_model(model)} for model in models]}


def _model(model: ModelInfo) -> dict[str, object]:
    modified = _CREATED if model.created is None else datetime.fromtimestamp(model.created, UTC).isoformat()
    return {"name": model.id, "model": model.id, "modified_at": modified}


OLLAMA = WireFormat(
    chat=re.compile(r"/api/chat$"),
    models=re.compile(r"/api/tags$"),
    read=_read,
    complete=_complete,
    stream_type="application/x-ndjson",
    stream=_StreamWriter,
    error=_error,
    models_body=_models,
)
