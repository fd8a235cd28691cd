"""MCP over HTTP+SSE (2024-11-05): one stream, and POSTs to the address that it names."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import kova
from kova._async.mcp.sse import AsyncSSELink
from kova._mcp.calls import MOST_REPORTS, Call
from kova._mcp.failures import LinkLost, NotDelivered, Refused
from kova._mcp.jsonrpc import Message
from kova._runtime import aio as rt
from kova._runtime import workers
from kova.mcp import HTTPSSETransport
from tests._async.mcp_http_links import until
from tests.mcp_http_server import NOTE, PING, Exchange, MCPHTTPServer, Seen, call, hang
from tests.mcp_http_threads import in_another_thread
from tests.mcp_tokens import Tokens
from tests.observe import kova_threads, sockets

pytestmark = pytest.mark.anyio

PATIENCE = 10.0  # seconds


@pytest.fixture(autouse=True)
def _idle_threads_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)


class Stream:
    """The server's stream: an answer to the GET that sends what other answers tell it to send."""

    def __init__(self, endpoint: str = "/messages?session=1") -> None:
        self._endpoint = endpoint
        self._open = threading.Event()
        self.exchange: Exchange | None = None

    def __call__(self, exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.send_event(self._endpoint, event="endpoint")
        self.exchange = exchange
        self._open.set()
        hang(exchange)

    def say(self, *messages: object) -> None:
        assert self._open.wait(PATIENCE)
        assert self.exchange is not None
        for message in messages:
            self.exchange.send_event(message, event="message")

    def end(self) -> None:
        assert self.exchange is not None
        self.exchange.disconnect()


def says(stream: Stream, *answers: Callable[[Exchange], object]) -> Callable[[Exchange], None]:
    """Take a POST, and say this on the stream."""

    def answer(exchange: Exchange) -> None:
        exchange.send_status(202)
        stream.say(*(answer(exchange) for answer in answers))

    return answer


@asynccontextmanager
async def opened(
    server: MCPHTTPServer, stream: Stream, seen: Seen | None = None, **options: Any
) -> AsyncIterator[AsyncSSELink]:
    server.on("GET", stream)
    link = AsyncSSELink(HTTPSSETransport(server.url, {"X-Mine": "1"}), seen or Seen(), **options)
    await link.open()
    try:
        yield link
    finally:
        await link.close()


async def messages_of(link: AsyncSSELink, wanted: Call) -> list[Message]:
    pending = await link.begin(wanted)
    try:
        messages = [await pending.next()]
        while "method" in messages[-1]:
            messages.append(await pending.next())
        return messages
    finally:
        await pending.close()


async def test_calls_are_posted_to_the_endpoint_and_answered_on_the_stream(mcp_server: MCPHTTPServer) -> None:
    stream = Stream()
    own: list[Callable[[Exchange], object]] = [
        lambda exchange: NOTE,
        lambda exchange: exchange.progress(1),
        lambda exchange: {"jsonrpc": "2.0", "id": 999_999, "result": {}},
        lambda exchange: PING,
        lambda exchange: exchange.result({"n": 1}, str(exchange.message["id"])),
    ]
    mcp_server.on("tools/call", says(stream, *own))
    async with opened(mcp_server, stream, seen := Seen()) as link:
        assert link.is_open
        link.negotiated("2024-11-05", is_modern=False)
        messages = await messages_of(link, call())
        await link.send({"jsonrpc": "2.0", "id": "s1", "result": {}})
    assert [message.get("method") for message in messages] == ["notifications/progress", None]
    assert messages[-1]["result"] == {"n": 1}
    assert seen.methods == ["notifications/message", "ping"]
    posted = mcp_server.of("tools/call")[0]
    assert (posted.target, posted.headers["x-mine"]) == ("/messages?session=1", "1")
    assert mcp_server.of("answer")[0].target == "/messages?session=1"
    assert not link.is_open


async def test_reports_that_nobody_takes_are_kept_up_to_a_number(mcp_server: MCPHTTPServer) -> None:
    stream = Stream()
    reports = [lambda exchange: exchange.progress(1)] * (2 * MOST_REPORTS)
    mcp_server.on("tools/call", says(stream, *reports, lambda exchange: exchange.result({"n": 1}), lambda _: NOTE))
    async with opened(mcp_server, stream, seen := Seen()) as link:
        pending = await link.begin(call())
        await until(lambda: seen.methods, "all that the server sends")
        taken = [await pending.next() for _ in range(MOST_REPORTS + 1)]
        await pending.close()
    assert taken[-1]["result"] == {"n": 1}


async def test_fifty_calls_at_once_each_get_their_answer(mcp_server: MCPHTTPServer) -> None:
    stream = Stream()
    lock = threading.Lock()

    def answer(exchange: Exchange) -> None:
        exchange.send_status(202)
        with lock:
            stream.say(exchange.result(exchange.message["params"]))

    mcp_server.on("tools/call", answer)
    numbers: list[tuple[int, int]] = []

    async def ask(link: AsyncSSELink, number: int) -> None:
        messages = await messages_of(link, call("tools/call", {"n": number}))
        numbers.append((number, messages[-1]["result"]["n"]))

    async with opened(mcp_server, stream) as link:
        async with rt.TaskGroup() as group:
            for number in range(50):
                group.start_soon(ask, link, number)
    assert sorted(numbers) == [(number, number) for number in range(50)]


@pytest.mark.parametrize(
    "scheme", ["http://127.0.0.1:9/messages", "//example.org/messages", "https://127.0.0.1/", "file:///x"]
)
async def test_an_endpoint_of_another_origin_gets_nothing(mcp_server: MCPHTTPServer, scheme: str) -> None:
    """S2: or the token would leak."""
    mcp_server.on("GET", Stream(scheme))
    link = AsyncSSELink(HTTPSSETransport(mcp_server.url), Seen())
    with pytest.raises(kova.ConnectionError, match="another origin") as caught:
        await link.open()
    assert not caught.value.is_retryable
    assert not link.is_open
    with pytest.raises(kova.ConnectionError, match="not open"):
        await link.begin(call())
    await link.close()
    assert len(mcp_server.requests) == 1


async def test_an_endpoint_that_is_no_url_is_an_error(mcp_server: MCPHTTPServer) -> None:
    def name_nothing(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.send_event("http://[", event="endpoint")
        exchange.wait_for_disconnect()

    mcp_server.on("GET", name_nothing)
    with pytest.raises(kova.ConnectionError, match="another origin"):
        await kova.AsyncMCPClient.connect(kova.HTTPSSETransport(mcp_server.url))


async def test_the_end_of_the_stream_is_the_end_of_all_calls(mcp_server: MCPHTTPServer) -> None:
    """M3."""
    stream = Stream()
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(202))
    lost: list[str] = []

    async def ask(link: AsyncSSELink) -> None:
        with pytest.raises(LinkLost):
            await messages_of(link, call())
        lost.append("lost")

    async with opened(mcp_server, stream) as link:
        async with rt.TaskGroup() as group:
            for _ in range(5):
                group.start_soon(ask, link)
            await until(lambda: len(mcp_server.of("tools/call")) == 5, "all calls are under way")
            stream.end()
        assert lost == ["lost"] * 5
        assert not link.is_open
        with pytest.raises(NotDelivered):
            await link.begin(call())


async def test_a_frame_beyond_the_limit_ends_the_connection(mcp_server: MCPHTTPServer) -> None:
    """S4."""
    stream = Stream()
    mcp_server.on("tools/call", says(stream, lambda exchange: "x" * 2_000))
    async with opened(mcp_server, stream, limit=1_000) as link:
        with pytest.raises(kova.StreamError, match="larger than 1000 bytes"):
            await messages_of(link, call())
        assert not link.is_open


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_a_refused_call_is_an_error_at_once(mcp_server: MCPHTTPServer, status: int) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.refuse(status, -32602, "bad session"))
    async with opened(mcp_server, Stream()) as link:
        with pytest.raises(Refused, match="bad session") as caught:
            await messages_of(link, call())
        assert caught.value.status_code == status
        assert caught.value.answer is not None
        assert caught.value.answer["error"]["code"] == -32602
        assert link.is_open


async def test_a_server_that_has_no_such_stream(mcp_server: MCPHTTPServer) -> None:
    link = AsyncSSELink(HTTPSSETransport(mcp_server.url), Seen())
    with pytest.raises(Refused, match="405"):
        await link.open()
    mcp_server.on("GET", lambda exchange: exchange.send_json({}), lambda exchange: exchange.stream())
    with pytest.raises(kova.StreamError, match="no stream of events"):
        await link.open()
    with pytest.raises(LinkLost, match="before it named an endpoint"):
        await link.open()
    await link.close()


async def test_a_call_that_is_given_up_is_told_to_the_server(mcp_server: MCPHTTPServer) -> None:
    stream = Stream()
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(202), says(stream, lambda e: e.result({})))
    async with opened(mcp_server, stream) as link:
        pending = await link.begin(wanted := call())
        with rt.move_on_after(0.1):
            await pending.next()
        await pending.abandon()
        stream.say({"jsonrpc": "2.0", "id": wanted.id, "result": {"late": True}})
        assert (await messages_of(link, call()))[-1]["result"] == {}
    assert mcp_server.of("notifications/cancelled")[0].message["params"] == {"requestId": wanted.id}


@pytest.mark.parametrize("from_elsewhere", [False, True], ids=["here", "another thread and loop"])
async def test_closing_during_a_call_leaves_nothing(mcp_server: MCPHTTPServer, from_elsewhere: bool) -> None:
    """M1."""
    await until(lambda: not kova_threads(), "no thread of another test is left")
    before = sockets()
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(202))

    async def ask(link: AsyncSSELink) -> None:
        with pytest.raises((LinkLost, NotDelivered), match="was closed"):  # perhaps before it has read the 202
            await messages_of(link, call())

    start = time.monotonic()
    async with opened(mcp_server, Stream()) as link:
        async with rt.TaskGroup() as group:
            group.start_soon(ask, link)
            await until(lambda: mcp_server.of("tools/call"), "the call is under way")
            if from_elsewhere:
                await rt.run_blocking(in_another_thread, link.close)
            else:
                await link.close()
    assert time.monotonic() - start < 5
    await until(lambda: not kova_threads(), "no thread is left")
    await until(lambda: sockets() == before, "no socket is left")


async def test_a_refused_token_is_renewed_for_the_stream_and_for_calls(mcp_server: MCPHTTPServer) -> None:
    stream, tokens = Stream(), Tokens()

    def guarded(number: int, answer: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
        def answer_if_allowed(exchange: Exchange) -> None:
            if exchange.headers.get("authorization") == f"Bearer token-{number}":
                answer(exchange)
            else:
                exchange.send_status(401)

        return answer_if_allowed

    mcp_server.on("GET", guarded(1, stream))
    mcp_server.on("tools/call", guarded(2, says(stream, lambda exchange: exchange.result({}))))
    link = AsyncSSELink(HTTPSSETransport(mcp_server.url, auth=tokens), Seen())
    await link.open()
    assert (await messages_of(link, call()))[-1]["result"] == {}
    await link.close()
    assert tokens.refreshes == 2
