"""Servers as processes: how they start, how they die, and that nothing of them is left."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest

import kova
from kova._async.mcp.stdio import AsyncStdioLink
from kova._mcp.failures import LinkLost, NotDelivered
from kova._mcp.jsonrpc import notification
from kova._runtime import aio as rt
from kova._runtime import workers
from kova._runtime.scope import Deadline
from kova.mcp import StdioTransport
from tests.mcp_links import a_call, children, faulty, is_dead
from tests.observe import kova_threads, sockets, wait_until

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _idle_threads_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a thread that is left can be told from one that waits for its next work."""
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)


def link_to(transport: StdioTransport) -> AsyncStdioLink:
    return AsyncStdioLink(transport, lambda message: None)


async def ask(link: AsyncStdioLink, method: str, params: dict[str, Any] | None = None) -> Any:
    with rt.fail_at(Deadline(30, method)):
        pending = await link.begin(a_call(method, params))
        message = await pending.next()
    await pending.close()
    return message["result"]["value"]


# ---- starting


async def test_a_program_that_is_not_there_says_so() -> None:
    link = link_to(StdioTransport("no-such-program", env={"PATH": "/nowhere"}))
    with pytest.raises(
        kova.ConnectionError, match="'no-such-program': there is no such program on its PATH, '/nowhere'"
    ):
        await link.open()
    assert not link.is_open
    await link.close()


async def test_a_file_that_may_not_be_executed_says_so(tmp_path: Path) -> None:
    (tmp_path / "server").write_text("#!/bin/sh\n")
    with pytest.raises(kova.ConnectionError, match="server' may not be executed"):
        await link_to(StdioTransport("./server", cwd=tmp_path)).open()
    with pytest.raises(kova.ConnectionError, match="other' does not exist"):
        await link_to(StdioTransport(str(tmp_path / "other"))).open()


async def test_a_file_that_is_no_program_says_so(tmp_path: Path) -> None:
    (tmp_path / "server").write_bytes(b"\0\1\2")
    (tmp_path / "server").chmod(0o700)
    before = sockets()
    with pytest.raises(kova.ConnectionError, match="cannot start the MCP server './server'.*Exec format error"):
        await link_to(StdioTransport("./server", cwd=tmp_path)).open()
    assert sockets() == before


async def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(kova.ConnectionError, match="there is no folder '.*/none' \\(cwd\\)"):
        await link_to(faulty(cwd=tmp_path / "none")).open()


async def test_a_server_runs_where_and_with_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this process's environment it gets what is known to be safe."""
    monkeypatch.setenv("MY_SECRET", "abc")
    link = link_to(faulty(cwd=tmp_path, env={"GIVEN": "yes"}))
    await link.open()
    environment = await ask(link, "environment")
    assert await ask(link, "folder") == str(tmp_path)
    await link.close()
    assert environment["GIVEN"] == "yes"
    assert environment["PATH"] == os.environ["PATH"]
    assert "MY_SECRET" not in environment
    link = link_to(faulty(inherit_env=True))
    await link.open()
    assert (await ask(link, "environment"))["MY_SECRET"] == "abc"
    await link.close()


# ---- dying


async def begin_and_wait(link: AsyncStdioLink, method: str) -> None:
    with rt.fail_at(Deadline(20, method)):
        pending = await link.begin(a_call(method))
        await pending.next()


async def test_a_server_that_dies_at_its_start_says_why() -> None:
    """M3. What it wrote is shown without terminal escapes."""
    link = link_to(faulty("dies_at_start"))
    await link.open()
    with pytest.raises(kova.ConnectionError, match="ended with exit code 3; it said last: no configuration$"):
        await begin_and_wait(link, "initialize")
        await rt.sleep(10)
    wait_until(lambda: not children(), "it is reaped")
    await link.close()


@pytest.mark.parametrize(
    ("method", "how"),
    [("die", "ended with exit code 7; it said last: out of cheese"), ("be_killed", "was ended by SIGKILL")],
)
async def test_a_server_that_dies_in_a_call_fails_all_calls_at_once(method: str, how: str) -> None:
    """M3: each is lost, as it may have run; the next is not sent."""
    link = link_to(faulty())
    await link.open()
    other = await link.begin(a_call("be_silent"))
    for pending in (await link.begin(a_call(method)), other):
        with pytest.raises(LinkLost, match=how), rt.fail_at(Deadline(20, method)):
            await pending.next()
    assert not link.is_open
    with pytest.raises(NotDelivered, match=how):
        await link.begin(a_call("echo"))
    with pytest.raises(kova.ConnectionError, match=how):
        await link.send(notification("note"))
    await pending.abandon()
    await link.close()
    with pytest.raises(NotDelivered, match="was closed|ended"):
        await link.begin(a_call("echo"))


async def test_a_server_that_only_closes_its_output_is_dead_too() -> None:
    """M3."""
    link = link_to(faulty())
    await link.open()
    with pytest.raises(LinkLost, match="closed its output"):
        await begin_and_wait(link, "close_output")
    await link.close()
    assert not children()


async def test_a_server_whose_children_keep_its_pipes_is_seen_to_die() -> None:
    """M1, M3: and they die with it."""
    link = link_to(faulty())
    await link.open()
    grandchild = await ask(link, "leave")
    with pytest.raises(LinkLost, match="exit code 7"):
        await begin_and_wait(link, "die")
    wait_until(lambda: is_dead(grandchild), "what it had started is dead")
    await link.close()


# ---- closing


async def test_what_a_server_has_started_ends_with_it() -> None:
    """M1."""
    link = link_to(faulty())
    await link.open()
    grandchild = await ask(link, "leave")
    await link.close()
    assert not children()
    wait_until(lambda: is_dead(grandchild), "what it had started is dead")


async def test_a_server_that_refuses_to_exit_is_killed() -> None:
    """M1: it ignores the end of its input, and SIGTERM."""
    link = link_to(faulty("stays"))
    await link.open()
    grandchild = await ask(link, "leave")
    pending = await link.begin(a_call("be_silent"))
    with rt.fail_at(Deadline(15, "closing")):
        await link.close()
    with pytest.raises(LinkLost, match="was closed"):
        await pending.next()
    assert not children()
    wait_until(lambda: is_dead(grandchild), "what it had started is dead")


async def test_closing_twice_or_before_opening_does_nothing() -> None:
    link = link_to(faulty())
    await link.close()
    await link.open()
    await link.close()
    await link.close()
    assert not children()


async def test_opening_and_closing_leaves_nothing() -> None:
    """M1: 200 times; `cat` starts quickly."""
    gc.collect()
    before = sockets(), len(os.listdir("/proc/self/fd"))
    for number in range(200):
        link = link_to(StdioTransport("cat") if number % 20 else faulty())
        await link.open()
        if not number % 20:
            assert await ask(link, "echo") == "done"
        await link.close()
    assert not children()
    assert (sockets(), len(os.listdir("/proc/self/fd"))) == before
    wait_until(lambda: not kova_threads(), "no thread of kova's is left")


async def test_a_server_may_be_closed_by_another_task() -> None:
    """M1: while a call waits, which ends."""
    link = link_to(faulty())

    async def close() -> None:
        await link.close()

    async with rt.TaskGroup() as group:
        await link.open()
        pending = await link.begin(a_call("be_silent"))
        group.start_soon(close)
        with pytest.raises(LinkLost, match="was closed"):
            await pending.next()
    assert not children()
