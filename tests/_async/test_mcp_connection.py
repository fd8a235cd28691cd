"""The MCP client when things go wrong: lost sessions and streams, time limits, closing, many calls at once (M1, M3)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import kova
from kova._runtime import aio as rt
from tests._async.mcp_http_links import until
from tests.mcp_http_server import Exchange, MCPHTTPServer, hang, usual
from tests.mcp_modern import TEXT, be_modern, be_old

pytestmark = pytest.mark.anyio

CITY = {"city": "Oslo"}


def client(server: MCPHTTPServer, **options: Any) -> kova.AsyncMCPClient:
    return kova.AsyncMCPClient(kova.StreamableHTTPTransport(server.url), **options)


# ---- sessions and streams that are lost


class Sessions:
    """A server that knows only the session that it gave last, and forgets it when it is told to."""

    def __init__(self, server: MCPHTTPServer, *, status: int = 404) -> None:
        self._server = server
        self._status = status
        self._count = 0
        self._lock = threading.Lock()
        be_old(server)
        server.on("initialize", self._begin)
        server.on("tools/call", self._call)

    def forget(self) -> None:
        with self._lock:
            self._count += 1

    @property
    def present(self) -> str:
        return f"session-{self._count}"

    def _begin(self, exchange: Exchange) -> None:
        with self._lock:
            self._count += 1
            session = self.present
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
        exchange.answer(result, mcp_session_id=session)

    def _call(self, exchange: Exchange) -> None:
        if exchange.headers["mcp-session-id"] == self.present:
            exchange.answer(TEXT)
        else:
            exchange.refuse(self._status, -32000, "Session not found")


@pytest.mark.parametrize("status", [404, 400])
async def test_m3_an_expired_session_is_renewed_and_the_call_repeated(mcp_server: MCPHTTPServer, status: int) -> None:
    sessions = Sessions(mcp_server, status=status)
    async with client(mcp_server) as mcp:
        await mcp.call_tool("weather", CITY)
        sessions.forget()
        assert (await mcp.call_tool("weather", CITY)).text == "sunny"
    assert len(mcp_server.of("initialize")) == 2
    assert len(mcp_server.of("tools/call")) == 3


async def test_m3_one_new_session_serves_all_calls_that_wait_for_it(mcp_server: MCPHTTPServer) -> None:
    sessions = Sessions(mcp_server)
    results: list[str] = []

    async def call(mcp: kova.AsyncMCPClient) -> None:
        results.append((await mcp.call_tool("weather", CITY)).text)

    async with client(mcp_server) as mcp:
        await mcp.call_tool("weather", CITY)
        sessions.forget()
        async with rt.TaskGroup() as group:
            for _ in range(20):
                group.start_soon(call, mcp)
    assert results == ["sunny"] * 20
    assert len(mcp_server.of("initialize")) == 2


async def test_m3_a_session_that_never_lasts_is_an_error(mcp_server: MCPHTTPServer) -> None:
    sessions = Sessions(mcp_server)
    mcp_server.on("tools/call", lambda exchange: exchange.refuse(404, -32000, "Session not found"))
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.ConnectionError) as caught:
            await mcp.call_tool("weather", CITY)
    assert type(caught.value) is kova.ConnectionError
    assert len(mcp_server.of("tools/call")) == 2
    assert sessions.present == "session-2"


async def test_m3_a_call_whose_stream_is_lost_is_not_repeated(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)

    def cut(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.send_event(exchange.progress(1))
        exchange.end_chunks()

    mcp_server.on("tools/call", cut)
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.ConnectionError, match="may have run, and was not repeated") as caught:
            await mcp.call_tool("weather", CITY)
    assert type(caught.value) is kova.ConnectionError
    assert not caught.value.is_retryable
    assert len(mcp_server.of("tools/call")) == 1


async def test_m3_a_list_that_is_cut_is_asked_for_again(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)

    def cut(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.end_chunks()

    mcp_server.on("tools/list", cut, lambda exchange: exchange.answer({"tools": [{"name": "weather"}]}))
    async with client(mcp_server) as mcp:
        assert [tool.name for tool in await mcp.list_tools()] == ["weather"]


async def test_m3_a_server_that_is_away_is_an_error_and_the_next_call_tries_again(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    away = kova.AsyncMCPClient(kova.StreamableHTTPTransport("http://127.0.0.1:9/mcp"))
    for _ in range(2):
        with pytest.raises(kova.ConnectionError, match="cannot be reached") as caught:
            await away.call_tool("weather", CITY)
        assert type(caught.value) is kova.ConnectionError


# ---- time and cancellation


async def test_a_silent_call_ends_in_time_and_the_server_is_told(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    mcp_server.on("tools/call", hang)
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.TimeoutError, match=r"the MCP tool weather took longer than 0.1 s"):
            await mcp.call_tool("weather", CITY, timeout=0.1)
        await until(lambda: mcp_server.of("notifications/cancelled"), "told")
    told = mcp_server.of("notifications/cancelled")[0].message
    assert told["params"]["requestId"] == mcp_server.of("tools/call")[0].message["id"]


async def test_what_comes_before_a_call_is_a_part_of_its_time(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/list", hang)  # which says what the call's headers are
    async with client(mcp_server) as mcp:
        with pytest.raises(kova.TimeoutError, match=r"the MCP tool weather took longer than 0.1 s"):
            await mcp.call_tool("weather", CITY, timeout=0.1)
        be_modern(mcp_server)
        with pytest.raises(kova.TimeoutError):
            await mcp.call_tool("weather", CITY, timeout=1e-9)
        assert not mcp_server.of("tools/call"), "whose time is over is not asked any more"
        assert (await mcp.call_tool("weather", CITY)).text == "sunny"


async def test_progress_gives_a_call_its_time_anew_up_to_a_maximum(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    seen: list[tuple[Any, ...]] = []

    def report_for_ever(exchange: Exchange) -> None:
        exchange.start_chunks()
        number = 0
        while not exchange.wait_for_disconnect(0.05):
            number += 1
            exchange.send_event(exchange.progress(number))

    mcp_server.on("tools/call", report_for_ever)
    async with client(mcp_server, max_total_timeout=1.0) as mcp:
        with pytest.raises(kova.TimeoutError):
            await mcp.call_tool("weather", CITY, timeout=0.6, on_progress=lambda *report: seen.append(report))
    assert len(seen) >= 2
    assert seen[:2] == [(1, None, None), (2, None, None)]


async def test_m1_a_cancelled_call_ends_at_once_and_others_go_on(mcp_server: MCPHTTPServer) -> None:
    be_modern(mcp_server)
    mcp_server.on("tools/call", hang, lambda exchange: exchange.answer(TEXT))
    token = kova.CancellationToken()
    async with client(mcp_server) as mcp:
        await mcp.list_tools()
        token.cancel_after(0.1)
        with pytest.raises(kova.TurnCancelledError):
            await mcp.call_tool("weather", CITY, cancel=token)
        assert (await mcp.call_tool("weather", CITY)).text == "sunny"


async def test_fifty_calls_at_once_each_get_their_own_answer(mcp_server: MCPHTTPServer) -> None:
    """Interleaved with calls that are cancelled, and with calls whose time is over."""
    be_modern(mcp_server)

    def answer(exchange: Exchange) -> None:
        city = exchange.message["params"]["arguments"]["city"]
        if city.endswith("!"):
            hang(exchange)
        else:
            exchange.answer({"content": [{"type": "text", "text": city}]})

    mcp_server.on("tools/call", answer)
    right: list[str] = []
    ended: list[type] = []

    async def call(mcp: kova.AsyncMCPClient, number: int) -> None:
        for turn in range(4):
            city = f"{number}/{turn}"
            if (await mcp.call_tool("weather", {"city": city})).text == city:
                right.append(city)
        token = kova.CancellationToken()
        token.cancel_after(0.2)
        try:
            if number % 2:
                await mcp.call_tool("weather", {"city": "!"}, cancel=token)
            else:
                await mcp.call_tool("weather", {"city": "!"}, timeout=0.2)
        except kova.KovaError as error:
            ended.append(type(error))

    async with client(mcp_server) as mcp:
        await mcp.list_tools()
        async with rt.TaskGroup() as group:
            for number in range(50):
                group.start_soon(call, mcp, number)
    assert len(right) == 200
    assert ended.count(kova.TurnCancelledError) == ended.count(kova.TimeoutError) == 25


# ---- closing


async def test_m1_after_the_closing_every_call_is_an_error_until_it_connects_anew(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    mcp = await kova.AsyncMCPClient.connect(kova.StreamableHTTPTransport(mcp_server.url), timeout=10)
    await mcp.close()
    await mcp.close()
    for call in (mcp.list_tools, lambda: mcp.call_tool("weather", CITY)):
        with pytest.raises(kova.ConnectionError, match="closed"):
            await call()
    with pytest.raises(kova.ConnectionError, match="closed"):
        assert mcp.server_info
    await mcp.reconnect()
    assert (await mcp.call_tool("weather", CITY)).text == "sunny"
    await mcp.close()
    assert len(mcp_server.of("DELETE")) == 2


async def test_m1_a_connection_that_fails_leaves_nothing(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("server/discover", lambda exchange: exchange.refuse(400))
    mcp_server.on("initialize", lambda exchange: exchange.answer({"protocolVersion": "1999-01-01"}))
    with pytest.raises(kova.MCPError, match="1999-01-01"):
        await kova.AsyncMCPClient.connect(kova.StreamableHTTPTransport(mcp_server.url), timeout=10)
    mcp_server.on("initialize", usual)
    async with client(mcp_server) as mcp:
        assert mcp.protocol_version == "2025-11-25"
