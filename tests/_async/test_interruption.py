"""T12: a token that is cancelled by another thread ends a turn wherever it waits, and nothing is left behind."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kova
from kova._runtime import aio as rt
from kova._runtime import workers
from tests import server as play
from tests.name_server import NameServer, run_in_own_network
from tests.observe import connecting_to, kova_threads, sockets, wait_until
from tests.server import Exchange, ModelServer
from tests.sleeper import Sleeper
from tests.tls import TLSModelServer

pytestmark = pytest.mark.anyio

QUICKLY = 1.5  # seconds: five times the 0.3 in which a cancelled turn must end


@pytest.fixture(autouse=True)
def _idle_threads_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a thread that is left can be told from one that waits for its next work."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)


@pytest.fixture(params=["http", "https"])
def any_server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with ModelServer() if request.param == "http" else TLSModelServer() as running:
        yield running


def provider(server: ModelServer) -> kova.AsyncOpenAICompatibleProvider:
    """With one connection only, so that a turn that keeps it is noticed by the next."""
    verify = server.trusting() if isinstance(server, TLSModelServer) else True
    return kova.AsyncOpenAICompatibleProvider("m", base_url=server.url, max_connections=1, verify=verify)


async def end_a_turn(agent: kova.AsyncAgent, reached: Callable[[], object], streamed: bool) -> None:
    """Begin a turn, cancel it when it has reached the place, and see that it ends at once."""
    token = kova.CancellationToken()
    cancelled_at: list[float] = []

    def cancel() -> None:
        if reached():
            cancelled_at.append(time.monotonic())
            token.cancel("enough")

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(kova.TurnCancelledError, match="enough"):
        if streamed:
            async with agent.run_stream("go", cancel=token) as stream:
                async for _ in stream:
                    pass
        else:
            await agent.run("go", cancel=token)
    took = time.monotonic() - cancelled_at[0]
    thread.join()
    assert took < QUICKLY


async def goes_on(agent: kova.AsyncAgent, server: ModelServer) -> None:
    """The same provider answers the next question, and no thread and no socket is left from the last one."""
    server.play(play.text("Here I am"))
    response = await agent.run("and now?", timeout=10)
    assert response.text == "Here I am"
    wait_until(lambda: not kova_threads(), "no thread of kova's is left")


async def until(condition: Callable[[], object], what: str) -> None:
    """Let others go on until something has happened, which must be quick."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < QUICKLY, f"not yet: {what}"
        await rt.sleep(0.001)


def closed_by_the_client(left: threading.Event) -> Callable[[Exchange], None]:
    def answer(exchange: Exchange) -> None:
        if exchange.wait_for_disconnect():
            left.set()

    return answer


@pytest.mark.parametrize("streamed", [False, True])
async def test_in_a_connection_that_nobody_accepts(streamed: bool) -> None:
    """T12: the server's backlog is full."""
    server = ModelServer()
    server._listener.listen(0)
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", server.port))
    wait_until(lambda: connecting_to(server.port), "the backlog is full")
    waiting, before = connecting_to(server.port), sockets()

    def reached() -> bool:
        wait_until(lambda: connecting_to(server.port) > waiting, "the turn is connecting")
        return True

    async with provider(server) as model:
        agent = kova.AsyncAgent(model)
        await end_a_turn(agent, reached, streamed)
        wait_until(lambda: sockets() == before, "the turn's socket is closed")
        for filler in fillers:
            filler.close()
        with server:
            wait_until(lambda: server.connections, "the server accepts")
            await goes_on(agent, server)


@pytest.mark.parametrize("streamed", [False, True])
async def test_in_a_tls_handshake(streamed: bool) -> None:
    """T12: a server that accepts, and says nothing."""
    with TLSModelServer(silent=1) as server:
        async with provider(server) as model:
            agent = kova.AsyncAgent(model)
            await end_a_turn(agent, lambda: server.greeted.wait(10), streamed)
            assert server.left.wait(5)
            await goes_on(agent, server)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("connection", ["fresh", "reused"])
async def test_before_the_answer_begins(any_server: ModelServer, connection: str, streamed: bool) -> None:
    """T12: on a fresh and on a reused connection, over TLS too."""
    reached, left = threading.Event(), threading.Event()
    wait = closed_by_the_client(left)

    def silent(exchange: Exchange) -> None:
        reached.set()
        wait(exchange)

    async with provider(any_server) as model:
        agent = kova.AsyncAgent(model)
        if connection == "reused":
            any_server.play(play.text("Hello"))
            await agent.run("Hi")
        any_server.play(silent)
        await end_a_turn(agent, lambda: reached.wait(10), streamed)
        assert any_server.connections == 1
        assert left.wait(5)
        await goes_on(agent, any_server)


@pytest.mark.parametrize("streamed", [False, True])
async def test_in_the_middle_of_an_answer(any_server: ModelServer, streamed: bool) -> None:
    """T12: of a whole one and of a streamed one, over TLS too."""
    reached, left = threading.Event(), threading.Event()
    wait = closed_by_the_client(left)

    def begin(exchange: Exchange) -> None:
        if streamed:
            exchange.start_stream()
            exchange.send_delta({"content": "first"})
        else:
            exchange.send_head(200, {"content-type": "application/json", "content-length": "1000"})
            exchange.send_raw(b'{"id": ')
        reached.set()
        wait(exchange)

    any_server.play(begin)
    async with provider(any_server) as model:
        agent = kova.AsyncAgent(model)
        await end_a_turn(agent, lambda: reached.wait(10), streamed)
        assert left.wait(5)
        await goes_on(agent, any_server)


@pytest.mark.parametrize("streamed", [False, True])
async def test_between_the_pieces_of_a_stream_that_never_pauses(server: ModelServer, streamed: bool) -> None:
    """T12: there is always something to read, so that nothing ever waits."""
    reached = threading.Event()

    def flood(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        while True:
            exchange.send_chunk(b": nothing yet\n\n" * 100)
            reached.set()

    server.play(flood)
    async with provider(server) as model:
        agent = kova.AsyncAgent(model)
        await end_a_turn(agent, lambda: reached.wait(10), True)
        await goes_on(agent, server)


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("streamed", [False, True])
async def test_in_tools_that_do_not_stop(server: ModelServer, streamed: bool, calls: int) -> None:
    """T12: they are left to themselves, and their late results are dropped."""
    reached, release, ended = threading.Barrier(calls + 1), threading.Event(), threading.Semaphore(0)

    @kova.tool
    def block() -> str:
        """Block for long."""
        reached.wait(10)
        release.wait(30)
        ended.release()
        return "too late"

    server.play(play.calls(*[("block", {})] * calls))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[block])
        await end_a_turn(agent, lambda: reached.wait(10) is not None, streamed)
        release.set()
        for _ in range(calls):
            assert ended.acquire(timeout=5)
        await goes_on(agent, server)
    assert [message["role"] for message in server.last.json()["messages"]] == ["user"]
    assert len(server.exchanges) == 2


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("streamed", [False, True])
async def test_in_tools_that_watch_their_token(server: ModelServer, streamed: bool, calls: int) -> None:
    """T12: they have ended when the turn ends."""
    reached, ended = threading.Barrier(calls + 1), []

    @kova.tool
    def watch(context: kova.ToolContext) -> None:
        """Watch the token."""
        reached.wait(10)
        context.cancel.wait(30)
        ended.append(True)

    server.play(play.calls(*[("watch", {})] * calls))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[watch])
        await end_a_turn(agent, lambda: reached.wait(10) is not None, streamed)
        assert len(ended) == calls
        await goes_on(agent, server)


@pytest.mark.async_tools
@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("streamed", [False, True])
async def test_in_async_tools(server: ModelServer, streamed: bool, calls: int) -> None:
    """T12: they are cancelled, and have cleaned up when the turn ends."""
    sleeper = Sleeper(calls)
    server.play(play.calls(*[("sleep", {})] * calls))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[sleeper.sleep])
        await end_a_turn(agent, lambda: sleeper.all_asleep.wait(10), streamed)
        assert sleeper.cleaned_up == calls
        await goes_on(agent, server)


@pytest.mark.parametrize("streamed", [False, True])
async def test_in_the_back_off_before_a_retry(server: ModelServer, streamed: bool) -> None:
    """T12."""
    reached = threading.Event()

    def overloaded(exchange: Exchange) -> None:
        play.error(503, "overloaded")(exchange)
        reached.set()

    server.play(overloaded)
    async with provider(server) as model:
        retries = kova.RetryConfig(initial_backoff=60, max_backoff=60)
        agent = kova.AsyncAgent(model, retry_config=retries)
        await end_a_turn(agent, lambda: reached.wait(10), streamed)
        assert len(server.exchanges) == 1
        await goes_on(agent, server)


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("streamed", [False, True])
async def test_while_somebody_is_asked_for_approval(server: ModelServer, streamed: bool, calls: int) -> None:
    """T12: the question stays open, and nothing is run when it is answered after all."""
    reached, release, ran = threading.Event(), threading.Event(), []

    def approve(call: kova.ToolUseBlock, context: kova.ToolContext) -> kova.ApprovalDecision:
        reached.set()
        release.wait(30)
        return kova.ApprovalDecision.APPROVED

    @kova.tool
    def delete() -> None:
        """Delete everything."""
        ran.append(True)

    server.play(play.calls(*[("delete", {})] * calls))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model, tools=[delete], approval_handler=approve)
        await end_a_turn(agent, lambda: reached.wait(10), streamed)
        release.set()
        await goes_on(agent, server)
    assert ran == []


async def test_in_the_queue_for_a_connection(server: ModelServer) -> None:
    """T12: of several who wait, it is the cancelled one that leaves."""
    reached, left = threading.Event(), threading.Event()
    wait = closed_by_the_client(left)

    def silent(exchange: Exchange) -> None:
        reached.set()
        wait(exchange)

    server.play(silent)
    server.always(play.text("Hello"))
    tokens = [kova.CancellationToken() for _ in range(4)]
    ends: list[int] = []

    async def ask(number: int) -> None:
        try:
            await kova.AsyncAgent(model).run("Hi", cancel=tokens[number])
        except kova.TurnCancelledError:
            ends.append(number)

    async with provider(server) as model, rt.TaskGroup() as group:
        for number in range(4):
            group.start_soon(ask, number)
            if number == 0:
                await until(reached.is_set, "the first turn has the connection")
        await rt.sleep(0.05)  # the others queue up meanwhile; those that have not yet are cancelled before they do
        for number in (3, 2, 1, 0):
            tokens[number].cancel()
            await until(lambda: number in ends, f"turn {number} has ended")  # noqa: B023
    assert ends == [3, 2, 1, 0]
    assert len(server.exchanges) == 1


async def test_a_token_cancelled_while_the_consumer_is_busy(server: ModelServer) -> None:
    """T12: the next event is not waited for."""
    left = threading.Event()
    wait = closed_by_the_client(left)

    def begin(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        wait(exchange)

    server.play(begin)
    token = kova.CancellationToken()
    async with provider(server) as model:
        agent = kova.AsyncAgent(model)
        with pytest.raises(kova.TurnCancelledError):
            async with agent.run_stream("go", cancel=token) as stream:
                async for _ in stream:
                    token.cancel()
        assert left.wait(5)
        await goes_on(agent, server)


def test_in_the_look_up_of_a_name() -> None:
    """T12: the name server says nothing. See `inside_the_look_up_of_a_name`, which this runs in a network of its own."""
    assert " passed" in run_in_own_network(__file__, "inside")


async def inside_the_look_up_of_a_name(tmp_path: Path) -> None:
    with NameServer(tmp_path) as names, ModelServer() as server:
        url = server.url.replace("127.0.0.1", "model.test")
        async with kova.AsyncOpenAICompatibleProvider("m", base_url=url, max_connections=1) as model:
            agent = kova.AsyncAgent(model)
            await end_a_turn(agent, lambda: names.asked.wait(10), False)
            names.answers.set()
            await goes_on(agent, server)
