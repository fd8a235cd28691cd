"""Models that Ollama runs, on this machine, on another, or at ollama.com."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .._formats.ollama import FORMAT
from .._formats.ollama.config import OllamaProviderConfig
from .provider import AsyncHTTPProvider

if TYPE_CHECKING:
    import ssl

__all__ = ["AsyncOllamaProvider"]


class AsyncOllamaProvider(AsyncHTTPProvider[OllamaProviderConfig]):
    """Models behind Ollama's own API.

    Args:
        model: The model to ask, such as "qwen3:8b".
        api_key: A key for ollama.com or a proxy, or a function that gives one; it may be async in the async twin.
        base_url: The server, as a URL or in any other form that `OLLAMA_HOST` may have, such as "localhost:11434".
            None is what that variable says, and without it `http://localhost:11434`.
        timeout: Seconds for a whole answer, or for a stream to begin; a model that is not loaded takes a part of them.
        idle_timeout: Seconds without an event inside a stream.
        connect_timeout: Seconds for connecting, the TLS handshake included.
        max_connections: Requests at once; more wait for their turn.
        verify: Whether certificates are checked, or the SSL context that says how.
        default_headers: Sent with every request.
        http_client: An AsyncClient of httpx or httpx2 to use in place of kova's own; it is never closed.
        keep_alive: How long the model stays loaded after an answer: a duration such as "5m", or seconds; 0 unloads it
            at once, a negative number keeps it for good.
        think: Whether a thinking model thinks, or how much: "low", "medium", "high" or "max".
        extra_options: Further model options, such as `num_ctx` or `top_k`; what a call asks for itself wins over them.

    Raises:
        BuildError: An argument is wrong; the message names it.
    """

    _format = FORMAT
    _config_type = OllamaProviderConfig

    def __init__(
        self,
        model: str,
        *,
        api_key: str | Callable[[], Any] | None = None,
        base_url: str | None = None,
        timeout: float | None = 600.0,
        idle_timeout: float | None = 300.0,
        connect_timeout: float | None = 10.0,
        max_connections: int = 1000,
        verify: bool | ssl.SSLContext = True,
        default_headers: Mapping[str, str] | None = None,
        http_client: object = None,
        keep_alive: float | str | None = None,
        think: bool | str | None = None,
        extra_options: Mapping[str, Any] | None = None,
    ) -> None:
        config = OllamaProviderConfig(
            model=model,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            idle_timeout=idle_timeout,
            connect_timeout=connect_timeout,
            max_connections=max_connections,
            verify=verify,
            default_headers=default_headers,
            keep_alive=keep_alive,
            think=think,
            extra_options=extra_options,
        )
        self._set_up(config, http_client)
