"""The settings of an Ollama provider."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from ...errors import BuildError
from ..api_keys import bearer_headers
from ..base_config import KeyedConfig, a_json_object, a_url, shown_url
from .urls import server_url

__all__ = ["OllamaProviderConfig", "auth_headers", "environment_config"]

HOST_VARIABLE = "OLLAMA_HOST"

LEVELS = ("low", "medium", "high", "max")  # "max" since 2026; the server refuses all other words

# What Go's time.ParseDuration takes; it refuses a number without a unit: "missing unit in duration".
_DURATION = re.compile(r"[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")


def _base_url(value: Any) -> Any:
    if value is None:
        value = os.environ.get(HOST_VARIABLE, "")
    return server_url(value) if isinstance(value, str) else value


def _keep_alive(instance: object, attribute: Any, value: object) -> None:
    if value is None:
        return
    if isinstance(value, str):
        if not _DURATION.fullmatch(value):
            raise BuildError(f'{attribute.name} must be a duration such as "5m" or a number of seconds, got {value!r}')
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BuildError(f"{attribute.name} must be a number of seconds, a str or None, got {value!r}")


def _think(instance: object, attribute: Any, value: object) -> None:
    if value is not None and not isinstance(value, bool) and value not in LEVELS:
        raise BuildError(f"{attribute.name} must be True, False, None or one of {', '.join(LEVELS)}, got {value!r}")


@frozen
class OllamaProviderConfig(KeyedConfig):
    """The settings of an `OllamaProvider`.

    Attributes:
        base_url: The server, in any form that `OLLAMA_HOST` may have. None is what that variable says, and without it
            `http://localhost:11434`.
        keep_alive: How long the model stays loaded after an answer: a duration such as "5m", or seconds; 0 unloads it
            at once, a negative number keeps it for good. None leaves it to the server.
        think: Whether a thinking model thinks, or how much: "low", "medium", "high", "max". None leaves it to the
            server, which lets such a model think.
        extra_options: Further model options, such as `num_ctx` or `top_k`; what a call asks for itself wins over them.
    """

    base_url: str = field(default=None, converter=_base_url, validator=a_url, repr=shown_url, kw_only=True)
    keep_alive: float | str | None = field(default=None, validator=_keep_alive, kw_only=True)
    think: bool | str | None = field(default=None, validator=_think, kw_only=True)
    extra_options: Mapping[str, Any] | None = field(default=None, validator=a_json_object, kw_only=True)


def auth_headers(config: OllamaProviderConfig, api_key: str | None) -> dict[str, str]:
    """The headers that say who asks: none on one's own machine, a bearer token at ollama.com and behind proxies.

    Args:
        config: The settings.
        api_key: The key as it is now, if there is one.

    Raises:
        ProviderError: A callable gave something that cannot be a key.
    """
    return bearer_headers(api_key, "ollama", config.model)


def environment_config(model: str, environ: Mapping[str, str]) -> OllamaProviderConfig:
    """The settings that the usual environment variables give.

    They are those of Ollama's own clients: `OLLAMA_HOST`, `OLLAMA_API_KEY`.

    Args:
        model: The model to ask.
        environ: The environment.

    Raises:
        BuildError: A variable makes no sense.
    """
    return OllamaProviderConfig(model, api_key=environ.get("OLLAMA_API_KEY"), base_url=environ.get(HOST_VARIABLE, ""))
