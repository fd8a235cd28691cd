"""What an HTTP status says about the kind of a failure, the same for every provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import ProviderErrorClass
from .secrets import mask

__all__ = ["code_class", "request_id", "status_class"]

_BY_STATUS = {
    400: ProviderErrorClass.INVALID_REQUEST,
    401: ProviderErrorClass.AUTH_INVALID,
    403: ProviderErrorClass.AUTH_FORBIDDEN,
    404: ProviderErrorClass.NOT_FOUND,
    408: ProviderErrorClass.OVERLOADED,
    409: ProviderErrorClass.OVERLOADED,
    413: ProviderErrorClass.INVALID_REQUEST,
    422: ProviderErrorClass.INVALID_REQUEST,
    429: ProviderErrorClass.RATE_LIMITED,
    501: ProviderErrorClass.OTHER,
    505: ProviderErrorClass.OTHER,
}

_REQUEST_IDS = (
    "x-request-id",
    "request-id",  # Anthropic
    "apim-request-id",  # Azure
    "x-amzn-requestid",  # Bedrock
    "x-goog-request-id",
    "cf-ray",  # whatever is behind Cloudflare
)


def status_class(status: int) -> ProviderErrorClass:
    """The class of an HTTP status. Every 5xx is an overload: also 529, and Cloudflare's 520 to 527."""
    known = _BY_STATUS.get(status)
    if known is not None:
        return known
    return ProviderErrorClass.OVERLOADED if 500 <= status < 600 else ProviderErrorClass.OTHER


def code_class(code: object) -> ProviderErrorClass | None:
    """The class of an error code that is an HTTP status, as a number or as text; None where it is none."""
    if isinstance(code, str) and len(code) == 3 and code.isdecimal():
        code = int(code)
    return status_class(code) if isinstance(code, int) and 400 <= code < 600 else None


def request_id(headers: Mapping[str, str], secrets: Iterable[str] = ()) -> str | None:
    """The server's id of the request, from the headers of its answer (names in lower case), without secrets."""
    found = next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)
    return None if found is None else mask(found, secrets)
