"""Requests to the chat completions API."""

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
from ..schemas import complete_schema, is_strict_schema
from ..secrets import request_secrets
from ..tool_names import NameRule, ToolNames
from ..wire import WireRequest
from .config import OpenAIProviderConfig, auth_headers
from .hosts import Host, host_of
from .messages import encode_history
from .urls import models_url

if TYPE_CHECKING:
    from ...tools import ToolDefinition

__all__ = ["build_models_request", "build_request"]

NAMES = NameRule(accepted=re.compile("[a-zA-Z0-9_-]{1,64}"), refused=re.compile("[^a-zA-Z0-9_-]"), length=64)

NO_NAMES = ToolNames((), NAMES)

MODES = frozenset({"auto", "none", "required"})


def build_request(
    config: OpenAIProviderConfig,
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
    url = config.chat_url(model)
    host = host_of(url)
    try:
        names, encoded_tools = _encode_tools(tools)
        options = _options(config, inference, host, names, tools, model)
        options |= _stream_options(host, stream)
        options |= {**(config.extra_body or {}), **(inference.extra_body or {})}
        fragments = [] if "messages" in options else encode_history(messages, host, names)
        body, history_size = joined_body(fragments, encoded_tools, options)
    except (TypeError, ValueError) as error:
        raise SerializationError(f"the request cannot be written as JSON: {error}") from error
    if not fragments and "messages" not in options:
        raise _cannot("there is nothing to send: all messages are empty", model)
    headers = _headers(config, api_key, "text/event-stream" if stream else "application/json")
    headers.setdefault("content-type", "application/json")
    return WireRequest("POST", url, headers, body, model, names, request_secrets(url, headers), history_size)


def build_models_request(config: OpenAIProviderConfig, api_key: str | None) -> WireRequest:
    """The request for the list of models."""
    url = models_url(config.base_url, config.models_path, config.api_version)
    headers = _headers(config, api_key, "application/json")
    return WireRequest("GET", url, headers, b"", "", NO_NAMES, request_secrets(url, headers))


def _headers(config: OpenAIProviderConfig, api_key: str | None, accept: str) -> dict[str, str]:
    headers = {"accept": accept, **auth_headers(config, api_key)}
    if config.organization is not None:
        headers["openai-organization"] = config.organization
    if config.project is not None:
        headers["openai-project"] = config.project
    return config.with_default_headers(headers)


def _options(
    config: OpenAIProviderConfig,
    inference: InferenceConfig,
    host: Host,
    names: ToolNames,
    tools: Sequence[ToolDefinition],
    model: str,
) -> dict[str, Any]:
    """Everything but messages and tools; what is None is left to the server."""
    options: dict[str, Any] = {
        "model": model,
        config.max_tokens_field or host.max_tokens_field: inference.max_tokens,
        "temperature": inference.temperature,
        "top_p": inference.top_p,
        "stop": list(inference.stop_sequences) if inference.stop_sequences else None,
        host.seed_field: inference.seed,
        "reasoning_effort": config.reasoning_effort,
        "tool_choice": _tool_choice(inference.tool_choice, names, tools, model),
        "response_format": _response_format(inference.response_format),
    }
    return {name: value for name, value in options.items() if value is not None}


def _stream_options(host: Host, stream: bool) -> dict[str, Any]:
    if not stream:
        return {}  # stream_options without stream is refused
    return {"stream": True, **({"stream_options": {"include_usage": True}} if host.has_stream_options else {})}


def _tool_choice(choice: str | None, names: ToolNames, tools: Sequence[ToolDefinition], model: str) -> Any:
    if choice is None or (not tools and choice in ("auto", "none")):
        return None  # without tools any choice is refused, and these two are what happens anyway
    if not tools:
        raise _cannot(f"tool_choice is {choice!r}, but there are no tools", model)
    if choice in MODES:
        return choice
    if all(tool.name != choice for tool in tools):
        raise _cannot(f"tool_choice names a tool that is not there: {choice!r}", model)
    return {"type": "function", "function": {"name": names.wire(choice)}}


def _response_format(wanted: ResponseFormat | None) -> Any:
    if wanted is None:
        return None
    name = ToolNames([wanted.name], NAMES).wire(wanted.name)
    form: dict[str, Any] = {"name": name, "schema": dict(wanted.schema)}
    if is_strict_schema(wanted.schema):
        form["strict"] = True  # without it OpenAI takes the schema for a hint
    return {"type": "json_schema", "json_schema": form}


def _cannot(message: str, model: str) -> ProviderError:
    return ProviderError(
        message, provider_class=ProviderErrorClass.INVALID_REQUEST, provider="openai", model=model or None
    )


@kept_by_identity
def _encode_tools(tools: Sequence[ToolDefinition]) -> tuple[ToolNames, bytes]:
    """The tools' names and their JSON."""
    if not tools:
        return NO_NAMES, b""
    names = ToolNames([tool.name for tool in tools], NAMES)
    return names, _json.dumps([_definition(tool.name, tool.description, tool.parameters, names) for tool in tools])


def _definition(name: str, description: str, parameters: Mapping[str, Any], names: ToolNames) -> dict[str, Any]:
    function: dict[str, Any] = {"name": names.wire(name)}
    if description:
        function["description"] = description
    return {"type": "function", "function": {**function, "parameters": complete_schema(parameters)}}
