"""The settings of an OpenAI-compatible provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from ... import _json
from ...errors import BuildError, ProviderError, ProviderErrorClass
from ..base_config import KeyedConfig, a_mapping, a_url, an_optional_text, shown_url, stripped
from .hosts import OPENAI, Host, host_of
from .urls import chat_url

__all__ = ["OpenAIProviderConfig", "auth_headers", "environment_config"]

DEFAULT_BASE_URL = "https://api.openai.com"


def _path(instance: object, attribute: Any, value: Any) -> None:
    an_optional_text(instance, attribute, value)
    if value is None:
        return
    if "://" in value:
        raise BuildError(f"{attribute.name} must be a path; the host belongs in base_url")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise BuildError(f"{attribute.name} has characters that cannot be in a URL")


def _json_object(instance: object, attribute: Any, value: object) -> None:
    a_mapping(instance, attribute, value)
    try:
        _json.dumps(value)
    except (TypeError, ValueError) as error:
        raise BuildError(f"{attribute.name} cannot be written as JSON: {error}") from None


@frozen
class OpenAIProviderConfig(KeyedConfig):
    """The settings of an `OpenAICompatibleProvider`.

    Attributes:
        base_url: The server, with or without `/v1`, a path or a trailing slash.
        chat_completions_path: Path of the endpoint for answers, in place of the one that follows from `base_url`.
        models_path: Path of the list of models, likewise.
        api_version: Sent in the query as `api-version`, as Azure wants it.
        organization: Sent as `OpenAI-Organization`.
        project: Sent as `OpenAI-Project`.
        reasoning_effort: How much a reasoning model thinks, such as "low".
        max_tokens_field: Name of the token limit, in place of the one that the host is known to want.
        extra_body: Merged into every request for an answer.
    """

    base_url: str = field(default=DEFAULT_BASE_URL, converter=stripped, validator=a_url, repr=shown_url, kw_only=True)
    chat_completions_path: str | None = field(default=None, validator=_path, kw_only=True)
    models_path: str | None = field(default=None, validator=_path, kw_only=True)
    api_version: str | None = field(default=None, validator=an_optional_text, kw_only=True)
    organization: str | None = field(default=None, validator=an_optional_text, kw_only=True)
    project: str | None = field(default=None, validator=an_optional_text, kw_only=True)
    reasoning_effort: str | None = field(default=None, validator=an_optional_text, kw_only=True)
    max_tokens_field: str | None = field(default=None, validator=an_optional_text, kw_only=True)
    extra_body: Mapping[str, Any] | None = field(default=None, validator=_json_object, kw_only=True)

    def chat_url(self, model: str) -> str:
        """Where the model's answers come from."""
        return chat_url(self.base_url, self.chat_completions_path, self.api_version, model)

    @property
    def host(self) -> Host:
        """What is known of the server."""
        return host_of(self.chat_url(self.model))


def auth_headers(config: OpenAIProviderConfig, api_key: str | None) -> dict[str, str]:
    """The headers that say who asks.

    Azure wants a key in a header of its own, and a token of Entra, which only a callable can keep fresh, as a bearer.

    Args:
        config: The settings.
        api_key: The key as it is now, if there is one.

    Raises:
        ProviderError: A callable gave something that cannot be a key.
    """
    key = (api_key or "").strip()
    if not key:
        return {}
    if not key.isascii() or not key.isprintable():
        raise ProviderError(
            "api_key gave a key that cannot be sent in a header",
            provider_class=ProviderErrorClass.AUTH_INVALID,
            provider="openai",
            model=config.model,
        )
    name = config.host.key_header
    if name == "authorization" or callable(config.api_key):
        return {"authorization": f"Bearer {key}"}
    return {name: key}


def environment_config(model: str, environ: Mapping[str, str]) -> OpenAIProviderConfig:
    """The settings that the usual environment variables give.

    They are those of OpenAI's own SDK: `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID`.

    Args:
        model: The model to ask.
        environ: The environment.

    Raises:
        BuildError: The key that OpenAI needs is missing, or a variable makes no sense.
    """
    config = OpenAIProviderConfig(
        model,
        api_key=environ.get("OPENAI_API_KEY"),
        base_url=environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL,
        organization=environ.get("OPENAI_ORG_ID") or None,
        project=environ.get("OPENAI_PROJECT_ID") or None,
    )
    if config.api_key is None and config.host is OPENAI:
        raise BuildError(
            f"'openai:{model}' needs an API key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none"
        )
    return config
