"""T5: `async def` tools of the blocking twin under gevent, where no two greenlets of a thread can each run a loop."""

from __future__ import annotations

import pytest

from tests import server as play
from tests.hosts.script import Script, run
from tests.hosts.test_gevent import PATCHED
from tests.server import Exchange, ModelServer

pytest.importorskip("gevent")

PRELUDE = (
    PATCHED
    + """
import asyncio, os, threading
from contextvars import ContextVar
user = ContextVar("user")

def new_agent(*tools, **options):
    return kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url), tools=tools, **options)
"""
)


def call_and_repeat(*names: str) -> play.Answer:
    """A model that calls these tools at once, and then says what they gave."""

    def answer(exchange: Exchange) -> None:
        messages = exchange.json()["messages"]
        results = [message["content"] for message in messages if message["role"] == "tool"]
        (play.text(" ".join(results)) if results else play.calls(*[(name, {}) for name in names]))(exchange)

    return answer


def test_tools_that_overlap(server: ModelServer) -> None:
    """T4, T9: each waits in its loop until all of them do; each sees the state and the variables of its own turn. No thread is left."""
    server.always(call_and_repeat("meet", "meet"))
    source = """
    waiting = []

    @kova.tool
    async def meet(context: kova.ToolContext) -> str:
        "Wait for all the others."
        waiting.append(context.state)
        while len(waiting) < 8:
            await asyncio.sleep(0.005)
        return f"{context.state} {user.get()}"

    def ask(number):
        user.set(f"user {number}")
        return agent.run("go", state=number, timeout=30).text

    def native_threads():
        return len(os.listdir("/proc/self/task"))

    agent, before = new_agent(meet), native_threads()
    jobs = [gevent.spawn(ask, number) for number in range(4)]
    gevent.joinall(jobs, raise_error=True)
    for number, job in enumerate(jobs):
        assert job.value == f"{number} user {number} {number} user {number}", job.value
    end = time.monotonic() + 10
    while native_threads() > before and time.monotonic() < end:
        gevent.sleep(0.01)
    say(native_threads() - before)
    """
    assert run(source, prelude=PRELUDE, url=server.url) == ["0"]


def test_other_greenlets_run_while_a_tool_blocks_its_loop(server: ModelServer) -> None:
    """T8: only the loop of its own stands still."""
    server.always(call_and_repeat("block"))
    source = """
    ticks = []

    def tick():
        while True:
            gevent.sleep(0.01)
            ticks.append(1)

    @kova.tool
    async def block() -> str:
        "Let nothing of this thread go on until the greenlets of the other have."
        while len(ticks) < 5:
            os.sched_yield()
        return "done"

    ticking = gevent.spawn(tick)
    say(new_agent(block).run("go", timeout=30).text)
    ticking.kill()
    """
    assert run(source, prelude=PRELUDE, url=server.url) == ["done"]


@pytest.mark.parametrize("way", ["token", "timeout"])
def test_one_of_two_is_ended(server: ModelServer, way: str) -> None:
    """T12, L11: its tool is cancelled and may clean up; the other goes on."""
    server.always(call_and_repeat("wait"))
    source = """
    begun, cleaned, release = [], [], threading.Event()

    @kova.tool
    async def wait(context: kova.ToolContext) -> str:
        "Wait for the end of the other."
        begun.append(context.state)
        try:
            while not release.is_set():
                await asyncio.sleep(30 if context.state == "ended" else 0.01)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            cleaned.append(context.state)
            raise
        return "went on"

    def end():
        while len(begun) < 2:
            gevent.sleep(0.01)
        token.cancel()

    agent, token = new_agent(wait), kova.CancellationToken()
    other = gevent.spawn(agent.run, "go", state="other", timeout=30)
    if way == "token":
        gevent.spawn(end)
    try:
        agent.run("go", state="ended", cancel=token, timeout=1 if way == "timeout" else 30)
    except (kova.TurnCancelledError, kova.TimeoutError) as error:
        say(type(error).__name__, *cleaned)
    release.set()
    say(other.get().text)
    say(agent.run("go", state="later", timeout=30).text)
    """
    ended = "TurnCancelledError" if way == "token" else "TimeoutError"
    said = run(source, prelude=PRELUDE, url=server.url, way=way)
    assert said == [f"{ended} ended", "went on", "went on"]


def test_what_tools_raise(server: ModelServer) -> None:
    """L4: one error ends its own turn only, and another is told to the model; gevent prints neither."""
    server.always(call_and_repeat("fail"))
    source = """
    @kova.tool
    async def fail() -> str:
        "Fail."
        await asyncio.sleep(0.01)
        raise ValueError("broken")

    def ask(errors):
        try:
            return new_agent(fail, tool_errors=errors).run("go", timeout=30).text
        except kova.ToolExecutionError as error:
            return f"{type(error.__cause__).__name__}, raised"

    jobs = [gevent.spawn(ask, errors) for errors in ("raise", "report")]
    gevent.joinall(jobs, raise_error=True)
    for job in jobs:
        say(job.value)
    """
    with Script(source, prelude=PRELUDE, url=server.url) as script:
        script.expect("ValueError, raised")
        script.expect("ValueError: broken")
        assert script.end()[1] == 0
        assert script.errors == ""


def test_an_async_agent_inside_of_a_tool(server: ModelServer) -> None:
    """T5: with plain tools of its own, which run beside its loop; again and again, as nothing of a loop is kept."""
    server.always(call_and_repeat("think"))
    source = """
    from kova.testing import AsyncScriptedProvider, call

    @kova.tool
    def look() -> str:
        "Look."
        gevent.sleep(0.01)
        return "seen"

    @kova.tool
    async def think() -> str:
        "Ask another agent."
        model = AsyncScriptedProvider(call("look"), lambda request: request.messages[-1].content[0].content)
        async with kova.AsyncAgent(model, tools=[look]) as inner:
            return (await inner.run("go")).text

    agent = new_agent(think)
    for _ in range(3):
        jobs = [gevent.spawn(agent.run, "go", timeout=20) for _ in range(3)]
        gevent.joinall(jobs, raise_error=True)
        say(*[job.value.text for job in jobs])
    """
    assert run(source, prelude=PRELUDE, url=server.url) == ["seen seen seen"] * 3


def test_the_end_of_the_program(server: ModelServer) -> None:
    """T10: a tool that does not stop keeps nobody."""
    server.always(call_and_repeat("block"))
    source = """
    begun, sleep = threading.Event(), monkey.get_original("time", "sleep")

    @kova.tool
    async def block() -> str:
        "Block for long."
        begun.set()
        sleep(60)

    gevent.spawn(new_agent(block).run, "go")
    begun.wait()
    say("the end")
    """
    with Script(source, prelude=PRELUDE, url=server.url) as script:
        at = script.expect("the end")
        assert script.end()[0] - at < 10


def test_servers_as_processes_are_for_other_tools(server: ModelServer) -> None:
    """L4, T9: gevent starts processes in the main thread alone, and threads cannot share its sockets: that is said."""
    server.always(call_and_repeat("use"))
    source = """
    from tests.mcp_links import faulty
    client = kova.MCPClient(faulty(), timeout=10)

    @kova.tool
    async def use() -> str:
        "Use a tool of the server."
        return client.call_tool("echo").text

    try:
        new_agent(use).run("go", timeout=20)
    except kova.ConnectionError as error:
        say(error.message.partition(": ")[2].partition(" (")[0])
    say(client.call_tool("echo").text)
    try:
        new_agent(use).run("go", timeout=20)
    except kova.KovaError as error:
        say(error.message.partition(":")[0])
    client.close()
    """
    assert run(source, prelude=PRELUDE, url=server.url) == [
        "gevent starts no processes in this thread",
        "done",
        "this MCP client belongs to another event loop, or under gevent to another thread",
    ]


def test_connections_are_not_shared_with_the_thread_of_a_tool(server: ModelServer) -> None:
    """T9: an agent that such a tool asks has connections of its own there; none is left when the tool has ended."""

    def answer(exchange: Exchange) -> None:
        (call_and_repeat("ask") if "tools" in exchange.json() else play.text("inner"))(exchange)

    server.always(answer)
    source = """
    model = kova.OpenAICompatibleProvider("m", base_url=url)
    inner = kova.Agent(model)

    @kova.tool
    async def ask() -> str:
        "Ask another agent."
        return inner.run("go").text

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    agent = kova.Agent(model, tools=[ask])
    say(agent.run("go", timeout=20).text)
    before = descriptors()
    for _ in range(5):
        agent.run("go", timeout=20)
    say(descriptors() - before)
    """
    assert run(source, prelude=PRELUDE, url=server.url) == ["inner", "0"]
    inner = {exchange.connection for exchange in server.exchanges if "tools" not in exchange.json()}
    assert len(inner) == 6
    assert not inner & {exchange.connection for exchange in server.exchanges if "tools" in exchange.json()}
