"""Complete answers of the Gemini API, and the list of models."""

from __future__ import annotations

from typing import Any

import attrs

from ..._assembly import Assembler
from ..._log import log
from ...errors import ProviderError, ProviderErrorClass
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
    reader.read(value, events)
    if not reader.has_candidate and not reader.is_over():
        raise _no_answer(value, request)
    assembler = Assembler(request.made_up_id)
    assembler.extend([*events, *reader.unreported_usage(), reader.stop()])
    return attrs.evolve(assembler.response(model=reader.model), request_id=reader.response_id)


def _no_answer(value: Any, request: WireRequest) -> ProviderError:
    if isinstance(value, dict) and not value.keys().isdisjoint({"candidates", "usageMetadata"}):
        return answer_error("the provider answered without any candidate", request, ProviderErrorClass.OVERLOADED)
    return answer_error("the answer is JSON, but no answer of a model", request)


def parse_models(body: bytes, request: WireRequest) -> list[ModelInfo]:
    """The models in a body, by the names that requests have for them.

    Raises:
        ProviderError: The body reports an error, or is no list of models.
    """
    value = json_body(body)
    if isinstance(value, dict) and value.get("error"):
        raise payload_error(value, request, in_stream=False)
    entries = value.get("models", None if value else []) if isinstance(value, dict) else None  # {} is an empty list
    if not isinstance(entries, list):
        raise answer_error("the answer is no list of models", request)
    if value.get("nextPageToken"):
        log.warning("the list of models has more pages; kova reads the first, of up to 1,000 models", provider="gemini")
    return [_model(entry) for entry in entries if isinstance(entry, dict) and _name(entry)]


def _name(entry: dict[str, Any]) -> str:
    name = entry.get("name")
    return name.removeprefix("models/") if isinstance(name, str) else ""


def _model(entry: dict[str, Any]) -> ModelInfo:
    return ModelInfo(id=_name(entry), raw=entry)
