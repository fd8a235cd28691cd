"""T1-T9 in a Jupyter kernel: turns in cells, which run inside the kernel's own event loop."""

from __future__ import annotations

import textwrap
import threading

import pytest

from tests import server as play
from tests.kernel.jupyter import Kernel
from tests.server import Exchange, ModelServer

pytestmark = pytest.mark.timeout(180)

LIMIT = 20.0  # seconds

STREAMS = {
    "blocking": """
        with agent.run_stream("go") as stream:
            for text in stream.text_deltas():
                print(text, end="", flush=True)
        """,
    "async": """
        async with async_agent.run_stream("go") as stream:
            async for text in stream.text_deltas():
                print(text, end="", flush=True)
        """,
}


def test_both_twins_in_a_cell(kernel: Kernel) -> None:
    """T1: the blocking one inside of the loop that runs, without making one; the async one awaited in that loop."""
    cell = kernel.run("""
        loop, make = asyncio.get_running_loop(), asyncio.new_event_loop
        asyncio.new_event_loop = lambda: 1 / 0
        print(agent.run("Hi").text, (await async_agent.run("Hi")).text, agent.run("Hi").text)
        asyncio.new_event_loop = make
        assert asyncio.get_running_loop() is loop
    """)
    assert cell.printed == "Hello Hello Hello\n"


def test_loops_of_ones_own_in_a_kernel(kernel: Kernel, kernel_server: ModelServer) -> None:
    """T2: cells in a row, loops in threads, and trio in the middle of the kernel's asyncio."""
    asked = len(kernel_server.exchanges)
    for _ in range(2):
        kernel.run("assert (await async_agent.run('Hi')).text == 'Hello'")
    kernel.run("""
        import trio

        async def ask():
            return (await async_agent.run("Hi")).text

        texts = [trio.run(ask)]
        threads = [threading.Thread(target=lambda: texts.append(asyncio.run(ask()))) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert texts == ["Hello"] * 3
    """)
    assert len(kernel_server.exchanges) - asked == 5


def test_threads_and_tasks_of_a_cell(kernel: Kernel) -> None:
    """T3: 200 calls from 8 threads, then 50 tasks at once in the kernel's loop."""
    kernel.run("""
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool:
            assert [r.text for r in pool.map(agent.run, ["Hi"] * 200)] == ["Hello"] * 200
        assert [r.text for r in await asyncio.gather(*[async_agent.run("Hi") for _ in range(50)])] == ["Hello"] * 50
    """)


def test_turns_at_once_see_their_own(kernel: Kernel, kernel_server: ModelServer) -> None:
    """T4, T9: state and context variables, in plain and async tools."""

    def echo(exchange: Exchange) -> None:
        last = exchange.json()["messages"][-1]
        play.calls(("look", {}))(exchange) if last["role"] == "user" else play.text(last["content"])(exchange)

    kernel_server.always(echo)
    cell = kernel.run("""
        from contextvars import ContextVar
        user = ContextVar("user")

        @kova.tool
        def look(context: kova.ToolContext) -> str:
            "Look around."
            return f"{context.state} {user.get()}"

        looking = kova.Agent(model, tools=[look])
        async_looking = kova.AsyncAgent(async_agent._provider, tools=[look])

        async def ask(number):
            user.set(number)
            return (await async_looking.run("go", state=number)).text

        print(await asyncio.gather(*[ask(number) for number in range(3)]))
        user.set("me")
        print(looking.run("go", state="mine").text)
    """)
    assert cell.printed == "['0 0', '1 1', '2 2']\nmine me\n"


def test_a_forked_child_of_a_kernel(kernel: Kernel, kernel_server: ModelServer) -> None:
    """T5: as multiprocessing makes them in a cell, when the agent has been used."""
    before = kernel_server.connections
    cell = kernel.run("""
        import multiprocessing, warnings
        warnings.simplefilter("ignore", DeprecationWarning)

        def ask(text):
            return agent.run(text, timeout=10).text

        assert ask("Hi") == "Hello"
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(ask, ["Hi"] * 4, 2), ask("Hi"))
    """)
    assert cell.printed == "['Hello', 'Hello', 'Hello', 'Hello'] Hello\n"
    assert kernel_server.connections - before <= 3


def test_nothing_is_started_by_making_an_agent() -> None:
    """T6: no thread, and nothing below the cell."""
    with Kernel() as fresh:
        cell = fresh.run("""
            import threading
            before = threading.enumerate()
            import kova
            for _ in range(100): kova.Agent("ollama:m"), kova.AsyncAgent("ollama:m")
            assert threading.enumerate() == before
        """)
        assert cell.shown == []


@pytest.mark.parametrize("twin", STREAMS)
def test_streamed_text_shows_as_it_comes(kernel: Kernel, kernel_server: ModelServer, twin: str) -> None:
    """T7: the model says its second word only when the first has been seen below the cell."""
    seen = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first "})
        assert seen.wait(LIMIT)
        exchange.send_delta({"content": "second"}, "stop")
        exchange.end_stream()

    kernel_server.play(answer)
    cell = kernel.start(STREAMS[twin])
    cell.wait_for("first ")
    seen.set()
    assert cell.end().error is None
    assert cell.printed == "first second"


def test_plain_tools_do_not_hold_up_the_kernel(kernel: Kernel, kernel_server: ModelServer) -> None:
    """T8: other tasks of the kernel's loop, such as widgets, go on while a tool of an async agent blocks."""
    kernel_server.play(play.calls(("block", {})), play.text("done"))
    kernel.run("""
        ticked = threading.Event()

        @kova.tool
        def block() -> str:
            "Block until the loop has ticked."
            return "ticked" if ticked.wait(20) else "the loop stood still"

        async def tick():
            await asyncio.sleep(0.05)
            ticked.set()

        ticking = asyncio.create_task(tick())
        response = await kova.AsyncAgent(async_agent._provider, tools=[block]).run("go")
        assert response.new_messages[1].content[0].content == "ticked"
    """)


@pytest.mark.parametrize("twin", STREAMS)
def test_leaving_a_stream_early(kernel: Kernel, kernel_server: ModelServer, twin: str) -> None:
    """T11: the server sees it."""
    left = threading.Event()

    def answer(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.set()

    kernel_server.play(answer)
    kernel.run(textwrap.dedent(STREAMS[twin]).rstrip() + "\n        break")
    assert left.wait(5)


TWINS = {  # cells that differ in nothing but what Python's own words for async code ask for
    "a turn": 'print((AWAIT agent.run("Hi")).text)',
    "a tool, plain and async": """
        @kova.tool
        def add(a: int, b: int) -> int:
            "Add."
            return a + b

        @kova.tool
        async def double(n: int) -> int:
            "Double."
            await asyncio.sleep(0)
            return 2 * n

        adding = type(agent)(agent._provider, tools=[add, double])
        response = AWAIT adding.run("go", timeout=20)
        print([block.content for message in response.new_messages[1:-1] for block in message.content], response.text)
        """,
    "a stream": """
        ASYNC with agent.run_stream("Hi") as stream:
            ASYNC for text in stream.text_deltas():
                print(text)
        print(stream.response.stop_reason)
        """,
}


@pytest.mark.parametrize("name", TWINS)
def test_the_same_cell_for_both_twins(kernel: Kernel, kernel_server: ModelServer, name: str) -> None:
    """T13, T14: blocking, awaited in the kernel's asyncio, and on trio inside of that, it prints the same."""
    tools = [play.calls(("add", {"a": 2, "b": 3}), ("double", {"n": 4})), play.text("Hello")]
    cell = textwrap.dedent(TWINS[name]).strip()
    blocking = cell.replace("AWAIT ", "").replace("ASYNC ", "")
    awaited = cell.replace("AWAIT ", "await ").replace("ASYNC ", "async ").replace("agent", "async_agent")
    on_trio = f"import trio\nasync def main():\n{textwrap.indent(awaited, '    ')}\ntrio.run(main)".replace(
        "asyncio.sleep", "trio.sleep"
    )
    printed = []
    for source in (blocking, awaited, on_trio):
        if "tool" in name:
            kernel_server.play(*tools)
        printed.append(kernel.run(source).printed)
    assert printed == [printed[0]] * 3
    assert "Hello" in printed[0]
