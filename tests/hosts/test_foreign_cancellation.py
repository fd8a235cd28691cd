"""A tool that waits for something of its own that is cancelled: the turn is not, and must not look as if it were."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import kova
from kova.testing import AsyncScriptedProvider, ScriptedProvider, call

MESSAGE = "something that it waited for was cancelled, but not the turn"


@kova.tool
async def wait_for_cancelled() -> str:
    """Wait for a future that is cancelled."""
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


@kova.tool
def raise_cancelled() -> str:
    """The same in a worker thread of the async twin."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("names", [["wait_for_cancelled"], ["raise_cancelled"], ["wait_for_cancelled"] * 2], ids=len)
def test_it_is_an_error_of_the_tool_in_the_async_twin(names: list[str], streamed: bool) -> None:
    """L4."""

    async def main() -> Any:
        model = AsyncScriptedProvider([call(name) for name in names])
        agent = kova.AsyncAgent(model, tools=[wait_for_cancelled, raise_cancelled])
        if not streamed:
            return await agent.run("go")
        async with agent.run_stream("go") as stream:
            return [event async for event in stream]

    with pytest.raises(kova.ToolExecutionError, match=MESSAGE):
        asyncio.run(main())


@pytest.mark.parametrize("count", [1, 2])
def test_it_is_an_error_of_the_tool_in_the_blocking_twin(count: int) -> None:
    """L4."""
    agent = kova.Agent(ScriptedProvider([call("wait_for_cancelled")] * count), tools=[wait_for_cancelled])
    with pytest.raises(kova.ToolExecutionError, match=MESSAGE):
        agent.run("go")


def test_a_tool_may_report_it() -> None:
    """L4."""
    model = ScriptedProvider(call("wait_for_cancelled"), "I see.")
    assert kova.Agent(model, tools=[wait_for_cancelled], tool_errors="report").run("go").text == "I see."


@pytest.mark.parametrize("count", [1, 2])
def test_a_task_that_is_cancelled_in_a_tool_is_cancelled(count: int) -> None:
    """T12: asyncio's own cancellation comes out as it is."""

    async def main() -> None:
        started = asyncio.Event()

        @kova.tool
        async def wait() -> str:
            started.set()
            await asyncio.sleep(60)
            return "never"

        model = AsyncScriptedProvider([call("wait")] * count)
        task = asyncio.create_task(kova.AsyncAgent(model, tools=[wait]).run("go"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(60):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await kova.AsyncAgent(AsyncScriptedProvider([call("wait")] * count), tools=[wait]).run("go")

    asyncio.run(main())
