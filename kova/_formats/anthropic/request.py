"""Requests to the Messages API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ... import _json
from ..._log import log
from ...config import InferenceConfig
from ...errors import ProviderError, ProviderErrorClass, SerializationError
from ...messages import ConversationMessage
from ..input_schema import input_schema
from ..kept_tools import kept_by_identity
from ..request_body import joined_body
from ..secrets import request_secrets
from ..tool_names import NameRule, ToolNames
from ..wire import WireRequest
from .config import AnthropicProviderConfig, api_headers
from .messages import encode_history, system_prompt
from .models import Family, family_of
from .schemas import output_schema
from .urls import messages_url, models_url

if TYPE_CHECKING:
    from ...tools import ToolDefinition

__all__ = ["build_models_request", "build_request"]

# The API itself takes 128 characters, clouds and gateways behind it 64.
NAMES = NameRule(accepted=re.compile("[a-zA-Z0-9_-]{1,64}"), refused=re.compile("[^a-zA-Z0-9_-]"), length=64)

NO_NAMES = ToolNames((), NAMES)

_FREE_CHOICES = (None, "auto", "none")

_MODES = {"auto": "auto", "none": "none", "required": "any"}


def build_request(
    config: AnthropicProviderConfig,
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
        options = _options(config, inference, model)
        options |= _chosen("system", system_prompt(messages))
        options |= _chosen("tool_choice", _tool_choice(inference.tool_choice, names, tools, model))
        options |= {**_chosen("stream", stream or None), **(inference.extra_body or {})}
        fragments = [] if "messages" in options else encode_history(messages, names)
        if not fragments and "messages" not in options:
            raise _cannot("there is nothing to send: all messages are empty", model)
        body, history_size = joined_body(fragments, encoded_tools, options)
    except (TypeError, ValueError) as error:
        raise SerializationError(f"the request cannot be written as JSON: {error}") from error
    headers = api_headers(config, api_key, "text/event-stream" if stream else "application/json")
    headers.setdefault("content-type", "application/json")
    url = messages_url(config.base_url)
    return WireRequest("POST", url, headers, body, model, names, request_secrets(url, headers), history_size)


def build_models_request(config: AnthropicProviderConfig, api_key: str | None) -> WireRequest:
    """The request for the list of models."""
    headers = api_headers(config, api_key, "application/json")
    url = models_url(config.base_url)
    return WireRequest("GET", url, headers, b"", "", NO_NAMES, request_secrets(url, headers))


def _options(config: AnthropicProviderConfig, inference: InferenceConfig, model: str) -> dict[str, Any]:
    """Everything that depends on neither messages nor tools; what is None is left to the server."""
    family = family_of(model)
    thinking = _thinking(config, family, is_forced=inference.tool_choice not in _FREE_CHOICES)
    options: dict[str, Any] = {
        "model": model,
        "max_tokens": inference.max_tokens or min(config.default_max_tokens, family.max_tokens),
        "thinking": thinking,
        "output_config": _output_config(config, inference, family, model),
        "stop_sequences": list(inference.stop_sequences) if inference.stop_sequences else None,
        "cache_control": {"type": "ephemeral"} if config.cache else None,
    }
    # With thinking any temperature but 1 is refused, and so is top_p; and by newer models in any case.
    sampling = {"temperature": inference.temperature, "top_p": inference.top_p}
    taken = [name for name, value in sampling.items() if value is not None]
    if not family.has_sampling or thinking is not None:
        taken = []
    elif not family.has_both:
        taken = taken[:1]
    options |= {name: sampling[name] for name in taken}
    _warn_of(model, tuple(name for name, value in sampling.items() if value is not None and name not in taken))
    _warn_of(model, ("seed",) if inference.seed is not None else ())
    return {name: value for name, value in options.items() if value is not None}


def _thinking(config: AnthropicProviderConfig, family: Family, *, is_forced: bool) -> dict[str, str] | None:
    # 400 "Thinking may not be enabled when tool_choice forces tool use"; and only the latter was asked for in so many words.
    if is_forced or not config.adaptive_thinking:
        return None if family.thinking_off is None else {"type": family.thinking_off}
    return {"type": "adaptive"} if family.has_adaptive_thinking else None


def _output_config(
    config: AnthropicProviderConfig, inference: InferenceConfig, family: Family, model: str
) -> dict[str, Any] | None:
    wanted: dict[str, Any] = {}
    if config.effort is not None:
        if family.has_effort:
            wanted["effort"] = config.effort
        else:
            _warn_of(model, ("effort",))
    if inference.response_format is not None:
        wanted["format"] = {"type": "json_schema", "schema": output_schema(inference.response_format.schema)}
    return wanted or None


@lru_cache(maxsize=256)
def _warn_of(model: str, options: tuple[str, ...]) -> None:
    """Say once that options are left out."""
    if options:
        log.warning(
            "options are left out of a request: the model does not take them as it is asked",
            model=model,
            options=list(options),
        )


def _tool_choice(choice: str | None, names: ToolNames, tools: Sequence[ToolDefinition], model: str) -> Any:
    if choice is None or (not tools and choice in ("auto", "none")):
        return None  # without tools any choice is refused, and these two are what happens anyway
    if not tools:
        raise _cannot(f"tool_choice is {choice!r}, but there are no tools", model)
    if choice in _MODES:
        return {"type": _MODES[choice]}
    if all(tool.name != choice for tool in tools):
        raise _cannot(f"tool_choice names a tool that is not there: {choice!r}", model)
    return {"type": "tool", "name": names.wire(choice)}


def _chosen(name: str, value: Any) -> dict[str, Any]:
    return {} if value is None else {name: value}


def _cannot(message: str, model: str) -> ProviderError:
    return ProviderError(
        message, provider_class=ProviderErrorClass.INVALID_REQUEST, provider="anthropic", model=model or None
    )


@kept_by_identity
def _encode_tools(tools: Sequence[ToolDefinition]) -> tuple[ToolNames, bytes]:
    """The tools' names and their JSON."""
    names = ToolNames([tool.name for tool in tools], NAMES)
    return names, _json.dumps([_definition(tool, names) for tool in tools]) if tools else b""


def _definition(tool: ToolDefinition, names: ToolNames) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": names.wire(tool.name), **described, "input_schema": input_schema(tool.parameters)}
