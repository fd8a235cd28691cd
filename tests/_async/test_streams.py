"""Streams that are not read to their end, or are used in other ways than the usual one."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

import kova
from kova._runtime import aio as rt
from kova._runtime import workers
from tests import server as play
from tests.observe import kova_threads, sockets, wait_until
from tests.server import Exchange, ModelServer
from tests.tls import TLSModelServer

pytestmark = pytest.mark.anyio

DEFAULT = kova.InferenceConfig()

HI = [kova.user_message("Hi")]
SOON = 5.0  # seconds: five times the 1 in which the server must see the disconnect


def provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", base_url=server.url, **options)


def endless(left: threading.Semaphore) -> Callable[[Exchange], None]:
    """Begins a stream, and then waits for the client to leave."""

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.release()

    return answer


async def until(condition: Callable[[], object]) -> None:
    """Let others go on until something has happened."""
    with rt.move_on_after(SOON):
        while not condition():
            await rt.sleep(0.005)
        return
    pytest.fail("what was waited for did not happen")


# ---- broken off


async def test_a_hundred_streams_that_are_broken_off(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    """T11: nothing is logged, no warning is given, no socket and no thread is left, and the server sees each leave."""
    left = threading.Semaphore(0)
    server.always(endless(left))
    gc.collect()
    before = sockets()
    with caplog.at_level(logging.INFO):
        async with provider(server, max_connections=3) as model:
            agent = kova.AsyncAgent(model)
            for _ in range(100):
                async with agent.run_stream("Hi") as stream:
                    async for _ in stream:
                        break
                assert left.acquire(timeout=SOON)
        wait_until(lambda: sockets() == before, "all sockets are closed")
        del stream
        gc.collect()
    assert caplog.records == []
    assert (len(server.exchanges), server.connections) == (100, 100)


async def test_a_stream_that_is_broken_off_over_tls() -> None:
    """T11."""
    left = threading.Semaphore(0)
    with TLSModelServer() as server:
        server.play(endless(left), play.text("Hello"))
        async with provider(server, verify=server.trusting(), max_connections=1) as model:
            agent = kova.AsyncAgent(model)
            async with agent.run_stream("Hi") as stream:
                async for _ in stream:
                    break
            assert left.acquire(timeout=SOON)
            assert (await agent.run("Hi", timeout=10)).text == "Hello"


async def test_an_exception_in_the_block_ends_the_stream_and_comes_out_as_it_is(server: ModelServer) -> None:
    """T11."""
    left = threading.Semaphore(0)
    server.play(endless(left), play.text("Hello"))
    async with provider(server, max_connections=1) as model:
        agent = kova.AsyncAgent(model)
        with pytest.raises(KeyError, match="mine") as caught:
            async with agent.run_stream("Hi") as stream:
                async for _ in stream:
                    raise KeyError("mine")
        assert caught.value.__context__ is None
        assert left.acquire(timeout=SOON)
        assert (await agent.run("Hi", timeout=10)).text == "Hello"


async def test_streams_broken_off_in_the_middle_of_tools(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    """T11: the tools that run are told to stop, and have."""
    stopped: list[bool] = []
    all_run = threading.Barrier(3)

    @kova.tool
    def wait(context: kova.ToolContext) -> None:
        """Wait until told to stop."""
        all_run.wait(10)
        stopped.append(context.cancel.wait(10))

    @kova.tool
    def end() -> None:
        """End when the others run."""
        all_run.wait(10)

    with caplog.at_level(logging.INFO):
        async with provider(server) as model:
            agent = kova.AsyncAgent(model, tools=[wait, end])
            for _ in range(10):
                server.play(play.calls(("wait", {}), ("end", {}), ("wait", {})))
                async with agent.run_stream("go") as stream:
                    async for event in stream:
                        if isinstance(event, kova.ToolCallFinished):
                            break
        gc.collect()
    assert stopped == [True] * 20
    assert caplog.records == []


async def test_a_stream_of_a_provider_that_is_just_dropped(server: ModelServer) -> None:
    """T11: as in a generator of the user's that is broken off; its connection is closed and its slot is free."""
    left = threading.Semaphore(0)
    server.play(endless(left), play.text("Hello"))
    async with provider(server, max_connections=1) as model:
        stream = model.chat_completion_stream(HI)
        assert await anext(stream) == kova.TextDelta("first")
        del stream
        gc.collect()
        assert left.acquire(timeout=SOON)
        assert (await model.with_options(timeout=10).chat_completion(HI)).text == "Hello"


async def test_a_generator_around_a_stream_that_is_broken_off(server: ModelServer) -> None:
    """T11: closed by its user, it closes the stream."""
    left = threading.Semaphore(0)
    server.play(endless(left), play.text("Hello"))

    async def words(agent: kova.AsyncAgent) -> AsyncIterator[str]:
        async with agent.run_stream("Hi") as stream:
            async for text in stream.text_deltas():
                yield text

    async with provider(server, max_connections=1) as model:
        agent = kova.AsyncAgent(model)
        async with rt.closing(words(agent)) as texts:  # type: ignore[type-var]
            async for text in texts:
                assert text == "first"
                break
        assert left.acquire(timeout=SOON)
        assert (await agent.run("Hi", timeout=10)).text == "Hello"


# ---- the user's own provider


class OwnProvider:
    """Yields words for ever, and cleans up when it is closed, which takes a moment.

    Attributes:
        cleaned_up: How often it has done so to the end.
    """

    def __init__(self) -> None:
        self.cleaned_up = 0

    async def chat_completion(
        self,
        messages: Sequence[kova.ConversationMessage],
        tools: Sequence[kova.ToolDefinition] = (),
        config: kova.InferenceConfig = DEFAULT,
    ) -> kova.ModelResponse:
        raise NotImplementedError

    async def chat_completion_stream(
        self,
        messages: Sequence[kova.ConversationMessage],
        tools: Sequence[kova.ToolDefinition] = (),
        config: kova.InferenceConfig = DEFAULT,
    ) -> AsyncIterator[kova.StreamEvent]:
        try:
            while True:
                yield kova.TextDelta("word ")
        finally:
            await rt.sleep(0.01)
            self.cleaned_up += 1


@pytest.mark.parametrize("how", ["break", "exception", "token"])
async def test_a_users_generator_is_closed_and_may_await_while_it_cleans_up(how: str) -> None:
    """T11: nothing but the caller's own exception comes out."""
    model, token, ended = OwnProvider(), kova.CancellationToken(), False
    try:
        async with kova.AsyncAgent(model).run_stream("Hi", cancel=token) as stream:
            async for _ in stream:
                if how == "break":
                    break
                if how == "exception":
                    raise KeyError("mine")
                token.cancel()
        ended = True
    except KeyError:
        assert how == "exception"
    except kova.TurnCancelledError:
        assert how == "token"
    assert ended == (how == "break")
    assert model.cleaned_up == 1


# ---- in other ways


async def test_closing_twice(server: ModelServer) -> None:
    """T11: in the block and by leaving it."""
    left = threading.Semaphore(0)
    server.play(endless(left))
    async with provider(server) as model:
        async with kova.AsyncAgent(model).run_stream("Hi") as stream:
            async for _ in stream:
                break
            await stream.close()
            await stream.close()
            assert left.acquire(timeout=SOON)
            with pytest.raises(kova.StreamError):
                await anext(stream)
        await stream.close()
    async with provider(server) as model:
        server.play(endless(left))
        answer = model.chat_completion_stream(HI)
        async with answer:
            async for _ in answer:
                break
            await answer.close()
            await answer.close()
        assert left.acquire(timeout=SOON)
        await answer.close()


async def test_closing_what_was_never_used(server: ModelServer) -> None:
    """T11."""
    async with provider(server) as model:
        await kova.AsyncAgent(model).run_stream("Hi").close()
        async with kova.AsyncAgent(model).run_stream("Hi"):
            pass
        await model.chat_completion_stream(HI).close()
    assert server.exchanges == []


@pytest.mark.parametrize("broken_off", [False, True])
async def test_a_stream_can_be_used_once(server: ModelServer, broken_off: bool) -> None:
    """T11: whether it was read to its end or not; the request is not sent again."""
    server.always(play.text("Hello there"))
    async with provider(server) as model:
        stream = kova.AsyncAgent(model).run_stream("Hi")
        async with stream:
            async for _ in stream:
                if broken_off:
                    break
        with pytest.raises(kova.StreamError, match="once"):
            async with stream:
                pytest.fail("the block was entered again")
        with pytest.raises(kova.StreamError if broken_off else StopAsyncIteration):
            await anext(aiter(stream))
    assert len(server.exchanges) == 1


async def test_the_text_of_a_stream_outside_its_block(server: ModelServer) -> None:
    """T11: as with its events, this raises at once."""
    async with provider(server) as model:
        stream = kova.AsyncAgent(model).run_stream("Hi")
        with pytest.raises(kova.StreamError, match="with block"):
            stream.text_deltas()
    assert server.exchanges == []


async def test_a_stream_of_a_provider_closed_by_another_task_while_it_is_read(server: ModelServer) -> None:
    """T11: the reader is not left waiting, though it reads a socket that is closed under its hands."""
    left = threading.Semaphore(0)
    server.play(endless(left))
    reading = threading.Event()
    ends: list[object] = []

    async def read(stream: Any) -> None:
        try:
            async for event in stream:
                ends.append(event)
                reading.set()
        except kova.ConnectionError as error:
            ends.append(type(error))

    async with provider(server) as model, rt.TaskGroup() as group:
        stream = model.chat_completion_stream(HI)
        group.start_soon(read, stream)
        await until(reading.is_set)
        await rt.sleep(0.01)  # it reads again, or is about to
        await stream.close()
        assert left.acquire(timeout=SOON)
        await until(lambda: len(ends) == 2)
    assert ends == [kova.TextDelta("first"), kova.ConnectionError]


async def test_a_stream_of_a_provider_in_another_task_than_the_one_that_made_it(server: ModelServer) -> None:
    """T11."""
    server.play(play.text("Hello there"))
    texts: list[str] = []

    async def read(stream: Any) -> None:
        async with stream:
            async for event in stream:
                if isinstance(event, kova.TextDelta):
                    texts.append(event.text)

    async with provider(server) as model, rt.TaskGroup() as group:
        group.start_soon(read, model.chat_completion_stream(HI))
    assert texts == ["Hello ", "there"]


async def test_two_streams_are_read_in_turns(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An open stream holds no thread."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)  # of the one that has looked the name up
    server.always(play.text("Hello there"))
    async with provider(server) as model:
        agent = kova.AsyncAgent(model)
        async with agent.run_stream("Hi") as first, agent.run_stream("Hi") as second:
            assert await anext(aiter(first)) == kova.TextDelta("Hello ")
            assert await anext(aiter(second)) == kova.TextDelta("Hello ")
            wait_until(lambda: not kova_threads(), "no thread of kova's is left")
            async for _ in first:
                pass
            async for _ in second:
                pass
            assert first.response == second.response


async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one(server: ModelServer) -> None:
    """T4: a faulty server sends two answers to one question."""

    def twice(exchange: Exchange) -> None:
        once = Recorder()
        play.text("first")(once.exchange(exchange))
        first = bytes(once.sent)
        exchange.send_raw(first + first.replace(b"first", b"wrong"))

    server.play(twice, play.text("second"))
    async with provider(server) as model:
        assert (await model.chat_completion(HI)).text == "first"
        assert (await model.chat_completion(HI)).text == "second"


class Recorder:
    """Takes what an answer sends."""

    def __init__(self) -> None:
        self.sent = bytearray()

    def exchange(self, of: Exchange) -> Exchange:
        copy = Exchange(of.connection, of.method, of.target, of.headers, of.body)
        copy.send_raw = self.sent.extend  # type: ignore[method-assign, assignment]
        return copy


async def events_of(agent: kova.AsyncAgent) -> AsyncIterator[kova.AgentEvent]:
    """A generator around a stream, as web frameworks want it."""
    async with agent.run_stream("Hi") as stream:
        async for event in stream:
            yield event


async def test_a_generator_around_a_stream_may_be_dropped_in_the_middle(server: ModelServer) -> None:
    """T11: it is then closed by somebody else, as when the client of a web server goes away."""
    left = threading.Semaphore(0)
    server.play(endless(left))
    async with provider(server) as model:
        events = events_of(kova.AsyncAgent(model))
        assert isinstance(await anext(events), kova.TextDelta)
        background = rt.Background()
        background.start_soon(close, events)
        for _ in range(500):
            if left.acquire(blocking=False):
                break
            await rt.sleep(0.01)
        else:
            pytest.fail("the server did not see the client go")


async def close(events: Any) -> None:
    await events.aclose()
