"""API keys as headers."""

from __future__ import annotations

from ..errors import ProviderError, ProviderErrorClass

__all__ = ["bearer_headers", "usable_key"]


def usable_key(api_key: str | None, provider: str, model: str) -> str:
    """The key as it is sent; empty where there is none.

    Args:
        api_key: The key as it is now, which a callable may have given.
        provider: The provider's name, for the error.
        model: The model that is asked, for the error.

    Raises:
        ProviderError: It cannot be sent in a header. The error does not show it.
    """
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable():
        raise ProviderError(
            "api_key gave a key that cannot be sent in a header",
            provider_class=ProviderErrorClass.AUTH_INVALID,
            provider=provider,
            model=model or None,
        )
    return key


def bearer_headers(api_key: str | None, provider: str, model: str) -> dict[str, str]:
    """The header for a key that is sent as a bearer token; the arguments are those of `usable_key`."""
    key = usable_key(api_key, provider, model)
    return {"authorization": f"Bearer {key}"} if key else {}
