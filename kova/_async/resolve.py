"""Model strings: "openai:gpt-5" and its like, resolved from the usual environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..errors import BuildError
from .provider import AsyncHTTPProvider

__all__ = ["provider_from_string"]


def provider_from_string(text: str) -> AsyncHTTPProvider[Any]:
    """The provider that a model string means; it is split at the first colon.

    Raises:
        BuildError: The prefix is unknown, or a key or an extra is missing.
    """
    prefix, colon, model = text.partition(":")
    make = _MAKERS.get(prefix)
    if make is None or not colon or not model:
        known = ", ".join(f"{name}:MODEL" for name in _MAKERS)
        other = "any other server that speaks OpenAI's API is an AsyncOpenAICompatibleProvider with its base_url"
        raise BuildError(f"provider must be one of {known}, got {text!r}; {other}")
    return make(model)


def _openai(model: str) -> AsyncHTTPProvider[Any]:
    from .._formats.openai.config import environment_config
    from .openai import AsyncOpenAICompatibleProvider

    return AsyncOpenAICompatibleProvider.from_config(environment_config(model, os.environ))


def _anthropic(model: str) -> AsyncHTTPProvider[Any]:
    from .._formats.anthropic.config import environment_config
    from .anthropic import AsyncAnthropicProvider

    return AsyncAnthropicProvider.from_config(environment_config(model, os.environ))


def _gemini(model: str) -> AsyncHTTPProvider[Any]:
    from .._formats.gemini.config import environment_config
    from .gemini import AsyncGeminiProvider

    return AsyncGeminiProvider.from_config(environment_config(model, os.environ))


def _ollama(model: str) -> AsyncHTTPProvider[Any]:
    from .._formats.ollama.config import environment_config
    from .ollama import AsyncOllamaProvider

    return AsyncOllamaProvider.from_config(environment_config(model, os.environ))


def _bedrock(model: str) -> AsyncHTTPProvider[Any]:
    from .._formats.bedrock.config import environment_config
    from .bedrock import AsyncBedrockProvider

    return AsyncBedrockProvider.from_config(environment_config(model, os.environ))


def _local(model: str) -> AsyncHTTPProvider[Any]:
    from .local import AsyncLocalProvider

    return AsyncLocalProvider(model)


_MAKERS: dict[str, Callable[[str], AsyncHTTPProvider[Any]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "local": _local,
}
