"""The official SDKs' own validation of requests, applied to a request's body as kova puts it on the wire.

openai and anthropic describe requests as TypedDicts, google-genai and ollama as pydantic models, botocore as a service
model. What they do not know is refused, not ignored; the few fields that an API has and its SDK has not are named here.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import anthropic.types
import botocore.session
import openai.types.chat.completion_create_params
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator
from google.genai import types as google
from ollama._client import _copy_messages, _copy_tools
from ollama._types import ChatRequest
from pydantic import BaseModel, TypeAdapter

from tests.cases.run_cases import same

__all__ = ["CHECKS"]

Body = dict[str, Any]

_OPENAI = {
    True: TypeAdapter(openai.types.chat.completion_create_params.CompletionCreateParamsStreaming),
    False: TypeAdapter(openai.types.chat.completion_create_params.CompletionCreateParamsNonStreaming),
}
_ANTHROPIC = {
    True: TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsStreaming),
    False: TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsNonStreaming),
}


def check_openai(body: Body) -> None:
    _equal(_validated(_OPENAI[body.get("stream", False)], body), body)


def check_anthropic(body: Body) -> None:
    _equal(_validated(_ANTHROPIC[body.get("stream", False)], body), body)


def _validated(adapter: TypeAdapter[Any], body: Body) -> Any:
    return _consumed(adapter.validate_python(body, extra="forbid", strict=True))


def _consumed(value: Any) -> Any:
    """The value with its lists, which pydantic validates as they are iterated: they are declared as Iterable."""
    if isinstance(value, BaseModel):  # a block of an answer may stand in a request as it is
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return {name: _consumed(item) for name, item in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    return [_consumed(item) for item in value]


def _equal(seen: Any, body: Any) -> None:
    """Nothing of the body is lost on the SDK's types, nor changed."""
    assert same(seen, body), f"{seen} is what is left of {body}"


# ---- Gemini: the body of the REST API, piece by piece, since the SDK has no type for the whole of it

_GEMINI_PIECES: dict[str, Any] = {
    "contents": TypeAdapter(list[google.Content]),
    "systemInstruction": TypeAdapter(google.Content),
    "tools": TypeAdapter(list[google.Tool]),
    "toolConfig": TypeAdapter(google.ToolConfig),
    "generationConfig": TypeAdapter(google.GenerationConfig),
}


def check_gemini(body: Body) -> None:
    for name, piece in body.items():
        seen = _GEMINI_PIECES[name].validate_json(json.dumps(piece))
        written = _GEMINI_PIECES[name].dump_json(seen, by_alias=True, exclude_unset=True)
        _equal(_base64_alike(json.loads(written)), _base64_alike(piece))


def _base64_alike(value: Any) -> Any:
    """The value with its bytes in one spelling: base64 has two alphabets, and padding that may be left out."""
    if isinstance(value, list):
        return [_base64_alike(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: item.translate(str.maketrans("-_", "+/", "=")) if name in ("thoughtSignature", "data") else item
        for name, item in ((name, _base64_alike(item)) for name, item in value.items())
    }


# ---- Ollama: what the client itself makes of the same arguments


def check_ollama(body: Body) -> None:
    known = _without_ids(body)
    messages = list(_copy_messages(known["messages"]))
    tools = list(_copy_tools(known.get("tools")))
    request = ChatRequest.model_validate({**known, "messages": messages, "tools": tools or None}, extra="forbid")
    written = request.model_dump(exclude_none=True)
    written.pop("tools", None)  # of a schema it keeps what the prompts of most models show
    known.pop("tools", None)
    _equal(_without_empty(written), _without_empty(known))


def _without_ids(body: Body) -> Body:
    """The body without the ids of calls, which the server knows since 0.12.10, and the Python client does not."""
    known = copy.deepcopy(body)
    for message in known["messages"]:
        message.pop("tool_call_id", None)
        for call in message.get("tool_calls", ()):
            call.pop("id", None)
    return known


def _without_empty(body: Body) -> Body:
    """The body without empty contents, which the client leaves out."""
    messages = [{name: value for name, value in message.items() if value} for message in body["messages"]]
    return {**body, "messages": messages}


# ---- Bedrock: botocore's validator, and its serializer


@lru_cache
def _converse(operation: str) -> Any:
    return botocore.session.Session().get_service_model("bedrock-runtime").operation_model(operation)


def check_bedrock(body: Body) -> None:
    operation = _converse("ConverseStream")
    arguments = {"modelId": "m", **_with_bytes(body, operation.input_shape)}
    report = ParamValidator().validate(arguments, operation.input_shape)
    assert not report.has_errors(), report.generate_report()
    written = create_serializer("rest-json").serialize_to_request(arguments, operation)
    _equal(json.loads(written["body"]), body)


def _with_bytes(value: Any, shape: Any) -> Any:
    """The value with bytes where the service model has a blob, which is base64 on the wire."""
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        return {
            name: _with_bytes(item, shape.members[name]) if name in shape.members else item
            for name, item in value.items()
        }
    if shape.type_name == "list":
        return [_with_bytes(item, shape.member) for item in value]
    return base64.b64decode(value, validate=True) if shape.type_name == "blob" else value


CHECKS: dict[str, Callable[[Body], None]] = {
    "openai": check_openai,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "ollama": check_ollama,
    "bedrock": check_bedrock,
}
"""By provider: raises where its SDK would refuse the body of a request, or lose a part of it."""
