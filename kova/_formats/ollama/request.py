"""Requests to Ollama."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...config import InferenceConfig
from ...errors import SerializationError
from ...messages import ConversationMessage
from ..request_body import joined_body
from ..secrets import request_secrets
from ..wire import WireRequest
from .config import OllamaProviderConfig, auth_headers
from .errors import request_error
from .messages import encode_history
from .tools import NO_NAMES, encode_tools
from .urls import chat_url, tags_url

if TYPE_CHECKING:
    from ...tools import ToolDefinition

__all__ = ["build_models_request", "build_request"]


def build_request(
    config: OllamaProviderConfig,
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
        stream: Whether the answer is to come line by line.

    Raises:
        ProviderError: The API has no way to ask for this.
        SerializationError: Something in it cannot be written as JSON.
    """
    model = inference.model or config.model
    tools = _chosen_tools(inference.tool_choice, tools, model)
    try:
        names, encoded_tools = encode_tools(tools)
        fields = _fields(config, inference, model, stream)
        fragments = [] if "messages" in fields else encode_history(messages, names, model)
        body, history_size = joined_body(fragments, encoded_tools, fields)
    except (TypeError, ValueError) as error:
        raise SerializationError(f"the request cannot be written as JSON: {error}") from error
    if not fragments and "messages" not in fields:
        raise request_error("there is nothing to send: all messages are empty", model)
    headers = _headers(config, api_key, "application/x-ndjson" if stream else "application/json")
    headers.setdefault("content-type", "application/json")
    url = chat_url(config.base_url)
    return WireRequest("POST", url, headers, body, model, names, request_secrets(url, headers), history_size)


def build_models_request(config: OllamaProviderConfig, api_key: str | None) -> WireRequest:
    """The request for the list of models."""
    headers = _headers(config, api_key, "application/json")
    url = tags_url(config.base_url)
    return WireRequest("GET", url, headers, b"", "", NO_NAMES, request_secrets(url, headers))


def _headers(config: OllamaProviderConfig, api_key: str | None, accept: str) -> dict[str, str]:
    return config.with_default_headers({"accept": accept, **auth_headers(config, api_key)})


def _chosen_tools(choice: str | None, tools: Sequence[ToolDefinition], model: str) -> Sequence[ToolDefinition]:
    """The tools to send. The API has no tool choice: the model may call what it is shown, and need not."""
    if choice is None or choice == "auto":
        return tools
    if choice == "none":
        return ()
    if not tools:
        raise request_error(f"tool_choice is {choice!r}, but there are no tools", model)
    if choice != "required" and all(tool.name != choice for tool in tools):
        raise request_error(f"tool_choice names a tool that is not there: {choice!r}", model)
    raise request_error(f"Ollama cannot make a model call a tool, so that tool_choice cannot be {choice!r}", model)


def _fields(config: OllamaProviderConfig, inference: InferenceConfig, model: str, stream: bool) -> dict[str, Any]:
    """Everything but messages and tools; what is None is left to the server."""
    extra = dict(inference.extra_body or {})
    options = {**(config.extra_options or {}), **_options(inference)}
    if isinstance(extra.get("options"), Mapping):
        options |= extra.pop("options")
    wanted = inference.response_format
    fields: dict[str, Any] = {
        "model": model,
        "format": None if wanted is None else dict(wanted.schema),
        "options": options or None,
        "think": config.think,
        "keep_alive": config.keep_alive,
    }
    # Left out, `stream` means true here.
    return {name: value for name, value in fields.items() if value is not None} | {"stream": stream, **extra}


def _options(inference: InferenceConfig) -> dict[str, Any]:
    options = {
        "num_predict": inference.max_tokens,
        "temperature": inference.temperature,
        "top_p": inference.top_p,
        "stop": list(inference.stop_sequences) if inference.stop_sequences else None,
        "seed": inference.seed,
    }
    return {name: value for name, value in options.items() if value is not None}
