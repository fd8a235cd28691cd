"""T10 in a Jupyter kernel: the stop button. Whatever was stopped, the next cell can use the agent."""

from __future__ import annotations

import threading

import pytest

from tests import server as play
from tests.kernel.jupyter import Cell, Kernel
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.timeout(180)

STOPS_WITHIN = 10.0  # seconds: five times the 2 in which a cell must end
LIMIT = 20.0

# Jupyter's kernel tells its loop of the stop button without waking it; this makes every signal wake it.
WAKE = """
    import signal
    asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, lambda: None)
"""
TOOL = """
    @kova.tool
    def block() -> str:
        "Block for long."
        print("in the tool", flush=True)
        time.sleep(60)
        return "too late"

    blocking = kova.Agent(model, tools=[block])
    async_blocking = kova.AsyncAgent(async_agent._provider, tools=[block])
"""
CALLS = {
    "call": 'agent.run("go")',
    "call with a timeout": 'agent.run("go", timeout=50)',
    "stream": """
with agent.run_stream("go") as stream:
    for text in stream.text_deltas():
        print(text, flush=True)
""",
    "agents that work together": """
kova.Orchestrator({"a": agent, "b": agent}).execute(kova.Parallel(["a", "b"]), "go")
""",
    "async call": 'await async_agent.run("go")',
    "async stream": """
async with async_agent.run_stream("go") as stream:
    async for text in stream.text_deltas():
        print(text, flush=True)
""",
}
TOOL_CALLS = {
    "tool": 'blocking.run("go")',
    "tool in a thread": 'blocking.run("go", timeout=50)',
    "async agent's tool": 'await async_blocking.run("go")',
}


@pytest.fixture
def stoppable(kernel: Kernel) -> Kernel:
    kernel.run(WAKE)
    kernel.run(TOOL)
    return kernel


def stop(kernel: Kernel, cell: Cell, *, is_async: bool) -> None:
    """Press the button; see that the cell ends as a stopped one does, and that the kernel is as good as before."""
    at = kernel.interrupt()
    ended = cell.end()
    assert ended.error is not None
    assert ended.error[0] == ("CancelledError" if is_async else "KeyboardInterrupt")
    after = kernel.run("print(agent.run('Hi', timeout=20).text, (await async_agent.run('Hi', timeout=20)).text)")
    assert after.printed == "Hello Hello\n"
    assert after.shown[-1].at - at < STOPS_WITHIN


@pytest.mark.parametrize("name", CALLS)
def test_the_stop_button_while_the_model_answers(stoppable: Kernel, kernel_server: ModelServer, name: str) -> None:
    """T10: and the server sees the kernel leave."""
    begun, left = threading.Event(), threading.Event()

    def silent(exchange: Exchange) -> None:
        if "stream" in name:
            exchange.start_stream()
            exchange.send_delta({"content": "first"})
        begun.set()
        if exchange.wait_for_disconnect():
            left.set()

    kernel_server.play(silent)
    cell = stoppable.start(CALLS[name])
    if "stream" in name:
        cell.wait_for("first")
    assert begun.wait(LIMIT)
    stop(stoppable, cell, is_async="async" in name)
    assert left.wait(5)


@pytest.mark.parametrize("name", TOOL_CALLS)
def test_the_stop_button_while_a_tool_blocks(stoppable: Kernel, kernel_server: ModelServer, name: str) -> None:
    """T10."""
    kernel_server.play(play.calls(("block", {})))
    cell = stoppable.start(TOOL_CALLS[name])
    cell.wait_for("in the tool")
    stop(stoppable, cell, is_async="async" in name)
