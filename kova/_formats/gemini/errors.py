"""Errors of the Gemini API, which are those of all of Google's: a code, a status in words, and typed details."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import KovaError, ProviderError, ProviderErrorClass, StreamError
from ..error_body import error_fields, error_message, failure_message, json_body
from ..error_classes import code_class, request_id, status_class
from ..retry_after import retry_after
from ..secrets import mask
from ..wire import WireRequest

__all__ = ["answer_error", "parse_error", "payload_error"]

PROVIDER = "gemini"

# https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
_STATUSES = {
    "INVALID_ARGUMENT": ProviderErrorClass.INVALID_REQUEST,
    "FAILED_PRECONDITION": ProviderErrorClass.INVALID_REQUEST,
    "OUT_OF_RANGE": ProviderErrorClass.INVALID_REQUEST,
    "UNAUTHENTICATED": ProviderErrorClass.AUTH_INVALID,
    "PERMISSION_DENIED": ProviderErrorClass.AUTH_FORBIDDEN,
    "NOT_FOUND": ProviderErrorClass.NOT_FOUND,
    "RESOURCE_EXHAUSTED": ProviderErrorClass.RATE_LIMITED,
    "ABORTED": ProviderErrorClass.OVERLOADED,
    "DATA_LOSS": ProviderErrorClass.OVERLOADED,
    "DEADLINE_EXCEEDED": ProviderErrorClass.OVERLOADED,
    "INTERNAL": ProviderErrorClass.OVERLOADED,
    "UNAVAILABLE": ProviderErrorClass.OVERLOADED,
    "UNKNOWN": ProviderErrorClass.OVERLOADED,
}

# Reasons in an ErrorInfo that say more than the status, which is INVALID_ARGUMENT for a wrong key.
_KEY_REASONS = frozenset({"API_KEY_INVALID", "API_KEY_EXPIRED", "ACCESS_TOKEN_EXPIRED"})

# Where a violated quota has its name, such as GenerateRequestsPerDayPerProjectPerModel-FreeTier, and its unit.
_QUOTA_NAMES = ("quotaId", "quotaMetric", "quota_limit", "quota_unit")
_PER_DAY = re.compile(r"per_?day|1/d/", re.IGNORECASE)

# A duration is a number of seconds with up to nine decimals; some of Google's front ends write it as Go does: "1m30s",
# "430.5ms".
_PIECE = r"(\d{1,12}(?:\.\d{1,9})?)(h|ms|m|s)"
_DURATION = re.compile(f"({_PIECE}){{1,4}}", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

# Vertex AI: "the input token count is 1048577 but model only supports up to 1048576"
_CONTEXT_WORDS = re.compile(
    r"token count .*(exceeds the maximum|only supports up to)|context (length|window)", re.IGNORECASE
)

# What a wrong key is told, by gateways without the details that say API_KEY_INVALID.
_KEY_WORDS = re.compile(r"API key (not valid|expired)", re.IGNORECASE)


def parse_error(
    status: int, headers: Mapping[str, str], body: bytes, request: WireRequest, secrets: Sequence[str]
) -> ProviderError:
    """The error that an HTTP status other than 2xx means.

    Args:
        status: The status.
        headers: The answer's headers, the names in lower case.
        body: The answer's body: the error, an array with the error for a stream, a front end's page, or nothing.
        request: What was asked.
        secrets: What must not be in the message.
    """
    payload = json_body(body)
    message = failure_message(status, headers, body, payload, {*secrets, *request.secrets})
    return _error(error_fields(payload), message, request, status, headers, secrets)


def payload_error(payload: Any, request: WireRequest, *, in_stream: bool) -> KovaError:
    """The error that a payload inside a successful answer reports.

    In a stream one without a status or code is a `StreamError`: all that is known is that the stream broke off.
    """
    fields = error_fields(payload)
    message = error_message(payload) or "the provider reports an error and does not say which"
    if in_stream and fields.get("status") is None and fields.get("code") is None:
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
    details = list(_details(fields))
    provider_class = _class(fields, details, status)
    if provider_class is ProviderErrorClass.INVALID_REQUEST and _KEY_WORDS.search(message):
        provider_class = ProviderErrorClass.AUTH_INVALID
    is_invalid = provider_class is ProviderErrorClass.INVALID_REQUEST
    delay = _retry_delay(details)
    return ProviderError(
        mask(message, hidden),
        status_code=status,
        provider_class=provider_class,
        retry_after=retry_after(headers or {}) if delay is None else delay,
        request_id=request_id(headers or {}, hidden),
        provider=PROVIDER,
        model=request.model or None,
        is_quota_exhausted=_is_used_up_for_today(details),
        is_context_length=is_invalid and _CONTEXT_WORDS.search(message) is not None,
    )


def _details(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    details = fields.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            yield detail


def _class(fields: Mapping[str, Any], details: Iterable[Mapping[str, Any]], status: int | None) -> ProviderErrorClass:
    """The reason in the details decides, then the status in words, then the code, then the HTTP status."""
    if any(_text(detail, "reason") in _KEY_REASONS for detail in details):
        return ProviderErrorClass.AUTH_INVALID
    said = _STATUSES.get(_text(fields, "status")) or code_class(fields.get("code"))
    if said is not None:
        return said
    return ProviderErrorClass.OTHER if status is None else status_class(status)


def _retry_delay(details: Iterable[Mapping[str, Any]]) -> float | None:
    """Seconds to wait, from a RetryInfo."""
    for detail in details:
        text = _text(detail, "retryDelay")
        if _DURATION.fullmatch(text):
            return math.fsum(float(number) * _SECONDS[unit] for number, unit in re.findall(_PIECE, text))
    return None


def _is_used_up_for_today(details: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a quota for a whole day is violated, as a QuotaFailure or the metadata of an ErrorInfo says.

    It is renewed at midnight: the RetryInfo beside it, of some seconds, is that of another quota.
    """
    for detail in details:
        violations = detail.get("violations")
        for place in [*(violations if isinstance(violations, list) else ()), detail.get("metadata")]:
            if isinstance(place, Mapping) and any(_PER_DAY.search(_text(place, name)) for name in _QUOTA_NAMES):
                return True
    return False


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
