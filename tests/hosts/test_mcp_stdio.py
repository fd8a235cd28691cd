"""Servers as processes in the programs that start them: their exit, Ctrl-C, fork, and event loops that come and go."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import trio

import kova
from tests.hosts.script import LIMIT, Script, run
from tests.hosts.test_fork import in_a_child
from tests.mcp_links import children, faulty, is_dead
from tests.observe import sockets, wait_until

INTERRUPTED_WITHIN = 2.5  # seconds: five times the 0.5 after Ctrl-C within which the call must raise
ENDS_WITHIN = 10.0  # seconds: five times the 2 that the servers are given

PRELUDE = """
import asyncio, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell would ignore it
import kova
from tests.hosts.script import say
from tests.mcp_links import faulty
"""
BLOCKING = """
    client = kova.MCPClient(faulty(*faults), protocol="legacy")
    say(client.call_tool("pid").text)
    say(client.call_tool("leave").text)
"""
ASYNC = """
    async def main():
        global client
        client = kova.AsyncMCPClient(faulty(*faults), protocol="legacy")
        say((await client.call_tool("pid")).text)
        say((await client.call_tool("leave")).text)
    asyncio.run(main())
"""


# ---- the end of the program


@pytest.mark.parametrize("source", [BLOCKING, ASYNC], ids=["blocking", "async"])
@pytest.mark.parametrize("faults", [[], ["stays"]])
def test_a_program_that_ends_takes_its_servers_with_it(source: str, faults: list[str]) -> None:
    """M1: nobody has closed anything; the server may even refuse."""
    with Script(source + '\n    say("ends")', "-W", "error", prelude=PRELUDE, faults=faults) as script:
        server, grandchild = int(script.line()[1]), int(script.line()[1])
        begins = script.expect("ends")
        ended, status = script.end()
        assert (status, script.errors) == (0, "")
        assert ended - begins < ENDS_WITHIN
        wait_until(lambda: is_dead(server) and is_dead(grandchild), "the server and what it has started are dead")


def test_a_program_that_is_killed_leaves_no_server() -> None:
    """The server sees the end of its input."""
    with Script(BLOCKING + "\n    time.sleep(60)", prelude=PRELUDE, faults=[]) as script:
        server = int(script.line()[1])
        script.line()
        script.signal(9)
        wait_until(lambda: is_dead(server), "the server is dead")


# ---- Ctrl-C


@pytest.mark.parametrize("options", ["", "timeout=50", "cancel=kova.CancellationToken()"])
def test_ctrl_c_in_a_call(tmp_path: Path, options: str) -> None:
    """T10: the call raises; the server is not hit, and goes on."""
    source = f"""
        client = kova.MCPClient(faulty(env={{"TOUCH": reached}}), protocol="legacy")
        server = client.call_tool("pid").text
        try:
            client.call_tool("be_silent", {options})
        except KeyboardInterrupt:
            say("interrupted")
        say(client.call_tool("pid").text == server)
        client.close()
    """
    reached = tmp_path / "reached"
    with Script(source, "-W", "error", prelude=PRELUDE, reached=str(reached)) as script:
        wait_until(reached.exists, "the server has the call")
        pressed = script.interrupt()
        assert script.expect("interrupted") - pressed < INTERRUPTED_WITHIN
        script.expect("True")
        assert script.end()[1] == 0
        assert script.errors == ""


def test_ctrl_c_while_a_server_is_closed_that_refuses_to_end(tmp_path: Path) -> None:
    """T10, M1: it is killed at once."""
    source = """
        client = kova.MCPClient(faulty("stays", env={"TOUCH": reached}), protocol="legacy")
        say(client.call_tool("pid").text)
        try:
            client.close()
        except KeyboardInterrupt:
            say("interrupted")
        time.sleep(60)
    """
    reached = tmp_path / "reached"
    with Script(source, prelude=PRELUDE, reached=str(reached)) as script:
        server = int(script.line()[1])
        wait_until(reached.exists, "the server's input is at its end")
        pressed = script.interrupt()
        assert script.expect("interrupted") - pressed < INTERRUPTED_WITHIN
        wait_until(lambda: is_dead(server), "the server is dead")


# ---- fork


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_a_server_of_its_own() -> None:
    """T5: that of its parent it leaves alone, also when it ends."""
    with kova.MCPClient(faulty(), protocol="legacy") as client:
        server = client.call_tool("pid").text

        def work() -> tuple[str, str]:
            own = client.call_tool("pid").text
            client.close()
            return own, client.reconnect() or client.call_tool("echo").text

        own, text = in_a_child(work)
        assert text == "done"
        assert own != server
        assert client.call_tool("pid").text == server


# ---- loops and threads


def run_asyncio(function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(function())


RUNNERS = pytest.mark.parametrize("run_loop", [run_asyncio, trio.run], ids=["asyncio", "trio"])


@RUNNERS
def test_a_client_may_be_closed_after_its_loop(run_loop: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    """M1: in another one; nothing is said, and nothing is left."""
    gc.collect()
    before = sockets()
    clients: list[kova.AsyncMCPClient] = []

    async def use() -> None:
        clients.append(kova.AsyncMCPClient(faulty(), protocol="legacy"))
        assert (await clients[0].call_tool("echo")).text == "done"

    run_loop(use)
    run_loop(clients[0].close)
    assert not children()
    clients.clear()
    gc.collect()
    assert sockets() == before
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("run_loop", [lambda main: asyncio.run(main()), trio.run], ids=["asyncio", "trio"])
def test_a_server_may_ask_in_a_loop_that_only_the_user_knows(run_loop: Callable[..., Any]) -> None:
    """M1: nothing of anyio's has set the loop up, as in the tests of both twins."""
    changes: list[str] = []

    async def main() -> str:
        client = kova.AsyncMCPClient(faulty(), roots=["/"], on_tools_changed=lambda: changes.append("tools"))
        async with client:
            assert (await client.call_tool("ask")).text == "done"
            while not changes:
                await client.call_tool("echo")
            return (await client.call_tool("echo")).text

    assert run_loop(main) == "done"


def test_a_closed_client_may_be_used_in_another_loop() -> None:
    """Also one of another kind; an open one is refused at once."""
    client = kova.AsyncMCPClient(faulty(), protocol="legacy")

    async def use() -> str:
        await client.close()
        await client.reconnect()
        return (await client.call_tool("echo")).text

    assert asyncio.run(use()) == "done"
    with pytest.raises(kova.KovaError, match="belongs to another event loop"):
        trio.run(client.list_tools)
    assert trio.run(use) == "done"
    assert asyncio.run(use()) == "done"
    asyncio.run(client.close())
    assert not children()


def test_a_server_ends_with_the_loop_of_a_client_that_nobody_closes() -> None:
    """M1: not only with the program."""

    async def use() -> int:
        client = kova.AsyncMCPClient(faulty(), protocol="legacy")
        return int((await client.call_tool("pid")).text)

    server = asyncio.run(use())
    wait_until(lambda: is_dead(server), "the server is dead")
    wait_until(lambda: not children(), "it is reaped")


def test_a_client_may_be_closed_after_a_loop_that_was_closed_without_care(caplog: pytest.LogCaptureFixture) -> None:
    """M1: without cancelling its tasks, as old code does."""
    gc.collect()
    before = sockets()

    async def use() -> kova.AsyncMCPClient:
        client = kova.AsyncMCPClient(faulty(), protocol="legacy")
        assert (await client.call_tool("echo")).text == "done"
        return client

    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(use())
    loop.close()
    asyncio.run(client.close())
    assert not children()
    del client, loop
    gc.collect()
    assert sockets() == before
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_client_may_be_closed_from_another_loop_while_a_call_waits() -> None:
    """M1: the call fails, in its own loop."""
    started = threading.Event()
    clients: list[kova.AsyncMCPClient] = []
    errors: list[BaseException] = []

    async def use() -> None:
        clients.append(kova.AsyncMCPClient(faulty(), protocol="legacy"))
        await clients[0].call_tool("echo")
        started.set()
        try:
            await clients[0].call_tool("be_silent")
        except kova.ConnectionError as error:
            errors.append(error)

    thread = threading.Thread(target=asyncio.run, args=(use(),))
    thread.start()
    assert started.wait(LIMIT)
    asyncio.run(clients[0].close())
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert "closed" in str(errors[0])
    assert not children()


def test_a_blocking_client_may_be_closed_from_another_thread_while_calls_wait() -> None:
    """M1, M2."""
    client = kova.MCPClient(faulty(), protocol="legacy")
    client.call_tool("echo")
    errors: list[BaseException] = []

    def call() -> None:
        try:
            client.call_tool("be_silent")
        except kova.ConnectionError as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: client.call_tool("echo").text == "done", "the server answers")
    client.close()
    for thread in threads:
        thread.join(LIMIT)
    assert len(errors) == 3
    assert not children()


def test_warnings_are_errors_in_a_program_that_forgets_to_close() -> None:
    """No ResourceWarning, no unraisable error, whatever is collected when."""
    source = """
        import gc
        for _ in range(3):
            client = kova.MCPClient(faulty(), protocol="legacy")
            client.call_tool("echo")
            del client
            gc.collect()
        say("done")
    """
    assert run(source, "-W", "error", prelude=PRELUDE) == ["done"]
