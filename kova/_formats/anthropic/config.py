"""The settings of an Anthropic provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from ...errors import BuildError
from ..api_keys import usable_key
from ..base_config import KeyedConfig, a_url, an_optional_text, shown_url, stripped
from .urls import ANTHROPIC_HOST, DEFAULT_BASE_URL

__all__ = ["AnthropicProviderConfig", "api_headers", "environment_config"]

API_VERSION = "2023-06-01"


def _tokens(instance: object, attribute: Any, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BuildError(f"{attribute.name} must be an int of at least 1, got {value!r}")


def _flag(instance: object, attribute: Any, value: object) -> None:
    if not isinstance(value, bool):
        raise BuildError(f"{attribute.name} must be True or False, got {value!r}")


def _names(values: Any) -> Any:
    return tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else values


def _header_parts(instance: object, attribute: Any, values: Any) -> None:
    if values is None:
        return
    if not isinstance(values, tuple) or not all(isinstance(name, str) for name in values):
        raise BuildError(f"{attribute.name} must be a sequence of str, got {values!r}")
    for name in values:
        if not name or not name.isascii() or not name.isprintable() or {" ", ","} & set(name):
            raise BuildError(f"{attribute.name}: {name!r} cannot be the name of a beta")


@frozen
class AnthropicProviderConfig(KeyedConfig):
    """The settings of an `AnthropicProvider`.

    Attributes:
        base_url: The server, with or without `/v1`, a path or a trailing slash.
        default_max_tokens: Limit of an answer, in tokens, where the call sets none: the API wants one. A model that
            is known to give less is asked for what it gives.
        adaptive_thinking: Whether a model that can do so decides by itself when and how much it thinks. False turns
            thinking off, where the model allows that.
        effort: How much a model puts into its answers: "low", "medium", "high", and on some models "xhigh" and "max".
        cache: Whether the prompt is cached, up to its last block that can be.
        beta_headers: Names of betas, sent as `anthropic-beta`.
    """

    base_url: str = field(default=DEFAULT_BASE_URL, converter=stripped, validator=a_url, repr=shown_url, kw_only=True)
    default_max_tokens: int = field(default=32_000, validator=_tokens, kw_only=True)
    adaptive_thinking: bool = field(default=True, validator=_flag, kw_only=True)
    effort: str | None = field(default=None, validator=an_optional_text, kw_only=True)
    cache: bool = field(default=True, validator=_flag, kw_only=True)
    beta_headers: Sequence[str] | None = field(default=None, converter=_names, validator=_header_parts, kw_only=True)


def api_headers(config: AnthropicProviderConfig, api_key: str | None, accept: str) -> dict[str, str]:
    """The headers of a request.

    Args:
        config: The settings.
        api_key: The key as it is now, if there is one.
        accept: The content type that is wanted.

    Raises:
        ProviderError: A callable gave something that cannot be a key.
    """
    headers = {"accept": accept, "anthropic-version": API_VERSION}
    if key := usable_key(api_key, "anthropic", config.model):
        headers["x-api-key"] = key
    if config.beta_headers:
        headers["anthropic-beta"] = ",".join(config.beta_headers)
    return config.with_default_headers(headers)


def environment_config(model: str, environ: Mapping[str, str]) -> AnthropicProviderConfig:
    """The settings that the usual environment variables give.

    They are those of Anthropic's own SDK: `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, and for gateways that want a
    bearer token in place of a key, `ANTHROPIC_AUTH_TOKEN`.

    Args:
        model: The model to ask.
        environ: The environment.

    Raises:
        BuildError: The key that Anthropic needs is missing, or a variable makes no sense.
    """
    token = environ.get("ANTHROPIC_AUTH_TOKEN", "").strip()
    config = AnthropicProviderConfig(
        model,
        api_key=environ.get("ANTHROPIC_API_KEY"),
        base_url=environ.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL,
        default_headers={"authorization": f"Bearer {token}"} if token else None,
    )
    if config.api_key is None and not token and urlsplit(config.base_url).hostname == ANTHROPIC_HOST:
        raise BuildError(
            f"'anthropic:{model}' needs an API key: set ANTHROPIC_API_KEY, "
            "or ANTHROPIC_BASE_URL for a server that needs none"
        )
    return config
