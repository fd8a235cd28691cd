"""Errors of Ollama's format: what they are, what they say, and what they never show."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.ollama.config import OllamaProviderConfig
from kova._formats.ollama.errors import parse_error, payload_error
from kova._formats.ollama.request import build_request
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
    OllamaProviderConfig("m", api_key=KEY), KEY, [user_message("Hi")], (), InferenceConfig(), stream=False
)


def error(status, body=b"", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_error(status, named, body, REQUEST, REQUEST.secrets)


# ---- which class


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, '"m" does not support thinking', INVALID_REQUEST),
        (400, "registry.ollama.ai/library/m:latest does not support tools", INVALID_REQUEST),
        (401, "unauthorized", AUTH_INVALID),
        (403, "cloud is disabled: remote model inference is unavailable", AUTH_FORBIDDEN),
        (404, "model 'm' not found", NOT_FOUND),
        (429, "too many concurrent requests", RATE_LIMITED),
        (499, "request canceled", OTHER),
        (500, "model requires more system memory (5.6 GiB) than is available (2.0 GiB)", OVERLOADED),
        (502, "Bad Gateway", OVERLOADED),
        (503, "server busy, please try again. maximum pending requests exceeded", OVERLOADED),
        (302, "moved", OTHER),
    ],
)
def test_the_status_decides_where_there_is_nothing_but_words(status, message, kind):
    """R6."""
    assert error(status, {"error": message}).provider_class is kind
    assert error(status).provider_class is kind


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"StatusCode": 429, "Status": "429 Too Many Requests", "error": "boom"}, RATE_LIMITED),
        (500, {"error": {"message": "boom", "code": 404}}, NOT_FOUND),
        (500, {"error": {"message": "boom", "code": "401"}}, AUTH_INVALID),
        (500, {"error": {"message": "boom", "type": "not_found"}}, NOT_FOUND),
        (400, {"error": {"message": "boom", "type": "RateLimitError"}}, RATE_LIMITED),
        (401, {"error": {"message": "boom", "type": "invalid_request_error"}}, AUTH_INVALID),
        (400, {"error": {"message": "boom", "type": "server_error"}}, INVALID_REQUEST),
        (400, {"error": {"message": "boom", "code": 1113}}, INVALID_REQUEST),
    ],
)
def test_a_type_or_code_decides_first(status, body, kind):
    """R6."""
    assert error(status, body).provider_class is kind


@pytest.mark.parametrize(
    "message",
    [
        "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust …",
        "the input length exceeds the context length",
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart(message):
    assert error(400, {"error": message}).is_context_length
    assert not error(500, {"error": message}).is_context_length
    assert not error(400, {"error": '"m" does not support thinking'}).is_context_length


# ---- inside a successful answer


@pytest.mark.parametrize("payload", [{"error": "boom"}, {"error": {"message": "boom"}}, {"error": {"error": "boom"}}])
def test_an_error_that_says_nothing_of_its_kind_is_a_stream_that_broke_off(payload):
    broken = payload_error(payload, REQUEST, in_stream=True)
    assert (type(broken), broken.message) == (StreamError, "boom")
    assert isinstance(payload_error(payload, REQUEST, in_stream=False), ProviderError)


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"StatusCode": 429, "Status": "429 Too Many Requests", "error": "boom"}, RATE_LIMITED),
        ({"error": "boom", "status": 503}, OVERLOADED),
        ({"error": {"message": "boom", "type": "overloaded_error"}}, OVERLOADED),
        ({"error": {"message": "boom", "type": "server_error"}}, OVERLOADED),
        ({"error": {"message": "boom", "type": "a_new_error"}}, OTHER),
    ],
)
def test_an_error_inside_a_200_is_classified_by_its_own_words(payload, kind):
    reported = payload_error(payload, REQUEST, in_stream=True)
    assert isinstance(reported, ProviderError)
    assert (reported.provider_class, reported.status_code, reported.message) == (kind, None, "boom")


# ---- what it says


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":"boom"}\n', "boom"),
        (b'{"error":{"message":"boom","type":"x"}}', "boom"),
        (b'{"error":"unauthorized","signin_url":"https://ollama.com/connect"}', "unauthorized"),
        (b'{"detail":"boom"}', "boom"),
        (b"404 page not found", "HTTP 400 Bad Request: 404 page not found"),
        (b"<html><head><title>502 Bad Gateway</title></head></html>", "HTTP 400 Bad Request: 502 Bad Gateway"),
        (b"", "HTTP 400 Bad Request"),
        (b'{"prompt": "secret plans"}', "HTTP 400 Bad Request"),
    ],
)
def test_the_message_is_found_wherever_it_is(body, message):
    """S3."""
    assert error(400, body).message == message


def test_a_redirect_says_where_it_leads():
    """S2."""
    moved = error(301, b"", location="https://elsewhere/api/chat?key=abc")
    assert "redirects to https://elsewhere/api/chat?key=***" in moved.message


def test_everything_there_is_to_know_is_in_the_error():
    full = error(503, {"error": "server busy"}, retry_after="2", x_request_id="req_1")
    assert (full.status_code, full.retry_after, full.request_id) == (503, 2.0, "req_1")
    assert (full.provider, full.model, full.is_retryable) == ("ollama", "m", True)


# ---- what it never shows


@pytest.mark.parametrize("message", [f"wrong key: {KEY}.", f"Authorization: Bearer {KEY}", "long " * 398 + KEY])
def test_no_secret_is_in_an_error(message):
    """R7."""
    for shown in (
        error(401, {"error": message}),
        error(401, message.encode()),
        payload_error({"error": message}, REQUEST, in_stream=True),
        payload_error({"error": message}, REQUEST, in_stream=False),
    ):
        everything = f"{shown} {shown!r} {shown.args} {vars(shown)}"
        assert "canary" not in everything
        assert "0123" not in everything
        assert b"canary" not in pickle.dumps(shown)


@given(
    st.sampled_from([400, 401, 429, 500, 529]),
    json_values | st.dictionaries(st.sampled_from(["error", "status", "code", "type", "StatusCode"]), json_values),
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
