"""Errors of Gemini's format: what they are, what they say, and what they never show."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.gemini.config import GeminiProviderConfig
from kova._formats.gemini.errors import parse_error, payload_error
from kova._formats.gemini.request import build_request
from kova.config import InferenceConfig
from kova.errors import ProviderError, ProviderErrorClass, StreamError
from kova.messages import user_message
from tests.strategies import json_values

KEY = "canary-0123456789"
AUTH_INVALID, AUTH_FORBIDDEN = ProviderErrorClass.AUTH_INVALID, ProviderErrorClass.AUTH_FORBIDDEN
RATE_LIMITED, OVERLOADED = ProviderErrorClass.RATE_LIMITED, ProviderErrorClass.OVERLOADED
INVALID_REQUEST, NOT_FOUND = ProviderErrorClass.INVALID_REQUEST, ProviderErrorClass.NOT_FOUND
OTHER = ProviderErrorClass.OTHER

REQUEST = build_request(
    GeminiProviderConfig("m", api_key=KEY), KEY, [user_message("Hi")], (), InferenceConfig(), stream=False
)


def error(status, body=b"", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_error(status, named, body, REQUEST, REQUEST.secrets)


def fault(status=None, code=None, message="boom", *details):
    fields = {"code": code, "message": message, "status": status}
    return {"error": {name: value for name, value in fields.items() if value is not None} | {"details": list(details)}}


def info(reason, **metadata):
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "metadata": metadata}


def retry(delay):
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


def quota(*violations):
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": list(violations)}


# ---- which class


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, INVALID_REQUEST),
        (401, AUTH_INVALID),
        (403, AUTH_FORBIDDEN),
        (404, NOT_FOUND),
        (409, OVERLOADED),
        (413, INVALID_REQUEST),
        (418, OTHER),
        (429, RATE_LIMITED),
        (499, OTHER),
        (500, OVERLOADED),
        (501, OTHER),
        (503, OVERLOADED),
        (504, OVERLOADED),
        (302, OTHER),
    ],
)
def test_the_status_decides_where_nothing_else_does(status, kind):
    """R6."""
    assert error(status).provider_class is kind
    assert error(status, fault()).provider_class is kind


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, fault("INVALID_ARGUMENT", 400, "boom", info("API_KEY_INVALID")), AUTH_INVALID),
        (400, [fault("INVALID_ARGUMENT", 400, "boom", {}, info("API_KEY_INVALID"))], AUTH_INVALID),
        (400, fault("INVALID_ARGUMENT", 400, "boom", info("FIELD_INVALID")), INVALID_REQUEST),
        (400, fault("FAILED_PRECONDITION", 400, "User location is not supported"), INVALID_REQUEST),
        (401, fault("UNAUTHENTICATED", 401), AUTH_INVALID),
        (403, fault("PERMISSION_DENIED", 403, "boom", info("SERVICE_DISABLED")), AUTH_FORBIDDEN),
        (404, fault("NOT_FOUND", 404), NOT_FOUND),
        (500, fault("RESOURCE_EXHAUSTED", 429), RATE_LIMITED),
        (500, fault("INTERNAL", 500), OVERLOADED),
        (503, fault("UNAVAILABLE", 503), OVERLOADED),
        (499, fault("CANCELLED", 499), OTHER),
        (500, fault(None, 404), NOT_FOUND),
        (500, {"error": {"message": "boom", "type": "auth_error", "code": "401"}}, AUTH_INVALID),  # LiteLLM
        (400, fault("A_NEW_STATUS", 17), INVALID_REQUEST),
    ],
)
def test_the_providers_own_word_decides_first(status, body, kind):
    """R6."""
    assert error(status, body).provider_class is kind


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", True),
        ("The request is beyond the model's context window.", True),
        ("The input token count is 1048577 but model only supports up to 1048576.", True),
        ("max_output_tokens must be positive.", False),
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart(message, expected):
    assert error(400, fault("INVALID_ARGUMENT", 400, message)).is_context_length is expected
    assert not error(500, fault("INTERNAL", 500, message)).is_context_length


@pytest.mark.parametrize("message", ["API key not valid. Please pass a valid API key.", "API key expired."])
def test_a_wrong_key_is_known_without_details_too(message):
    """R6."""
    assert error(400, fault("INVALID_ARGUMENT", 400, message)).provider_class is AUTH_INVALID


# ---- quotas and the time to wait


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("34.074824224s", 34.074824224), ("430.5ms", 0.4305), ("1m30s", 90.0), ("2h0m1.5s", 7201.5), ("soon", None)],
)
def test_every_spelling_of_the_time_to_wait(delay, seconds):
    """R2."""
    waiting = error(429, fault("RESOURCE_EXHAUSTED", 429, "boom", retry(delay))).retry_after
    assert waiting == (seconds if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "detail",
    [
        quota({"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50"}),
        quota(
            {"quotaId": "GenerateRequestsPerMinutePerProject"}, {"quotaId": "GenerateContentInputTokensPerModelPerDay"}
        ),
        quota({"quotaMetric": "generativelanguage.googleapis.com/generate_requests_per_model_per_day"}),
        info("RATE_LIMIT_EXCEEDED", quota_limit="GenerateRequestsPerDayPerProject"),
        info("RATE_LIMIT_EXCEEDED", quota_unit="1/d/{project}/{model}"),
    ],
)
def test_a_quota_that_is_used_up_for_today_is_not_worth_a_retry(detail):
    used_up = error(429, fault("RESOURCE_EXHAUSTED", 429, "boom", detail, retry("26s")))
    assert (used_up.provider_class, used_up.retry_after) == (RATE_LIMITED, 26.0)
    assert used_up.is_quota_exhausted
    assert not used_up.is_retryable


@pytest.mark.parametrize(
    "detail",
    [
        quota({"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}),
        info("RATE_LIMIT_EXCEEDED", quota_limit="GenerateRequestsPerMinutePerProject", quota_unit="1/min/{project}"),
        quota("PerDay", {"quotaId": 5}),
        {"violations": "PerDay"},
    ],
)
def test_other_quotas_are(detail):
    assert error(429, fault("RESOURCE_EXHAUSTED", 429, "boom", detail)).is_retryable


@pytest.mark.parametrize(
    ("details", "headers", "seconds"),
    [
        ([retry("45.837906927s")], {}, 45.837906927),
        ([retry("26s")], {}, 26.0),
        ([retry("0s")], {"retry_after": "5"}, 0.0),
        ([retry("0.5s")], {"retry_after": "1"}, 0.5),  # the header is the same, rounded
        ([], {"retry_after": "3"}, 3.0),
        ([retry("soon"), retry("-1s"), retry({"seconds": 3})], {"retry_after": "3"}, 3.0),
        ([retry("9" * 30 + "s")], {}, None),
        ([], {}, None),
    ],
)
def test_the_time_to_wait(details, headers, seconds):
    """R2."""
    assert error(429, fault("RESOURCE_EXHAUSTED", 429, "boom", *details), **headers).retry_after == seconds


# ---- inside a successful answer


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (fault("UNAVAILABLE", 503), OVERLOADED),
        (fault("RESOURCE_EXHAUSTED"), RATE_LIMITED),
        (fault(None, 400), INVALID_REQUEST),
        (fault("A_NEW_STATUS"), OTHER),
        ([fault("INTERNAL", 500)], OVERLOADED),
    ],
)
def test_an_error_inside_a_200_is_classified_by_its_own_words(payload, kind):
    reported = payload_error(payload, REQUEST, in_stream=True)
    assert isinstance(reported, ProviderError)
    assert (reported.provider_class, reported.status_code, reported.message) == (kind, None, "boom")


@pytest.mark.parametrize("payload", [{"error": "boom"}, fault()])
def test_an_error_that_says_nothing_of_its_kind_is_a_stream_that_broke_off(payload):
    assert isinstance(payload_error(payload, REQUEST, in_stream=True), StreamError)
    assert isinstance(payload_error(payload, REQUEST, in_stream=False), ProviderError)


# ---- what it says


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (fault(), "boom"),
        ([fault()], "boom"),
        (b'[{\n  "error": {\n    "message": "boom"\n  }\n}\n]\n', "boom"),
        ({"error": "boom"}, "boom"),
        ({"message": "boom"}, "boom"),
        (b"", "HTTP 400 Bad Request"),
        (b"[]", "HTTP 400 Bad Request"),
        (b"<html><title>502\nBad Gateway</title></html>", "HTTP 400 Bad Request: 502 Bad Gateway"),
    ],
)
def test_the_message_is_found_wherever_it_is(body, message):
    assert error(400, body).message == message


def test_a_redirect_says_where_it_leads():
    """S2."""
    moved = error(301, b"", location="https://elsewhere/v1?key=abc")
    assert "redirects to https://elsewhere/v1?key=***, and redirects are not followed" in moved.message


def test_everything_there_is_to_know_is_in_the_error():
    full = error(429, fault("RESOURCE_EXHAUSTED", 429), retry_after="2", x_goog_request_id="req_1")
    assert (full.status_code, full.retry_after, full.request_id) == (429, 2.0, "req_1")
    assert (full.provider, full.model) == ("gemini", "m")


# ---- what it never shows


@pytest.mark.parametrize(
    "message",
    [
        f"Consumer 'api_key:{KEY}' has been suspended.",
        f"API key {KEY} not valid",
        f"GET https://generativelanguage.googleapis.com/v1beta/models?key={KEY}",
        "AIza" + "0123" * 9,
        "long " * 398 + KEY,
    ],
)
def test_no_secret_is_in_an_error(message):
    """R7."""
    for shown in (
        error(403, fault("PERMISSION_DENIED", 403, message)),
        error(403, message.encode()),
        payload_error(fault(None, None, message), REQUEST, in_stream=True),
    ):
        everything = f"{shown} {shown!r} {shown.args} {vars(shown)}"
        assert "canary" not in everything
        assert "0123" not in everything
        assert b"canary" not in pickle.dumps(shown)


odd_details = st.recursive(
    json_values | st.sampled_from(["API_KEY_INVALID", "PerDay", "3s", 429, "INTERNAL"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["reason", "violations", "quotaId", "retryDelay", "metadata"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
odd_bodies = json_values | st.fixed_dictionaries(
    {"error": st.dictionaries(st.sampled_from(["code", "status", "message", "details"]), odd_details)}
)


@given(st.sampled_from([400, 403, 429, 500]), odd_bodies, st.booleans())
def test_any_body_gives_exactly_one_error_that_pickles_and_copies(status, body, in_stream):
    """R6."""
    for shown in (error(status, body), payload_error(body, REQUEST, in_stream=in_stream)):
        for again in (pickle.loads(pickle.dumps(shown)), copy.copy(shown)):
            assert (type(again), again.args, vars(again)) == (type(shown), shown.args, vars(shown))


@given(st.binary(max_size=60))
def test_any_bytes_give_an_error(body):
    assert error(500, body).provider_class is OVERLOADED
