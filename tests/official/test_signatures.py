"""boto3's own request and kova's for the same question: the same address, the same body, the same signature."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova._formats.bedrock.request import build_request
from kova._formats.bedrock.sign import Credentials, signature_headers

REGION = "eu-west-1"
KEY_ID, SECRET = "AKIDEXAMPLE0000000", "secret/canary+0123456789"

ENDPOINTS = [None, "http://127.0.0.1:8000", "http://localhost:8000/gateway/bedrock"]
OPERATIONS = {False: "converse", True: "converse_stream"}

model_ids = st.one_of(
    st.from_regex(r"(us\.|eu\.|global\.)?[a-z0-9]{1,9}\.[a-z0-9-]{1,20}-v[0-9]:[0-9]{1,2}", fullmatch=True),
    st.from_regex(
        r"arn:aws(-cn|-us-gov)?:bedrock:[a-z]{2}-[a-z]{4,9}-[0-9]:[0-9]{12}:"
        r"(inference-profile|provisioned-model|imported-model|prompt)/[a-zA-Z0-9.:/_-]{1,30}",
        fullmatch=True,
    ),
    st.text("ab:/.%+ ~_-é*()@", min_size=1, max_size=12).filter(lambda id: id.strip()),
)
tokens = st.sampled_from([None, "FwoGZXIvYXdzE/+token=="])


class Sent(Exception):
    """The request is complete: it goes no further."""

    def __init__(self, request: AWSPreparedRequest) -> None:
        super().__init__()
        self.request = request


@lru_cache
def client(endpoint: str | None, token: str | None) -> Any:
    """A client of boto3's that sends nothing."""

    def stop(request: AWSPreparedRequest, **more: object) -> None:
        raise Sent(request)

    session = boto3.Session(KEY_ID, SECRET, token, REGION)
    made = session.client("bedrock-runtime", endpoint_url=endpoint)
    made.meta.events.register_first("before-send.bedrock-runtime", stop)
    return made


def header(request: AWSPreparedRequest, name: str) -> str:
    value = request.headers[name]
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@given(model=model_ids, text=st.text(min_size=1, max_size=9).filter(str.strip), token=tokens, stream=st.booleans())
def test_boto3s_own_signature_of_the_same_request_is_kovas(
    endpoint: str | None, model: str, text: str, token: str | None, stream: bool
) -> None:
    """Ids have colons, ARNs have slashes as well."""
    with pytest.raises(Sent) as raised:
        content = [{"role": "user", "content": [{"text": text}]}]
        getattr(client(endpoint, token), OPERATIONS[stream])(modelId=model, messages=content)
    theirs = raised.value.request

    config = kova.BedrockProviderConfig(model, region=REGION, endpoint_url=endpoint)
    ours = build_request(config, None, [kova.user_message(text)], (), kova.InferenceConfig(), stream=stream)
    assert ours.method == theirs.method
    assert ours.url == theirs.url
    assert json.loads(ours.body) == json.loads(theirs.body)

    now = datetime.strptime(header(theirs, "X-Amz-Date"), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    signed = {"content-type": header(theirs, "Content-Type")}
    authorization = header(theirs, "Authorization")
    assert re.search("SignedHeaders=content-type;host;x-amz-date(;x-amz-security-token)?,", authorization)
    keys = Credentials(KEY_ID, SECRET, token)
    added = signature_headers(ours.method, ours.url, signed, theirs.body, keys, REGION, now)
    assert added["authorization"] == authorization
    assert added.get("x-amz-security-token") == token
