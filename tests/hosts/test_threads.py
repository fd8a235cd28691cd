"""Threads as hosts use them, pools and fresh ones, with the blocking twin."""

from __future__ import annotations

import concurrent.futures
import contextvars
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import kova
from tests import server as play
from tests.observe import kova_threads, wait_until
from tests.server import Exchange, ModelServer

request_id = contextvars.ContextVar("request_id", default="unset")


@kova.tool
def read() -> str:
    """Read the context variable."""
    return request_id.get()


def agent_of(server: ModelServer, **options: Any) -> kova.Agent:
    provider = kova.OpenAICompatibleProvider("m", base_url=server.url, **options)
    return kova.Agent(provider, tools=[read])


def read_back(exchange: Exchange) -> None:
    """Let the model call the tool, and then say what came of it."""
    *_, last = exchange.json()["messages"]
    (play.text(last["content"]) if last["role"] == "tool" else play.calls(("read", {})))(exchange)


def test_eight_threads_of_a_pool_make_25_turns_each(server: ModelServer) -> None:
    """T3: without any limit, so that each runs in its own thread from beginning to end."""
    server.always(play.text("Hello"))
    agent = agent_of(server)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: agent.run("Hi").text, range(200))) == ["Hello"] * 200
    assert len(server.exchanges) == 200
    assert server.connections <= 8


def test_64_threads_over_two_connections(server: ModelServer) -> None:
    """T3: those that are given up while they wait do not hold up the others."""
    server.always(play.text("Hello"))
    agent = agent_of(server, max_connections=2)
    ends: list[str] = []

    def ask(number: int) -> None:
        try:
            ends.append(agent.run("Hi", timeout=0.001 if number % 2 else 30).text)
        except kova.TimeoutError:
            ends.append("late")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(ends) == 64
    assert ends.count("Hello") >= 32
    assert agent.run("Hi", timeout=10).text == "Hello"


@pytest.mark.parametrize("limits", [{}, {"timeout": 30.0}])
def test_a_fresh_thread(server: ModelServer, limits: dict[str, Any]) -> None:
    """T5, T9: it begins with an empty context, and tools see what is set there."""
    server.always(read_back)
    agent, texts = agent_of(server), []

    def ask(name: str) -> None:
        request_id.set(name)
        texts.append(agent.run("Hi", **limits).text)

    request_id.set("of the main thread")
    threads = [threading.Thread(target=ask, args=(f"of thread {number}",)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(texts) == [f"of thread {number}" for number in range(5)]
    assert agent.run("Hi", **limits).text == "of the main thread"


def test_a_stream_is_closed_by_another_thread(server: ModelServer) -> None:
    """T11: the one that reads it is not left waiting."""
    left = threading.Event()

    def endless(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.set()

    server.play(endless, play.text("Hello"))
    agent = agent_of(server, max_connections=1)
    begun, ends = threading.Event(), []

    def read_on(stream: kova.AgentStream) -> None:
        try:
            for _ in stream:
                begun.set()
        except kova.KovaError as error:
            ends.append(type(error))

    with agent.run_stream("Hi") as stream:
        thread = threading.Thread(target=read_on, args=(stream,))
        thread.start()
        assert begun.wait(10)
        stream.close()
        thread.join(5)
        assert not thread.is_alive()
    assert left.wait(5)
    assert len(ends) == 1
    assert agent.run("Hi", timeout=5).text == "Hello"


class Stubborn:
    """A provider of a user's that waits in plain code, which nothing can end but what it waits for."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def chat_completion(self, *asked: object) -> kova.ModelResponse:
        self.released.wait(60)
        return kova.ModelResponse("too late")

    def chat_completion_stream(self, *asked: object) -> Iterator[kova.StreamEvent]:
        yield from ()


def test_a_branch_that_cannot_be_stopped_does_not_hold_up_the_others(server: ModelServer) -> None:
    """O1, T12: it is given up at the timeout, and what it says later is dropped."""
    server.always(play.text("Hello"))
    stubborn = Stubborn()
    orchestrator = kova.Orchestrator({"stubborn": kova.Agent(stubborn), "other": agent_of(server)}, timeout=0.5)
    output = orchestrator.execute(kova.Parallel(["stubborn", "other"]), "go")
    assert output.successes["other"].text == "Hello"
    assert str(output.failures["stubborn"]) == "the orchestration took longer than 0.5 s"
    assert not stubborn.released.is_set()
    stubborn.released.set()
    wait_until(lambda: not kova_threads(), "the thread ends when the provider lets it")
    assert list(output.failures) == ["stubborn"]
