"""M1: a link over HTTP may be closed from anywhere, and leaves nothing."""

from __future__ import annotations

import time

import pytest

from kova._async.mcp import http_requests
from kova._async.mcp.streamable import AsyncStreamableLink
from kova._mcp.failures import LinkLost, NotDelivered
from kova._runtime import aio as rt
from kova._runtime import workers
from kova.mcp import StreamableHTTPTransport
from tests._async.mcp_http_links import answer_to, begin_session, linked, until
from tests.mcp_http_server import SESSION, MCPHTTPServer, Seen, call, hang
from tests.mcp_http_threads import in_another_thread
from tests.observe import kova_threads, sockets

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _idle_threads_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)


async def closes_during_calls(server: MCPHTTPServer, from_elsewhere: bool) -> None:
    server.on("tools/call", hang)
    server.on("GET", hang)
    outcomes: list[str] = []
    link = AsyncStreamableLink(StreamableHTTPTransport(server.url), Seen())
    await begin_session(link)

    async def ask() -> None:
        with pytest.raises(LinkLost, match="was closed"):
            await answer_to(link, call())
        outcomes.append("lost")

    async with rt.TaskGroup() as group:
        for _ in range(10):
            group.start_soon(ask)
        while len(server.of("tools/call")) < 10 or not server.of("GET"):
            await rt.sleep(0.005)
        start = time.monotonic()
        if from_elsewhere:
            await rt.run_blocking(in_another_thread, link.close)
        else:
            await link.close()
    assert time.monotonic() - start < 5
    assert len(outcomes) == 10
    await link.close()
    with pytest.raises(NotDelivered, match="was closed"):
        await link.begin(call())
    assert [exchange.headers["mcp-session-id"] for exchange in server.of("DELETE")] == [SESSION]


@pytest.mark.parametrize("from_elsewhere", [False, True], ids=["here", "another thread and loop"])
async def test_closing_ends_the_calls_that_are_under_way_and_leaves_nothing(
    mcp_server: MCPHTTPServer, from_elsewhere: bool
) -> None:
    await until(lambda: not kova_threads(), "no thread of another test is left")
    before = sockets()
    await closes_during_calls(mcp_server, from_elsewhere)
    await until(lambda: not kova_threads(), "no thread is left")
    await until(lambda: sockets() == before, "no socket is left, the server's included")


async def test_closing_ends_a_call_that_is_still_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        link = AsyncStreamableLink(StreamableHTTPTransport(f"http://127.0.0.1:{address[1]}/"), Seen())

        async def ask() -> None:
            with pytest.raises(NotDelivered, match="was closed"):
                await link.begin(call())

        start = time.monotonic()
        async with rt.TaskGroup() as group:
            group.start_soon(ask)
            await rt.sleep(0.1)
            await link.close()
        assert time.monotonic() - start < 5
        for filler in fillers:
            filler.close()


async def test_a_server_that_does_not_answer_the_delete_holds_nobody_up(
    mcp_server: MCPHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_requests, "FAREWELL_SECONDS", 0.1)
    mcp_server.on("DELETE", hang)
    start = time.monotonic()
    async with linked(mcp_server) as link:
        await begin_session(link)
    assert time.monotonic() - start < 5


async def test_a_server_that_has_gone_is_left_without_a_word() -> None:
    with MCPHTTPServer() as server:
        link = AsyncStreamableLink(StreamableHTTPTransport(server.url), Seen())
        await begin_session(link)
    await link.close()


async def test_two_hundred_links_leave_nothing(mcp_server: MCPHTTPServer) -> None:
    await until(lambda: not kova_threads(), "no thread of another test is left")
    before = sockets()
    for _ in range(200):
        async with linked(mcp_server) as link:
            await begin_session(link)
    await until(lambda: not kova_threads(), "no thread is left")
    await until(lambda: sockets() == before, "no socket is left")
