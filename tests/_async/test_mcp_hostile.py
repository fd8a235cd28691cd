"""M1, M3: servers over stdio that lie or flood, and clients that are closed or dropped at any moment."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from typing import Any

import pytest

import kova
from kova import testing as kt
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from tests._async.mcp_http_links import until
from tests.mcp_http_server import Exchange, MCPHTTPServer
from tests.mcp_links import children, faulty, is_dead
from tests.mcp_modern import TEXT, be_old
from tests.observe import kova_threads

pytestmark = pytest.mark.anyio

BOUND = 20.0  # seconds, for what takes one


# ---- answers that are none


@pytest.mark.parametrize(
    ("tool", "error", "message"),
    [
        ("no_result", kova.MCPError, "the answer to tools/call has no result"),
        ("not_a_number", kova.StreamError, "gave an answer that is no JSON"),
    ],
)
async def test_m3_an_answer_that_makes_no_sense_fails_its_call_at_once(
    tool: str, error: type[Exception], message: str
) -> None:
    async with kova.AsyncMCPClient(faulty(), timeout=100) as client:
        with pytest.raises(error, match=message), rt.fail_at(Deadline(BOUND, "an error")):
            await client.call_tool(tool)
        assert (await client.call_tool("echo")).text == "done"


async def test_an_id_may_come_back_as_another_kind_of_number() -> None:
    async with kova.AsyncMCPClient(faulty()) as client:
        assert (await client.call_tool("point_zero")).text == "done"


# ---- floods


@pytest.mark.parametrize("method", ["ping", "sampling/createMessage"])
async def test_a_server_that_asks_without_a_pause_costs_few_threads(method: str) -> None:
    most = 0

    def sample(params: dict[str, Any]) -> dict[str, Any]:
        nonlocal most
        most = max(most, len(kova_threads()))
        return {}

    async with kova.AsyncMCPClient(faulty(), on_sampling=sample) as client:
        assert (await client.call_tool("ask_often", {"times": 2_000, "method": method}, timeout=60)).text == "done"
        most = max(most, len(kova_threads()))
        assert (await client.call_tool("echo", timeout=60)).text == "done"
    assert most < 60, f"{most} threads"


async def test_what_makes_no_sense_does_no_harm() -> None:
    def never(*args: object) -> dict[str, Any]:
        raise AssertionError("no handler is asked")

    client = kova.AsyncMCPClient(faulty(), on_sampling=never, on_elicitation=never, roots=["/"])
    async with client:
        assert (await client.call_tool("ask_nonsense")).text == "done"
        assert (await client.call_tool("echo")).text == "done"


async def test_m3_progress_without_end_has_one() -> None:
    """Also where the reports come faster than they are taken."""
    reports: list[object] = []
    client = kova.AsyncMCPClient(faulty(), timeout=1, max_total_timeout=1.5)
    async with client:
        with (
            pytest.raises(kova.TimeoutError, match="took longer than 1.5 s"),
            rt.fail_at(Deadline(BOUND, "the end")),
        ):
            await client.call_tool("report_without_end", on_progress=lambda *report: reports.append(report))
    assert reports


async def test_m3_a_listener_that_blocks_does_not_hold_up_its_call() -> None:
    """`on_progress` has as long as the call may go without a sign of progress."""
    free = threading.Event()
    try:
        async with kova.AsyncMCPClient(faulty()) as client:
            with pytest.raises(kova.TimeoutError), rt.fail_at(Deadline(BOUND, "the end")):
                await client.call_tool("progress", timeout=0.5, on_progress=lambda *report: free.wait())
            assert (await client.call_tool("echo")).text == "done"
    finally:
        free.set()


async def test_m3_a_handler_whose_result_is_no_json_does_not_leave_the_server_waiting() -> None:
    async with kova.AsyncMCPClient(faulty(), on_sampling=lambda params: {"a": object()}) as client:
        await client.call_tool("ask_often", {"times": 1, "method": "sampling/createMessage"})
        answers: list[Any] = []
        with rt.fail_at(Deadline(BOUND, "an answer")):
            while not answers:
                said = json.loads((await client.call_tool("answers")).text)
                answers = [message for message in said if message["id"] == "s0"]
    assert answers[0]["error"]["code"] == -32603


# ---- closing at any moment


async def test_m1_closing_ends_a_connecting_that_is_under_way() -> None:
    """It does not wait for a server that is silent, nor for what downloads it."""
    client = kova.AsyncMCPClient(faulty("never_reads", start_timeout=100))
    async with rt.TaskGroup() as group:
        errors: list[str] = []

        async def connect() -> None:
            try:
                await client.list_tools()
            except kova.ConnectionError as error:
                errors.append(str(error))

        group.start_soon(connect)
        await until(children, "the server is started")
        await client.close()
        await until(lambda: errors, "the caller learns of it")
    assert errors == ["the MCP client is closed"]
    assert not children()


async def test_m1_closing_ends_the_calls_of_earlier_connections_too() -> None:
    client = kova.AsyncMCPClient(faulty())
    errors: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await client.call_tool("be_silent", timeout=100)
        except kova.ConnectionError as error:
            errors.append(str(error))

    async with rt.TaskGroup() as group:
        await client.list_tools()
        group.start_soon(wait_for_ever)
        session: Any = client._connection.session
        await until(lambda: session._under_way, "the call is under way")
        await client.reconnect()
        assert (await client.call_tool("echo")).text == "done"
        await client.close()
        await until(lambda: errors, "the call has failed")
    assert not children()


# ---- clients that nobody closes


async def test_m1_a_server_ends_with_a_client_that_is_dropped() -> None:
    client = kova.AsyncMCPClient(faulty())
    pid = int((await client.call_tool("pid")).text)
    gone = weakref.ref(client)
    del client
    gc.collect()
    assert gone() is None
    await until(lambda: is_dead(pid), "the server is dead")
    await until(lambda: pid not in children(), "it is waited for")


async def test_m1_a_dropped_client_leaves_no_stream(mcp_server: MCPHTTPServer) -> None:
    be_old(mcp_server)
    ended = threading.Event()

    def stream(exchange: Exchange) -> None:
        exchange.start_chunks()
        exchange.wait_for_disconnect()
        ended.set()

    mcp_server.on("GET", stream)
    client = kova.AsyncMCPClient(kova.StreamableHTTPTransport(mcp_server.url))
    await client.list_tools()
    await until(lambda: mcp_server.of("GET"), "it listens")
    del client
    gc.collect()
    await until(ended.is_set, "it listens no longer")


async def test_m1_a_client_that_lives_is_not_dropped(mcp_server: MCPHTTPServer) -> None:
    """Its tools hold it."""
    be_old(mcp_server)
    mcp_server.on("tools/call", lambda exchange: exchange.answer(TEXT))
    (tool,) = await kova.AsyncMCPClient(kova.StreamableHTTPTransport(mcp_server.url)).tools()
    gc.collect()
    agent = kova.AsyncAgent(kt.AsyncScriptedProvider(kt.call("weather", city="Oslo"), "Sunny."), tools=[tool])
    assert (await agent.run("Weather?")).text == "Sunny."
    await tool._client.close()  # type: ignore[attr-defined]
