"""Requests to the Gemini API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import _json
from ...config import InferenceConfig, ResponseFormat
from ...errors import ProviderError, ProviderErrorClass, SerializationError
from ...messages import ConversationMessage
from ..kept_tools import kept_by_identity
from ..request_body import joined_body
from ..secrets import request_secrets
from ..tool_names import NameRule, ToolNames
from ..wire import WireRequest
from .config import GeminiProviderConfig, api_headers
from .messages import encode_history, system_instruction
from .models import wants_signatures
from .schemas import clean_schema, parameters_schema
from .urls import generate_url, models_url

if TYPE_CHECKING:
    from ...tools import ToolDefinition

__all__ = ["NO_NAMES", "build_models_request", "build_request"]

# The API takes dots and colons too, but the model writes its calls as Python: `default_api.fs.read()`. Of the 64
# characters that the error speaks of, 63 are taken.
NAMES = NameRule(
    accepted=re.compile("[a-zA-Z_][a-zA-Z0-9_-]{0,62}"), refused=re.compile("^[^a-zA-Z_]|[^a-zA-Z0-9_-]"), length=63
)
NO_NAMES = ToolNames((), NAMES)

MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def build_request(
    config: GeminiProviderConfig,
    api_key: str | None,
    messages: Sequence[ConversationMessage],
    tools: Sequence[ToolDefinition],
    inference: InferenceConfig,
    *,
    stream: bool,
) -> WireRequest:
    """The request for an answer.

    Args:
        config: The provider's settings.
        api_key: The key as it is now, if there is one.
        messages: The history.
        tools: Tools that the model may call.
        inference: How the model is asked.
        stream: Whether the answer is to come as events.

    Raises:
        ProviderError: The API has no way to ask for this.
        SerializationError: Something in it cannot be written as JSON.
    """
    model = inference.model or config.model
    try:
        names, encoded_tools = _encode_tools(tools)
        options = _options(config, inference, names, tools, model)
        if instruction := system_instruction(messages):
            options["systemInstruction"] = instruction
        options = _merged(options, inference.extra_body or {})
        contents: list[bytes] = []
        if "contents" not in options:
            contents = encode_history(messages, names, wants_signatures=wants_signatures(model))
        body, history_size = joined_body(contents, encoded_tools, options, "contents")
    except (TypeError, ValueError) as error:
        raise SerializationError(f"the request cannot be written as JSON: {error}") from error
    if not contents and "contents" not in options:
        raise _cannot("there is nothing to send: all messages are empty, or a system prompt", model)
    headers = api_headers(config, api_key, "text/event-stream" if stream else "application/json")
    headers.setdefault("content-type", "application/json")
    url = generate_url(config.base_url, config.api_version, model, stream)
    return WireRequest("POST", url, headers, body, model, names, request_secrets(url, headers), history_size)


def build_models_request(config: GeminiProviderConfig, api_key: str | None) -> WireRequest:
    """The request for the list of models."""
    headers = api_headers(config, api_key, "application/json")
    url = models_url(config.base_url, config.api_version)
    return WireRequest("GET", url, headers, b"", "", NO_NAMES, request_secrets(url, headers))


def _options(
    config: GeminiProviderConfig,
    inference: InferenceConfig,
    names: ToolNames,
    tools: Sequence[ToolDefinition],
    model: str,
) -> dict[str, Any]:
    """Everything but contents and tools; what is None is left to the server."""
    generation = {
        "maxOutputTokens": inference.max_tokens,
        "temperature": inference.temperature,
        "topP": inference.top_p,
        "stopSequences": list(inference.stop_sequences) if inference.stop_sequences else None,
        "seed": inference.seed,
        "thinkingConfig": _thinking(config.thinking_budget),
        **_response_format(inference.response_format),
    }
    options = {
        "generationConfig": {name: value for name, value in generation.items() if value is not None} or None,
        "toolConfig": _tool_choice(inference.tool_choice, names, tools, model),
    }
    return {name: value for name, value in options.items() if value is not None}


def _thinking(budget: int | None) -> dict[str, Any] | None:
    if budget is None:
        return None
    # To be shown thoughts where there are none is refused: "include_thoughts is only enabled when thinking is enabled".
    return {"thinkingBudget": budget, **({"includeThoughts": True} if budget else {})}


def _response_format(wanted: ResponseFormat | None) -> dict[str, Any]:
    if wanted is None:
        return {}
    return {"responseMimeType": "application/json", "responseJsonSchema": clean_schema(wanted.schema)}


def _tool_choice(
    choice: str | None, names: ToolNames, tools: Sequence[ToolDefinition], model: str
) -> dict[str, Any] | None:
    if choice is None or (not tools and choice in ("auto", "none")):
        return None  # without tools these two are what happens anyway
    if not tools:
        raise _cannot(f"tool_choice is {choice!r}, but there are no tools", model)
    if choice in MODES:
        return {"functionCallingConfig": {"mode": MODES[choice]}}
    if all(tool.name != choice for tool in tools):
        raise _cannot(f"tool_choice names a tool that is not there: {choice!r}", model)
    return {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [names.wire(choice)]}}


def _merged(options: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The options with others, object by object: all that can be asked for is nested, topK as well as maxOutputTokens."""
    merged = {**options, **extra}
    for name in options.keys() & extra.keys():
        if isinstance(options[name], dict) and isinstance(extra[name], Mapping):
            merged[name] = _merged(options[name], extra[name])
    return merged


def _cannot(message: str, model: str) -> ProviderError:
    return ProviderError(message, provider_class=ProviderErrorClass.INVALID_REQUEST, provider="gemini", model=model)


@kept_by_identity
def _encode_tools(tools: Sequence[ToolDefinition]) -> tuple[ToolNames, bytes]:
    """The tools' names and their JSON: one entry with all functions, since models refuse several."""
    if not tools:
        return NO_NAMES, b""
    names = ToolNames([tool.name for tool in tools], NAMES)
    functions = [_declaration(tool.name, tool.description, tool.parameters, names) for tool in tools]
    return names, _json.dumps([{"functionDeclarations": functions}])


def _declaration(name: str, description: str, parameters: Mapping[str, Any], names: ToolNames) -> dict[str, Any]:
    fields = {
        "name": names.wire(name),
        "description": description or None,
        "parametersJsonSchema": parameters_schema(parameters),
    }
    return {name: value for name, value in fields.items() if value is not None}
