"""What is said over the pipes of a server: each answer reaches its call, and what is no message does no harm."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import kova
from kova._async.mcp.stdio import AsyncStdioLink
from kova._mcp.failures import LinkLost
from kova._mcp.jsonrpc import Message, notification
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from kova.mcp import StdioTransport
from tests.mcp_links import a_call, faulty

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


class Opened:
    """A link, open for the time of a block, and what its server said by itself."""

    def __init__(self, transport: StdioTransport) -> None:
        self.heard: list[Message] = []
        self.link = AsyncStdioLink(transport, self.heard.append)

    async def __aenter__(self) -> Opened:
        await self.link.open()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.link.close()
        assert not self.link.is_open

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        call = a_call(method, params)
        with rt.fail_at(Deadline(30, method)):
            pending = await self.link.begin(call)
            message = await pending.next()
        await pending.close()
        return message["result"]["value"]


async def test_calls_are_answered() -> None:
    async with Opened(faulty()) as server:
        assert server.link.is_open
        assert [await server.ask("echo") for _ in range(3)] == ["done"] * 3


@pytest.mark.parametrize("method", ["text_id", "late", "batch"])
async def test_an_answer_reaches_its_call_and_no_other(method: str) -> None:
    """M3: an id that comes back as text is the same; late, doubled and foreign answers are dropped."""
    async with Opened(faulty()) as server:
        for _ in range(2):
            assert await server.ask(method) == "done"
        assert await server.ask("echo") == "done"


async def test_many_calls_at_once_get_each_its_own_answer() -> None:
    async with Opened(faulty()) as server:
        calls = [a_call("size", {"data": "x" * number}) for number in range(100)]
        answers: dict[int, Any] = {}

        async def ask(number: int) -> None:
            pending = await server.link.begin(calls[number])
            answers[number] = (await pending.next())["result"]["value"]
            await pending.close()

        async with rt.TaskGroup() as group:
            for number in range(100):
                group.start_soon(ask, number)
        assert answers == {number: number for number in range(100)}


async def test_progress_comes_before_the_answer_of_its_call() -> None:
    async with Opened(faulty()) as server:
        pending = await server.link.begin(a_call("progress"))
        steps = [await pending.next() for _ in range(3)]
        assert [step["params"]["progress"] for step in steps] == [0, 1, 2]
        assert (await pending.next())["result"] == {"value": "done"}
        assert [message["params"] for message in server.heard] == [{"progressToken": "another"}, []]


async def test_what_the_server_says_by_itself_goes_to_the_receiver() -> None:
    async with Opened(faulty()) as server:
        assert await server.ask("ask") == "done"
        assert [message["method"] for message in server.heard] == ["roots/list", "notifications/tools/list_changed"]


async def test_lines_that_are_no_messages_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """A banner, JSON that is no message, and what is not UTF-8; the log tells of it, not what it said."""
    caplog.set_level(logging.DEBUG, "kova")
    async with Opened(faulty("banner")) as server:
        assert await server.ask("echo") == "done"
    records = [record for record in caplog.records if "no message" in record.message]
    assert [record.levelname for record in records] == ["WARNING", "DEBUG", "DEBUG", "DEBUG"]
    assert "Welcome" not in caplog.text


async def test_only_a_line_feed_ends_a_line() -> None:
    async with Opened(faulty()) as server:
        assert await server.ask("separators") == "a\u2028b\u2029c\x85d\x0be"


async def test_a_flood_on_stderr_stops_nobody() -> None:
    async with Opened(faulty("floods_stderr")) as server:
        assert await server.ask("echo") == "done"


async def test_a_line_of_50_mb_is_read() -> None:
    async with Opened(faulty()) as server:
        assert len(await server.ask("long", {"size": 50 * MIB})) == 50 * MIB


async def test_a_message_of_10_mb_is_sent() -> None:
    async with Opened(faulty()) as server:
        assert await server.ask("size", {"data": "x" * 10_000_000}) == 10_000_000
        assert await server.ask("echo") == "done"


@pytest.mark.parametrize("method", ["long", "long_without_id"])
async def test_a_line_over_the_limit_fails_its_call_and_ends_the_connection(method: str) -> None:
    """M3: the error names the limit. Where the line does not begin with its id, nobody knows whose answer it is."""
    async with Opened(faulty()) as server:
        other = await server.link.begin(a_call("be_silent"))
        pending = await server.link.begin(a_call(method, {"size": 70 * MIB}))
        with pytest.raises(kova.StreamError, match="67,108,864 bytes"):
            await pending.next()
        with pytest.raises(LinkLost if method == "long" else kova.StreamError):
            await other.next()
        assert not server.link.is_open


async def test_a_server_that_does_not_read_keeps_no_caller_waiting() -> None:
    """M3: 10 MB in a message and many small ones after it are taken at once; the call ends in its own time."""
    async with Opened(faulty("never_reads")) as server:
        with rt.fail_at(Deadline(10, "sending")):
            pending = await server.link.begin(a_call("size", {"data": "x" * 10_000_000}))
            for _ in range(100):
                await server.link.send(notification("note"))
            await pending.abandon()
        with pytest.raises(kova.TimeoutError), rt.fail_at(Deadline(0.1, "a call")):
            await pending.next()
        assert server.link.is_open


async def test_an_abandoned_call_is_cancelled_at_the_server() -> None:
    async with Opened(faulty()) as server:
        call = a_call("be_silent")
        pending = await server.link.begin(call)
        with pytest.raises(kova.TimeoutError), rt.fail_at(Deadline(0.05, "a call")):
            await pending.next()
        await pending.abandon()
        await pending.close()
        (said,) = await server.ask("said")
        assert said["method"] == "notifications/cancelled"
        assert said["params"]["requestId"] == call.id


async def test_the_handshake_is_not_cancelled_at_the_server() -> None:
    """The protocol forbids it."""
    async with Opened(faulty()) as server:
        pending = await server.link.begin(a_call("initialize"))
        await pending.abandon()
        assert await server.ask("said") == []
