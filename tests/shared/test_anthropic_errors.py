"""Errors of Anthropic's format: what they are, what they say, and what they never show."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.anthropic.config import AnthropicProviderConfig
from kova._formats.anthropic.errors import parse_error, payload_error
from kova._formats.anthropic.request import build_request
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
    AnthropicProviderConfig("m", api_key=KEY), KEY, [user_message("Hi")], (), InferenceConfig(), stream=False
)


def error(status, body=b"", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_error(status, named, body, REQUEST, REQUEST.secrets)


def fault(type, message="boom", **fields):
    return {"type": "error", "error": {"type": type, "message": message, **fields}}


# ---- which class


@pytest.mark.parametrize(
    ("status", "type", "kind"),
    [
        (400, "invalid_request_error", INVALID_REQUEST),
        (401, "authentication_error", AUTH_INVALID),
        (402, "billing_error", OTHER),
        (403, "permission_error", AUTH_FORBIDDEN),
        (404, "not_found_error", NOT_FOUND),
        (413, "request_too_large", INVALID_REQUEST),
        (429, "rate_limit_error", RATE_LIMITED),
        (500, "api_error", OVERLOADED),
        (504, "timeout_error", OVERLOADED),
        (529, "overloaded_error", OVERLOADED),
    ],
)
def test_each_error_of_the_api_has_its_class(status, type, kind):
    """R6."""
    assert error(status, fault(type)).provider_class is kind
    assert error(status).provider_class is kind  # the status says the same
    assert payload_error(fault(type), REQUEST, in_stream=True).provider_class is kind  # and so does the type


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (500, fault("rate_limit_error"), RATE_LIMITED),
        (500, fault("invalid_request_error"), INVALID_REQUEST),
        (401, fault("invalid_request_error"), AUTH_INVALID),
        (429, fault("api_error"), RATE_LIMITED),
        (418, fault("teapot_error"), OTHER),
        (520, b"<html>", OVERLOADED),
        (302, b"", OTHER),
        (500, {"error": {"code": 400, "type": "invalid_request_error", "message": "boom"}}, INVALID_REQUEST),
        (500, {"error": {"code": "404", "message": "boom"}}, NOT_FOUND),
        (502, {"error": {"type": ["odd"], "message": "boom"}}, OVERLOADED),
    ],
)
def test_the_providers_own_word_decides_first_then_the_status(status, body, kind):
    """R6."""
    assert error(status, body).provider_class is kind


def test_no_credit_left_is_not_worth_a_retry():
    exhausted = error(402, fault("billing_error"))
    assert exhausted.is_quota_exhausted
    assert not exhausted.is_retryable


@pytest.mark.parametrize(
    "body",
    [
        fault("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
        fault("invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000"),
        {"error": {"code": 400, "type": "exceed_context_size_error", "message": "boom"}},
        {"error": {"code": 400, "message": "request (9 tokens) exceeds the available context size (8 tokens)"}},
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart(body):
    too_long = error(400, body)
    assert too_long.is_context_length
    assert too_long.provider_class is INVALID_REQUEST
    assert not error(400, fault("invalid_request_error", "max_tokens: 200000 > 128000")).is_context_length


# ---- inside a successful answer


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (fault("overloaded_error"), OVERLOADED),
        (fault("api_error"), OVERLOADED),
        (fault("invalid_request_error"), INVALID_REQUEST),
        (fault("a_new_error"), OTHER),
        ({"error": {"code": 429, "message": "boom"}}, RATE_LIMITED),
    ],
)
def test_an_error_inside_a_200_is_classified_by_its_own_words(payload, kind):
    reported = payload_error(payload, REQUEST, in_stream=True)
    assert isinstance(reported, ProviderError)
    assert (reported.provider_class, reported.status_code, reported.message) == (kind, None, "boom")


@pytest.mark.parametrize(
    "payload",
    [{"type": "error", "error": {"message": "boom"}}, {"type": "error", "message": "boom"}, {"error": "boom"}],
)
def test_an_error_that_says_nothing_of_its_kind_is_a_stream_that_broke_off(payload):
    broken = payload_error(payload, REQUEST, in_stream=True)
    assert isinstance(broken, StreamError)
    assert str(broken) == "boom"
    assert isinstance(payload_error(payload, REQUEST, in_stream=False), ProviderError)


# ---- what it says


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (fault("invalid_request_error"), "boom"),
        ({"error": {"message": "boom"}}, "boom"),  # llama.cpp and LiteLLM, as OpenAI words it
        ({"detail": "boom"}, "boom"),
        (b"<html><head><title>413 Too Large</title></head></html>", "HTTP 400 Bad Request: 413 Too Large"),
        (b"", "HTTP 400 Bad Request"),
        (b'{"prompt": "secret plans"}', "HTTP 400 Bad Request"),
    ],
)
def test_the_message_is_found_wherever_it_is(body, message):
    """S3."""
    assert error(400, body).message == message


def test_everything_there_is_to_know_is_in_the_error():
    full = error(429, fault("rate_limit_error"), retry_after_ms="1500", retry_after="2", request_id="req_1")
    assert (full.status_code, full.retry_after, full.request_id) == (429, 1.5, "req_1")
    assert (full.provider, full.model) == ("anthropic", "m")


def test_the_id_of_the_request_may_be_in_the_body_alone():
    body = {**fault("overloaded_error"), "request_id": "req_2"}
    assert error(529, body).request_id == "req_2"
    assert payload_error(body, REQUEST, in_stream=True).request_id == "req_2"


# ---- what it never shows


@pytest.mark.parametrize("message", [f"invalid x-api-key {KEY}", f"GET https://host/v1?key={KEY}", "long " * 398 + KEY])
def test_no_secret_is_in_an_error(message):
    """R7."""
    for shown in (
        error(401, fault("authentication_error", message)),
        error(401, message.encode()),
        payload_error(fault("authentication_error", message), REQUEST, in_stream=True),
    ):
        assert "canary" not in f"{shown} {shown!r} {shown.args} {vars(shown)}"
        assert b"canary" not in pickle.dumps(shown)


@given(
    st.sampled_from([400, 401, 429, 500, 529]),
    json_values | st.fixed_dictionaries({"type": st.just("error"), "error": json_values}),
    st.booleans(),
)
def test_any_body_gives_exactly_one_error_that_pickles_and_copies(status, body, in_stream):
    """R6."""
    for shown in (error(status, body), payload_error(body, REQUEST, in_stream=in_stream)):
        for again in (pickle.loads(pickle.dumps(shown)), copy.copy(shown)):
            assert (type(again), again.args, vars(again)) == (type(shown), shown.args, vars(shown))


@given(st.binary(max_size=60))
def test_any_bytes_give_an_error(body):
    assert error(500, body).provider_class is OVERLOADED
