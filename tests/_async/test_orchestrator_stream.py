"""An orchestration as a stream: whose events come when, and what leaving it does."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

import kova
from kova._runtime import workers
from kova.testing import AsyncScriptedProvider, Delay, call, provider_error
from tests import server as play
from tests.observe import kova_threads, wait_until
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio


def agent(*answers: Any, **options: Any) -> kova.AsyncAgent:
    return kova.AsyncAgent(AsyncScriptedProvider(*answers), retry_config=kova.RetryConfig.disabled(), **options)


def in_short(event: kova.OrchestrationEvent) -> tuple[str, str]:
    """The event's path, and what it is about."""
    match event:
        case kova.AgentStarted(path=path):
            return "/".join(path), "started"
        case kova.AgentProgress(path=path, event=kova.TextDelta(text=text)):
            return "/".join(path), text
        case kova.AgentProgress(path=path, event=inner):
            return "/".join(path), type(inner).__name__
        case kova.AgentFinished(path=path, response=None, error=error):
            return "/".join(path), type(error).__name__
        case kova.AgentFinished(path=path):
            return "/".join(path), "finished"
        case _:
            return "", type(event).__name__


async def test_each_agents_events_come_under_its_name() -> None:
    def look() -> str:
        """Look."""
        return "rain"

    orchestrator = kova.AsyncOrchestrator({"scout": agent(call("look"), "Rain.", tools=[look]), "poet": agent("Oh!")})
    async with orchestrator.execute_stream(kova.Sequential(["scout", "poet"]), "go") as stream:
        events = [event async for event in stream]
    assert [in_short(event) for event in events] == [
        ("scout", "started"),
        ("scout", "ToolCallStarted"),
        ("scout", "ToolCallFinished"),
        ("scout", "Rain."),
        ("scout", "finished"),
        ("poet", "started"),
        ("poet", "Oh!"),
        ("poet", "finished"),
        ("", "OrchestrationCompleted"),
    ]
    assert isinstance(events[-1], kova.OrchestrationCompleted)
    assert events[-1].output == stream.output
    assert [event.response for event in events if isinstance(event, kova.AgentFinished)] == [*stream.output.responses]


async def test_nested_agents_have_the_path_that_leads_to_them() -> None:
    inner = kova.AsyncOrchestrator({"a": agent("A"), "broken": agent(provider_error(400, "no"))})
    middle = kova.AsyncOrchestrator({"pair": inner.as_agent(kova.Parallel(["a", "broken"]))})
    outer = kova.AsyncOrchestrator({"team": middle.as_agent(kova.Sequential(["pair"])), "last": agent("Z")})
    async with outer.execute_stream(kova.Sequential(["team", "last"]), "go") as stream:
        events = [in_short(event) async for event in stream]
    assert events[:2] == [("team", "started"), ("team/pair", "started")]
    assert sorted(events[2:-6]) == [
        ("team/pair/a", "A"),
        ("team/pair/a", "finished"),
        ("team/pair/a", "started"),
        ("team/pair/broken", "ProviderError"),
        ("team/pair/broken", "started"),
    ]
    assert events[-6:-3] == [("team/pair", "finished"), ("team", "finished"), ("last", "started")]


async def test_events_of_agents_at_once_come_as_they_happen(server: ModelServer) -> None:
    """The second begins to speak before the first has ended, and ends before it."""
    second_is_done = threading.Event()

    def answer(exchange: Exchange) -> None:
        name = exchange.json()["messages"][0]["content"]
        exchange.start_stream()
        exchange.send_delta({"content": f"{name} begins"})
        if name == "first":
            second_is_done.wait(10)
        exchange.send_delta({"content": f", {name} ends"}, finish="stop")
        exchange.end_stream()

    server.always(answer)
    seen: list[tuple[str, str]] = []
    async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as model:
        agents = {name: kova.AsyncAgent(model, system_prompt=name) for name in ("first", "second")}
        orchestrator = kova.AsyncOrchestrator(agents)
        async with orchestrator.execute_stream(kova.Parallel(["first", "second"]), "go") as stream:
            async for event in stream:
                seen.append(in_short(event))
                if ("second", "finished") in seen and ("first", "first begins") in seen:
                    second_is_done.set()
    assert [text for path, text in seen if path == "first"][1:] == ["first begins", ", first ends", "finished"]
    assert seen.index(("second", "finished")) < seen.index(("first", ", first ends"))


@pytest.mark.parametrize("pattern", [kova.Sequential(["first"]), kova.Parallel(["first", "second"])])
async def test_leaving_the_block_cancels_what_runs(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, pattern: Any
) -> None:
    """T11, T12: the server sees the disconnects, no thread is left, and the models can be asked again."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    left = threading.Semaphore(0)

    def endless(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.release()

    count = len(pattern.agents)
    server.play(*[endless] * count)
    server.always(play.text("Here I am"))
    async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url, max_connections=count) as model:
        orchestrator = kova.AsyncOrchestrator({name: kova.AsyncAgent(model) for name in ("first", "second")})
        speaking = set()
        async with orchestrator.execute_stream(pattern, "go") as stream:
            async for event in stream:
                if isinstance(event, kova.AgentProgress):
                    speaking.add(event.path)
                if len(speaking) == count:
                    break
        for _ in range(count):
            assert left.acquire(timeout=5)
        wait_until(lambda: not kova_threads(), "no thread of kova's is left")
        output: Any = await orchestrator.execute(pattern, "again")
        assert not getattr(output, "failures", {})


async def test_leaving_before_the_first_event_asks_nobody() -> None:
    model = AsyncScriptedProvider()
    orchestrator = kova.AsyncOrchestrator({"a": kova.AsyncAgent(model)})
    async with orchestrator.execute_stream(kova.Parallel(["a"]), "go"):
        pass
    assert model.requests == []


async def test_an_error_comes_after_the_event_that_tells_of_it() -> None:
    orchestrator = kova.AsyncOrchestrator({"a": agent("A"), "b": agent(provider_error(400, "no"))})
    seen = []
    with pytest.raises(kova.ProviderError, match="no"):
        async with orchestrator.execute_stream(kova.Sequential(["a", "b"]), "go") as stream:
            async for event in stream:
                seen.append(in_short(event))
    assert seen[-2:] == [("b", "started"), ("b", "ProviderError")]
    with pytest.raises(kova.StreamError, match="not over"):
        _ = stream.output


async def test_what_the_consumer_raises_is_what_comes_out() -> None:
    orchestrator = kova.AsyncOrchestrator({"a": agent(["word", Delay(math.inf)]), "b": agent(Delay(math.inf))})
    with pytest.raises(LookupError, match="mine"):
        async with orchestrator.execute_stream(kova.Parallel(["a", "b"]), "go") as stream:
            async for event in stream:
                if isinstance(event, kova.AgentProgress):
                    raise LookupError("mine")


async def test_a_stream_is_used_once_and_inside_its_block() -> None:
    """T11."""
    orchestrator = kova.AsyncOrchestrator({"a": agent("A")})
    stream = orchestrator.execute_stream(kova.Sequential(["a"]), "go")
    with pytest.raises(kova.StreamError, match="inside its with block"):
        async for _ in stream:
            pass
    async with stream:
        async for _ in stream:
            pass
    await stream.close()
    with pytest.raises(kova.StreamError, match="used once"):
        async with stream:
            pass
    assert stream.output.text == "A"


async def test_a_pattern_in_an_agents_place_has_the_same_stream() -> None:
    inner = kova.AsyncOrchestrator({"a": agent("A", Delay(math.inf)), "b": agent("B")})
    team = inner.as_agent(kova.Sequential(["a", "b"]))
    async with team.run_stream("go") as stream:
        events = [in_short(event) async for event in stream]
    assert events[:3] == [("a", "started"), ("a", "A"), ("a", "finished")]
    assert stream.output.text == "B"
    with pytest.raises(kova.TimeoutError, match="the turn took longer than 0.2 s"):
        async with team.run_stream("go", timeout=0.2) as stream:
            async for _ in stream:
                pass


async def test_what_is_wrong_is_said_before_the_block() -> None:
    orchestrator = kova.AsyncOrchestrator({"a": agent()})
    with pytest.raises(kova.OrchestrationError, match="there is no agent 'b'; the agents are: a"):
        orchestrator.execute_stream(kova.Sequential(["b"]), "go")
    with pytest.raises(ValueError, match="text is blank"):
        orchestrator.execute_stream(kova.Sequential(["a"]), " ")
