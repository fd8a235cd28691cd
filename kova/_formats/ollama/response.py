"""Complete answers of Ollama, and the list of models."""

from __future__ import annotations

from typing import Any

from ..._assembly import Assembler
from ...responses import ModelInfo, ModelResponse, StreamEvent
from ..error_body import body_text, json_body
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
    value = json_body(body)
    if _is_stream(value, body):
        parser = StreamParser(request)
        parser.feed(body)
        parser.close()
        return parser.response()
    if value is None:
        raise answer_error(f"the answer is not JSON: {body_text(body, request.secrets)}", request)
    events: list[StreamEvent] = []
    reader = AnswerReader(request, in_stream=False)
    reader.read(value, events)
    if not reader.has_message:
        raise answer_error("the answer is JSON, but no answer to a chat", request)
    assembler = Assembler(request.made_up_id)
    assembler.extend(events)
    assembler.add(reader.stop())
    return assembler.response(model=reader.model)


def _is_stream(value: Any, body: bytes) -> bool:
    """Whether a body is a stream: several lines of JSON, or a single one that is not the last."""
    if value is None:
        first, end, _ = body.lstrip().partition(b"\n")
        return bool(end) and isinstance(json_body(first), dict)
    return isinstance(value, dict) and value.get("done") is False and not value.get("error")


def parse_models(body: bytes, request: WireRequest) -> list[ModelInfo]:
    """The models in a body.

    Raises:
        ProviderError: The body reports an error, or is no list of models.
    """
    value = json_body(body)
    if isinstance(value, dict) and value.get("error"):
        raise payload_error(value, request, in_stream=False)
    entries = value.get("models") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise answer_error("the answer is no list of models", request)
    return [_model(entry) for entry in entries if isinstance(entry, dict) and _model_id(entry)]


def _model_id(entry: dict[str, Any]) -> str:
    return str(entry.get("model") or entry.get("name") or "")  # both since 2024, the name alone before


def _model(entry: dict[str, Any]) -> ModelInfo:
    """A model as Ollama's own OpenAI endpoint describes it (`ToListCompletion`)."""
    model_id = _model_id(entry)
    return ModelInfo(model_id, _seconds(entry.get("modified_at")), _owner(model_id), entry)


def _owner(model_id: str) -> str:
    """Whose a model is: HOST/OWNER/NAME:TAG, where Ollama's own are in the library."""
    parts = model_id.rpartition(":")[0].split("/") if ":" in model_id.rpartition("/")[2] else model_id.split("/")
    return parts[-2] if len(parts) > 1 else "library"


def _seconds(text: Any) -> int | None:
    """Seconds since the epoch, of a time such as 2025-10-03T23:34:03.409490317-07:00; Go's zero time says nothing."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(text)
        seconds = int(moment.timestamp())
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return seconds if seconds > 0 else None
