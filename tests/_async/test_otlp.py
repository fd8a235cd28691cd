"""Spans reach a real receiver over OTLP, and hang together there."""

from __future__ import annotations

import logging
import threading
from typing import Literal

import pytest

import kova
from kova._runtime import aio as rt
from tests import server as play
from tests.server import Exchange, ModelServer
from tests.spans import Receiver, receiver

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("protocol", ["grpc", "http"])]

Protocol = Literal["grpc", "http"]


@kova.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def provider(server: ModelServer) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", base_url=server.url)


def telemetry(got: Receiver, protocol: Protocol, sampling_rate: float = 1.0) -> kova.Telemetry:
    exporter = kova.OTLPExporter(got.url, protocol, headers={"X-Team": "blue"})
    return kova.TelemetryConfig("shop", None, exporter, sampling_rate).init()


def two_rounds(exchange: Exchange) -> None:
    """Two tool calls, and then an answer."""
    if any(message["role"] == "tool" for message in exchange.json()["messages"]):
        play.text("done")(exchange)
    else:
        play.calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))(exchange)


async def test_turns_at_once_arrive_nested_rightly(server: ModelServer, protocol: Protocol) -> None:
    """O2, O3, T9: complete and streamed ones, with tools in threads."""
    server.always(two_rounds)

    async def turn(agent: kova.AsyncAgent, index: int) -> None:
        if index % 2:
            await agent.run("Hi", session=str(index))
            return
        async with agent.run_stream("Hi", session=str(index)) as stream:
            async for _ in stream:
                pass

    with receiver(protocol) as got:
        with telemetry(got, protocol):
            async with provider(server) as model:
                agent = kova.AsyncAgent(model, name="a", tools=[add])
                async with rt.TaskGroup() as group:
                    for index in range(20):
                        group.start_soon(turn, agent, index)
    assert got.services == {"shop"}
    assert got.headers[0]["x-team"] == "blue"
    assert got.edges() == (
        [("chat m", "invoke_agent a")] * 40
        + [("execute_tool add", "invoke_agent a")] * 40
        + [("invoke_agent a", "")] * 20
    )
    for turn_span in got.named("invoke_agent a"):
        own = [span for span in got.all if span.trace_id == turn_span.trace_id]
        assert len(own) == 5
        sessions = {span.attributes.get("gen_ai.conversation.id") for span in own} - {None}
        assert len(sessions) == 1


async def test_streams_broken_off_and_failures_arrive(
    server: ModelServer, protocol: Protocol, caplog: pytest.LogCaptureFixture
) -> None:
    """O2."""

    def words_for_ever(exchange: Exchange) -> None:
        exchange.start_stream()
        while True:
            exchange.send_delta({"content": "word "})

    server.play(words_for_ever, play.error(400))
    with receiver(protocol) as got, caplog.at_level(logging.WARNING):
        with telemetry(got, protocol):
            async with provider(server) as model:
                agent = kova.AsyncAgent(model)
                async with agent.run_stream("Hi") as stream:
                    async for _ in stream:
                        break
                with pytest.raises(kova.ProviderError):
                    await agent.run("Hi")
    assert got.edges() == [("chat m", "invoke_agent")] * 2 + [("invoke_agent", "")] * 2
    assert [span.is_error for span in got.named("invoke_agent")] == [False, True]
    assert got.named("chat m")[1].attributes["http.response.status_code"] == 400
    assert [record for record in caplog.records if record.name.startswith("opentelemetry")] == []


async def test_nothing_is_sent_of_traces_that_are_not_sampled(server: ModelServer, protocol: Protocol) -> None:
    server.always(play.text("Hello"))
    with receiver(protocol) as got:
        with telemetry(got, protocol, sampling_rate=0.0):
            async with provider(server) as model:
                await kova.AsyncAgent(model).run("Hi")
    assert got.all == []


async def test_shutting_down_leaves_no_thread(server: ModelServer, protocol: Protocol) -> None:
    server.always(play.text("Hello"))
    with receiver(protocol) as got:
        with telemetry(got, protocol) as running:
            async with provider(server) as model:
                await kova.AsyncAgent(model).run("Hi")
            running.flush()
            assert len(got.all) == 2
        names = {thread.name for thread in threading.enumerate()}
    assert not {name for name in names if name.startswith(("OtelBatch", "kova-telemetry"))}


async def test_text_that_cannot_be_sent_does_not_cost_the_batch(server: ModelServer, protocol: Protocol) -> None:
    """Lone surrogates, which JSON may hold."""
    server.play(play.calls(("\ud800", {}), content="\udfff"), play.text("Hello"))
    with receiver(protocol) as got:
        exporter = kova.OTLPExporter(got.url, protocol)
        with kova.TelemetryConfig(log_level=None, exporter=exporter, capture_content=True).init():
            async with provider(server) as model:
                await kova.AsyncAgent(model, tools=[add], tool_errors="report").run("Hi")
    assert [name for name, _ in got.edges()] == ["chat m", "chat m", "execute_tool ?", "invoke_agent"]
