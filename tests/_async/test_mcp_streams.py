"""MCP over streamable HTTP where streams break off, are listened to, are given up and are closed."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import kova
from kova._async.mcp import listener, streamable_call
from kova._mcp.failures import LinkLost
from kova._mcp.jsonrpc import Message
from kova._runtime import aio as rt
from kova._runtime import workers
from kova._runtime.scope import Deadline
from tests._async.mcp_http_links import answer_to, begin_session, linked, messages_of, until
from tests.mcp_http_server import NOTE, SESSION, VERSION, Exchange, MCPHTTPServer, Seen, call, hang

pytestmark = pytest.mark.anyio

TEN_SECONDS = 10.0


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(listener, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(streamable_call, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)


def cut(*events: object, **fields: str) -> Any:
    """A stream that is cut after these events, without its end."""

    def answer(exchange: Exchange) -> None:
        exchange.start_chunks()
        for event in events:
            exchange.send_event(event, **fields)
        exchange.disconnect()

    return answer


def primed(exchange: Exchange) -> None:
    """A stream that is ended properly after its first event, which says where to go on."""
    exchange.start_chunks()
    exchange.send_event("", id="e1", retry="20")
    exchange.end_chunks()


# ---- cut streams


@pytest.mark.parametrize("events", [[], [NOTE], [""]], ids=["at once", "after a message", "after an empty event"])
async def test_a_stream_that_ends_without_the_answer_is_a_lost_call(
    mcp_server: MCPHTTPServer, events: list[object]
) -> None:
    """M3: nobody knows whether it ran."""
    mcp_server.on("tools/call", cut(*events), lambda exchange: exchange.stream(*events))
    async with linked(mcp_server) as link:
        await begin_session(link)
        for _ in range(2):
            with pytest.raises(LinkLost):
                await answer_to(link, call())


async def test_the_rest_of_a_broken_stream_is_asked_for(mcp_server: MCPHTTPServer) -> None:
    calls: list[Exchange] = []

    def begun(exchange: Exchange) -> None:
        calls.append(exchange)
        cut(exchange.progress(1), id="e1", retry="50")(exchange)

    def rest(exchange: Exchange) -> None:
        if exchange.headers.get("last-event-id") != "e1":
            exchange.send_status(405)
        else:
            exchange.stream(calls[0].progress(2), calls[0].result({"n": 1}))

    mcp_server.on("tools/call", begun)
    mcp_server.on("GET", rest)
    async with linked(mcp_server) as link:
        await begin_session(link)
        start = time.monotonic()
        messages = await messages_of(link, call())
        assert time.monotonic() - start >= 0.05  # as the server asked
    assert [message.get("params", {}).get("progress") for message in messages] == [1, 2, None]
    asked = [exchange for exchange in mcp_server.of("GET") if "last-event-id" in exchange.headers]
    assert (asked[0].headers["mcp-session-id"], asked[0].headers["mcp-protocol-version"]) == (SESSION, VERSION)


@pytest.mark.parametrize("status", [404, 405, 400, 500])
async def test_a_rest_that_is_refused_is_a_lost_call(mcp_server: MCPHTTPServer, status: int) -> None:
    """M3: not an expired session either, as the call may have run."""
    mcp_server.on("tools/call", primed)
    mcp_server.on("GET", lambda exchange: exchange.refuse(status, message="Session not found"))
    async with linked(mcp_server) as link:
        await begin_session(link)
        with pytest.raises(LinkLost, match=str(status)):
            await answer_to(link, call())


async def test_resumptions_that_bring_nothing_have_an_end(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", primed)
    mcp_server.on("GET", primed)
    async with linked(mcp_server) as link:
        await answer_to(link, call("initialize"))
        link.negotiated(VERSION, is_modern=False)
        with pytest.raises(LinkLost):
            await answer_to(link, call())
    assert len(mcp_server.of("GET")) == streamable_call.RESUMPTIONS


async def test_in_the_stateless_era_a_lost_stream_is_a_lost_call(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", primed)
    async with linked(mcp_server) as link:
        link.negotiated("2026-07-28", is_modern=True)
        with pytest.raises(LinkLost):
            await answer_to(link, call())
    assert not mcp_server.of("GET")


# ---- what is no answer


@pytest.mark.parametrize(
    "answer",
    [
        lambda exchange: exchange.send_status(202),
        lambda exchange: exchange.send_status(200),
        lambda exchange: exchange.send_json({"jsonrpc": "2.0", "id": 999_999, "result": {}}),
        lambda exchange: exchange.send_json([]),
        lambda exchange: exchange.send_json("<html>"),
    ],
    ids=["202", "nothing", "foreign", "empty batch", "no message"],
)
async def test_what_is_no_answer_is_an_error(mcp_server: MCPHTTPServer, answer: Any) -> None:
    mcp_server.on("tools/call", answer)
    async with linked(mcp_server) as link:
        with pytest.raises(kova.StreamError, match="gave no answer"):
            await answer_to(link, call())


@pytest.mark.parametrize("id", [None, "server-error", 999_999])
async def test_an_error_with_a_foreign_id_belongs_to_its_own_post(mcp_server: MCPHTTPServer, id: object) -> None:
    refused: Message = {"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": "no"}}
    mcp_server.on("tools/call", lambda exchange: exchange.send_json(refused), lambda exchange: exchange.stream(refused))
    async with linked(mcp_server) as link:
        for _ in range(2):
            assert (await answer_to(link, call()))["error"] == refused["error"]


async def test_a_frame_beyond_the_limit_is_an_error(mcp_server: MCPHTTPServer) -> None:
    """S4."""
    mcp_server.on("tools/call", lambda exchange: exchange.stream("x" * 2_000), lambda exchange: exchange.answer({}))
    async with linked(mcp_server, limit=1_000) as link:
        with pytest.raises(kova.StreamError, match="larger than 1000 bytes"):
            await answer_to(link, call())
        assert "result" in await answer_to(link, call())


async def test_a_drip_does_not_outlive_the_callers_limit(mcp_server: MCPHTTPServer) -> None:
    def drip(exchange: Exchange) -> None:
        exchange.start_chunks()
        while True:
            exchange.send_chunk(b": still here\n\n")
            time.sleep(0.02)

    mcp_server.on("tools/call", drip)
    async with linked(mcp_server) as link:
        pending = await link.begin(call())
        with pytest.raises(kova.TimeoutError, match="the call"):
            with rt.fail_at(Deadline(0.2, "the call")):
                await pending.next()
        await pending.close()


# ---- the server's own stream


async def test_the_servers_own_stream_is_listened_to_and_opened_again(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("GET", cut(NOTE, id="e1", retry="10"), cut(NOTE, id="e2"), hang)
    async with linked(mcp_server, seen := Seen()) as link:
        await begin_session(link)
        await until(lambda: len(mcp_server.of("GET")) == 3, "it is opened again")
        await until(lambda: len(seen.messages) == 2, "both messages arrive")
    assert [exchange.headers.get("last-event-id") for exchange in mcp_server.of("GET")] == [None, "e1", "e2"]
    assert mcp_server.of("GET")[0].headers["mcp-session-id"] == SESSION


@pytest.mark.parametrize("status", [405, 404, 406, 400, 403])
async def test_where_it_is_not_offered_it_is_not_asked_for_again(mcp_server: MCPHTTPServer, status: int) -> None:
    mcp_server.on("GET", lambda exchange: exchange.send_status(status))
    async with linked(mcp_server) as link:
        await begin_session(link)
        await until(lambda: mcp_server.of("GET"), "it is asked for")
        await rt.sleep(0.1)
        await answer_to(link, call())
        assert len(mcp_server.of("GET")) == 1


async def test_a_server_that_has_it_again_later(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("GET", lambda exchange: exchange.send_status(503), lambda exchange: exchange.disconnect(), cut(NOTE))
    async with linked(mcp_server, seen := Seen()) as link:
        await begin_session(link)
        await until(lambda: seen.messages, "the message arrives")


async def test_an_answer_that_comes_by_the_servers_own_stream_reaches_its_call(mcp_server: MCPHTTPServer) -> None:
    asked = threading.Event()

    def moved(exchange: Exchange) -> None:
        exchange.start_chunks()
        assert asked.wait(TEN_SECONDS)
        exchange.send_event(mcp_server.of("tools/call")[0].result({"moved": True}))
        hang(exchange)

    def silent(exchange: Exchange) -> None:
        exchange.start_chunks()
        asked.set()
        hang(exchange)

    mcp_server.on("GET", moved)
    mcp_server.on("tools/call", silent, lambda exchange: exchange.answer({}))
    async with linked(mcp_server) as link:
        await begin_session(link)
        assert (await answer_to(link, call()))["result"] == {"moved": True}
        assert (await answer_to(link, call()))["result"] == {}


# ---- giving up


@pytest.mark.parametrize("is_modern", [False, True])
async def test_a_call_that_is_given_up_is_told_to_the_server(mcp_server: MCPHTTPServer, is_modern: bool) -> None:
    gone = threading.Event()

    def silent(exchange: Exchange) -> None:
        exchange.start_chunks()
        if exchange.wait_for_disconnect():
            gone.set()

    mcp_server.on("tools/call", silent)
    async with linked(mcp_server) as link:
        link.negotiated("2026-07-28" if is_modern else VERSION, is_modern=is_modern)
        pending = await link.begin(wanted := call())
        with rt.move_on_after(0.1):
            await pending.next()
        await pending.abandon()
        await pending.close()
        await until(gone.is_set, "the server sees that nobody waits any more")
    told = [exchange.message["params"] for exchange in mcp_server.of("notifications/cancelled")]
    assert told == ([] if is_modern else [{"requestId": wanted.id}])


async def test_a_server_that_does_not_take_the_news_holds_nobody_up(
    mcp_server: MCPHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamable_call, "ABANDON_SECONDS", 0.1)
    mcp_server.on("tools/call", hang)
    mcp_server.on("notifications/cancelled", hang)
    async with linked(mcp_server) as link:
        link.negotiated(VERSION, is_modern=False)
        pending = await link.begin(call())
        start = time.monotonic()
        await pending.abandon()
        assert time.monotonic() - start < 3
