"""T5: processes that are made from this one, with and without a copy of what it has."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kova
from kova._runtime import workers
from tests import server as play
from tests.hosts.script import run
from tests.observe import kova_threads, wait_until
from tests.server import Exchange, ModelServer
from tests.tls import TLSModelServer

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

LIMIT = 20.0  # seconds


@pytest.fixture(params=["http", "https"])
def any_server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with ModelServer() if request.param == "http" else TLSModelServer() as running:
        yield running


def agent_of(server: ModelServer, **options: Any) -> kova.Agent:
    verify = server.trusting() if isinstance(server, TLSModelServer) else True
    return kova.Agent(kova.OpenAICompatibleProvider("m", base_url=server.url, verify=verify, **options))


def in_a_child(work: Callable[[], object]) -> Any:
    """What the function gives in a forked child."""
    parent_end, child_end = multiprocessing.get_context("fork").Pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(int(LIMIT))  # a child that hangs ends all the same
        try:
            child_end.send(work())
        except BaseException as error:
            child_end.send(repr(error))
        os._exit(0)
    child_end.close()
    with parent_end:
        try:
            return parent_end.recv()
        finally:
            os.waitpid(pid, 0)


def test_a_child_makes_connections_of_its_own(any_server: ModelServer) -> None:
    """T5: those of the parent are dropped without a word to the server, TLS included, and the parent goes on."""
    any_server.always(play.text("Hello"))
    agent = agent_of(any_server)
    assert agent.run("Hi").text == "Hello"
    assert in_a_child(lambda: [agent.run("Hi", timeout=10).text for _ in range(2)]) == ["Hello"] * 2
    assert [agent.run("Hi", timeout=10).text for _ in range(2)] == ["Hello"] * 2
    assert (len(any_server.exchanges), any_server.connections) == (5, 2)


def test_children_of_children_at_once(server: ModelServer) -> None:
    """T5: without TLS, as the server's own threads in this process may hold one of OpenSSL's locks while it forks."""
    server.always(play.text("Hello"))
    agent = agent_of(server)
    assert agent.run("Hi").text == "Hello"

    def grandchildren() -> list[str]:
        first = agent.run("Hi", timeout=10).text
        return [first, in_a_child(lambda: agent.run("Hi", timeout=10).text), agent.run("Hi", timeout=10).text]

    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(in_a_child(grandchildren))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert results == [["Hello"] * 3] * 4
    assert server.connections == 1 + 4 * 2


def test_a_fork_while_a_worker_thread_is_idle(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """T5: the child does not give work to a thread that it does not have."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 3)

    @kova.tool
    def work() -> str:
        """Work."""
        return "ok"

    server.always(play.text("done"))
    call = play.calls(("work", {}), ("work", {}))
    server.play(call, play.text("done"), call)
    provider = kova.OpenAICompatibleProvider("m", base_url=server.url)
    agent = kova.Agent(provider, tools=[work])
    assert agent.run("go", timeout=10).text == "done"
    assert kova_threads(), "no worker is idle: the test tests nothing"
    assert in_a_child(lambda: agent.run("go", timeout=10).text) == "done"


def test_a_fork_in_the_middle_of_a_turn_of_another_thread(any_server: ModelServer) -> None:
    """T5: the child goes its own way at once, and when it ends, or even cancels, the parent's turn goes on."""
    asked, answer_now = threading.Event(), threading.Event()
    hello = play.text("Hello")

    def slow(exchange: Exchange) -> None:
        asked.set()
        assert answer_now.wait(LIMIT)
        hello(exchange)

    any_server.play(slow)
    any_server.always(hello)
    agent, token, texts = agent_of(any_server), kova.CancellationToken(), []
    thread = threading.Thread(target=lambda: texts.append(agent.run("Hi", cancel=token).text))
    thread.start()
    assert asked.wait(LIMIT)

    def child() -> str:
        token.cancel()  # as a signal handler does that the child has inherited
        return agent.run("Hi", timeout=10).text

    assert in_a_child(child) == "Hello"
    answer_now.set()
    thread.join(LIMIT)
    assert texts == ["Hello"]
    assert any_server.connections == 2


def test_a_fork_inside_a_streams_block(any_server: ModelServer) -> None:
    """T5: the child leaves the block, and the parent reads on."""
    more = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first "})
        assert more.wait(LIMIT)
        exchange.send_delta({"content": "second"}, "stop")
        exchange.end_stream()

    any_server.play(answer)
    any_server.always(play.text("Hello"))
    agent = agent_of(any_server)
    texts = []
    with agent.run_stream("Hi") as stream:
        for text in stream.text_deltas():
            texts.append(text)
            if len(texts) == 1:

                def child() -> str:
                    stream.close()
                    return agent.run("Hi", timeout=10).text

                assert in_a_child(child) == "Hello"
                more.set()
    assert texts == ["first ", "second"]


def test_a_child_closes_what_it_has_not_made(any_server: ModelServer) -> None:
    """T5: closing the provider, or dropping it, in the child leaves the parent's connections alone."""
    any_server.always(play.text("Hello"))
    agent = agent_of(any_server)
    agent.run("Hi")
    provider: Any = agent._provider
    assert in_a_child(provider.close) is None
    agent.run("Hi", timeout=10)
    assert (len(any_server.exchanges), any_server.connections) == (2, 1)


def test_an_injected_client_is_not_used_in_a_child_after_its_parent(server: ModelServer) -> None:
    """T5: both would write to the same sockets; one that was not used before is the child's own."""
    httpx = pytest.importorskip("httpx")
    server.always(play.text("Hello"))
    with httpx.Client() as used, httpx.Client() as fresh:
        first, second = (agent_of(server, http_client=client) for client in (used, fresh))
        assert first.run("Hi").text == "Hello"
        assert "http_client was first used in another" in in_a_child(lambda: first.run("Hi", timeout=10))
        assert in_a_child(lambda: second.run("Hi", timeout=10).text) == "Hello"
        assert first.run("Hi", timeout=10).text == "Hello"


def test_timers_of_tokens_in_a_child() -> None:
    """T5: `cancel_after` starts the child's own timer."""
    token = kova.CancellationToken()
    token.cancel_after(LIMIT)

    def child() -> bool:
        mine = kova.CancellationToken()
        mine.cancel_after(0.01)
        return mine.wait(5)

    assert in_a_child(child) is True
    token.cancel()
    wait_until(lambda: "kova-timers" not in kova_threads(), "the timer has ended")


def test_a_fork_in_the_middle_of_an_event_loop(any_server: ModelServer) -> None:
    """T5: the child uses the blocking twin, and an async agent in a loop of its own; the parent's loop goes on."""
    import asyncio

    any_server.always(play.text("Hello"))
    verify = any_server.trusting() if isinstance(any_server, TLSModelServer) else True
    blocking = agent_of(any_server)
    agent = kova.AsyncAgent(kova.AsyncOpenAICompatibleProvider("m", base_url=any_server.url, verify=verify))

    async def ask() -> str:
        return (await agent.run("Hi", timeout=10)).text

    def in_a_thread() -> list[str]:
        texts = [blocking.run("Hi", timeout=10).text]
        thread = threading.Thread(target=lambda: texts.append(asyncio.run(ask())))
        thread.start()  # this thread has the copy of its parent's running loop
        thread.join(LIMIT)
        return texts

    async def main() -> list[str]:
        return [await ask(), *in_a_child(in_a_thread), await ask()]

    assert asyncio.run(main()) == ["Hello"] * 4
    assert any_server.connections == 3


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_processes_of_multiprocessing(server: ModelServer, method: str, tmp_path: Any) -> None:
    """T5: a pool of them, in a program with a module-level agent that the parent has used."""
    server.always(play.text("Hello"))
    (tmp_path / "program.py").write_text(PROGRAM)
    source = """
    import runpy, sys
    sys.argv = [path, method, url]
    sys.path.insert(0, folder)
    runpy.run_path(path, run_name="__main__")
    """
    said = run(
        source, "-W", "ignore", method=method, url=server.url, path=f"{tmp_path}/program.py", folder=str(tmp_path)
    )
    assert said == ["8 texts"]
    assert len(server.exchanges) == 9


PROGRAM = """
import multiprocessing, os, sys
import kova
from tests.hosts.script import say

def ask(url):
    return agent_at(url).run("Hi", timeout=10).text

agents = {}

def agent_at(url):
    if url not in agents:
        agents[url] = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url))
    return agents[url]

if __name__ == "__main__":
    _, method, url = sys.argv
    sys.modules["program"] = sys.modules[__name__]
    import program
    program.agents = agents
    assert program.ask(url) == "Hello"
    with multiprocessing.get_context(method).Pool(2) as pool:
        texts = pool.map(ask, [url] * 8)
    assert texts == ["Hello"] * 8
    say(len(texts), "texts")
"""
