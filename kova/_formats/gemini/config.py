"""The settings of a Gemini provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from ...errors import BuildError
from ..api_keys import usable_key
from ..base_config import KeyedConfig, a_text, a_url, shown_url, stripped
from .urls import DEFAULT_BASE_URL, GOOGLE_HOST

__all__ = ["GeminiProviderConfig", "api_headers", "environment_config"]

KEY_HEADER = "x-goog-api-key"

DYNAMIC = -1

# The other order than in Google's own SDK: a key with this API's name is meant for it, where both are set.
KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


def _version(instance: object, attribute: Any, value: Any) -> None:
    a_text(instance, attribute, value)
    if not re.fullmatch(r"[\w.-]+", value, re.ASCII):
        raise BuildError(f"{attribute.name} must be a version such as 'v1beta', got {value!r}")


def _budget(instance: object, attribute: Any, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < DYNAMIC:
        raise BuildError(
            f"{attribute.name} must be a number of tokens, 0 for no thinking, or -1 for as much as it takes, "
            f"got {value!r}"
        )


@frozen
class GeminiProviderConfig(KeyedConfig):
    """The settings of a `GeminiProvider`.

    Attributes:
        base_url: The server, with or without a version, a path or a trailing slash.
        api_version: The version of the API, where `base_url` names none.
        thinking_budget: The most tokens that the model thinks: -1 leaves it to the model, 0 turns thinking off where
            the model allows that. None leaves the setting out; the thoughts are then billed, but not shown.
    """

    base_url: str = field(default=DEFAULT_BASE_URL, converter=stripped, validator=a_url, repr=shown_url, kw_only=True)
    api_version: str = field(default="v1beta", validator=_version, kw_only=True)
    thinking_budget: int | None = field(default=None, validator=_budget, kw_only=True)


def api_headers(config: GeminiProviderConfig, api_key: str | None, accept: str) -> dict[str, str]:
    """The headers of a request. The key is one of them, and never in the query, which ends up in logs.

    Args:
        config: The settings.
        api_key: The key as it is now, if there is one.
        accept: The content type that is wanted.

    Raises:
        ProviderError: A callable gave something that cannot be a key.
    """
    headers = {"accept": accept}
    if key := usable_key(api_key, "gemini", config.model):
        headers[KEY_HEADER] = key
    return config.with_default_headers(headers)


def environment_config(model: str, environ: Mapping[str, str]) -> GeminiProviderConfig:
    """The settings that the usual environment variables give.

    They are those of Google's own SDK: `GEMINI_API_KEY` or `GOOGLE_API_KEY`, and `GOOGLE_GEMINI_BASE_URL`.

    Args:
        model: The model to ask.
        environ: The environment.

    Raises:
        BuildError: The key that Google needs is missing, or a variable makes no sense.
    """
    keys = (environ.get(name, "").strip() for name in KEY_VARIABLES)
    config = GeminiProviderConfig(
        model,
        api_key=next(filter(None, keys), None),
        base_url=environ.get("GOOGLE_GEMINI_BASE_URL") or DEFAULT_BASE_URL,
    )
    if config.api_key is None and urlsplit(config.base_url).hostname == GOOGLE_HOST:
        raise BuildError(
            f"'gemini:{model}' needs an API key: set GEMINI_API_KEY or GOOGLE_API_KEY, "
            "or GOOGLE_GEMINI_BASE_URL for a server that needs none"
        )
    return config
