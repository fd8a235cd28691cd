"""M1, M3: what the client makes of servers over stdio that die, are silent, or talk nonsense."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import kova
from kova._async.mcp import connector
from kova._runtime import aio as rt
from kova._runtime.scope import Deadline
from tests.mcp_links import children, faulty, is_dead
from tests.observe import wait_until

pytestmark = pytest.mark.anyio

BOUND = 20.0  # seconds, for what takes one


# ---- finding out the protocol


async def test_an_old_server_is_initialized() -> None:
    """It refuses the question that only newer servers know."""
    async with kova.AsyncMCPClient(faulty()) as client:
        assert client.protocol_version == "2025-06-18"
        assert [tool.name for tool in await client.list_tools()] == ["echo"]
        assert (await client.call_tool("echo")).text == "done"


async def test_a_server_that_ends_at_the_question_is_started_again() -> None:
    async with kova.AsyncMCPClient(faulty("dies_on_probe")) as client:
        assert (await client.call_tool("echo")).text == "done"
        assert len(children()) == 1


async def test_a_server_that_ignores_the_question_is_initialized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "PROBE_SECONDS", 0.2)
    async with kova.AsyncMCPClient(faulty("ignores_probe")) as client:
        assert (await client.call_tool("echo")).text == "done"


async def test_a_server_that_says_nothing_at_all_is_given_its_time() -> None:
    """M3: to start, that is; then nothing of it is left."""
    with pytest.raises(kova.TimeoutError, match="connecting to the MCP server .* took longer than 0.5 s"):
        await kova.AsyncMCPClient.connect(faulty("never_reads", start_timeout=0.5))
    assert not children()


async def test_a_server_that_dies_at_its_start_says_why() -> None:
    """M3: each time that it is tried."""
    client = kova.AsyncMCPClient(faulty("dies_at_start"))
    for _ in range(2):
        with (
            pytest.raises(kova.ConnectionError, match="ended with exit code 3; it said last: no configuration"),
            rt.fail_at(Deadline(BOUND, "an error")),
        ):
            await client.call_tool("echo")
    await client.close()
    assert not children()


@pytest.mark.parametrize("fault", ["banner", "floods_stderr"])
async def test_noise_does_no_harm(fault: str) -> None:
    async with kova.AsyncMCPClient(faulty(fault)) as client:
        assert (await client.call_tool("echo")).text == "done"
        assert (await client.call_tool("separators")).text == "a\u2028b\u2029c\x85d\x0be"


# ---- dying


@pytest.mark.parametrize(
    ("tool", "how"), [("die", "exit code 7; it said last: out of cheese"), ("be_killed", "SIGKILL")]
)
async def test_a_call_in_which_the_server_dies_is_not_repeated(tool: str, how: str) -> None:
    """M3: it may have run. The next call has a new server."""
    async with kova.AsyncMCPClient(faulty()) as client:
        first = (await client.call_tool("pid")).text
        with (
            pytest.raises(kova.ConnectionError, match=f"{how}.*may have run, and was not repeated") as caught,
            rt.fail_at(Deadline(BOUND, "an error")),
        ):
            await client.call_tool(tool)
        assert type(caught.value) is kova.ConnectionError
        assert not caught.value.is_retryable
        assert (await client.call_tool("pid")).text != first
        assert len(children()) == 1


async def test_a_server_that_dies_while_idle_is_replaced_unnoticed() -> None:
    """M3."""
    async with kova.AsyncMCPClient(faulty()) as client:
        first = int((await client.call_tool("pid")).text)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: is_dead(first), "it is dead")
        assert int((await client.call_tool("pid")).text) != first
        assert len(children()) == 1


async def test_a_server_that_cannot_be_replaced_is_tried_again_by_the_next_call(tmp_path: Path) -> None:
    """M3: one reconnect, then the error; never a hang."""
    transport = faulty("dies_at_second_start", env={"STARTS": str(tmp_path / "starts")})
    async with kova.AsyncMCPClient(transport, protocol="legacy") as client:
        first = int((await client.call_tool("pid")).text)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: is_dead(first), "it is dead")
        with (
            pytest.raises(kova.ConnectionError, match="ended with exit code 4"),
            rt.fail_at(Deadline(BOUND, "an error")),
        ):
            await client.call_tool("echo")
        assert (await client.call_tool("echo")).text == "done"


async def test_a_line_over_the_limit_costs_its_call_and_the_connection() -> None:
    """M3: a new one is made for the next call."""
    async with kova.AsyncMCPClient(faulty(), timeout=50) as client:
        with pytest.raises(kova.StreamError, match="67,108,864 bytes"):
            await client.call_tool("long", {"size": 70 * 1024 * 1024})
        assert (await client.call_tool("echo")).text == "done"
        assert len(children()) == 1


# ---- silence


async def test_a_silent_call_ends_in_its_time_and_the_server_is_told() -> None:
    async with kova.AsyncMCPClient(faulty()) as client:
        with pytest.raises(kova.TimeoutError, match="the MCP tool be_silent took longer than 0.2 s"):
            await client.call_tool("be_silent", timeout=0.2)
        said = (await client.call_tool("said")).text
        assert "notifications/cancelled" in said
        assert (await client.call_tool("echo")).text == "done"


async def test_fifty_calls_at_once_among_which_some_are_given_up() -> None:
    """M1: each answer reaches its caller, whatever becomes of the others."""
    answers: dict[int, str] = {}
    ends: list[type[BaseException]] = []
    async with kova.AsyncMCPClient(faulty()) as client:

        async def ask(number: int) -> None:
            try:
                if number % 5 == 0:
                    await client.call_tool("be_silent", timeout=0.1)
                elif number % 5 == 1:
                    token = kova.CancellationToken()
                    token.cancel_after(0.1)
                    await client.call_tool("be_silent", cancel=token)
                else:
                    arguments = {"seconds": 0.001, "text": f"answer {number}"}
                    answers[number] = (await client.call_tool("echo_later", arguments)).text
            except kova.KovaError as error:
                ends.append(type(error))

        async with rt.TaskGroup() as group:
            for number in range(50):
                group.start_soon(ask, number)
        assert answers == {number: f"answer {number}" for number in range(50) if number % 5 > 1}
        assert sorted(ends, key=str) == [kova.TimeoutError] * 10 + [kova.TurnCancelledError] * 10
        assert (await client.call_tool("echo")).text == "done"
