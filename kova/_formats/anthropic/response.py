"""Complete answers of the Messages API, and the list of models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..._assembly import Assembler
from ...responses import ModelInfo, ModelResponse, StreamEvent
from ..error_body import body_text, error_message, json_body
from ..wire import WireRequest
from .answer import AnswerReader
from .errors import answer_error, payload_error
from .stream import StreamParser

__all__ = ["parse_models", "parse_response"]


def parse_response(body: bytes, content_type: str, request: WireRequest) -> ModelResponse:
    """The answer in a body. Servers that always stream are understood too.

    Args:
        body: The body.
        content_type: What the server says it is.
        request: What was asked.

    Raises:
        ProviderError: The body reports an error, or is no answer.
        StreamError: It is a stream that broke off.
    """
    if "event-stream" in content_type or body.lstrip().startswith((b"data:", b"event:", b":")):
        parser = StreamParser(request)
        parser.feed(body)
        parser.close()
        return parser.response()
    value = json_body(body)
    if value is None:
        raise answer_error(f"the answer is not JSON: {body_text(body, request.secrets)}", request)
    events: list[StreamEvent] = []
    reader = AnswerReader(request, in_stream=False)
    if not reader.read(value, events):
        said = error_message(value)
        raise answer_error(f"the answer is JSON, but no message{said and f': {said}'}", request)
    assembler = Assembler(request.made_up_id)
    assembler.extend(events)
    assembler.add(reader.stop())
    return assembler.response(model=reader.model)


def parse_models(body: bytes, request: WireRequest) -> list[ModelInfo]:
    """The models in a body.

    Raises:
        ProviderError: The body reports an error, or is no list of models.
    """
    value = json_body(body)
    if isinstance(value, dict) and value.get("error"):
        raise payload_error(value, request, in_stream=False)
    entries = value.get("data") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise answer_error("the answer is no list of models", request)
    return [_model(entry) for entry in entries if isinstance(entry, dict) and entry.get("id")]


def _model(entry: dict[str, Any]) -> ModelInfo:
    owner = entry.get("owned_by")  # llama.cpp, whose one list is both OpenAI's and Anthropic's
    return ModelInfo(
        id=str(entry["id"]),
        created=_seconds(entry.get("created_at", entry.get("created"))),
        owned_by=owner if isinstance(owner, str) else None,
        raw=entry,
    )


def _seconds(time: Any) -> int | None:
    """Seconds since the epoch, from a time as RFC 3339 has it or from what are seconds already."""
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    try:
        moment = datetime.fromisoformat(time)
    except (TypeError, ValueError):
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
