"""OpenAI, and everything that speaks its chat completions: Azure, vLLM, llama.cpp, OpenRouter, Groq, and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .._formats.openai import FORMAT
from .._formats.openai.config import OpenAIProviderConfig
from .provider import AsyncHTTPProvider

if TYPE_CHECKING:
    import ssl

__all__ = ["AsyncOpenAICompatibleProvider"]


class AsyncOpenAICompatibleProvider(AsyncHTTPProvider[OpenAIProviderConfig]):
    """Models behind OpenAI's chat completions API, at OpenAI or at any server that speaks it.

    Args:
        model: The model to ask.
        api_key: The key, or a function that gives one; it may be async in the async twin.
        base_url: The server, with or without `/v1`.
        timeout: Seconds for a whole answer, or for a stream to begin.
        idle_timeout: Seconds without an event inside a stream.
        connect_timeout: Seconds for connecting, the TLS handshake included.
        max_connections: Requests at once; more wait for their turn.
        verify: Whether certificates are checked, or the SSL context that says how.
        default_headers: Sent with every request.
        http_client: An AsyncClient of httpx or httpx2 to use in place of kova's own; it is never closed.
        chat_completions_path: Path of the chat endpoint, in place of the one that follows from `base_url`.
        models_path: Path of the list of models, likewise.
        api_version: Sent as the `api-version` query parameter, as Azure wants it.
        organization: Sent as `OpenAI-Organization`.
        project: Sent as `OpenAI-Project`.
        reasoning_effort: How much a reasoning model thinks, such as "low" or "high".
        max_tokens_field: Name under which the token limit is sent, in place of the one that the host is known to want.
        extra_body: Merged into every request.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    _format = FORMAT
    _config_type = OpenAIProviderConfig

    def __init__(
        self,
        model: str,
        *,
        api_key: str | Callable[[], Any] | None = None,
        base_url: str = "https://api.openai.com",
        timeout: float | None = 600.0,
        idle_timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        max_connections: int = 1000,
        verify: bool | ssl.SSLContext = True,
        default_headers: Mapping[str, str] | None = None,
        http_client: object = None,
        chat_completions_path: str | None = None,
        models_path: str | None = None,
        api_version: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        reasoning_effort: str | None = None,
        max_tokens_field: str | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        config = OpenAIProviderConfig(
            model=model,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            connect_timeout=connect_timeout,
            max_connections=max_connections,
            verify=verify,
            default_headers=default_headers,
            chat_completions_path=chat_completions_path,
            models_path=models_path,
            api_version=api_version,
            organization=organization,
            project=project,
            reasoning_effort=reasoning_effort,
            max_tokens_field=max_tokens_field,
            extra_body=extra_body,
        )
        self._set_up(config, http_client)
