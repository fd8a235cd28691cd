"""Errors of the chat completions API, and of the many servers that word them in their own way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from ...errors import KovaError, ProviderError, ProviderErrorClass, StreamError
from ..context_length import says_too_long
from ..error_body import error_fields, error_message, error_payload, failure_message
from ..error_classes import code_class, request_id, status_class
from ..retry_after import retry_after
from ..secrets import mask
from ..wire import WireRequest

__all__ = ["answer_error", "parse_error", "payload_error"]

PROVIDER = "openai"

# Types and codes, without blanks, underscores and a final "error": rate_limit_error and RateLimitError are one.
_NAMES = {
    ProviderErrorClass.AUTH_INVALID: """
        accountdeactivated authentication authenticationfailed expiredtoken invalidapikey invalidauthentication
        invalidtoken unauthenticated unauthorized""",
    ProviderErrorClass.AUTH_FORBIDDEN: """
        accessdenied forbidden insufficientpermissions permission permissiondenied requestforbidden
        unsupportedcountryregionterritory""",
    ProviderErrorClass.RATE_LIMITED: """
        billinghardlimitreached billingnotactive exceededcurrentquota insufficientquota ratelimit ratelimited
        ratelimitexceeded ratelimitreached resourceexhausted throttling toomanyrequests""",
    ProviderErrorClass.OVERLOADED: """
        badgateway deadlineexceeded engineoverloaded gatewaytimeout insufficientsystemresource internalserver
        modeloverloaded overloaded requesttimeout serveroverloaded serviceunavailable timeout unavailable upstream""",
    ProviderErrorClass.INVALID_REQUEST: """
        contentfilter contentpolicyviolation contextlengthexceeded contextwindowexceeded exceedcontextsize
        integerabovemaxvalue invalidargument invalidfunctioncall invalidprompt invalidvalue missingrequiredparameter
        stringabovemaxlength toolusefailed unknownparameter unprocessableentity unsupportedparameter unsupportedvalue
        validation""",
    ProviderErrorClass.NOT_FOUND: "deploymentnotfound modelnotfound notfound",
}
_CLASSES = {name: kind for kind, names in _NAMES.items() for name in names.split()}

# These say next to nothing: OpenAI's answer to a wrong key is a 401 of type invalid_request_error.
_VAGUE = {
    "badrequest": ProviderErrorClass.INVALID_REQUEST,
    "invalidrequest": ProviderErrorClass.INVALID_REQUEST,
    "api": ProviderErrorClass.OVERLOADED,
    "internal": ProviderErrorClass.OVERLOADED,
    "server": ProviderErrorClass.OVERLOADED,
}

# MiniMax's own codes; https://platform.minimax.io/docs/api-reference/errorcode
_NUMBERS = {
    **dict.fromkeys((1002, 1039, 1041, 2045, 2056), ProviderErrorClass.RATE_LIMITED),
    **dict.fromkeys((1004, 2049), ProviderErrorClass.AUTH_INVALID),
    **dict.fromkeys((1000, 1001, 1024, 1033), ProviderErrorClass.OVERLOADED),
    **dict.fromkeys((1026, 1027, 1042, 2013), ProviderErrorClass.INVALID_REQUEST),
}

# Where an error says what it is, in words and as the HTTP status that it would have.
_KINDS = ("code", "type", "status", "error_type")
_CODES = ("code", "status", "status_code", "statusCode")
_NO_KIND = (None, "", "error", "None")  # the last: LiteLLM

_QUOTA = frozenset({"billinghardlimitreached", "billingnotactive", "exceededcurrentquota", "insufficientquota"})
_CONTEXT = frozenset({"contextlengthexceeded", "contextwindowexceeded", "exceedcontextsize", "tokenslimitreached"})
# Where an answer of status 400 or 429 has no better word for it: xAI and Gemini; xAI and Zhipu.
_KEY_WORDS = re.compile(r"(incorrect|invalid) api key|api key not valid", re.IGNORECASE)
_QUOTA_WORDS = re.compile(r"used all available credits|insufficient (balance|credits)|余额不足", re.IGNORECASE)


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
    return _error(error_fields(payload), message, request, status, headers, secrets)


def payload_error(payload: Any, request: WireRequest, *, in_stream: bool) -> KovaError:
    """The error that a payload inside a successful answer reports.

    In a stream one without a type or code is a `StreamError`: all that is known is that the stream broke off.
    """
    fields = error_fields(payload)
    message = error_message(payload) or "the provider reports an error and does not say which"
    if in_stream and all(fields.get(key) in _NO_KIND for key in (*_KINDS, *_CODES)):
        return StreamError(mask(message, request.secrets))
    return _error(fields, message, request)


def answer_error(
    message: str, request: WireRequest, kind: ProviderErrorClass = ProviderErrorClass.OTHER
) -> ProviderError:
    """The error that a successful answer is when nothing can be made of it."""
    return ProviderError(
        mask(message, request.secrets), provider_class=kind, provider=PROVIDER, model=request.model or None
    )


def _error(
    fields: Mapping[str, Any],
    message: str,
    request: WireRequest,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
) -> ProviderError:
    hidden = {*secrets, *request.secrets}
    kind = _classify(fields, message, status)
    return ProviderError(
        mask(message, hidden),
        status_code=status,
        provider_class=kind.provider_class,
        retry_after=retry_after(headers or {}),
        request_id=request_id(headers or {}, hidden),
        provider=PROVIDER,
        model=request.model or None,
        is_quota_exhausted=kind.is_quota_exhausted,
        is_context_length=kind.is_context_length,
    )


@frozen
class _Kind:
    provider_class: ProviderErrorClass
    is_quota_exhausted: bool
    is_context_length: bool


def _classify(fields: Mapping[str, Any], message: str, status: int | None) -> _Kind:
    names = _names(fields)
    provider_class = _class(names, fields, status)
    if provider_class is ProviderErrorClass.INVALID_REQUEST and _KEY_WORDS.search(message):
        provider_class = ProviderErrorClass.AUTH_INVALID
    is_context_length = not _CONTEXT.isdisjoint(names) or says_too_long(message, provider_class)
    if is_context_length or status == 413:
        # No later call is better off: llama.cpp's 500 "Context size has been exceeded", and Groq's 413 of the code
        # "rate_limit_exceeded", for a request that is more than a whole minute's tokens.
        provider_class = ProviderErrorClass.INVALID_REQUEST
    is_quota_exhausted = not _QUOTA.isdisjoint(names) or (
        provider_class is ProviderErrorClass.RATE_LIMITED and _QUOTA_WORDS.search(message) is not None
    )
    return _Kind(provider_class, is_quota_exhausted, is_context_length)


def _class(names: list[str], fields: Mapping[str, Any], status: int | None) -> ProviderErrorClass:
    """The provider's own word decides, then the code in the body, then the HTTP status."""
    said = next((_CLASSES[name] for name in names if name in _CLASSES), None) or _numeric_class(fields)
    if said is not None:
        return said
    vague = next((_VAGUE[name] for name in names if name in _VAGUE), None)
    if vague is not None and (status is None or status >= 500):
        return vague
    return ProviderErrorClass.OTHER if status is None else status_class(status)


def _names(fields: Mapping[str, Any]) -> list[str]:
    """What the error calls itself, the more specific first, in the spelling of the tables."""
    metadata = fields.get("metadata")
    inner = metadata.get("error_type") if isinstance(metadata, Mapping) else None
    said = [*map(fields.get, _KINDS), inner]
    texts = [text for text in said if isinstance(text, str) and not text.isdecimal()]
    return [re.sub(r"[\s_-]", "", text.lower()).removesuffix("error") for text in texts]


def _numeric_class(fields: Mapping[str, Any]) -> ProviderErrorClass | None:
    kinds = [code_class(fields.get(key)) for key in _CODES]
    if isinstance(number := fields.get("status_code"), int):
        kinds.append(_NUMBERS.get(number))
    return next((kind for kind in kinds if kind is not None), None)
