"""What holds for all five providers alike: retries, redirects, limits."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

import kova
from tests.canary import KEY
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio

PROVIDERS: dict[str, Any] = {
    "openai": kova.AsyncOpenAICompatibleProvider,
    "anthropic": kova.AsyncAnthropicProvider,
    "gemini": kova.AsyncGeminiProvider,
    "ollama": kova.AsyncOllamaProvider,
    "bedrock": kova.AsyncBedrockProvider,
}
every_provider = pytest.mark.parametrize("name", PROVIDERS)
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["complete", "streamed"])

FAST = kova.RetryConfig(max_retries=2, initial_backoff=0.001, max_backoff=0.01)


def provider(name: str, url: str) -> Any:
    if name == "bedrock":
        keys = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": KEY}
        return PROVIDERS[name]("m", region="us-east-1", endpoint_url=url, **keys)
    return PROVIDERS[name]("m", api_key=KEY, base_url=url)


def respond(exchange: Exchange, status: int, body: bytes, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    exchange.send_head(status, {"content-type": "application/json", **named, "content-length": str(len(body))})
    exchange.send_raw(body)


async def fail(name: str, server: ModelServer, streamed: bool) -> kova.KovaError:
    """The error of a turn."""
    async with provider(name, server.url) as model:
        agent = kova.AsyncAgent(model, retry_config=FAST)
        with pytest.raises(kova.KovaError) as caught:
            if streamed:
                async with agent.run_stream("Hi") as stream:
                    async for _ in stream:
                        pass
            else:
                await agent.run("Hi")
    return caught.value


@every_provider
@both_ways
async def test_a_persistent_429_costs_its_retries_and_no_more(server: ModelServer, name: str, streamed: bool) -> None:
    """R1."""
    server.always(lambda exchange: respond(exchange, 429, b'{"message": "slow down"}'))
    error = await fail(name, server, streamed)
    assert (error.provider_class, len(server.exchanges)) == (kova.ProviderErrorClass.RATE_LIMITED, 3)


@every_provider
@both_ways
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_no_retry_mends_costs_one_request(
    server: ModelServer, name: str, streamed: bool, status: int
) -> None:
    """R3."""
    server.always(lambda exchange: respond(exchange, status, b'{"message": "no"}'))
    error = await fail(name, server, streamed)
    assert (error.status_code, len(server.exchanges)) == (status, 1)


TOO_LONG: dict[str, Any] = {
    "openai": {"error": {"code": "context_length_exceeded", "message": "too many tokens"}},
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
    "gemini": {
        "error": {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).",
        }
    },
    "ollama": {"error": "the input length exceeds the context length"},
    "bedrock": {"__type": "ValidationException", "message": "Input is too long for requested model."},
}


@every_provider
@both_ways
async def test_a_prompt_that_is_too_long_costs_one_request(server: ModelServer, name: str, streamed: bool) -> None:
    """R3."""
    server.always(lambda exchange: respond(exchange, 400, json.dumps(TOO_LONG[name]).encode()))
    error = await fail(name, server, streamed)
    assert isinstance(error, kova.ProviderError)
    assert (error.is_context_length, len(server.exchanges)) == (True, 1)


@every_provider
async def test_what_the_server_asks_to_wait_is_known(server: ModelServer, name: str) -> None:
    """R2: longer than kova waits by itself, so that it is the caller's to decide."""
    server.always(lambda exchange: respond(exchange, 429, b"{}", retry_after="3600"))
    error = await fail(name, server, streamed=False)
    assert (error.retry_after, error.is_retryable, len(server.exchanges)) == (3600.0, True, 1)


@every_provider
@both_ways
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_redirect_is_followed(server: ModelServer, name: str, streamed: bool, status: int) -> None:
    """S2: neither the key nor the prompt goes where another server says."""
    with ModelServer() as elsewhere:
        server.always(lambda exchange: respond(exchange, status, b"", location=f"{elsewhere.url}/v1"))
        error = await fail(name, server, streamed)
        assert (error.status_code, len(server.exchanges), elsewhere.exchanges) == (status, 1, [])
    assert "not followed" in str(error)


@both_ways
async def test_a_small_body_that_is_large_when_decompressed(server: ModelServer, streamed: bool) -> None:
    """S4: it is an error before it is in memory, in answers and in what comes with an error."""
    bomb = gzip.compress(b"[" + b" " * (65 * 1024 * 1024))
    server.play(
        lambda exchange: respond(exchange, 200, bomb, content_encoding="gzip"),
        lambda exchange: respond(exchange, 400, bomb, content_encoding="gzip"),
    )
    error = await fail("openai", server, streamed)
    assert isinstance(error, kova.StreamError)
    assert "larger than" in str(error)
    assert (await fail("openai", server, streamed)).status_code == 400
