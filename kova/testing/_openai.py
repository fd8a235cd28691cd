"""Answers as OpenAI's chat completions API writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import _json
from ..errors import ProviderError, ProviderErrorClass
from ..messages import JSONObject, ThinkingBlock
from ..responses import (
    ModelInfo,
    StopEvent,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    UsageEvent,
    UsageStats,
)
from ._wire import Question, WireFormat

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
    """One message, with what all the deltas say."""
    texts: dict[str, str] = {}
    calls: dict[int, dict[str, object]] = {}
    arguments: dict[int, str] = {}
    finish, usage = None, {}
    for event in events:
        if isinstance(event, ToolUseDelta):
            arguments[event.index] = arguments.get(event.index, "") + event.input_delta
            calls[event.index] = _call(event, arguments[event.index])
        elif isinstance(event, StopEvent):
            finish = _finish(event)
        elif isinstance(event, UsageEvent):
            usage = _usage(event.usage)
        else:
            for name, text in _text(event).items():
                texts[name] = texts.get(name, "") + text
    message = {"role": "assistant", "content": None, **texts, **({"tool_calls": [*calls.values()]} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {**_head(question, "chat.completion"), "choices": [choice], **({"usage": usage} if usage else {})}


class _StreamWriter:
    """Server-sent events, each with a chunk of the answer."""

    def __init__(self, question: Question) -> None:
        self._head = _head(question, "chat.completion.chunk")

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case ToolUseDelta(index=index):
                return self._delta({"tool_calls": [{"index": index, **_call(event, event.input_delta)}]})
            case UsageEvent(usage=usage):
                return _sse({**self._head, "choices": [], "usage": _usage(usage)})
            case StopEvent():
                return self._delta({}, _finish(event))
            case _:
                return self._delta(_text(event))

    def error(self, error: ProviderError) -> bytes:
        return _sse(_error(error))

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"

    def _delta(self, delta: Mapping[str, object], finish: str | None = None) -> bytes:
        return _sse({**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _sse(value: object) -> bytes:
    return b"data: " + _json.dumps(value) + b"\n\n"


def _head(question: Question, kind: str) -> dict[str, object]:
    return {"id": _ID, "object": kind, "created": _CREATED, "model": question.model}


def _text(event: StreamEvent) -> dict[str, str]:
    """Text and reasoning, which are strings of the message, or of its deltas."""
    match event:
        case TextDelta(text=text):
            return {"content": text}
        case ThinkingDelta(text=text) | ThinkingBlock(thinking=text):  # signatures have no place in this API
            return {"reasoning_content": text}
    raise TypeError(f"chat completions have no {type(event).__name__}")


def _call(event: ToolUseDelta, arguments: str) -> dict[str, object]:
    return {"id": event.id, "type": "function", "function": {"name": event.name, "arguments": arguments}}


def _finish(event: StopEvent) -> str:
    return event.raw_stop_reason or _FINISH.get(event.stop_reason, event.stop_reason.value)


def _usage(usage: UsageStats) -> dict[str, object]:
    prompt = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_creation_tokens}
    counts = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": _known(prompt) or None,
        "completion_tokens_details": _known({"reasoning_tokens": usage.thinking_tokens}) or None,
    }
    return _known(counts)


def _known(fields: JSONObject) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _error(error: ProviderError) -> object:
    code = _CODES.get(error.provider_class or ProviderErrorClass.OTHER, "scripted")
    if error.is_quota_exhausted:
        code = "insufficient_quota"
    if error.is_context_length:
        code = "context_length_exceeded"
    return {"error": {"message": error.message, "type": "scripted_error", "param": None, "code": code}}


def _models(models: Sequence[ModelInfo]) -> object:
    entries = [
        {**model.raw, **_known({"id": model.id, "created": model.created, "owned_by": model.owned_by})}
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
