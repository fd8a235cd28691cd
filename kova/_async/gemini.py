"""Google's Gemini models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .._formats.gemini import FORMAT
from .._formats.gemini.config import GeminiProviderConfig
from .provider import AsyncHTTPProvider

if TYPE_CHECKING:
    import ssl

__all__ = ["AsyncGeminiProvider"]


class AsyncGeminiProvider(AsyncHTTPProvider[GeminiProviderConfig]):
    """Models behind Google's Gemini API.

    Args:
        model: The model to ask, with or without `models/` before its name.
        api_key: The key, or a function that gives one; it may be async in the async twin.
        base_url: The server, with or without a version.
        timeout: Seconds for a whole answer, or for a stream to begin.
        idle_timeout: Seconds without an event inside a stream.
        connect_timeout: Seconds for connecting, the TLS handshake included.
        max_connections: Requests at once; more wait for their turn.
        verify: Whether certificates are checked, or the SSL context that says how.
        default_headers: Sent with every request.
        http_client: An AsyncClient of httpx or httpx2 to use in place of kova's own; it is never closed.
        api_version: The version of the API, where `base_url` names none.
        thinking_budget: The most tokens that the model thinks: -1 leaves it to the model, 0 turns thinking off where
            the model allows that. Thoughts are shown only where this is given.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    _format = FORMAT
    _config_type = GeminiProviderConfig

    def __init__(
        self,
        model: str,
        *,
        api_key: str | Callable[[], Any] | None = None,
        base_url: str = "https://generativelanguage.googleapis.com",
        timeout: float | None = 600.0,
        idle_timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        max_connections: int = 1000,
        verify: bool | ssl.SSLContext = True,
        default_headers: Mapping[str, str] | None = None,
        http_client: object = None,
        api_version: str = "v1beta",
        thinking_budget: int | None = None,
    ) -> None:
        config = GeminiProviderConfig(
            model=model,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            connect_timeout=connect_timeout,
            max_connections=max_connections,
            verify=verify,
            default_headers=default_headers,
            api_version=api_version,
            thinking_budget=thinking_budget,
        )
        self._set_up(config, http_client)
