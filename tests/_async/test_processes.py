"""Processes that tools run: their results, and that nothing of them outlives its turn."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

import kova
from kova._runtime import aio as rt
from tests import server as play
from tests.async_tools import run_program
from tests.canary import KEY
from tests.server import ModelServer

pytestmark = pytest.mark.anyio

LONG = "import time; time.sleep(60)"
# A process that starts another one in its group, and says which.
PARENT = f"""
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {LONG!r}])
path = pathlib.Path(sys.argv[1])
path.with_suffix(".new").write_text(str(child.pid))
path.with_suffix(".new").rename(path)
child.wait()
"""


def provider(server: ModelServer) -> kova.AsyncOpenAICompatibleProvider:
    return kova.AsyncOpenAICompatibleProvider("m", api_key=KEY, base_url=server.url)


async def is_gone(pid: int) -> bool:
    for _ in range(500):
        if is_dead(pid):
            return True
        await rt.sleep(0.01)
    return False


def is_dead(pid: int) -> bool:
    """A killed child that nobody has waited for yet is dead too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def test_a_process_gives_its_output(server: ModelServer) -> None:
    @kova.tool
    def upper(text: str, context: kova.ToolContext) -> str:
        """Write it in capitals."""
        script = "import os, sys; print(sys.stdin.read().upper() + os.environ['END'], end='')"
        done = context.run_process([sys.executable, "-c", script], input=text, env={"END": "!"})
        return f"{done.returncode} {done.stdout}{done.stderr}"

    server.play(play.calls(("upper", {"text": "hello"})), play.text("done"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[upper]).run("go", timeout=30)
    assert response.new_messages[1] == kova.tool_message("call_0", "0 HELLO!")


@pytest.mark.async_tools
async def test_an_async_tool_awaits_it(server: ModelServer) -> None:
    argv = [sys.executable, "-c", "import os; print(os.getcwd())"]
    server.play(play.calls(("run_program", {"argv": argv})), play.text("done"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[run_program]).run("go")
    assert response.new_messages[1] == kova.tool_message("call_0", "/")


async def test_a_process_that_takes_too_long_tells_the_model(server: ModelServer) -> None:
    @kova.tool
    def wait(context: kova.ToolContext) -> str:
        """Wait."""
        return context.run_process([sys.executable, "-c", LONG], timeout=0.2).stdout

    server.play(play.calls(("wait", {})), play.text("done"))
    async with provider(server) as model:
        response = await kova.AsyncAgent(model, tools=[wait]).run("go")
    expected = f"{sys.executable} took longer than 0.2 s"
    assert response.new_messages[1] == kova.tool_message("call_0", expected, is_error=True)


@pytest.mark.async_tools
@pytest.mark.parametrize("is_async", [False, True])
async def test_the_whole_group_is_killed_when_the_turn_ends(
    server: ModelServer, tmp_path: Path, is_async: bool
) -> None:
    """T12."""
    said = tmp_path / "pid"
    argv = [sys.executable, "-c", PARENT, str(said)]

    @kova.tool(name="run_program")
    def run_plain(argv: list[str], context: kova.ToolContext) -> str:
        """Run it."""
        return context.run_process(argv).stdout

    token = kova.CancellationToken()

    def cancel_when_it_runs() -> None:
        for _ in range(3000):
            if said.exists():
                break
            time.sleep(0.01)
        token.cancel()

    server.play(play.calls(("run_program", {"argv": argv})))
    async with provider(server) as model:
        thread = threading.Thread(target=cancel_when_it_runs)
        thread.start()
        with pytest.raises(kova.TurnCancelledError):
            await kova.AsyncAgent(model, tools=[run_program if is_async else run_plain]).run("go", cancel=token)
        thread.join()
    assert await is_gone(int(said.read_text()))


async def test_what_a_finished_process_leaves_behind_is_killed(server: ModelServer, tmp_path: Path) -> None:
    said = tmp_path / "pid"

    @kova.tool
    def leave(context: kova.ToolContext) -> str:
        """Leave a process behind."""
        script = f"{sys.executable} -c '{LONG}' >/dev/null 2>&1 & echo $! > {said}"
        return context.run_process(["/bin/sh", "-c", script]).stdout

    server.play(play.calls(("leave", {})), play.text("done"))
    async with provider(server) as model:
        await kova.AsyncAgent(model, tools=[leave]).run("go")
    assert await is_gone(int(said.read_text()))


async def test_a_program_that_is_not_there_is_an_error_of_the_tool(server: ModelServer) -> None:
    @kova.tool
    def run(context: kova.ToolContext) -> str:
        """Run it."""
        return context.run_process([os.path.join("/", "nowhere", "program")]).stdout

    server.play(play.calls(("run", {})))
    async with provider(server) as model:
        with pytest.raises(kova.ToolExecutionError, match="FileNotFoundError"):
            await kova.AsyncAgent(model, tools=[run]).run("go")
