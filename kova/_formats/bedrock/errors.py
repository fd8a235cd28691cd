"""Errors of Bedrock: exceptions with a name, as an HTTP answer or as a frame of a stream that has begun.

    HTTP 429  x-amzn-errortype: ThrottlingException:http://internal.amazon.com/…     {"message": "Too many tokens …"}
    HTTP 403  {"__type": "com.amazon.coral.service#UnrecognizedClientException", "Message": "…"}
    frame     :message-type exception · :exception-type throttlingException          {"message": "…"}
    frame     :message-type error · :error-code InternalError · :error-message …

The name decides what an error is: front ends send throttling with a status of 400 too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import ProviderError, ProviderErrorClass
from ..error_body import error_fields, failure_message, json_body, status_text
from ..error_classes import code_class, request_id, status_class
from ..retry_after import retry_after
from ..secrets import mask
from ..wire import WireRequest

__all__ = ["PROVIDER", "answer_error", "frame_error", "parse_error", "payload_error", "request_error"]

PROVIDER = "bedrock"

# Names in lower case and without a final "exception": those of Bedrock's own model, and those of the front ends that
# all of AWS has before it, some of which end in "error".
_NAMES = {
    ProviderErrorClass.AUTH_INVALID: """
        expiredtoken incompletesignature invalidaccesskeyid invalidclienttokenid invalidsignature invalidtoken
        missingauthenticationtoken requestexpired requesttimetooskewed signaturedoesnotmatch unauthorized
        unrecognizedclient""",
    ProviderErrorClass.AUTH_FORBIDDEN: "accessdenied forbidden notauthorized optinrequired",
    ProviderErrorClass.RATE_LIMITED: """
        limitexceeded requestlimitexceeded servicequotaexceeded slowdown throttled throttling throttlingerror
        toomanyrequests""",
    ProviderErrorClass.OVERLOADED: """
        internalerror internalfailure internalserver internalservererror internalservice internalserviceerror
        modelnotready modelstreamerror modeltimeout requesttimeout serviceunavailable""",
    ProviderErrorClass.INVALID_REQUEST: "badrequest serialization validation validationerror",
    ProviderErrorClass.NOT_FOUND: "resourcenotfound unknownoperation",
    ProviderErrorClass.OTHER: "modelerror",  # 424: the model failed at this request
}
_CLASSES = {name: kind for kind, names in _NAMES.items() for name in names.split()}

# Quotas of the account, which only a request to AWS raises.
_QUOTA = "servicequotaexceeded"

# "Input is too long for requested model.", "prompt is too long: 250011 tokens > 200000 maximum", "input length and
# `max_tokens` exceed context limit", "This model's maximum context length is 8192 tokens"
_CONTEXT_WORDS = re.compile(
    r"(input|prompt) is too long|context (length|limit|window|size)|too many (input )?tokens", re.IGNORECASE
)

# What a wrong or expired API key of Bedrock is told, as an AccessDeniedException: "Authentication failed: Please make
# sure your API Key is valid.", "Bearer Token has expired"
_KEY_WORDS = re.compile(
    r"make sure your API key is valid|(API key|bearer token) (has expired|is (expired|invalid|not valid))"
    r"|invalid (API key|bearer token)",
    re.IGNORECASE,
)

# Front ends write the first with a capital; the last is what a model's own server said, where Bedrock says nothing.
_MESSAGE_KEYS = ("message", "Message", "originalMessage")
_TYPE_KEYS = ("__type", "code", "type")


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
    payload = json_body(body)
    fields = error_fields(payload)
    name = headers.get("x-amzn-errortype") or _type(fields)
    message = "" if 300 <= status < 400 else _message(fields)
    if not message:
        message = failure_message(status, headers, body, payload, {*secrets, *request.secrets})
        if name and message == status_text(status):
            message = f"{message}: {_bare(name)}"
    return _error(name, message, request, status, headers, secrets)


def frame_error(headers: Mapping[str, Any], payload: bytes, request: WireRequest) -> ProviderError:
    """The error that a frame reports: an exception with a type, or an error with a code.

    Args:
        headers: The frame's headers.
        payload: The frame's payload.
        request: What was asked.
    """
    fields = error_fields(json_body(payload))
    named = headers.get(":exception-type") or headers.get(":error-code") or _type(fields)
    name = named if isinstance(named, str) else ""
    said = headers.get(":error-message")
    message = _message(fields) or (said if isinstance(said, str) else "")
    return _error(name, message or f"the stream broke off: {_bare(name) or 'an error without a name'}", request)


def payload_error(payload: Any, request: WireRequest) -> ProviderError | None:
    """The error that the JSON of a successful answer reports; None where it reports none."""
    fields = error_fields(payload)
    name, message = _type(fields), _message(fields)
    if not message and not _bare(name).endswith(("Exception", "Error")):
        return None
    return _error(name, message or _bare(name), request)


def answer_error(message: str, request: WireRequest) -> ProviderError:
    """The error that a successful answer is when nothing can be made of it."""
    return ProviderError(mask(message, request.secrets), provider=PROVIDER, model=request.model or None)


def request_error(message: str, model: str) -> ProviderError:
    """The error that a call is which Converse has no way to ask for; nothing is sent."""
    return ProviderError(
        message, provider_class=ProviderErrorClass.INVALID_REQUEST, provider=PROVIDER, model=model or None
    )


def _error(
    name: str,
    message: str,
    request: WireRequest,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
) -> ProviderError:
    hidden = {*secrets, *request.secrets}
    key = _bare(name).lower().removesuffix("exception")
    provider_class = _CLASSES.get(key) or code_class(key)
    if provider_class is None:
        provider_class = ProviderErrorClass.OTHER if status is None else status_class(status)
    if provider_class is ProviderErrorClass.AUTH_FORBIDDEN and _KEY_WORDS.search(message):
        provider_class = ProviderErrorClass.AUTH_INVALID
    is_refused = provider_class is ProviderErrorClass.INVALID_REQUEST
    return ProviderError(
        mask(message, hidden),
        status_code=status,
        provider_class=provider_class,
        retry_after=retry_after(headers or {}),
        request_id=request_id(headers or {}, hidden),
        provider=PROVIDER,
        model=request.model or None,
        is_quota_exhausted=key == _QUOTA,
        is_context_length=is_refused and _CONTEXT_WORDS.search(message) is not None,
    )


def _bare(name: str) -> str:
    """The name of an error without what AWS puts around it: `namespace#Name:http://…`, the address cut off first."""
    return name.partition(":")[0].rpartition("#")[2].strip()


def _type(fields: Mapping[str, Any]) -> str:
    """What an error calls itself in its body; a front end that knows no such path has it one level deeper."""
    for inner in (fields, fields.get("Output")):
        if isinstance(inner, Mapping):
            for name in map(inner.get, _TYPE_KEYS):
                if isinstance(name, str) and name:
                    return name
    return ""


def _message(fields: Mapping[str, Any]) -> str:
    """What an error says in its body; what a model's own server said comes after what Bedrock says."""
    said = [text.strip() for text in map(fields.get, _MESSAGE_KEYS) if isinstance(text, str)]
    return ": ".join(dict.fromkeys(filter(None, said)))
