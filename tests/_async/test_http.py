"""What the network and a faulty server can do to a call, and the error that each of it gives."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import kova
from kova._runtime import aio as rt
from tests import server as play
from tests.canary import KEY
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.anyio

HI = [kova.user_message("Hi")]


def provider(server: ModelServer, **options: Any) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", **{"api_key": KEY, "base_url": server.url, **options})


def raw(data: bytes) -> Callable[[Exchange], None]:
    def answer(exchange: Exchange) -> None:
        exchange.send_raw(data)
        exchange.connection.shutdown(socket.SHUT_RDWR)

    return answer


def hang(exchange: Exchange) -> None:
    exchange.wait_for_disconnect()


# ---- connections


async def test_one_connection_serves_many_calls(server: ModelServer) -> None:
    server.always(play.text("Hello"))
    async with provider(server) as model:
        for _ in range(3):
            await model.chat_completion(HI)
            async with model.chat_completion_stream(HI) as stream:
                async for _ in stream:
                    pass
    assert (len(server.exchanges), server.connections) == (6, 1)


async def test_a_connection_that_the_server_closed_while_idle_is_replaced(server: ModelServer) -> None:
    """R4: it does not count as an attempt."""
    hello, closed = play.text("Hello"), threading.Event()

    def answer_and_close(exchange: Exchange) -> None:
        hello(exchange)
        exchange.connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    server.play(answer_and_close, play.text("Hello again"))
    async with provider(server) as model:
        await model.chat_completion(HI)
        assert closed.wait(5)
        assert (await model.chat_completion(HI)).text == "Hello again"
    assert server.connections == 2


async def test_a_connection_that_ends_as_the_next_request_is_sent_is_replaced(server: ModelServer) -> None:
    """R4."""

    def close_without_answer(exchange: Exchange) -> None:
        exchange.connection.shutdown(socket.SHUT_RDWR)

    server.play(play.text("Hello"), close_without_answer, play.text("Hello again"))
    async with provider(server) as model:
        await model.chat_completion(HI)
        assert (await model.chat_completion(HI)).text == "Hello again"
    assert server.connections == 2


async def test_more_calls_than_connections_wait_for_their_turn(server: ModelServer) -> None:
    def endless(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        exchange.wait_for_disconnect()

    server.play(endless, endless, play.text("Hello"))
    async with provider(server, max_connections=2) as model:
        streams = [model.chat_completion_stream(HI) for _ in range(2)]
        for stream in streams:
            await stream.next_events()
        with pytest.raises(kova.TimeoutError):
            await model.with_options(timeout=0.1).chat_completion(HI)
        assert len(server.exchanges) == 2
        for stream in streams:
            await stream.close()
        assert (await model.chat_completion(HI)).text == "Hello"


async def test_copies_share_the_connections(server: ModelServer) -> None:
    server.always(play.text("Hello"))
    async with provider(server) as model:
        await model.chat_completion(HI)
        copy = model.with_options(model="other")
        await copy.chat_completion(HI)
        assert server.last.json()["model"] == "other"
        assert model.model == "m"
        with pytest.raises(kova.BuildError, match="max_connections"):
            model.with_options(max_connections=3)
        with pytest.raises(kova.BuildError, match="no_such_option"):
            model.with_options(no_such_option=3)
    assert server.connections == 1


# ---- a server that cannot be reached


async def test_a_name_that_does_not_resolve() -> None:
    async with kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url="http://nowhere.invalid") as model:
        with pytest.raises(kova.ConnectionError, match="cannot resolve 'nowhere.invalid'"):
            await model.chat_completion(HI)


async def test_a_port_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=f"http://127.0.0.1:{port}") as model:
        with pytest.raises(kova.ConnectionError, match="refused") as caught:
            await model.chat_completion(HI)
    assert caught.value.is_retryable


async def test_a_server_that_accepts_nobody_any_more() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        url = f"http://127.0.0.1:{address[1]}"
        async with kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=url, connect_timeout=0.2) as model:
            with pytest.raises(kova.TimeoutError, match="connecting to 127.0.0.1"):
                await model.chat_completion(HI)
        for filler in fillers:
            filler.close()


async def test_tls_where_there_is_none() -> None:
    with play.greeter() as port:
        url = f"https://127.0.0.1:{port}"
        async with kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=url) as model:
            with pytest.raises(kova.ConnectionError, match="no TLS connection"):
                await model.chat_completion(HI)


async def test_a_tls_handshake_that_hangs_ends_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=url, connect_timeout=0.2) as model:
            with pytest.raises(kova.TimeoutError, match="connecting"):
                await model.chat_completion(HI)


# ---- a server that answers nonsense, dies or hangs

ENDINGS = {
    "dies before the head": (raw(b""), kova.ConnectionError),
    "speaks no HTTP": (raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), kova.ConnectionError),
    "dies in the head": (raw(b"HTTP/1.1 200 OK\r\ncontent-le"), kova.ConnectionError),
    "dies in the body": (raw(b'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"choices"'), kova.ConnectionError),
    "dies in a chunk": (
        raw(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n20\r\n{"choices"'),
        kova.ConnectionError,
    ),
    "answers no JSON": (raw(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nHello"), kova.ProviderError),
    "answers HTML": (
        raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"),
        kova.ProviderError,
    ),
    "answers a list": (raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]"), kova.ProviderError),
    "sends a corrupt gzip body": (
        raw(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nHello"),
        kova.StreamError,
    ),
    "redirects": (
        raw(b"HTTP/1.1 307 Redirect\r\nlocation: http://example.org/\r\ncontent-length: 0\r\n\r\n"),
        kova.ProviderError,
    ),
}


@pytest.mark.parametrize("fault", ENDINGS)
async def test_each_fault_of_a_complete_answer_has_its_error(server: ModelServer, fault: str) -> None:
    answer, error = ENDINGS[fault]
    server.play(answer)
    async with provider(server, timeout=5.0) as model:
        with pytest.raises(error):
            await model.chat_completion(HI)
    assert len(server.exchanges) == 1


@pytest.mark.parametrize("fault", [fault for fault in ENDINGS if "dies" in fault or "HTTP" in fault])
async def test_each_fault_of_the_network_has_its_error_in_a_stream(server: ModelServer, fault: str) -> None:
    answer, error = ENDINGS[fault]
    server.play(answer)
    async with provider(server, timeout=5.0) as model, model.chat_completion_stream(HI) as stream:
        with pytest.raises(error):
            async for _ in stream:
                pass


async def test_a_server_that_never_answers(server: ModelServer) -> None:
    server.always(hang)
    async with provider(server, timeout=0.1) as model:
        with pytest.raises(kova.TimeoutError, match="the request to openai took longer than 0.1 s") as caught:
            await model.chat_completion(HI)
        assert caught.value.is_retryable
        with pytest.raises(kova.TimeoutError):
            async with model.chat_completion_stream(HI) as stream:
                await stream.next_events()


async def test_a_complete_answer_that_drips_is_bounded_as_a_whole(server: ModelServer) -> None:
    """R5: a byte at a time does not defeat the timeout."""

    def drip(exchange: Exchange) -> None:
        exchange.send_head(200, {"content-length": "1000"})
        for _ in range(1000):
            exchange.send_raw(b" ")
            time.sleep(0.02)

    server.play(drip)
    async with provider(server, timeout=0.3) as model:
        start = time.monotonic()
        with pytest.raises(kova.TimeoutError):
            await model.chat_completion(HI)
    assert time.monotonic() - start < 3


async def test_a_stream_without_events_is_bounded_by_the_idle_timeout(server: ModelServer) -> None:
    """R5: comments are not events."""

    def comments(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        while True:
            exchange.send_chunk(b": still here\n\n")
            time.sleep(0.02)

    server.play(comments)
    async with provider(server, idle_timeout=0.3) as model:
        start = time.monotonic()
        with pytest.raises(kova.TimeoutError, match="next event"):
            async with model.chat_completion_stream(HI) as stream:
                async for event in stream:
                    assert event == kova.TextDelta("first")
    assert time.monotonic() - start < 3


async def test_a_stream_that_goes_on_after_its_end_is_closed(server: ModelServer) -> None:
    gone = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "Hello"}, "stop")
        exchange.send_chunk(b"data: [DONE]\n\n")
        if exchange.wait_for_disconnect():
            gone.set()

    server.play(answer)
    async with provider(server) as model, model.chat_completion_stream(HI) as stream:
        start = time.monotonic()
        events = [event async for event in stream]
        assert time.monotonic() - start < 3
    assert events[0] == kova.TextDelta("Hello")
    assert gone.wait(5)


async def test_closing_the_provider_ends_what_is_under_way(server: ModelServer) -> None:
    server.play(hang)
    model = provider(server)

    async def ask() -> None:
        with pytest.raises(kova.ConnectionError, match="provider was closed") as caught:
            await kova.AsyncAgent(model).run("Hi")
        assert not caught.value.is_retryable

    async with rt.TaskGroup() as group:
        group.start_soon(ask)
        while not server.exchanges:
            await rt.sleep(0.01)
        await model.close()
    await model.close()


# ---- errors of the API


async def test_an_error_of_the_api_is_classified(server: ModelServer) -> None:
    server.play(play.error(429, "slow down", {"retry-after": "3", "x-request-id": "req_1"}))
    async with provider(server) as model:
        with pytest.raises(kova.ProviderError, match="slow down") as caught:
            await model.chat_completion(HI)
    error = caught.value
    assert (error.status_code, error.provider_class, error.retry_after) == (
        429,
        kova.ProviderErrorClass.RATE_LIMITED,
        3.0,
    )
    assert (error.is_retryable, error.request_id, error.provider) == (True, "req_1", "openai")


async def test_the_key_is_never_shown(server: ModelServer) -> None:
    """R7: also when the server echoes it."""
    key = "sk-canary-0123456789abcdef"
    body = {"error": {"message": f"Incorrect API key provided: {key}"}}
    server.always(lambda exchange: exchange.send_json(body, 401))
    async with provider(server, api_key=key) as model:
        with pytest.raises(kova.ProviderError, match="Incorrect API key") as caught:
            await model.chat_completion(HI)
        assert key not in f"{caught.value!r} {caught.value} {model!r} {model.config!r}"


async def test_a_key_may_come_from_a_function(server: ModelServer) -> None:
    server.play(play.text("Hello"))
    async with provider(server, api_key=lambda: "fresh") as model:
        await model.chat_completion(HI)
    assert server.last.headers["authorization"] == "Bearer fresh"


async def test_the_models_of_a_server_are_listed(server: ModelServer) -> None:
    server.play(lambda exchange: exchange.send_json({"data": [{"id": "a", "owned_by": "me"}, {"id": "b"}]}))
    async with provider(server) as model:
        assert [(info.id, info.owned_by) for info in await model.list_models()] == [("a", "me"), ("b", None)]
    assert (server.last.method, server.last.target) == ("GET", "/v1/models")
