"""MCP over streamable HTTP: calls, sessions, streams that break off, and what is refused."""

from __future__ import annotations

import socket
from typing import Any

import pytest

import kova
from kova._async.mcp.streamable import AsyncStreamableLink
from kova._mcp.failures import LinkLost, NotDelivered, Refused, SessionExpired
from kova._runtime import aio as rt
from kova.mcp import StreamableHTTPTransport
from tests._async.mcp_http_links import INITIALIZED, answer_to, begin_session, linked, messages_of
from tests.mcp_http_server import NOTE, PING, SESSION, VERSION, Exchange, MCPHTTPServer, Seen, call

pytestmark = pytest.mark.anyio

# ---- what works


async def test_a_call_is_a_post_of_its_own_with_the_headers_that_belong_to_it(mcp_server: MCPHTTPServer) -> None:
    async with linked(mcp_server) as link:
        answer = await answer_to(link, call("tools/call", {"name": "x"}, mcp_method="tools/call"))
    assert answer["result"] == {}
    sent = mcp_server.of("tools/call")[0]
    assert sent.message["params"] == {"name": "x"}
    assert (sent.headers["x-mine"], sent.headers["mcp-method"]) == ("1", "tools/call")
    assert sent.headers["accept"] == "application/json, text/event-stream"
    assert sent.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in sent.headers
    assert "mcp-protocol-version" not in sent.headers


async def test_a_session_is_sent_with_all_that_follows_and_deleted_in_the_end(mcp_server: MCPHTTPServer) -> None:
    async with linked(mcp_server) as link:
        await begin_session(link)
        await answer_to(link, call())
        await link.send({"jsonrpc": "2.0", "id": "s1", "result": {}})
    later = [mcp_server.of(kind)[0] for kind in ("notifications/initialized", "tools/call", "answer", "DELETE")]
    assert {exchange.headers.get("mcp-session-id") for exchange in later} == {SESSION}
    assert {exchange.headers.get("mcp-protocol-version") for exchange in later} == {VERSION}
    assert "mcp-session-id" not in mcp_server.of("initialize")[0].headers


async def test_a_session_id_counts_only_in_the_answer_to_initialize(mcp_server: MCPHTTPServer) -> None:
    """Some servers mint one for a probe that they reject, or with any answer."""
    mcp_server.on("tools/call", lambda exchange: exchange.answer({}, mcp_session_id="other"))
    mcp_server.on("server/discover", lambda exchange: exchange.refuse(400, mcp_session_id="other"))
    async with linked(mcp_server) as link:
        with pytest.raises(Refused):
            await answer_to(link, call("server/discover"))
        await answer_to(link, call())
        await answer_to(link, call())
    assert all("mcp-session-id" not in exchange.headers for exchange in mcp_server.of("tools/call"))
    assert not mcp_server.of("DELETE")


async def test_a_stream_brings_progress_and_the_answer_and_the_servers_own_messages(mcp_server: MCPHTTPServer) -> None:
    def stream(exchange: Exchange) -> None:
        own = exchange.message["id"]
        exchange.start_chunks()
        exchange.send_chunk(b": hello\n\nevent: other\ndata: {}\n\ndata: no JSON\n\n")
        for message in (NOTE, exchange.progress(1), PING, exchange.progress(1, "x"), exchange.progress(2, str(own))):
            exchange.send_event(message)
        exchange.send_event(exchange.result({"n": 1}, str(own)), event="message", id="7")
        exchange.end_chunks()

    mcp_server.on("tools/call", stream)
    seen = Seen()
    async with linked(mcp_server, seen) as link:
        messages = await messages_of(link, call())
        assert [message.get("method") for message in messages] == ["notifications/progress"] * 2 + [None]
        assert messages[-1]["result"] == {"n": 1}
        await answer_to(link, call())
    assert seen.methods[:3] == ["notifications/message", "ping", "notifications/progress"]
    assert mcp_server.connections == 1  # the end of a stream leaves it for the next call


async def test_a_batch_is_taken_apart(mcp_server: MCPHTTPServer) -> None:
    """Servers of 2025-03-26 may answer with one, in JSON or in an event."""
    mcp_server.on(
        "tools/call",
        lambda exchange: exchange.send_json([NOTE, exchange.result({"n": 1})]),
        lambda exchange: exchange.stream([NOTE, exchange.result({"n": 2})]),
    )
    seen = Seen()
    async with linked(mcp_server, seen) as link:
        assert [(await answer_to(link, call()))["result"]["n"] for _ in range(2)] == [1, 2]
    assert seen.methods == ["notifications/message"] * 2


async def test_fifty_calls_at_once_each_get_their_answer(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.stream(exchange.result(exchange.message["params"])))
    numbers: list[tuple[int, int]] = []

    async def ask(link: AsyncStreamableLink, number: int) -> None:
        answer = await answer_to(link, call("tools/call", {"n": number}))
        numbers.append((number, answer["result"]["n"]))

    async with linked(mcp_server) as link:
        async with rt.TaskGroup() as group:
            for number in range(50):
                group.start_soon(ask, link, number)
    assert sorted(numbers) == [(number, number) for number in range(50)]


async def test_a_redirect_within_the_origin_is_followed_with_all_that_was_sent(mcp_server: MCPHTTPServer) -> None:
    redirects = iter([307, 308])

    def redirect(exchange: Exchange) -> None:
        if exchange.path == "/other":
            exchange.answer({"moved": True})
        else:
            exchange.send_status(next(redirects), location="/other?x=1")

    mcp_server.on("tools/call", redirect)
    async with linked(mcp_server) as link:
        for _ in range(2):
            assert (await answer_to(link, call("tools/call", {"a": 1})))["result"] == {"moved": True}
    first, second, *_ = mcp_server.of("tools/call")
    assert (second.target, second.body) == ("/other?x=1", first.body)
    assert second.headers["x-mine"] == "1"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_to_another_origin_is_not_followed(mcp_server: MCPHTTPServer, status: int) -> None:
    """S2."""
    with MCPHTTPServer() as other:
        mcp_server.on("tools/call", lambda exchange: exchange.send_status(status, location=other.url))
        async with linked(mcp_server) as link:
            with pytest.raises(Refused, match="redirects to http://127.0.0.1") as caught:
                await answer_to(link, call())
        assert (caught.value.status_code, other.requests) == (status, [])


async def test_a_redirect_to_what_is_no_url_is_not_followed(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(307, location="http://["))
    async with linked(mcp_server) as link:
        with pytest.raises(Refused, match="307"):
            await answer_to(link, call())


async def test_redirects_in_a_circle_end(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.send_status(307, location="/mcp"))
    async with linked(mcp_server) as link:
        with pytest.raises(Refused, match="307"):
            await answer_to(link, call())
    assert len(mcp_server.requests) < 10


# ---- what cannot be sent


async def test_a_header_that_cannot_be_sent_is_named_at_once() -> None:
    for headers, named in [({"X-A": "a\nb"}, "X-A"), ({"a b": "c"}, "a b"), ({"Host": "x"}, "Host")]:
        with pytest.raises(kova.BuildError, match=named):
            AsyncStreamableLink(StreamableHTTPTransport("http://127.0.0.1", headers), Seen())


async def test_a_server_that_is_not_there_was_sent_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    link = AsyncStreamableLink(StreamableHTTPTransport(f"http://127.0.0.1:{port}/mcp?key=secret"), Seen())
    with pytest.raises(NotDelivered, match="cannot be reached.*refused") as caught:
        await link.begin(call())
    assert "secret" not in str(caught.value)
    with pytest.raises(NotDelivered):
        await link.send(INITIALIZED)
    await link.close()


async def test_a_closed_link_sends_nothing(mcp_server: MCPHTTPServer) -> None:
    async with linked(mcp_server) as link:
        assert link.is_open
    assert not link.is_open
    with pytest.raises(NotDelivered, match="closed"):
        await link.begin(call())
    assert mcp_server.requests == []
    await link.close()


# ---- sessions that are over


@pytest.mark.parametrize(
    "answer",
    [
        lambda exchange: exchange.send_status(404),
        lambda exchange: exchange.refuse(404, -32001, "Session not found"),
        lambda exchange: exchange.refuse(400, -32000, "Bad Request: No valid session ID provided"),
        lambda exchange: exchange.send_json({"error": "Invalid session ID"}, 400),
        lambda exchange: exchange.send_json(
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}}
        ),
        lambda exchange: exchange.stream({"id": 1, "error": {"code": -32000, "message": "Session has expired"}}),
    ],
    ids=["404", "404 with words", "400 of server-everything", "400 without JSON-RPC", "in a 200", "in a stream"],
)
async def test_a_session_that_the_server_has_forgotten(mcp_server: MCPHTTPServer, answer: Any) -> None:
    mcp_server.on("tools/call", answer)
    async with linked(mcp_server) as link:
        await begin_session(link)
        with pytest.raises(SessionExpired):
            await answer_to(link, call())
        await begin_session(link)
    assert "mcp-session-id" not in mcp_server.of("initialize")[1].headers


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (400, -32602, "bad arguments"),
        (200, -32603, "session not found"),
        (200, -32000, "the session of Friday is full"),
    ],
)
async def test_other_errors_leave_the_session_alone(
    mcp_server: MCPHTTPServer, status: int, code: int, message: str
) -> None:
    """A call that ran must not be taken for one that did not."""
    mcp_server.on("tools/call", lambda exchange: exchange.refuse(status, code, message))
    async with linked(mcp_server) as link:
        await begin_session(link)
        if status == 200:
            assert (await answer_to(link, call()))["error"]["code"] == code
        else:
            with pytest.raises(Refused) as caught:
                await answer_to(link, call())
            assert not isinstance(caught.value, SessionExpired)


async def test_without_a_session_a_404_is_a_404(mcp_server: MCPHTTPServer) -> None:
    mcp_server.on("tools/call", lambda exchange: exchange.refuse(404, -32001, "Session not found"))
    async with linked(mcp_server) as link:
        with pytest.raises(Refused) as caught:
            await answer_to(link, call())
    assert (caught.value.status_code, type(caught.value)) == (404, Refused)


async def test_a_lost_connection_may_have_been_a_call_that_ran(mcp_server: MCPHTTPServer) -> None:
    """M3: also on a connection that was used before, where a model call would simply be sent again."""
    mcp_server.on("tools/call", lambda exchange: exchange.answer({}), lambda exchange: exchange.disconnect())
    async with linked(mcp_server) as link:
        await answer_to(link, call())
        with pytest.raises(LinkLost):
            await answer_to(link, call())
    assert len(mcp_server.of("tools/call")) == 2
