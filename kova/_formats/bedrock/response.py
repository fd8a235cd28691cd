"""Complete answers of Converse, and the list of models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..._assembly import Assembler
from ...responses import ModelInfo, ModelResponse, StreamEvent
from ..error_body import body_text, json_body
from ..wire import WireRequest
from .answer import AnswerReader
from .errors import answer_error, payload_error
from .request import EVENT_STREAM
from .stream import StreamParser

__all__ = ["parse_models", "parse_response"]


def parse_response(body: bytes, content_type: str, request: WireRequest) -> ModelResponse:
    """The answer in a body. Gateways that always stream are understood too.

    Args:
        body: The body.
        content_type: What the server says it is.
        request: What was asked.

    Raises:
        ProviderError: The body reports an error, or is no answer.
        StreamError: It is a stream that broke off.
    """
    if EVENT_STREAM in content_type:
        parser = StreamParser(request)
        parser.feed(body)
        parser.close()
        return parser.response()
    value = json_body(body)
    if value is None:
        raise answer_error(f"the answer is not JSON: {body_text(body, request.secrets)}", request)
    events: list[StreamEvent] = []
    reader = AnswerReader(request)
    if not isinstance(value, dict) or not reader.read_answer(value, events):
        raise payload_error(value, request) or answer_error("the answer is JSON, but none of Converse's", request)
    assembler = Assembler(request.made_up_id)
    assembler.extend(events)
    assembler.add(reader.stop())
    return assembler.response(model=reader.model)


def parse_models(body: bytes, request: WireRequest) -> list[ModelInfo]:
    """The foundation models in a body. Models that have only an inference profile in a region are listed too.

    Raises:
        ProviderError: The body reports an error, or is no list of models.
    """
    value = json_body(body)
    entries = value.get("modelSummaries") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise payload_error(value, request) or answer_error("the answer is no list of models", request)
    return [_model(entry) for entry in entries if isinstance(entry, dict) and isinstance(entry.get("modelId"), str)]


def _model(entry: dict[str, Any]) -> ModelInfo:
    owner, lifecycle = entry.get("providerName"), entry.get("modelLifecycle")
    return ModelInfo(
        id=entry["modelId"],
        created=_seconds(lifecycle.get("startOfLifeTime")) if isinstance(lifecycle, dict) else None,
        owned_by=owner if isinstance(owner, str) else None,
        raw=entry,
    )


def _seconds(time: Any) -> int | None:
    """Seconds since the epoch, from a time that is written as ISO 8601 has it."""
    try:
        date = datetime.fromisoformat(time)
        return int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    except (TypeError, ValueError, OverflowError):
        return None
