"""Bedrock over sockets: what is sent and signed, and how credentials are looked up."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.session import Session

import kova
from kova._async.bedrock import AsyncBedrockProvider
from kova._async.resolve import provider_from_string
from kova._formats.bedrock.config import BedrockProviderConfig
from kova._runtime import aio as rt
from tests.cases import run_cases as runner
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio

HI = [kova.user_message("Hi")]
KEYS = {"access_key_id": "AKIDexplicit", "secret_access_key": "explicit/secret"}
ARN = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
ARN_IN_SIGNATURE = ARN.replace(":", "%253A").replace("/", "%252F")


def provider(server: ModelServer, **options: Any) -> AsyncBedrockProvider:
    return AsyncBedrockProvider(ARN, **{"region": "us-east-1", "endpoint_url": server.url, **KEYS, **options})


def text(exchange: Exchange) -> None:
    answer = {"output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}}, "stopReason": "end_turn"}
    exchange.send_json(answer, headers={"x-amzn-requestid": "req-1"})


def stream(exchange: Exchange) -> None:
    head = {"content-type": "application/vnd.amazon.eventstream", "transfer-encoding": "chunked"}
    exchange.send_head(200, {**head, "x-amzn-requestid": "req-2"})
    exchange.send_chunk(frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "Hel"}))
    exchange.send_chunk(frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "lo"}))
    exchange.send_chunk(frame("messageStop", stopReason="end_turn") + frame("metadata", usage={"inputTokens": 9}))
    exchange.send_raw(b"0\r\n\r\n")


def frame(kind: str, **fields: Any) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return runner.encode_frame({"headers": headers, "payload": fields})


def problems_of_signature(exchange: Exchange, path: str, access_key: str, secret: str) -> list[str]:
    """What is wrong with a signature, judged without botocore."""
    request = runner.Request(exchange.method, exchange.target, "", exchange.headers, exchange.body)
    expected = {"access_key_id": access_key, "secret_access_key": secret, "region": "us-east-1", "service": "bedrock"}
    included = {"canonical_uri": path, "signed_headers_include": ["host", "x-amz-date"]}
    return runner.judge_sigv4({**expected, **included}, request)


class Chain:
    """Stands for AWS's default chain, which takes a while."""

    def __init__(self) -> None:
        self.look_ups = 0
        self.found: Credentials | None = Credentials("AKIDchain", "chain/secret")

    def look(self) -> Credentials | None:
        self.look_ups += 1
        time.sleep(0.1)
        return self.found


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> Chain:
    made = Chain()
    monkeypatch.setattr(Session, "get_credentials", lambda session: made.look())
    return made


# ---- what is sent


@pytest.mark.parametrize("library", [None, "httpx", "httpx2"])
async def test_requests_are_signed_by_whatever_client_they_are_sent(server: ModelServer, library: str | None) -> None:
    client = None if library is None else pytest.importorskip(library).AsyncClient()
    server.play(text, stream)
    async with provider(server, http_client=client, session_token="token") as model:
        answer = await model.chat_completion(HI)
        assert (answer.text, answer.request_id) == ("Hello", "req-1")
        async with model.chat_completion_stream(HI) as events:
            assert [event.text async for event in events if isinstance(event, kova.TextDelta)] == ["Hel", "lo"]
        assert (events.response.request_id, events.response.usage.input_tokens) == ("req-2", 9)
    for exchange, action in zip(server.exchanges, ("converse", "converse-stream"), strict=True):
        assert exchange.headers["x-amz-security-token"] == "token"
        path = f"/model/{ARN_IN_SIGNATURE}/{action}"
        assert problems_of_signature(exchange, path, "AKIDexplicit", "explicit/secret") == []
    if client is not None:
        await client.aclose()


async def test_the_list_of_models_is_asked_for_with_a_signature(server: ModelServer) -> None:
    server.play(lambda exchange: exchange.send_json({"modelSummaries": [{"modelId": "m", "providerName": "p"}]}))
    async with provider(server) as model:
        assert [(each.id, each.owned_by) for each in await model.list_models()] == [("m", "p")]
    assert (server.last.method, server.last.target) == ("GET", "/foundation-models")
    assert problems_of_signature(server.last, "/foundation-models", "AKIDexplicit", "explicit/secret") == []


async def test_an_authorization_of_the_users_own_is_sent_in_place_of_a_signature(
    server: ModelServer, chain: Chain
) -> None:
    server.play(text)
    options = {"access_key_id": None, "secret_access_key": None, "default_headers": {"Authorization": "Bearer abc"}}
    async with provider(server, **options) as model:
        await model.chat_completion(HI)
    assert server.last.headers["authorization"] == "Bearer abc"
    assert "x-amz-date" not in server.last.headers
    assert chain.look_ups == 0


async def test_no_secret_that_the_server_echoes_is_shown(server: ModelServer) -> None:
    """R7."""

    def echo(exchange: Exchange) -> None:
        headers = {"x-amzn-errortype": "InvalidSignatureException"}
        exchange.send_json({"message": f"Not what was signed: {exchange.headers} explicit/secret"}, 403, headers)

    server.play(echo)
    async with provider(server, session_token="canary-token") as model:
        with pytest.raises(kova.ProviderError, match="Not what was signed") as caught:
            await model.chat_completion(HI)
    assert caught.value.provider_class is kova.ProviderErrorClass.AUTH_INVALID
    signature = server.last.headers["authorization"].rpartition("=")[2]
    for secret in ("canary-token", "explicit/secret", "AKIDexplicit", signature):
        assert secret not in f"{caught.value!r} {model!r}"


# ---- credentials


async def test_the_chain_is_asked_once_for_all_requests_that_wait(server: ModelServer, chain: Chain) -> None:
    server.always(text)
    texts: list[str] = []

    async def ask(model: AsyncBedrockProvider) -> None:
        texts.append((await model.chat_completion(HI)).text)

    async with provider(server, access_key_id=None, secret_access_key=None) as model:
        assert chain.look_ups == 0
        async with rt.TaskGroup() as group:
            for _ in range(20):
                group.start_soon(ask, model)
        await ask(model.with_options(model="other", timeout=5.0))
        assert (texts, chain.look_ups) == (["Hello"] * 21, 1)
        await ask(model.with_options(profile=None))
    assert chain.look_ups == 2
    assert all("Credential=AKIDchain/" in exchange.headers["authorization"] for exchange in server.exchanges)


async def test_without_credentials_all_that_wait_are_told_and_the_next_request_looks_again(
    server: ModelServer, chain: Chain
) -> None:
    chain.found = None
    server.always(text)
    errors: list[kova.KovaError] = []

    async def ask(model: AsyncBedrockProvider) -> None:
        try:
            await model.chat_completion(HI)
        except kova.KovaError as error:
            errors.append(error)

    async with provider(server, access_key_id=None, secret_access_key=None) as model:
        async with rt.TaskGroup() as group:
            for _ in range(5):
                group.start_soon(ask, model)
        assert [error.provider_class for error in errors] == [kova.ProviderErrorClass.AUTH_INVALID] * 5
        assert (chain.look_ups, len(set(map(id, errors))), server.exchanges) == (1, 5, [])
        chain.found = Credentials("AKIDchain", "chain/secret")
        assert (await model.chat_completion(HI)).text == "Hello"


async def test_a_look_up_is_within_the_time_of_the_request(
    server: ModelServer, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L11."""
    monkeypatch.setattr(Session, "get_credentials", lambda session: time.sleep(2))
    async with provider(server, access_key_id=None, secret_access_key=None, timeout=0.1) as model:
        started = time.monotonic()
        with pytest.raises(kova.TimeoutError):
            await model.chat_completion(HI)
        assert time.monotonic() - started < 1.5


# ---- making one


def test_a_provider_says_what_it_is_and_no_more() -> None:
    """R7."""
    shown = repr(AsyncBedrockProvider("m", region="us-east-1", **KEYS))
    assert shown == f"{AsyncBedrockProvider.__name__}(model='m', region='us-east-1')"


def test_a_model_string_may_have_colons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    model = provider_from_string("bedrock:amazon.nova-lite-v1:0")
    assert (model.model, model.config.region) == ("amazon.nova-lite-v1:0", "eu-west-1")


def test_without_the_extra_it_is_said_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    for make in (
        lambda: AsyncBedrockProvider("m"),
        lambda: AsyncBedrockProvider.from_config(BedrockProviderConfig("m")),
        lambda: provider_from_string("bedrock:m"),
    ):
        with pytest.raises(kova.BuildError, match=r"pip install 'kova-sdk\[bedrock\]'"):
            make()
