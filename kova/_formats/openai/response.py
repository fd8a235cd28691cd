"""Complete answers of the chat completions API, and the list of models."""

from __future__ import annotations

from typing import Any

from ..._assembly import Assembler
from ...errors import ProviderError, ProviderErrorClass
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
    reader.read(value, events)
    if not reader.has_choice:
        raise _no_answer(value, request)
    assembler = Assembler(request.made_up_id)
    assembler.extend(events)
    assembler.add(reader.stop())
    return assembler.response(model=reader.model)


def _no_answer(value: Any, request: WireRequest) -> ProviderError:
    if isinstance(value, dict) and "choices" in value:  # null at OpenRouter and vLLM, as a passing fault
        return answer_error("the provider answered without any choice", request, ProviderErrorClass.OVERLOADED)
    said = error_message(value)
    return answer_error(f"the answer is JSON, but no chat completion{said and f': {said}'}", request)


def parse_models(body: bytes, request: WireRequest) -> list[ModelInfo]:
    """The models in a body.

    Raises:
        ProviderError: The body reports an error, or is no list of models.
    """
    value = json_body(body)
    if isinstance(value, dict) and value.get("error"):
        raise payload_error(value, request, in_stream=False)
    entries = value.get("data", value.get("models")) if isinstance(value, dict) else value  # Together: a bare list
    if not isinstance(entries, list):
        raise answer_error("the answer is no list of models", request)
    return [_model(entry) for entry in entries if isinstance(entry, dict) and _model_id(entry)]


def _model_id(entry: dict[str, Any]) -> str:
    return str(entry.get("id") or entry.get("name") or "")


def _model(entry: dict[str, Any]) -> ModelInfo:
    created, owner = entry.get("created"), entry.get("owned_by")
    return ModelInfo(
        id=_model_id(entry),
        created=created if isinstance(created, int) and not isinstance(created, bool) else None,
        owned_by=owner if isinstance(owner, str) else None,
        raw=entry,
    )
