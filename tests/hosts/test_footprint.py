"""T6: what kova costs a process before it is used, and what is left of it after long use."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio

import kova
from kova._runtime import workers
from kova.testing import ServerAnswer
from tests import server as play
from tests.hosts.script import run
from tests.observe import kova_threads, leaves_things_where_they_were
from tests.server import Exchange, ModelServer

MIB = 1 << 20
SLOW = [pytest.mark.slow, pytest.mark.timeout(1200)]

SEEN = """
import os, sys, threading

def seen():
    "Threads, sockets and other open files, children, and the modules that only a request needs."
    needed = {"h11", "ssl", "_ssl", "httpx", "httpx2", "httpcore", "anyio", "trio", "asyncio", "botocore", "opentelemetry"}
    files = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if number != "3"]
    return threading.active_count(), sorted(files), sorted(needed & sys.modules.keys())

before = seen()
"""


def test_importing_kova_leaves_no_trace() -> None:
    """T6: no thread, no socket, no file, not a word, and none of the modules that only a request needs."""
    source = """
    import kova
    assert seen() == before, (seen(), before)
    for name in dir(kova):
        getattr(kova, name)
    threads, files, modules = seen()
    assert (threads, files) == before[:2]
    assert not {"httpx", "httpx2", "httpcore", "trio", "botocore", "opentelemetry"} & set(modules), modules
    """
    assert run(source, "-W", "error", prelude=SEEN) == []


@pytest.mark.parametrize("twin", ["", "Async"])
def test_making_agents_leaves_no_trace(twin: str) -> None:
    """T6: of a thousand of them, with tools, a registry and providers of several kinds."""
    source = f"""
    import kova

    @kova.tool
    def add(a: int, b: int) -> int:
        "Add."
        return a + b

    Provider, Agent = kova.{twin}OpenAICompatibleProvider, kova.{twin}Agent
    shared = Provider("m", api_key="k", base_url="https://127.0.0.1:1")
    agents = [Agent(shared, tools=[add], system_prompt="Be brief.") for _ in range(1000)]
    agents += [Agent(Provider("m", base_url="http://nowhere.invalid"), tools=[add]) for _ in range(10)]
    streams = [agent.run_stream("Hi") for agent in agents]
    tokens = [kova.CancellationToken() for _ in range(1000)]
    threads, files, modules = seen()
    assert (threads, files) == before[:2], (threads, files, before)
    assert not {{"httpx", "httpx2", "httpcore", "trio", "botocore", "opentelemetry"}} & set(modules), modules
    """
    assert run(source, "-W", "error", prelude=SEEN) == []


def test_a_thousand_agents_on_one_provider_share_its_connections(server: ModelServer) -> None:
    """T6: blocking and async."""
    server.always(play.text("Hello"))
    with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
        agents = [kova.Agent(provider, system_prompt=f"You are number {number}.") for number in range(1000)]
        for agent in agents[::10]:
            assert agent.run("Hi").text == "Hello"
    assert (len(server.exchanges), server.connections) == (100, 1)

    async def main() -> None:
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as provider:
            agents = [kova.AsyncAgent(provider, system_prompt=f"You are number {number}.") for number in range(1000)]
            for agent in agents[::10]:
                assert (await agent.run("Hi")).text == "Hello"

    asyncio.run(main())
    assert (len(server.exchanges), server.connections) == (200, 2)


# ---- after long use


@kova.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail() -> None:
    """Fail."""
    raise ValueError("bad")


class Lean(ModelServer):
    """Forgets what was asked, and by whom, so that only kova's memory is seen."""

    def _answer(self) -> ServerAnswer:
        self.exchanges.clear()
        self._threads[:] = [thread for thread in self._threads if thread.is_alive()]
        return super()._answer()


def turn_with_tools(exchange: Exchange) -> None:
    last = exchange.json()["messages"][-1]["role"]
    call = ("add", {"a": 1, "b": 2})
    (play.text("Three it is") if last == "tool" else play.calls(call, call))(exchange)


@pytest.fixture
def lean_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    with Lean() as running:
        running.always(turn_with_tools)
        yield running


def blocking_turns(server: ModelServer, count: int) -> None:
    """Turns of all kinds: whole, streamed, broken off, failed, timed out."""
    with kova.OpenAICompatibleProvider("m", base_url=server.url) as provider:
        agent = kova.Agent(provider, tools=[add, fail])
        for number in range(count):
            kind = number % 5
            if kind == 0:
                agent.run("go")
            elif kind == 1:
                agent.run("go", timeout=30, cancel=kova.CancellationToken())
            elif kind == 2:
                with agent.run_stream("go") as stream:
                    list(stream)
            elif kind == 3:
                with agent.run_stream("go") as stream:
                    next(stream)
            else:
                server.play(play.calls(("fail", {}), ("add", {"a": 1, "b": 2})))
                with pytest.raises(kova.ToolExecutionError):
                    agent.run("go")


async def async_turns(server: ModelServer, count: int) -> None:
    async with kova.AsyncOpenAICompatibleProvider("m", base_url=server.url) as provider:
        agent = kova.AsyncAgent(provider, tools=[add, fail])
        for number in range(count):
            kind = number % 5
            if kind == 0:
                await agent.run("go")
            elif kind == 1:
                await agent.run("go", timeout=30, cancel=kova.CancellationToken())
            elif kind == 2:
                async with agent.run_stream("go") as stream:
                    async for _ in stream:
                        pass
            elif kind == 3:
                async with agent.run_stream("go") as stream:
                    await anext(stream)
            else:
                server.play(play.calls(("fail", {}), ("add", {"a": 1, "b": 2})))
                with pytest.raises(kova.ToolExecutionError):
                    await agent.run("go")


TWINS: dict[str, Callable[[ModelServer, int], Any]] = {
    "blocking": blocking_turns,
    "asyncio": lambda server, count: asyncio.run(async_turns(server, count)),
    "trio": lambda server, count: trio.run(async_turns, server, count),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("twin", ["blocking", "asyncio"])
def test_5000_turns_leave_things_where_they_were(lean_server: ModelServer, twin: str) -> None:
    """T6: memory, sockets and threads; the same turns once more need nothing more."""
    leaves_things_where_they_were(lambda count: TWINS[twin](lean_server, count), before=50, then=5_000)


@pytest.mark.parametrize("twin", ["blocking", "asyncio"])
def test_200_agents_opened_and_closed_leave_things_where_they_were(lean_server: ModelServer, twin: str) -> None:
    """T6."""

    def agents(count: int) -> None:
        for _ in range(count):
            TWINS[twin](lean_server, 1)

    leaves_things_where_they_were(agents, before=70, then=200)


def run_trio(function: Callable[..., Any], *args: Any) -> Any:
    """Run it on trio."""
    return trio.run(function, *args)


def long_stream(exchange: Exchange, count: int) -> None:
    """Many events in chunks of many, and little text in each."""
    event = b'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
    exchange.start_stream()
    for _ in range(count // 500):
        exchange.send_chunk(event * 500)
    exchange.send_delta({}, "stop")
    exchange.end_stream()


@pytest.mark.parametrize("count", [50_000, pytest.param(1_000_000, marks=SLOW)])
@pytest.mark.parametrize("twin", TWINS)
def test_a_long_stream_runs_in_flat_memory(lean_server: ModelServer, twin: str, count: int) -> None:
    """T6: what is kept is the text, which is the answer, and not the events."""
    TWINS[twin](lean_server, 1)  # what is loaded with the first turn does not count
    lean_server.always(lambda exchange: long_stream(exchange, count))

    def blocking() -> int:
        with kova.OpenAICompatibleProvider("m", base_url=lean_server.url) as provider:
            with kova.Agent(provider).run_stream("go") as stream:
                return sum(1 for _ in stream)

    async def in_a_loop() -> int:
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=lean_server.url) as provider:
            async with kova.AsyncAgent(provider).run_stream("go") as stream:
                number = 0
                async for _ in stream:
                    number += 1
                return number

    gc.collect()
    tracemalloc.start()
    try:
        seen = (
            blocking() if twin == "blocking" else asyncio.run(in_a_loop()) if twin == "asyncio" else run_trio(in_a_loop)
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen == count + 1
    # On the wire an event takes 100 bytes, and as an object far more; its text, which is kept, takes one.
    assert peak < 1.5 * MIB + 3 * count


def test_threads_are_none_where_none_is_needed(lean_server: ModelServer) -> None:
    """T6: a blocking turn with a tool, without any limit of time, at an address that needs no look-up."""
    seen: list[int] = []

    @kova.tool
    def count() -> str:
        """Count."""
        seen.append(len(kova_threads()))
        assert threading.current_thread() is threading.main_thread()
        return "ok"

    lean_server.play(play.calls(("count", {})), play.text("done"))
    with kova.OpenAICompatibleProvider("m", base_url=lean_server.url) as provider:
        assert kova.Agent(provider, tools=[count]).run("go").text == "done"
    assert seen == [0]
