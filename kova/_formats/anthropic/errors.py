"""Errors of the Messages API, and of servers that imitate it and word them as OpenAI does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import KovaError, ProviderError, ProviderErrorClass, StreamError
from ..context_length import says_too_long
from ..error_body import error_fields, error_message, error_payload, failure_message
from ..error_classes import code_class, request_id, status_class
from ..retry_after import retry_after
from ..secrets import mask
from ..wire import WireRequest

__all__ = ["answer_error", "parse_error", "payload_error"]

PROVIDER = "anthropic"

# https://platform.claude.com/docs/en/api/errors
_CLASSES = {
    "authentication_error": ProviderErrorClass.AUTH_INVALID,
    "permission_error": ProviderErrorClass.AUTH_FORBIDDEN,
    "rate_limit_error": ProviderErrorClass.RATE_LIMITED,
    "overloaded_error": ProviderErrorClass.OVERLOADED,
    "timeout_error": ProviderErrorClass.OVERLOADED,
    "request_too_large": ProviderErrorClass.INVALID_REQUEST,
    "not_found_error": ProviderErrorClass.NOT_FOUND,
    "billing_error": ProviderErrorClass.OTHER,
    "exceed_context_size_error": ProviderErrorClass.INVALID_REQUEST,  # llama.cpp
}

# These say next to nothing: gateways give them to whatever they have no other word for, and the status says more.
_VAGUE = {
    "invalid_request_error": ProviderErrorClass.INVALID_REQUEST,
    "api_error": ProviderErrorClass.OVERLOADED,
    "server_error": ProviderErrorClass.OVERLOADED,
}

_CODES = ("code", "status", "status_code")  # where gateways say which HTTP status it is

_QUOTA = ("billing_error", "insufficient_quota")  # the second: gateways to OpenAI


def parse_error(
    status: int, headers: Mapping[str, str], body: bytes, request: WireRequest, secrets: Sequence[str]
) -> ProviderError:
    """The error that an HTTP status other than 2xx means.

    Args:
        status: The status.
        headers: The answer's headers, the names in lower case.
        body: The answer's body, which may be JSON, a page, or nothing.
        request: What was asked.
        secrets: What must not be in the message.
    """
    payload = error_payload(body)
    message = failure_message(status, headers, body, payload, {*secrets, *request.secrets})
    return _error(payload, message, request, status, headers, secrets)


def payload_error(payload: Any, request: WireRequest, *, in_stream: bool) -> KovaError:
    """The error that a payload inside a successful answer reports.

    In a stream one without a type or code is a `StreamError`: all that is known is that the stream broke off.
    """
    fields = error_fields(payload)
    message = error_message(payload) or "the provider reports an error and does not say which"
    if in_stream and fields.get("type") in (None, "error") and all(fields.get(name) is None for name in _CODES):
        return StreamError(mask(message, request.secrets))
    return _error(payload, message, request)


def answer_error(message: str, request: WireRequest) -> ProviderError:
    """The error that a successful answer is when nothing can be made of it."""
    return ProviderError(mask(message, request.secrets), provider=PROVIDER, model=request.model or None)


def _error(
    payload: Any,
    message: str,
    request: WireRequest,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
) -> ProviderError:
    hidden = {*secrets, *request.secrets}
    fields = error_fields(payload)
    kind = fields.get("type")
    provider_class = _class(fields, status)
    is_context_length = kind == "exceed_context_size_error" or says_too_long(message, provider_class)
    if is_context_length:
        provider_class = ProviderErrorClass.INVALID_REQUEST  # no later call is better off: llama.cpp says it with a 500
    return ProviderError(
        mask(message, hidden),
        status_code=status,
        provider_class=provider_class,
        retry_after=retry_after(headers or {}),
        request_id=request_id(headers or {}, hidden) or _request_id(payload, hidden),
        provider=PROVIDER,
        model=request.model or None,
        is_quota_exhausted=kind in _QUOTA,
        is_context_length=is_context_length,
    )


def _class(fields: Mapping[str, Any], status: int | None) -> ProviderErrorClass:
    """The provider's own word decides, then the code in the body, then the HTTP status."""
    kind = fields.get("type")
    kind = kind if isinstance(kind, str) else ""
    said = _CLASSES.get(kind) or _numeric_class(fields)
    if said is not None:
        return said
    if kind in _VAGUE and (status is None or status >= 500):
        return _VAGUE[kind]
    return ProviderErrorClass.OTHER if status is None else status_class(status)


def _numeric_class(fields: Mapping[str, Any]) -> ProviderErrorClass | None:
    return next((kind for kind in map(code_class, map(fields.get, _CODES)) if kind is not None), None)


def _request_id(payload: Any, secrets: Iterable[str]) -> str | None:
    """The id of the request as the body has it, for streams, whose errors have no headers of their own."""
    said = payload.get("request_id") if isinstance(payload, Mapping) else None
    return mask(said, secrets) if isinstance(said, str) else None
