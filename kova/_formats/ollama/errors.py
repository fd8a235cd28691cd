"""Errors of Ollama: a text under `error`, as an HTTP answer or as a line of a stream that has begun.

    HTTP 404  {"error": "model 'nope' not found"}
    {"error": "an error was encountered while running the model"}
    {"StatusCode": 429, "Status": "429 Too Many Requests", "error": "…"}      passed on from a cloud model

Other servers that speak this API, and gateways before it, have an object there, with a type or a code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import KovaError, ProviderError, ProviderErrorClass, StreamError
from ..error_body import error_fields, error_message, failure_message, json_body
from ..error_classes import code_class, request_id, status_class
from ..retry_after import retry_after
from ..secrets import mask
from ..wire import WireRequest

__all__ = ["PROVIDER", "answer_error", "parse_error", "payload_error", "request_error"]

PROVIDER = "ollama"

# Where an error says what it is, in words and as an HTTP status.
_KINDS = ("type", "code", "status")
_CODES = ("StatusCode", "status_code", "status", "code")

# The words of other servers, without blanks, underscores and a final "error".
_CLASSES = {
    "authentication": ProviderErrorClass.AUTH_INVALID,
    "invalidapikey": ProviderErrorClass.AUTH_INVALID,
    "unauthorized": ProviderErrorClass.AUTH_INVALID,
    "forbidden": ProviderErrorClass.AUTH_FORBIDDEN,
    "permission": ProviderErrorClass.AUTH_FORBIDDEN,
    "ratelimit": ProviderErrorClass.RATE_LIMITED,
    "ratelimitexceeded": ProviderErrorClass.RATE_LIMITED,
    "toomanyrequests": ProviderErrorClass.RATE_LIMITED,
    "internalserver": ProviderErrorClass.OVERLOADED,
    "overloaded": ProviderErrorClass.OVERLOADED,
    "serviceunavailable": ProviderErrorClass.OVERLOADED,
    "timeout": ProviderErrorClass.OVERLOADED,
    "contextlengthexceeded": ProviderErrorClass.INVALID_REQUEST,
    "exceedcontextsize": ProviderErrorClass.INVALID_REQUEST,
    "modelnotfound": ProviderErrorClass.NOT_FOUND,
    "notfound": ProviderErrorClass.NOT_FOUND,
}
# These are said of anything: an HTTP status knows more.
_VAGUE = {
    "api": ProviderErrorClass.OVERLOADED,
    "invalidrequest": ProviderErrorClass.INVALID_REQUEST,
    "server": ProviderErrorClass.OVERLOADED,
}

# "the prompt is longer than the context length currently available to the model", "the input length exceeds the
# context length", "input exceeds maximum context length and cannot be truncated further"
_CONTEXT_WORDS = re.compile(r"context (length|window|size)", re.IGNORECASE)


def parse_error(
    status: int, headers: Mapping[str, str], body: bytes, request: WireRequest, secrets: Sequence[str]
) -> ProviderError:
    """The error that an HTTP status other than 2xx means.

    Args:
        status: The status.
        headers: The answer's headers, the names in lower case.
        body: The answer's body: JSON under whatever content type (`http.Error` of Go says text/plain), or a page.
        request: What was asked.
        secrets: What must not be in the message.
    """
    payload = json_body(body)
    message = failure_message(status, headers, body, payload, {*secrets, *request.secrets})
    return _error(error_fields(payload), message, request, status, headers, secrets)


def payload_error(payload: Any, request: WireRequest, *, in_stream: bool) -> KovaError:
    """The error that a payload inside a successful answer reports.

    In a stream one without a type or code is a `StreamError`: all that is known is that the stream broke off.
    """
    fields = error_fields(payload)
    message = error_message(payload) or "the server reports an error and does not say which"
    if in_stream and all(fields.get(key) is None for key in (*_KINDS, *_CODES)):
        return StreamError(mask(message, request.secrets))
    return _error(fields, message, request)


def answer_error(message: str, request: WireRequest) -> ProviderError:
    """The error that a successful answer is when nothing can be made of it."""
    return ProviderError(mask(message, request.secrets), provider=PROVIDER, model=request.model or None)


def request_error(message: str, model: str) -> ProviderError:
    """The error that a call is which Ollama has no way to ask for; nothing is sent."""
    return ProviderError(message, provider_class=ProviderErrorClass.INVALID_REQUEST, provider=PROVIDER, model=model)


def _error(
    fields: Mapping[str, Any],
    message: str,
    request: WireRequest,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
) -> ProviderError:
    hidden = {*secrets, *request.secrets}
    provider_class = _class(fields, status)
    is_refused = provider_class is ProviderErrorClass.INVALID_REQUEST
    return ProviderError(
        mask(message, hidden),
        status_code=status,
        provider_class=provider_class,
        retry_after=retry_after(headers or {}),
        request_id=request_id(headers or {}, hidden),
        provider=PROVIDER,
        model=request.model or None,
        is_context_length=is_refused and _CONTEXT_WORDS.search(message) is not None,
    )


def _class(fields: Mapping[str, Any], status: int | None) -> ProviderErrorClass:
    """The server's own word decides, then the code in the body, then the HTTP status."""
    texts = [text for text in map(fields.get, _KINDS) if isinstance(text, str) and not text.isdecimal()]
    names = [re.sub(r"[\s_-]", "", text.lower()).removesuffix("error") for text in texts]
    said = next((_CLASSES[name] for name in names if name in _CLASSES), None)
    coded = next((kind for kind in map(code_class, map(fields.get, _CODES)) if kind is not None), None)
    if kind := said or coded:
        return kind
    if status is not None:
        return status_class(status)
    return next((_VAGUE[name] for name in names if name in _VAGUE), ProviderErrorClass.OTHER)
