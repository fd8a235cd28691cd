"""Errors of Bedrock's format: what they are, what they say, and what they never show."""

import copy
import json
import pickle
from datetime import UTC, datetime

import pytest
from botocore.session import Session
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.bedrock.errors import frame_error, parse_error, payload_error
from kova._formats.bedrock.request import build_request
from kova._formats.bedrock.sign import Credentials, signed
from kova.config import InferenceConfig
from kova.errors import ProviderErrorClass
from kova.messages import user_message
from tests.strategies import json_values, texts

AUTH_INVALID, AUTH_FORBIDDEN = ProviderErrorClass.AUTH_INVALID, ProviderErrorClass.AUTH_FORBIDDEN
RATE_LIMITED, OVERLOADED = ProviderErrorClass.RATE_LIMITED, ProviderErrorClass.OVERLOADED
INVALID_REQUEST, NOT_FOUND = ProviderErrorClass.INVALID_REQUEST, ProviderErrorClass.NOT_FOUND
OTHER = ProviderErrorClass.OTHER

SECRET, TOKEN = "canary/secret+0123456789", "canary-token=="
CONFIG = BedrockProviderConfig("m", region="us-east-1", default_headers={"x-api-key": "canary-header"})
REQUEST = signed(
    build_request(CONFIG, None, [user_message("Hi")], (), InferenceConfig(), stream=False),
    Credentials("AKIDcanary", SECRET, TOKEN),
    "us-east-1",
    datetime.now(UTC),
)


def error(status, name=None, body=None, **headers):
    named = {each.replace("_", "-"): value for each, value in headers.items()}
    if name is not None:
        named["x-amzn-errortype"] = name
    data = body if isinstance(body, bytes) else json.dumps({"message": "boom"} if body is None else body).encode()
    return parse_error(status, named, data, REQUEST, REQUEST.secrets)


# ---- which class


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (403, "AccessDeniedException", AUTH_FORBIDDEN),
        (403, "ExpiredTokenException", AUTH_INVALID),
        (403, "UnrecognizedClientException", AUTH_INVALID),
        (403, "InvalidSignatureException", AUTH_INVALID),
        (403, "IncompleteSignatureException", AUTH_INVALID),
        (403, "MissingAuthenticationTokenException", AUTH_INVALID),
        (400, "ExpiredToken", AUTH_INVALID),
        (429, "ThrottlingException", RATE_LIMITED),
        (400, "ThrottlingException", RATE_LIMITED),
        (503, "SlowDown", RATE_LIMITED),
        (429, "ModelNotReadyException", OVERLOADED),
        (500, "InternalServerException", OVERLOADED),
        (503, "ServiceUnavailableException", OVERLOADED),
        (408, "ModelTimeoutException", OVERLOADED),
        (424, "ModelStreamErrorException", OVERLOADED),
        (424, "ModelErrorException", OTHER),
        (400, "ValidationException", INVALID_REQUEST),
        (400, "SerializationException", INVALID_REQUEST),
        (404, "ResourceNotFoundException", NOT_FOUND),
        (404, "UnknownOperationException", NOT_FOUND),
        (400, "ServiceQuotaExceededException", RATE_LIMITED),
        (400, "ANewException", INVALID_REQUEST),
        (403, None, AUTH_FORBIDDEN),
        (502, None, OVERLOADED),
        (501, None, OTHER),
        (302, None, OTHER),
    ],
)
def test_the_name_decides_first_and_then_the_status(status, name, kind):
    """R6."""
    assert error(status, name).provider_class is kind


def test_every_exception_of_the_api_has_a_name_that_is_known():
    """R6: as boto3 lists them."""
    model = Session().get_service_model("bedrock-runtime")
    for shape in model.operation_model("ConverseStream").error_shapes:
        status = shape.metadata["error"]["httpStatusCode"]
        known = frame_error({":exception-type": shape.name}, b"{}", REQUEST).provider_class
        assert known is error(status, shape.name).provider_class
        assert known is not OTHER or shape.name == "ModelErrorException"


@pytest.mark.parametrize(
    "name",
    [
        "ThrottlingException",
        "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/",
        "com.amazon.coral#ThrottlingException:http://internal/#x",
        "aws.protocoltests.restjson#ThrottlingException",
        "throttlingException",
    ],
)
def test_a_name_may_have_a_namespace_and_an_address(name):
    assert error(400, name).provider_class is RATE_LIMITED
    for key in ("__type", "code"):
        assert error(400, None, {key: name}).provider_class is RATE_LIMITED
    assert error(400, None, {"Output": {"__type": name}}).provider_class is RATE_LIMITED


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Authentication failed: Please make sure your API Key is valid.", AUTH_INVALID),
        ("Bearer Token has expired", AUTH_INVALID),
        ("Your API key is not allowed to use this model.", AUTH_FORBIDDEN),
    ],
)
def test_a_wrong_api_key_is_no_missing_permission(message, kind):
    """R6."""
    assert error(403, "AccessDeniedException", {"Message": message}).provider_class is kind
    assert error(403, None, {"Message": message}).provider_class is kind


def test_a_quota_of_the_account_is_not_worth_a_retry():
    quota = error(400, "ServiceQuotaExceededException")
    assert (quota.is_quota_exhausted, quota.is_retryable) == (True, False)
    assert error(429, "ThrottlingException").is_retryable


@pytest.mark.parametrize(
    "message",
    [
        "Input is too long for requested model.",
        "The model returned the following errors: prompt is too long: 250011 tokens > 200000 maximum",
        "The model returned the following errors: input length and `max_tokens` exceed context limit: 1 + 2 > 2",
        "This model's maximum context length is 8192 tokens.",
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart(message):
    assert error(400, "ValidationException", {"message": message}).is_context_length
    assert not error(429, "ThrottlingException", {"message": "Too many tokens, please wait."}).is_context_length
    assert not error(400, "ValidationException").is_context_length


# ---- in streams


@pytest.mark.parametrize(
    ("headers", "payload", "kind", "message"),
    [
        ({":exception-type": "throttlingException"}, {"message": "boom"}, RATE_LIMITED, "boom"),
        ({":exception-type": "internalServerException"}, {"message": "boom"}, OVERLOADED, "boom"),
        ({":exception-type": "validationException"}, {"Message": "boom"}, INVALID_REQUEST, "boom"),
        (
            {":exception-type": "modelStreamErrorException"},
            {"message": "boom", "originalStatusCode": 500, "originalMessage": "crash"},
            OVERLOADED,
            "boom: crash",
        ),
        ({":exception-type": "modelStreamErrorException"}, {"originalMessage": "crash"}, OVERLOADED, "crash"),
        ({":exception-type": "aNewException"}, {"message": "boom"}, OTHER, "boom"),
        ({":error-code": "InternalError", ":error-message": "boom"}, None, OVERLOADED, "boom"),
        ({":error-code": "503"}, None, OVERLOADED, "the stream broke off: 503"),
        ({}, {"__type": "x#ThrottlingException"}, RATE_LIMITED, "the stream broke off: ThrottlingException"),
        ({}, None, OTHER, "the stream broke off: an error without a name"),
        ({":exception-type": 5, ":error-message": b"x"}, [1], OTHER, "the stream broke off: an error without a name"),
    ],
)
def test_a_frame_is_classified_by_its_own_words(headers, payload, kind, message):
    body = b"" if payload is None else json.dumps(payload).encode()
    reported = frame_error(headers, body, REQUEST)
    assert (reported.provider_class, reported.status_code, reported.message) == (kind, None, message)


# ---- what it says


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"message": "boom"}, "boom"),
        ({"Message": "boom"}, "boom"),
        ({"message": "", "Message": " boom "}, "boom"),
        ({"message": "boom", "originalMessage": "boom"}, "boom"),
        ({"error": {"message": "boom"}}, "boom"),
        ({"error": "boom"}, "boom"),
        ({"message": None}, "HTTP 400 Bad Request: ValidationException"),
        (b"", "HTTP 400 Bad Request: ValidationException"),
        (b'{"prompt": "secret plans"}', "HTTP 400 Bad Request: ValidationException"),
        (b"<title>Busy</title>", "HTTP 400 Bad Request: Busy"),
    ],
)
def test_the_message_is_found_wherever_it_is(body, message):
    """S3."""
    assert error(400, "x#ValidationException:y", body).message == message


def test_a_redirect_says_where_it_leads():
    """S2."""
    assert (
        "redirects to https://elsewhere" in error(301, None, {"message": "moved"}, location="https://elsewhere").message
    )


def test_everything_there_is_to_know_is_in_the_error():
    full = error(429, "ThrottlingException", retry_after="2", x_amzn_requestid="req-1")
    assert (full.status_code, full.retry_after, full.request_id) == (429, 2.0, "req-1")
    assert (full.provider, full.model) == ("bedrock", "m")


# ---- what it never shows


@pytest.mark.parametrize("secret", [SECRET, TOKEN, "AKIDcanary", REQUEST.headers["authorization"], "canary-header"])
def test_no_secret_is_in_an_error(secret):
    """R7: AWS quotes the request that it should have got."""
    message = f"The Canonical String should have been 'x-amz-security-token:{secret}'"
    for shown in (
        error(403, "InvalidSignatureException", {"message": message}),
        error(403, None, message.encode()),
        frame_error({":exception-type": "x"}, json.dumps({"message": message}).encode(), REQUEST),
        payload_error({"message": message}, REQUEST),
    ):
        assert "canary" not in f"{shown} {shown!r} {shown.args} {vars(shown)}"
        assert b"canary" not in pickle.dumps(shown)


@given(st.sampled_from([400, 403, 429, 500]), st.none() | texts, json_values)
def test_any_body_gives_exactly_one_error_that_pickles_and_copies(status, name, body):
    """R6."""
    data = json.dumps(body).encode()
    reported = payload_error(body, REQUEST)
    for shown in filter(None, (error(status, name, data), frame_error({":error-code": name}, data, REQUEST), reported)):
        for again in (pickle.loads(pickle.dumps(shown)), copy.copy(shown)):
            assert (type(again), again.args, vars(again)) == (type(shown), shown.args, vars(shown))


@given(st.binary(max_size=60))
def test_any_bytes_give_an_error(body):
    assert error(500, None, body).provider_class in ProviderErrorClass
