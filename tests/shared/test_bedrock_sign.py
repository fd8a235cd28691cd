"""AWS signatures: known answers, and botocore's own way to the same."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.bedrock.request import build_models_request, build_request
from kova._formats.bedrock.sign import Credentials, signature_headers, signed
from kova.config import InferenceConfig
from kova.messages import user_message
from tests.cases import run_cases as runner
from tests.strategies import texts

VECTORS = json.loads((Path(runner.__file__).parent / "sigv4_vectors.json").read_text(encoding="utf-8"))
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEYS = Credentials("AKIDEXAMPLE0000000", "secret/canary+0123456789", "token==canary")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_known_answer(vector):
    keys = Credentials(vector["access_key_id"], vector["secret_access_key"], vector["session_token"])
    url = f"https://{vector['host']}{vector['path_on_the_wire']}"
    now = datetime.strptime(vector["amz_date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    headers = {"content-type": "application/json"}
    added = signature_headers(vector["method"], url, headers, vector["body"].encode(), keys, vector["region"], now)
    assert added["authorization"] == vector["authorization"]
    assert added["x-amz-date"] == vector["amz_date"]
    assert added.get("x-amz-security-token") == vector["session_token"]


def botocores_own(method, url, headers, body):
    """What botocore's signer makes of a request, in its own time."""
    request = AWSRequest(method=method, url=url, headers=headers, data=body)
    keys = ReadOnlyCredentials(KEYS.access_key, KEYS.secret_key, KEYS.token)
    auth.SigV4Auth(keys, "bedrock", "eu-west-1").add_auth(request)
    return dict(request.headers.items())


@given(
    st.sampled_from(["POST", "GET"]),
    st.text("abc.:/-_~", min_size=1, max_size=12),
    st.binary(max_size=20),
    st.dictionaries(st.sampled_from(["accept", "x-trace", "traceparent", "user-agent"]), st.just("a  b"), max_size=3),
    st.sampled_from(["", "/b", "/b?x=1&a=%20"]),
)
def test_botocore_signs_the_same_request_the_same_way(method, model, body, headers, path):
    config = BedrockProviderConfig(model, endpoint_url=f"http://[::1]:8000{path}")
    url = build_request(config, None, [user_message("Hi")], (), InferenceConfig(), stream=True).url
    theirs = botocores_own(method, url, headers, body)
    now = datetime.strptime(theirs["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    ours = signature_headers(method, url, headers, body, KEYS, "eu-west-1", now)
    assert ours["authorization"] == theirs["Authorization"]


def test_a_signature_depends_on_nothing_else(monkeypatch):
    arguments = ("POST", "https://host/model/m/converse", {"accept": "a"}, b"{}", KEYS, "us-east-1")
    before = signature_headers(*arguments, NOW)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    assert signature_headers(*arguments, NOW) == before
    assert signature_headers(*arguments, NOW.replace(second=6)) != before


def test_a_request_is_signed_last_and_knows_what_not_to_show():
    """R7."""
    config = BedrockProviderConfig("m", region="us-east-1", default_headers={"X-Trace": "t"})
    plain = build_models_request(config, None)
    request = signed(plain, KEYS, "us-east-1", NOW)
    assert (request.method, request.url, request.body) == (plain.method, plain.url, plain.body)
    assert request.headers.items() >= plain.headers.items()
    assert "SignedHeaders=accept;host;x-amz-date;x-amz-security-token;x-trace" in request.headers["authorization"]
    assert {KEYS.access_key, KEYS.secret_key, KEYS.token} <= set(request.secrets)
    assert "canary" not in f"{request!r} {KEYS!r}"


@given(texts)
def test_any_body_is_signed(text):
    headers = signature_headers("POST", "https://host/", {}, text.encode(), KEYS, "us-east-1", NOW)
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE0000000/20260102/us-east-1/")
