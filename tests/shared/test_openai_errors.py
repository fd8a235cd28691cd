"""Errors of OpenAI's format: what they are, what they say, and what they never show."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.openai.config import OpenAIProviderConfig
from kova._formats.openai.errors import parse_error, payload_error
from kova._formats.openai.request import build_request
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
    OpenAIProviderConfig("m", api_key=KEY), KEY, [user_message("Hi")], (), InferenceConfig(), stream=False
)


def error(status, body=b"", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_error(status, named, body, REQUEST, REQUEST.secrets)


def fault(code=None, type=None, message="boom", **fields):
    return {"error": {"message": message, "type": type, "code": code, **fields}}


# ---- which class


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, INVALID_REQUEST),
        (401, AUTH_INVALID),
        (402, OTHER),
        (403, AUTH_FORBIDDEN),
        (404, NOT_FOUND),
        (405, OTHER),
        (408, OVERLOADED),
        (409, OVERLOADED),
        (413, INVALID_REQUEST),
        (418, OTHER),
        (422, INVALID_REQUEST),
        (429, RATE_LIMITED),
        (500, OVERLOADED),
        (501, OTHER),
        (502, OVERLOADED),
        (505, OTHER),
        (520, OVERLOADED),
        (527, OVERLOADED),
        (529, OVERLOADED),
        (302, OTHER),
        (600, OTHER),
    ],
)
def test_the_status_decides_where_nothing_else_does(status, kind):
    """R6."""
    assert error(status).provider_class is kind
    assert error(status, fault()).provider_class is kind


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, fault(code="invalid_api_key", type="invalid_request_error"), AUTH_INVALID),
        (401, fault(type="invalid_request_error"), AUTH_INVALID),
        (404, fault(code="model_not_found", type="invalid_request_error"), NOT_FOUND),
        (402, fault(type="invalid_request_error"), OTHER),
        (400, fault(code="invalid_api_key"), AUTH_INVALID),
        (403, fault(code="unsupported_country_region_territory", type="request_forbidden"), AUTH_FORBIDDEN),
        (400, fault(type="RateLimitError"), RATE_LIMITED),
        (503, fault(code="rate_limit_exceeded"), RATE_LIMITED),
        (500, fault(type="invalid_request_error"), INVALID_REQUEST),
        (400, fault(type="server_error"), INVALID_REQUEST),
        (500, fault(code=429), RATE_LIMITED),
        (500, fault(code="404"), NOT_FOUND),
        (400, {"error": {"status": "RESOURCE_EXHAUSTED", "code": 8}}, RATE_LIMITED),
        (404, {"object": "error", "message": "boom", "type": "NotFoundError", "code": 404}, NOT_FOUND),
        (404, {"error": {"code": "DeploymentNotFound", "message": "boom"}}, NOT_FOUND),
        (500, fault(code=None, type=None, metadata={"error_type": "rate_limit_exceeded"}), RATE_LIMITED),
        (400, fault(code=1113), INVALID_REQUEST),
    ],
)
def test_the_providers_own_word_decides_first(status, body, kind):
    """R6."""
    assert error(status, body).provider_class is kind


@pytest.mark.parametrize("code", ["insufficient_quota", "billing_hard_limit_reached", "exceeded_current_quota_error"])
def test_an_exhausted_quota_is_not_worth_a_retry(code):
    exhausted = error(429, fault(code=code), retry_after="5")
    assert exhausted.provider_class is RATE_LIMITED
    assert exhausted.is_quota_exhausted
    assert not exhausted.is_retryable
    assert error(429, fault(code="rate_limit_exceeded")).is_retryable


@pytest.mark.parametrize(
    "body",
    [
        fault(code="context_length_exceeded"),
        fault(code=400, type="exceed_context_size_error"),
        fault(type="BadRequestError", message="This model's maximum context length is 8192 tokens."),
        fault(code="tokens_limit_reached", message="Request body too large for the model. Max size: 8000 tokens."),
        fault(message="The prompt is too long: 9001 tokens"),
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart(body):
    too_long = error(400, body)
    assert too_long.is_context_length
    assert too_long.provider_class is INVALID_REQUEST
    assert not error(400, fault(message="max_tokens is too large")).is_context_length


@pytest.mark.parametrize(
    "message",
    [
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        "Requested token count exceeds the model's maximum context length of 202752 tokens.",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        "Trying to keep the first 4519 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens",
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000",
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        "Invalid request: Your request exceeded model token limit: 8192",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Prompt exceeds max length",
        "input length and `max_tokens` exceed context limit: 188000 + 20000 > 200000",
        "litellm.ContextWindowExceededError: litellm.BadRequestError: x",
        "Input tokens exceed the configured limit of 272000 tokens.",
        "Prompt too long: 5152 tokens exceeds max_seq_len 2048",
    ],
)
def test_hosts_have_many_words_for_a_prompt_that_is_too_long(message):
    assert error(400, fault(message=message)).is_context_length


def test_what_no_later_call_mends_is_not_worth_a_retry():
    full = error(500, fault(code=500, type="server_error", message="Context size has been exceeded."))
    assert (full.provider_class, full.is_context_length, full.is_retryable) == (INVALID_REQUEST, True, False)
    assert error(500, fault(message="cannot load the model with context length 32768")).is_retryable
    large = error(413, fault(code="rate_limit_exceeded", type="tokens", message="Request too large: reduce it"))
    assert not large.is_retryable
    busy = error(429, fault(code="rate_limit_exceeded", message="too many tokens in this minute"))
    assert busy.is_retryable
    assert not busy.is_context_length


@pytest.mark.parametrize(
    ("number", "kind"), [(1002, RATE_LIMITED), (1004, AUTH_INVALID), (1024, OVERLOADED), (2013, INVALID_REQUEST)]
)
def test_a_number_of_minimax_is_understood_with_any_status(number, kind):
    body = {"choices": None, "base_resp": {"status_code": number, "status_msg": "not today"}}
    for failure in (error(400, body), payload_error(body["base_resp"], REQUEST, in_stream=True)):
        assert (failure.provider_class, str(failure)) == (kind, "not today")


# ---- inside a successful answer


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (fault(code=502), OVERLOADED),
        (fault(code="429"), RATE_LIMITED),
        (fault(code="tool_use_failed", type="invalid_request_error"), INVALID_REQUEST),
        (fault(type="invalid_request_error"), INVALID_REQUEST),
        (fault(type="server_error"), OVERLOADED),
        (fault(type="a_new_error"), OTHER),
        (fault(code=1113), OTHER),
        ({"object": "error", "message": "boom", "type": "BadRequestError", "code": 400}, INVALID_REQUEST),
    ],
)
def test_an_error_inside_a_200_is_classified_by_its_own_words(payload, kind):
    reported = payload_error(payload, REQUEST, in_stream=True)
    assert isinstance(reported, ProviderError)
    assert (reported.provider_class, reported.status_code, reported.message) == (kind, None, "boom")


@pytest.mark.parametrize("payload", [{"error": "boom"}, fault(), {"error": {"message": "boom"}}])
def test_an_error_that_says_nothing_of_its_kind_is_a_stream_that_broke_off(payload):
    assert isinstance(payload_error(payload, REQUEST, in_stream=True), StreamError)
    assert isinstance(payload_error(payload, REQUEST, in_stream=False), ProviderError)


# ---- what it says


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "boom"}}, "boom"),
        ({"error": "boom"}, "boom"),
        ({"error": "Bad Request", "message": "boom"}, "boom"),
        ({"message": "boom"}, "boom"),
        ({"msg": "boom"}, "boom"),
        ({"detail": "boom"}, "boom"),
        ({"detail": {"message": "boom"}}, "boom"),
        (
            {"detail": [{"loc": ["body", "n"], "msg": "boom", "input": "a prompt"}, {"msg": "bang"}]},
            "body.n: boom; bang",
        ),
        ({"message": {"detail": [{"loc": ["body"], "msg": "boom"}]}, "type": "x"}, "body: boom"),
        ({"message": '{"detail": [{"msg": "boom"}]}'}, "boom"),
        ({"message": '{"detail": boom'}, '{"detail": boom'),
        ({"errors": ["boom", "bang"]}, "boom; bang"),
        (
            {"error": {"error": {"error": {"error": {"error": {"error": {"error": "too deep"}}}}}}},
            "HTTP 400 Bad Request",
        ),
        ({"title": "Not Found", "detail": "boom"}, "boom"),
        ([{"error": {"message": "boom"}}], "boom"),
        ({"error": {"message": "boom", "metadata": {"raw": '{"error": {"message": "bang"}}'}}}, "boom: bang"),
        ({"error": {"message": "boom", "metadata": {"raw": "bang"}}}, "boom: bang"),
        ({"error": {"message": "boom", "metadata": {"raw": "boom"}}}, "boom"),
        (b"boom\n", "HTTP 400 Bad Request: boom"),
        (b"", "HTTP 400 Bad Request"),
        (b"{}", "HTTP 400 Bad Request"),
        (b'{"prompt": "secret plans"}', "HTTP 400 Bad Request"),
        (b"<html><head><title>502\nBad Gateway</title></head><body>x</body>", "HTTP 400 Bad Request: 502 Bad Gateway"),
        (b"<h1>Too &amp; large</h1><script>x</script>", "HTTP 400 Bad Request: Too & large"),
        (b"x" * 1000, "HTTP 400 Bad Request: " + "x" * 299 + "…"),
    ],
)
def test_the_message_is_found_wherever_it_is(body, message):
    """S3."""
    assert error(400, body).message == message


def test_an_unknown_status_is_a_number():
    assert error(529).message == "HTTP 529"


def test_a_redirect_says_where_it_leads():
    """S2."""
    moved = error(301, b"", location="https://elsewhere/v1?key=abc")
    assert moved.message == (
        "HTTP 301 Moved Permanently: the server redirects to https://elsewhere/v1?key=***, and redirects are not followed"
    )


def test_a_message_has_at_most_2000_characters():
    assert len(error(400, fault(message="long " * 1_000)).message) == 2_000


def test_everything_there_is_to_know_is_in_the_error():
    full = error(429, fault(code="rate_limit_exceeded"), retry_after_ms="1500", retry_after="2", x_request_id="req_1")
    assert (full.status_code, full.retry_after, full.request_id) == (429, 1.5, "req_1")
    assert (full.provider, full.model) == ("openai", "m")


# ---- what it never shows


@pytest.mark.parametrize(
    "message",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Authorization: Bearer {KEY}",
        f"GET https://host/v1?key={KEY}",
        "Bearer abcdefghijklmnop-0123",
        "long " * 398 + KEY,
    ],
)
def test_no_secret_is_in_an_error(message):
    """R7."""
    for shown in (
        error(401, fault(message=message)),
        error(401, message.encode()),
        payload_error(fault(message=message), REQUEST, in_stream=True),
    ):
        everything = f"{shown} {shown!r} {shown.args} {vars(shown)}"
        assert "canary" not in everything
        assert "0123" not in everything
        assert b"canary" not in pickle.dumps(shown)


@given(
    st.sampled_from([400, 401, 429, 500, 529]),
    json_values | st.dictionaries(st.just("error"), json_values),
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
