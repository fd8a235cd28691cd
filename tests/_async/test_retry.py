"""Provider calls that fail for a passing reason are repeated by the agent, and no others."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest

import kova
from tests import server as play
from tests.canary import KEY
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio

FAST = kova.RetryConfig(max_retries=2, initial_backoff=0.01)


def provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url, **options)


async def ask(agent: kova.AsyncAgent, streamed: bool, **options: Any) -> kova.AgentResponse:
    if not streamed:
        return await agent.run("Hi", **options)
    async with agent.run_stream("Hi", **options) as stream:
        async for _ in stream:
            pass
    return stream.response


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_persistent_failure_costs_exactly_its_retries(server: ModelServer, streamed: bool) -> None:
    """R1."""
    server.always(play.error(429, "slow down"))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError, match="slow down") as caught:
            await ask(kova.AsyncAgent(model, retry_config=FAST), streamed)
    assert len(server.exchanges) == 3
    assert caught.value.partial is not None
    assert caught.value.partial.llm_calls == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_passing_failure_goes_unseen_but_for_one_warning(
    server: ModelServer, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """O4."""
    server.play(play.error(503), play.text("Hello"))
    async with provider(server) as model:
        with caplog.at_level(logging.WARNING, logger="kova"):
            response = await ask(kova.AsyncAgent(model, retry_config=FAST), streamed)
    assert (response.text, response.llm_calls) == ("Hello", 1)
    (record,) = caplog.records
    assert record.message.startswith("provider call failed and is repeated attempt=1 delay=0.0")
    assert "error='ProviderError' cause='overloaded' status=503" in record.message


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_no_retry_mends_costs_one_request(server: ModelServer, status: int, streamed: bool) -> None:
    """R3."""
    server.always(play.error(status))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError):
            await ask(kova.AsyncAgent(model, retry_config=FAST), streamed)
    assert len(server.exchanges) == 1


async def test_no_retry_once_something_was_handed_out(server: ModelServer) -> None:
    """R3."""

    def break_off(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        exchange.send_event({"error": {"message": "overloaded", "code": 503}})

    server.always(break_off)
    texts = []
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError, match="overloaded"):
            async with kova.AsyncAgent(model, retry_config=FAST).run_stream("Hi") as stream:
                async for text in stream.text_deltas():
                    texts.append(text)
    assert texts == ["first"]
    assert len(server.exchanges) == 1


async def test_an_error_event_before_anything_else_counts_as_establishing(server: ModelServer) -> None:
    def fail(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_event({"error": {"message": "overloaded", "code": 503}})
        exchange.end_stream()

    server.play(fail, play.text("Hello"))
    async with provider(server) as model:
        assert (await ask(kova.AsyncAgent(model, retry_config=FAST), streamed=True)).text == "Hello"


async def test_a_dead_connection_is_tried_again(server: ModelServer) -> None:
    def die(exchange: Exchange) -> None:
        exchange.send_raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{")
        play.wake(exchange.connection)

    server.play(die, play.text("Hello"))
    async with provider(server) as model:
        assert (await ask(kova.AsyncAgent(model, retry_config=FAST), streamed=False)).text == "Hello"


async def test_retry_after_is_honoured_and_never_undercut(server: ModelServer) -> None:
    """R2."""
    server.play(play.error(429, headers={"retry-after-ms": "300"}), play.text("Hello"))
    async with provider(server) as model:
        start = time.monotonic()
        await ask(kova.AsyncAgent(model, retry_config=FAST), streamed=False)
        assert time.monotonic() - start >= 0.3


async def test_a_retry_after_that_is_too_long_is_raised_at_once(server: ModelServer) -> None:
    server.always(play.error(429, headers={"retry-after": "3600"}))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError) as caught:
            await ask(kova.AsyncAgent(model, retry_config=FAST), streamed=False)
    assert (caught.value.retry_after, len(server.exchanges)) == (3600.0, 1)


async def test_a_pause_that_would_outlast_the_turn_is_not_begun(server: ModelServer) -> None:
    server.always(play.error(429, headers={"retry-after": "30"}))
    async with provider(server) as model:
        start = time.monotonic()
        with pytest.raises(kova.ProviderError):
            await ask(kova.AsyncAgent(model, retry_config=FAST), streamed=False, timeout=10)
        assert time.monotonic() - start < 5
    assert len(server.exchanges) == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_token_ends_the_pause(server: ModelServer, streamed: bool) -> None:
    """T12: in back-off."""
    token = kova.CancellationToken()

    def answer(exchange: Exchange) -> None:
        play.error(429, headers={"retry-after": "30"})(exchange)
        threading.Timer(0.1, token.cancel).start()

    server.play(answer)
    async with provider(server) as model:
        start = time.monotonic()
        with pytest.raises(kova.TurnCancelledError):
            await ask(kova.AsyncAgent(model, retry_config=FAST), streamed, cancel=token)
        assert time.monotonic() - start < 5


async def test_without_retries_every_failure_is_raised_at_once(server: ModelServer) -> None:
    server.always(play.error(503))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError):
            await ask(kova.AsyncAgent(model, retry_config=kova.RetryConfig.disabled()), streamed=False)
    assert len(server.exchanges) == 1
