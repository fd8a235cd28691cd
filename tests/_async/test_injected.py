"""A client of httpx or httpx2 that the user has given: used with its own settings, and never closed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import kova
from kova._runtime import workers
from tests import server as play
from tests.observe import kova_threads, wait_until
from tests.server import Exchange, ModelServer
from tests.tls import TLSModelServer
from tests.transports import hanging_transport

pytestmark = [
    pytest.mark.anyio,
    # trio reports the generators inside httpx, which httpx leaves to the collector when a stream is broken off.
    pytest.mark.filterwarnings("ignore:Async generator 'httpx:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Async generator 'httpcore:ResourceWarning"),
]

HI = [kova.user_message("Hi")]
QUICKLY = 1.5  # seconds: five times the 0.3 in which a cancelled turn must end
SOON = 5.0  # seconds


@pytest.fixture(autouse=True)
def _idle_threads_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def provider(server: ModelServer, client: object, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", base_url=server.url, http_client=client, **options)


def one_connection(library: Any) -> Any:
    """A client whose next request fails if the last one has not given its connection back."""
    return library.AsyncClient(limits=library.Limits(max_connections=1))


# ---- what works


async def test_whole_and_streamed_answers(server: ModelServer, library: Any) -> None:
    """The client's own headers and connections are used, and it is still open at the end."""
    server.always(play.text("Hello there"))
    async with library.AsyncClient(headers={"x-mine": "yes"}) as client:
        async with provider(server, client) as model:
            assert (await model.chat_completion(HI)).text == "Hello there"
            async with model.chat_completion_stream(HI) as stream:
                events = [event async for event in stream]
            assert events[:2] == [kova.TextDelta("Hello "), kova.TextDelta("there")]
            assert (await kova.AsyncAgent(model).run("Hi", timeout=10)).text == "Hello there"
        await model.close()
        assert not client.is_closed
        assert (await client.post(server.url, json={})).status_code == 200
    assert server.connections == 1
    assert all(exchange.headers["x-mine"] == "yes" for exchange in server.exchanges)


async def test_a_subclass_of_the_client_and_its_transport(library: Any) -> None:
    class Own(library.AsyncClient):  # type: ignore[misc]
        """The user's."""

    with TLSModelServer() as server:
        server.play(play.text("Hello"))
        async with Own(verify=server.trusting()) as client:
            assert (await provider(server, client).chat_completion(HI)).text == "Hello"


async def test_a_redirect_is_not_followed(server: ModelServer, library: Any) -> None:
    """S2: whatever the client does otherwise."""
    server.play(lambda exchange: exchange.send_json({}, 307, {"location": "/elsewhere"}))
    async with library.AsyncClient(follow_redirects=True) as client:
        with pytest.raises(kova.ProviderError) as caught:
            await provider(server, client).chat_completion(HI)
    assert caught.value.status_code == 307
    assert len(server.exchanges) == 1


async def test_a_hook_that_raises_for_a_status_hides_nothing(server: ModelServer, library: Any) -> None:
    async def raise_for_status(response: Any) -> None:
        response.raise_for_status()

    server.play(play.error(429, "slow down", {"retry-after": "3"}), play.text("Hello"))
    async with library.AsyncClient(event_hooks={"response": [raise_for_status]}) as client:
        with pytest.raises(kova.ProviderError) as caught:
            await provider(server, client).chat_completion(HI)
        assert (caught.value.status_code, caught.value.retry_after) == (429, 3.0)
        assert (await provider(server, client).chat_completion(HI)).text == "Hello"


# ---- errors


def die(exchange: Exchange) -> None:
    exchange.connection.shutdown(socket.SHUT_RDWR)


def die_in_the_body(exchange: Exchange) -> None:
    exchange.start_stream()
    exchange.send_delta({"content": "first"})
    exchange.connection.shutdown(socket.SHUT_RDWR)


def corrupt(exchange: Exchange) -> None:
    exchange.send_head(200, {"content-encoding": "gzip", "content-length": "5"})
    exchange.send_raw(b"Hello")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (die, kova.ConnectionError),
        (die_in_the_body, kova.ConnectionError),
        (corrupt, kova.StreamError),
        (play.error(401), kova.ProviderError),
        (play.error(503), kova.ProviderError),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_each_fault_has_its_error(
    server: ModelServer, library: Any, answer: play.Answer, error: type[Exception], streamed: bool
) -> None:
    """As without an injected client."""
    server.play(answer, play.text("Hello"))
    async with one_connection(library) as client:
        model = provider(server, client, timeout=SOON)
        with pytest.raises(error) as caught:
            if streamed:
                async with model.chat_completion_stream(HI) as stream:
                    async for _ in stream:
                        pass
            else:
                await model.chat_completion(HI)
        assert type(caught.value) is error
        assert (await model.chat_completion(HI)).text == "Hello"


async def test_nobody_is_there(library: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with library.AsyncClient() as client:
        model = kova.AsyncOpenAICompatibleProvider("m", base_url=url, http_client=client)
        with pytest.raises(kova.ConnectionError, match="ConnectError") as caught:
            await model.chat_completion(HI)
        assert caught.value.is_retryable


async def test_an_authority_that_the_client_does_not_know(library: Any) -> None:
    with TLSModelServer() as server:
        async with library.AsyncClient() as client:
            with pytest.raises(kova.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                await provider(server, client).chat_completion(HI)


async def test_a_client_that_its_owner_has_closed(server: ModelServer, library: Any) -> None:
    client = library.AsyncClient()
    await client.aclose()
    with pytest.raises(kova.KovaError, match="closed") as caught:
        await provider(server, client).chat_completion(HI)
    assert not caught.value.is_retryable


@pytest.mark.parametrize("where", ["whole", "stream"])
async def test_the_time_of_a_request_is_bounded(server: ModelServer, library: Any, where: str) -> None:
    """R5, L11: by the provider, whatever the client's own timeouts are."""

    def slow(exchange: Exchange) -> None:
        if where == "stream":
            exchange.start_stream()
            exchange.send_delta({"content": "first"})
        exchange.wait_for_disconnect()

    server.play(slow)
    async with library.AsyncClient(timeout=None) as client:
        model = provider(server, client, timeout=0.3, idle_timeout=0.3)
        start = time.monotonic()
        with pytest.raises(kova.TimeoutError):
            if where == "stream":
                async with model.chat_completion_stream(HI) as stream:
                    async for _ in stream:
                        pass
            else:
                await model.chat_completion(HI)
        assert time.monotonic() - start < QUICKLY


# ---- interrupted


@pytest.fixture(params=["http", "https"])
def any_server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with ModelServer() if request.param == "http" else TLSModelServer() as running:
        yield running


@pytest.mark.parametrize("how", ["break", "token"])
async def test_a_stream_that_ends_early(any_server: ModelServer, library: Any, how: str) -> None:
    """T11, T12: the server sees it, the client's connection is free, and no thread stays behind."""
    left = threading.Event()

    def begin(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.set()

    any_server.play(begin, play.text("Hello"))
    verify = any_server.trusting() if isinstance(any_server, TLSModelServer) else True
    async with library.AsyncClient(limits=library.Limits(max_connections=1), verify=verify) as client:
        agent = kova.AsyncAgent(provider(any_server, client))
        if how == "break":
            async with agent.run_stream("Hi", timeout=60) as stream:
                async for _ in stream:
                    break
        else:
            token, cancelled_at = kova.CancellationToken(), []
            with pytest.raises(kova.TurnCancelledError):
                async with agent.run_stream("Hi", cancel=token) as stream:
                    async for _ in stream:
                        cancelled_at.append(time.monotonic() + 0.1)
                        token.cancel_after(0.1)
            assert time.monotonic() - cancelled_at[0] < QUICKLY
        assert left.wait(SOON)
        assert (await agent.run("and now?", timeout=SOON)).text == "Hello"
        wait_until(lambda: not kova_threads(), "no thread of kova's is left")


async def test_a_whole_answer_that_is_no_longer_wanted(server: ModelServer, library: Any) -> None:
    """T12: when it comes all the same, in an abandoned thread, the client gets its connection back."""
    reached, release = threading.Event(), threading.Event()

    def late(exchange: Exchange) -> None:
        reached.set()
        release.wait(10)
        play.text("too late")(exchange)

    server.play(late, play.text("Hello"))
    token, cancelled_at = kova.CancellationToken(), []

    def cancel() -> None:
        reached.wait(10)
        cancelled_at.append(time.monotonic())
        token.cancel()

    async with one_connection(library) as client:
        agent = kova.AsyncAgent(provider(server, client))
        threading.Thread(target=cancel).start()
        with pytest.raises(kova.TurnCancelledError):
            await agent.run("Hi", cancel=token)
        assert time.monotonic() - cancelled_at[0] < QUICKLY
        release.set()
        assert (await agent.run("and now?", timeout=SOON)).text == "Hello"
        wait_until(lambda: not kova_threads(), "no thread of kova's is left")


async def test_a_transport_of_the_users_own_that_hangs(server: ModelServer, library: Any) -> None:
    """T12: nothing can be woken, so that the call is abandoned in the twin; its error is still the turn's own."""
    hung = threading.Event()
    token = kova.CancellationToken()
    async with library.AsyncClient(transport=hanging_transport(library, hung)) as client:
        agent = kova.AsyncAgent(provider(server, client))

        def cancel() -> None:
            hung.wait(10)
            token.cancel("enough")

        threading.Thread(target=cancel).start()
        start = time.monotonic()
        with pytest.raises(kova.TurnCancelledError, match="enough"):
            async with agent.run_stream("Hi", cancel=token) as stream:
                async for _ in stream:
                    pass
        assert time.monotonic() - start < QUICKLY
    wait_until(lambda: not kova_threads(), "no thread of kova's is left")


# ---- mistakes


async def test_what_is_no_client_is_refused(library: Any) -> None:
    """The message names the class that is wanted."""
    wanted = f"http_client must be httpx.{library.AsyncClient.__name__}"
    for wrong in (7, "httpx", library.AsyncClient, object(), {"timeout": 3}):
        with pytest.raises(kova.BuildError, match=wanted):
            kova.AsyncOpenAICompatibleProvider("m", http_client=wrong)
