"""Requests to the Converse API; what they lack is a signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..._log import log
from ...config import InferenceConfig
from ...errors import SerializationError
from ...messages import ConversationMessage
from ..request_body import joined_body
from ..secrets import request_secrets
from ..wire import WireRequest
from .blocks import Unsendable
from .config import BedrockProviderConfig
from .endpoints import converse_url, models_url
from .errors import request_error
from .messages import encode_history, system_blocks
from .tool_config import NO_NAMES, tool_config

if TYPE_CHECKING:
    from ...tools import ToolDefinition

__all__ = ["EVENT_STREAM", "build_models_request", "build_request"]

EVENT_STREAM = "application/vnd.amazon.eventstream"
JSON = "application/json"

TOOLS = "toolConfig"
MODEL_FIELDS = "additionalModelRequestFields"


def build_request(
    config: BedrockProviderConfig,
    api_key: str | None,
    messages: Sequence[ConversationMessage],
    tools: Sequence[ToolDefinition],
    inference: InferenceConfig,
    *,
    stream: bool,
) -> WireRequest:
    """The request for an answer; its body is the same whether the answer is streamed or not.

    Args:
        config: The provider's settings, the region among them.
        api_key: Not used: requests are signed.
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
        offer = tool_config(tools, inference, model)
        options = _options(config, messages, inference)
        is_told = not offer.json and TOOLS not in options
        fragments = [] if "messages" in options else encode_history(messages, offer.names, told=is_told)
        body, history_size = joined_body(fragments, offer.json, options, tools_name=TOOLS)
    except Unsendable as error:
        raise request_error(str(error), model) from None
    except (TypeError, ValueError) as error:
        raise SerializationError(f"the request cannot be written as JSON: {error}") from error
    if not fragments and "messages" not in options:
        raise request_error("there is nothing to send: all messages are empty", model)
    if offer.answer_tool is not None and _thinks(options.get(MODEL_FIELDS)):
        raise request_error(
            "response_format is not possible while thinking is on: the answer comes through a tool that must be "
            "called, and models that think cannot be made to call one",
            model,
        )
    headers = {"accept": EVENT_STREAM if stream else JSON, "content-type": JSON}
    headers = config.with_default_headers(headers)
    url = converse_url(config.base_url, model, stream=stream)
    secrets = request_secrets(url, headers)
    return WireRequest("POST", url, headers, body, model, offer.names, secrets, history_size, offer.answer_tool)


def build_models_request(config: BedrockProviderConfig, api_key: str | None) -> WireRequest:
    """The request for the list of models, which the control plane answers."""
    headers = config.with_default_headers({"accept": JSON})
    url = models_url(config.base_url)
    return WireRequest("GET", url, headers, b"", "", NO_NAMES, request_secrets(url, headers))


def _options(
    config: BedrockProviderConfig, messages: Sequence[ConversationMessage], inference: InferenceConfig
) -> dict[str, Any]:
    """Everything but messages and tools; what is None is left to the server."""
    if inference.seed is not None:
        log.warning("an option is left out of a request: Bedrock has none of this name", option="seed")
    options = {
        "system": system_blocks(messages),
        "inferenceConfig": _inference_config(inference),
        MODEL_FIELDS: dict(config.additional_model_request_fields or {}),
    }
    return {**{name: value for name, value in options.items() if value}, **(inference.extra_body or {})}


def _inference_config(inference: InferenceConfig) -> dict[str, Any]:
    options = {
        "maxTokens": inference.max_tokens,
        "temperature": inference.temperature,
        "topP": inference.top_p,
        "stopSequences": list(inference.stop_sequences) if inference.stop_sequences else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _thinks(model_fields: Any) -> bool:
    """Whether Claude's thinking is on: 400 "Thinking may not be enabled when tool_choice forces tool use"."""
    thinking = model_fields.get("thinking") if isinstance(model_fields, Mapping) else None
    return isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive")
