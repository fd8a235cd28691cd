"""Anthropic, and servers that speak its Messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._formats.anthropic import FORMAT
from .._formats.anthropic.config import AnthropicProviderConfig
from .provider import AsyncHTTPProvider

if TYPE_CHECKING:
    import ssl

__all__ = ["AsyncAnthropicProvider"]


class AsyncAnthropicProvider(AsyncHTTPProvider[AnthropicProviderConfig]):
    """Models behind Anthropic's Messages API, at Anthropic or at any server that speaks it.

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
        default_max_tokens: Limit of an answer, in tokens, where a call sets none; less for models that give less.
        adaptive_thinking: Whether the model decides by itself when and how much it thinks, if it can. Temperature and
            top_p are not sent then: the API refuses them.
        effort: How much the model puts into its answers, such as "low" or "high".
        cache: Whether the prompt is cached by the API.
        beta_headers: Names of betas to take part in.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    _format = FORMAT
    _config_type = AnthropicProviderConfig

    def __init__(
        self,
        model: str,
        *,
        api_key: str | Callable[[], Any] | None = None,
        base_url: str = "https://api.anthropic.com",
        timeout: float | None = 600.0,
        idle_timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        max_connections: int = 1000,
        verify: bool | ssl.SSLContext = True,
        default_headers: Mapping[str, str] | None = None,
        http_client: object = None,
        default_max_tokens: int = 32_000,
        adaptive_thinking: bool = True,
        effort: str | None = None,
        cache: bool = True,
        beta_headers: Sequence[str] | None = None,
    ) -> None:
        config = AnthropicProviderConfig(
            model=model,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            connect_timeout=connect_timeout,
            max_connections=max_connections,
            verify=verify,
            default_headers=default_headers,
            default_max_tokens=default_max_tokens,
            adaptive_thinking=adaptive_thinking,
            effort=effort,
            cache=cache,
            beta_headers=beta_headers,
        )
        self._set_up(config, http_client)
