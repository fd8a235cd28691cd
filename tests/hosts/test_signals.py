"""T10: Ctrl-C, a real one, at a program that waits for kova; and the end of programs whose tools do not end."""

from __future__ import annotations

import threading

import pytest

from tests import server as play
from tests.hosts.script import Script
from tests.server import Exchange, ModelServer

RAISES_WITHIN = 2.5  # seconds: five times the 0.5 after Ctrl-C within which the call must raise
ENDS_WITHIN = 10.0  # seconds: five times the 2 within which the process must end

AGENT = """
    @kova.tool
    def block() -> str:
        "Block for long."
        say("in the tool")
        time.sleep(60)
        return "too late"

    agent = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url), tools=[block])
    limits = {"cancel": kova.CancellationToken(), "timeout": 50} if limited else {}
"""
CALLS = {
    "run": """
    def call():
        agent.run("go", **limits)
    """,
    "run_stream": """
    def call():
        with agent.run_stream("go", **limits) as stream:
            for event in stream:
                if isinstance(event, kova.TextDelta):
                    say("in the stream")
    """,
}
CATCH = """
    try:
        call()
    except KeyboardInterrupt:
        say("interrupted")
"""


def program(call: str, after: str = CATCH) -> str:
    return "\n".join([AGENT, CALLS[call], after])


@pytest.fixture
def reached(server: ModelServer) -> threading.Event:
    """Set when the server has a request, which it then leaves without an answer."""
    event = threading.Event()

    def silent(exchange: Exchange) -> None:
        event.set()
        exchange.wait_for_disconnect()

    server.always(silent)
    return event


@pytest.mark.parametrize(("call", "limited"), [("run", False), ("run_stream", True)])
def test_ctrl_c_before_the_answer_begins(
    server: ModelServer, reached: threading.Event, call: str, limited: bool
) -> None:
    """T10."""
    with Script(program(call), url=server.url, limited=limited) as script:
        assert reached.wait(10), script.errors
        interrupted_ends(script)


@pytest.mark.parametrize("limited", [False, True])
def test_ctrl_c_in_the_middle_of_a_stream(server: ModelServer, limited: bool) -> None:
    """T10: and the server sees the program leave."""
    left = threading.Event()

    def begin(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.send_delta({"content": "first"})
        if exchange.wait_for_disconnect():
            left.set()

    server.play(begin)
    with Script(program("run_stream"), url=server.url, limited=limited) as script:
        script.expect("in the stream")
        interrupted_ends(script)
        assert left.wait(5)


@pytest.mark.parametrize(
    ("call", "limited", "calls"),
    [("run", False, 1), ("run", True, 1), ("run", False, 3), ("run_stream", False, 1), ("run_stream", True, 3)],
)
def test_ctrl_c_while_tools_block(server: ModelServer, call: str, limited: bool, calls: int) -> None:
    """T10: for a minute, one or several, in this thread or in others."""
    server.play(play.calls(*[("block", {})] * calls))
    with Script(program(call), url=server.url, limited=limited) as script:
        for _ in range(calls):
            script.expect("in the tool")
        interrupted_ends(script)


def interrupted_ends(script: Script) -> None:
    at = script.interrupt()
    raised = script.expect("interrupted")
    assert raised - at < RAISES_WITHIN
    ended, status = script.end()
    assert ended - at < ENDS_WITHIN
    assert (status, script.errors) == (0, "")


def test_ctrl_c_in_the_queue_for_a_connection(server: ModelServer, reached: threading.Event) -> None:
    """T10."""
    source = """
    import threading
    agent = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url, max_connections=1))
    threading.Thread(target=agent.run, args=("go",), daemon=True).start()
    input()
    try:
        say("waiting")
        agent.run("go")
    except KeyboardInterrupt:
        say("interrupted")
    """
    with Script(source, url=server.url) as script:
        assert reached.wait(10), script.errors
        script.write("\n")
        script.expect("waiting")
        interrupted_ends(script)


@pytest.mark.parametrize("call", ["execute(pattern, 'go')", "execute_stream(pattern, 'go')"])
@pytest.mark.parametrize("pattern", ["Sequential(['a'])", "Parallel(['a', 'b', 'c'])"])
def test_ctrl_c_at_agents_that_work_together(
    server: ModelServer, reached: threading.Event, pattern: str, call: str
) -> None:
    """T10: in this thread, or in others."""
    source = f"""
    agents = {{name: kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url)) for name in "abc"}}
    orchestrator, pattern = kova.Orchestrator(agents), kova.{pattern}
    try:
        made = orchestrator.{call}
        with made as stream:
            list(stream)
    except KeyboardInterrupt:
        say("interrupted")
    """
    with Script(source, url=server.url) as script:
        assert reached.wait(10), script.errors
        interrupted_ends(script)


def test_the_agent_goes_on_after_ctrl_c(server: ModelServer, reached: threading.Event) -> None:
    """T10: as in a notebook, where the next cell uses it again."""
    after = """
    limits = {"timeout": 10}
    for name in ("first", "second", "third"):
        try:
            say(agent.run("go", **limits).text)
        except KeyboardInterrupt:
            say("interrupted")
    """
    source = program("run", after).replace("url)", "url, max_connections=1)")
    with Script(source, url=server.url, limited=False) as script:
        assert reached.wait(10), script.errors
        server.play(play.text("Here I am"), play.text("Still here"))
        script.interrupt()
        script.expect("interrupted")
        script.expect("Here I am")
        script.expect("Still here")
        assert script.end()[1] == 0


def test_a_second_ctrl_c_while_the_first_is_handled(server: ModelServer) -> None:
    """T10: impatience does no harm."""
    server.play(play.calls(("block", {}), ("block", {})))
    with Script(program("run"), url=server.url, limited=True) as script:
        for _ in range(2):
            script.expect("in the tool")
        script.interrupt()
        at = script.interrupt()
        assert script.end()[0] - at < ENDS_WITHIN


def test_ctrl_c_that_nobody_catches(server: ModelServer, reached: threading.Event) -> None:
    """T10: the program ends as any other, by the signal's own status and with a traceback."""
    with Script(program("run", "    call()"), url=server.url, limited=True) as script:
        assert reached.wait(10), script.errors
        at = script.interrupt()
        ended, status = script.end()
        assert ended - at < ENDS_WITHIN
        assert status != 0
        assert script.errors.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(("call", "calls"), [("run", 1), ("run_stream", 3)])
def test_a_program_ends_though_a_tool_that_was_given_up_still_blocks(
    server: ModelServer, call: str, calls: int
) -> None:
    """T10: the turn's time was over."""
    server.play(play.calls(*[("block", {})] * calls))
    after = """
    limits = {"timeout": 0.3}
    try:
        call()
    except kova.TimeoutError:
        say("timed out")
    """
    with Script(program(call, after), url=server.url, limited=False) as script:
        for _ in range(calls):
            script.expect("in the tool")
        at = script.expect("timed out")
        ended, status = script.end()
        assert ended - at < ENDS_WITHIN
        assert (status, script.errors) == (0, "")


ASYNC_AGENT = """
    import asyncio, trio

    @kova.tool
    def block() -> str:
        "Block for long."
        say("in the tool")
        time.sleep(60)
        return "too late"

    async def main():
        agent = kova.AsyncAgent(kova.AsyncOpenAICompatibleProvider("m", base_url=url), tools=[block])
        try:
            await agent.run("go", timeout=timeout)
        except kova.TimeoutError:
            say("timed out")
"""
RUN = {"asyncio": "    asyncio.run(main())", "trio": "    trio.run(main)"}
CATCH_RUN = {
    name: f"    try:\n    {run}\n    except KeyboardInterrupt:\n        say('interrupted')\n"
    for name, run in RUN.items()
}


@pytest.mark.parametrize("loop", RUN)
@pytest.mark.parametrize("where", ["headers", "tool"])
def test_ctrl_c_at_an_event_loop(server: ModelServer, reached: threading.Event, loop: str, where: str) -> None:
    """T10: the loop ends as it always does, and no thread of kova's holds the process."""
    if where == "tool":
        server.play(play.calls(("block", {})))
    with Script(ASYNC_AGENT + CATCH_RUN[loop], url=server.url, timeout=None) as script:
        if where == "tool":
            script.expect("in the tool")
        else:
            assert reached.wait(10), script.errors
        interrupted_ends(script)


@pytest.mark.parametrize("loop", RUN)
def test_an_event_loop_ends_though_a_tool_that_was_given_up_still_blocks(server: ModelServer, loop: str) -> None:
    """T10."""
    server.play(play.calls(("block", {})))
    with Script(ASYNC_AGENT + RUN[loop], url=server.url, timeout=0.3) as script:
        script.expect("in the tool")
        at = script.expect("timed out")
        ended, status = script.end()
        assert ended - at < ENDS_WITHIN
        assert (status, script.errors) == (0, "")


def test_an_agent_used_while_the_program_ends(server: ModelServer) -> None:
    """T10: in a function that `atexit` calls, when no thread can be started any more."""
    server.always(play.calls(("fast", {}), ("fast", {})))
    server.play(play.calls(("fast", {}), ("fast", {})), play.text("Good bye"))
    source = """
    import atexit

    @kova.tool
    def fast() -> str:
        "End at once."
        return "ok"

    provider = kova.OpenAICompatibleProvider("m", base_url=url.replace("127.0.0.1", "localhost"))
    agent = kova.Agent(provider, tools=[fast])
    atexit.register(lambda: say(agent.run("go", timeout=10).text))
    """
    with Script(source, url=server.url) as script:
        script.expect("Good bye")
        assert script.end()[1] == 0
        assert script.errors == ""
