"""Event loops as hosts use them: one after another, several at once, and one that runs while blocking code is called."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import itertools
import logging
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest
import trio

import kova
from kova._runtime import workers
from tests import server as play
from tests.async_tools import double
from tests.hosts.script import ROOT
from tests.observe import kova_threads, sockets, wait_until
from tests.server import Exchange, ModelServer
from tests.tls import TLSModelServer

LATE = 0.25  # seconds: five times the 50 ms by which a heartbeat may be late
SOON = 5.0  # seconds


def async_provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", base_url=server.url, **options)


def blocking_agent(server: ModelServer, **options: Any) -> kova.Agent:
    return kova.Agent(kova.OpenAICompatibleProvider("m", base_url=server.url), **options)


def run_asyncio(function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(function())


RUNNERS = pytest.mark.parametrize("run", [run_asyncio, trio.run], ids=["asyncio", "trio"])


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# ---- blocking code inside a running loop


def test_blocking_calls_inside_a_running_loop(server: ModelServer) -> None:
    """T1: as in a notebook's cell, with a tool, as a stream, with a timeout and a token."""
    server.play(*[play.calls(("add", {"a": 1, "b": 2})), play.text("3")] * 4)

    async def cell() -> list[str]:
        agent = blocking_agent(server, tools=[add])
        texts = [agent.run("1 + 2?").text]
        texts.append(agent.run("1 + 2?", timeout=30).text)
        texts.append(agent.run("1 + 2?", cancel=kova.CancellationToken()).text)
        with agent.run_stream("1 + 2?") as stream:
            texts += stream.text_deltas()
        return texts

    assert asyncio.run(cell()) == ["3"] * 4


def test_an_async_tool_of_a_blocking_agent_inside_a_running_loop(server: ModelServer) -> None:
    """T1: it gets a loop of its own, in another thread."""
    server.play(
        play.calls(("double", {"n": 4}), ("double", {"n": 5})), play.calls(("double", {"n": 6})), play.text("ok")
    )

    async def cell() -> kova.AgentResponse:
        return blocking_agent(server, tools=[double]).run("go")

    response = asyncio.run(cell())
    assert response.new_messages[1:3] == [kova.tool_message("call_0", "8"), kova.tool_message("call_1", "10")]
    (result,) = response.new_messages[4].content
    assert isinstance(result, kova.ToolResultBlock)
    assert result.content == "12"


def test_blocking_calls_make_no_event_loop(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """T1: and ask for none."""

    def refuse(*args: object) -> None:
        raise AssertionError("the blocking twin wanted an event loop")

    for name in ("new_event_loop", "get_event_loop", "run"):
        monkeypatch.setattr(asyncio, name, refuse)
    monkeypatch.setattr(asyncio.BaseEventLoop, "__init__", refuse)
    monkeypatch.setattr(trio, "run", refuse)
    server.play(play.calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), play.text("done"))
    assert blocking_agent(server, tools=[add]).run("go", timeout=30).text == "done"


# ---- one agent, many loops


@RUNNERS
def test_four_loops_in_a_row_make_four_requests(server: ModelServer, run: Any) -> None:
    """T2: as of a module-level agent that is used from `asyncio.run` again and again."""
    server.always(play.text("Hello"))
    agent = kova.AsyncAgent(async_provider(server))

    async def main() -> str:
        return (await agent.run("Hi")).text

    assert [run(main) for _ in range(4)] == ["Hello"] * 4
    assert (len(server.exchanges), server.connections) == (4, 4)


def test_loops_of_both_kinds_take_turns_on_one_agent() -> None:
    """T2, T13: over TLS, where a connection has more to it."""
    with TLSModelServer() as server:
        server.always(play.text("Hello"))
        agent = kova.AsyncAgent(async_provider(server, verify=server.trusting()))

        async def main() -> list[str]:
            return [(await agent.run("Hi")).text for _ in range(2)]

        for run in (run_asyncio, trio.run) * 2:
            assert run(main) == ["Hello"] * 2
        assert (len(server.exchanges), server.connections) == (8, 4)


@RUNNERS
def test_loops_in_two_threads_at_once(server: ModelServer, run: Any) -> None:
    """T2: both are in the middle of a request at the same time."""
    both = threading.Barrier(2)
    hello = play.text("Hello")

    def together(exchange: Exchange) -> None:
        both.wait(10)
        hello(exchange)

    server.always(together)
    agent = kova.AsyncAgent(async_provider(server))

    async def main() -> list[str]:
        return [(await agent.run("Hi")).text for _ in range(20)]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, [main] * 2))
    assert results == [["Hello"] * 20] * 2
    assert (len(server.exchanges), server.connections) == (40, 2)


@RUNNERS
def test_200_short_loops_leave_nothing(server: ModelServer, run: Any, caplog: pytest.LogCaptureFixture) -> None:
    """T2: no connections, no pools, no warnings; whole and streamed answers, read to the end and broken off."""
    server.always(play.text("Hello there"))
    agent = kova.AsyncAgent(async_provider(server))
    pools: weakref.WeakSet[Any] = weakref.WeakSet()

    async def main() -> None:
        assert (await agent.run("Hi")).text == "Hello there"
        async with agent.run_stream("Hi") as stream:
            async for _ in stream:
                break
        pools.update(agent._provider._client._pools._objects.values())  # type: ignore[attr-defined]

    gc.collect()
    before = sockets()
    with caplog.at_level(logging.INFO):
        for _ in range(200):
            run(main)
        gc.collect()
    assert len(server.exchanges) == 400
    wait_until(lambda: sockets() <= before, "all sockets are closed")
    assert len(pools) == 0
    assert caplog.records == []


def test_a_loop_that_is_closed_in_the_middle_of_turns(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    """T2, T11: `asyncio.run` cancels them, the server sees them leave, and nothing is said of it."""
    left = threading.Semaphore(0)

    def endless(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.release()

    server.always(endless)
    agent = kova.AsyncAgent(async_provider(server))

    async def read(begun: asyncio.Event) -> None:
        async with agent.run_stream("Hi") as stream:
            async for _ in stream:
                begun.set()

    async def main() -> None:
        events = [asyncio.Event() for _ in range(3)]
        tasks = [asyncio.create_task(read(event)) for event in events]
        await asyncio.gather(*(event.wait() for event in events))
        del tasks

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
        gc.collect()
    for _ in range(3):
        assert left.acquire(timeout=SOON)
    assert caplog.records == []


def test_an_injected_client_belongs_to_its_first_loop(server: ModelServer) -> None:
    """T2: another loop is told so, as are other providers that have the same client."""
    server.always(play.text("Hello"))
    client = httpx.AsyncClient()
    first, second = (kova.AsyncAgent(async_provider(server, http_client=client)) for _ in range(2))

    async def main() -> str:
        return (await first.run("Hi")).text + (await second.run("Hi")).text

    async def close() -> None:
        await client.aclose()

    with asyncio.Runner() as runner:
        assert runner.run(main()) == "HelloHello"
        for agent in (first, second):

            async def elsewhere(agent: kova.AsyncAgent = agent) -> None:
                await agent.run("Hi")

            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                with pytest.raises(kova.KovaError, match="http_client was first used in another event loop") as caught:
                    thread.submit(run_asyncio, elsewhere).result()
                assert not caught.value.is_retryable
        assert runner.run(main()) == "HelloHello"
        runner.run(close())
    assert len(server.exchanges) == 4


# ---- cancelled by the host


@pytest.mark.parametrize("where", ["headers", "stream", "tool"])
def test_a_task_that_is_cancelled(server: ModelServer, where: str) -> None:
    """T12: ends with asyncio's own exception, at once, and gives its connection back."""
    reached, release, left = threading.Event(), threading.Event(), threading.Event()

    @kova.tool
    def block() -> None:
        """Block for long."""
        reached.set()
        release.wait(30)

    def silent(exchange: Exchange) -> None:
        if where == "stream":
            exchange.start_stream()
            exchange.send_delta({"content": "first"})
        reached.set()
        if exchange.wait_for_disconnect():
            left.set()

    async def turn(agent: kova.AsyncAgent) -> None:
        async with agent.run_stream("go") as stream:
            async for _ in stream:
                pass

    async def main() -> None:
        agent = kova.AsyncAgent(async_provider(server, max_connections=1), tools=[block])
        server.play(play.calls(("block", {})) if where == "tool" else silent, play.text("Here I am"))
        task = asyncio.create_task(turn(agent))
        assert await asyncio.to_thread(reached.wait, 10)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < 1.5
        assert (await agent.run("and now?", timeout=SOON)).text == "Here I am"

    asyncio.run(main())
    release.set()
    assert where == "tool" or left.wait(SOON)


def test_wait_for_and_timeouts_of_the_host(server: ModelServer) -> None:
    """T12: a hundred of them, at all moments of a turn; no slot is lost."""
    delays = [number % 10 / 1000 for number in range(100)]

    def slow(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        time.sleep(0.005)
        exchange.send_delta({"content": "second"}, "stop")
        exchange.end_stream()

    async def turn(agent: kova.AsyncAgent, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds), agent.run_stream("go") as stream:
                async for _ in stream:
                    pass
        except TimeoutError:
            pass

    async def main() -> None:
        server.always(slow)
        agent = kova.AsyncAgent(async_provider(server, max_connections=3))
        await asyncio.gather(*(turn(agent, seconds) for seconds in delays))
        server.always(play.text("Hello"))
        texts = await asyncio.gather(*(agent.run("Hi", timeout=SOON) for _ in range(3)))
        assert [response.text for response in texts] == ["Hello"] * 3

    asyncio.run(main())


# ---- tools and the loop


def test_a_tool_that_sleeps_does_not_hold_up_the_loop(server: ModelServer) -> None:
    """T8: while a plain tool sleeps for a second, a heartbeat of the same loop goes on."""
    beats: list[float] = []

    @kova.tool
    def sleep() -> str:
        """Sleep."""
        time.sleep(1)
        return "ok"

    async def beat() -> None:
        while True:
            beats.append(time.monotonic())
            await asyncio.sleep(0.01)

    async def main() -> None:
        server.play(play.calls(("sleep", {}), ("sleep", {})), play.text("done"))
        heart = asyncio.create_task(beat())
        agent = kova.AsyncAgent(async_provider(server), tools=[sleep])
        assert (await agent.run("go")).text == "done"
        heart.cancel()

    asyncio.run(main())
    assert beats[-1] - beats[0] > 0.9
    assert max(after - before for before, after in itertools.pairwise(beats)) < LATE


@pytest.mark.parametrize("kind", ["asyncio", "trio", "blocking"])
def test_many_turns_with_plain_tools_need_few_threads(
    server: ModelServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T8: 150 turns with three calls each."""
    most = 0

    @kova.tool
    def count() -> str:
        """Count the threads."""
        nonlocal most
        most = max(most, len(kova_threads()))
        return "ok"

    def script(exchange: Exchange) -> None:
        last = exchange.json()["messages"][-1]["role"]
        (play.text("done") if last == "tool" else play.calls(*[("count", {})] * 3))(exchange)

    server.always(script)
    if kind == "blocking":
        agent = blocking_agent(server, tools=[count])
        for _ in range(150):
            assert agent.run("go", timeout=30).text == "done"
    else:

        async def main() -> None:
            agent = kova.AsyncAgent(async_provider(server), tools=[count])
            for _ in range(150):
                assert (await agent.run("go")).text == "done"

        trio.run(main) if kind == "trio" else asyncio.run(main())
    assert 1 <= most <= 8
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0)
    wait_until(lambda: not kova_threads(), "no thread of kova's is left")


# ---- T13


def test_every_async_test_runs_on_both_kinds_of_loop() -> None:
    """T13."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/_async"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    on_asyncio = {name for name in names if "[asyncio" in name}
    on_trio = {name.replace("[trio", "[asyncio") for name in names if "[trio" in name}
    assert on_asyncio == on_trio
    assert len(on_asyncio) > 200
