"""Exceptions that a signal's handler raises, as time limits around a program do: no tool's, whatever runs just then."""

from __future__ import annotations

import signal

import pytest

from tests import server as play
from tests.hosts.script import Script, run
from tests.server import ModelServer

PROGRAM = """
    class Overdue(Exception):
        "What a queue of tasks raises when the time of one is over."

    class Limit:
        def __call__(self, number, frame):
            self.expire("over")

        def expire(self, text):
            raise Overdue(text)

    limit = Limit()
    signal.signal(signal.SIGUSR1, limit if callable_object else lambda number, frame: limit.expire("over"))

    @kova.tool
    def block() -> str:
        "Block for long."
        say("in the tool")
        time.sleep(60)
        return "too late"

    model = kova.OpenAICompatibleProvider("m", base_url=url)
    agent = kova.Agent(model, tools=[block], tool_errors="report")
    limits = {"cancel": kova.CancellationToken(), "timeout": 50} if limited else {}
    try:
        CALL
    except Overdue as error:
        say(error)
    say(agent.run("and now?", timeout=10).text)
"""
CALLS = {
    "run": 'agent.run("go", **limits)',
    "chat": 'kova.Agent(model, tools=[block], tool_errors="report", memory=kova.InMemoryStore()).chat("c", "go", **limits)',
    "run_stream": """
        with agent.run_stream("go", **limits) as stream:
            for _ in stream:
                pass
        """,
    "async run": """
        import asyncio
        async_model = kova.AsyncOpenAICompatibleProvider("m", base_url=url)
        asyncio.run(kova.AsyncAgent(async_model, tools=[block], tool_errors="report").run("go", **limits))
        """,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("limited", "calls"), [(False, 1), (True, 1), (False, 2)])
def test_it_ends_the_turn_as_it_is(server: ModelServer, call: str, limited: bool, calls: int) -> None:
    """T10: the model is not told of it, as of a tool's exception, and nobody goes on; the agent works afterwards."""
    server.play(play.calls(*[("block", {})] * calls), play.text("Here I am"))
    source = PROGRAM.replace("CALL", CALLS[call].strip())
    with Script(source, url=server.url, limited=limited, callable_object=calls == 2) as script:
        for _ in range(calls):
            script.expect("in the tool")
        at = script.signal(signal.SIGUSR1)
        assert script.expect("over") - at < 5
        script.expect("Here I am")
        assert script.end()[1] == 0
    assert len(server.exchanges) == 2


WAITS = {
    "a silent model": "agent.run('go', timeout=50)",
    "a silent model, no limits": "agent.run('go')",
    "a silent MCP server": "client.call_tool('be_silent', timeout=50)",
    "a listener": "client.call_tool('progress', timeout=50, on_progress=lambda *report: time.sleep(50))",
    "a store": "kova.Agent(model, memory=Store()).chat('c', 'go')",
}


@pytest.mark.parametrize("waiting", WAITS)
def test_an_alarm_with_the_builtin_timeout_error_ends_every_wait(server: ModelServer, waiting: str) -> None:
    """T10: it is an OSError too, and is taken for no socket's."""
    server.play(play.text("Hello"))
    server.always(lambda exchange: exchange.wait_for_disconnect())
    source = """
    from tests.mcp_links import faulty

    class Store(kova.InMemoryStore):
        def load(self, conversation_id):
            time.sleep(50)

    def overdue(number, frame):
        raise TimeoutError("the program's own limit")

    signal.signal(signal.SIGALRM, overdue)
    model = kova.OpenAICompatibleProvider("m", base_url=url, timeout=None)
    agent = kova.Agent(model)
    with kova.MCPClient(faulty()) as client:
        say(agent.run("hello").text, client.call_tool("echo").text)
        begun = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            WORK
        except TimeoutError as error:
            say(type(error).__module__, error, time.monotonic() - begun < 8)
    """.replace("WORK", WAITS[waiting])
    assert run(source, url=server.url) == ["Hello done", "builtins the program's own limit True"]


def test_a_limit_of_the_tools_own_is_the_tools(server: ModelServer) -> None:
    """L2: it sets an alarm, and takes it back before it is left: that is an exception like any other."""
    server.play(play.calls(("look", {})), play.text("I see"))
    source = """
    def overdue(number, frame):
        raise ValueError("no answer in time")

    @kova.tool
    def look() -> str:
        "Look, for a moment."
        before = signal.signal(signal.SIGALRM, overdue)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            time.sleep(60)
        finally:
            signal.signal(signal.SIGALRM, before)

    agent = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url), tools=[look], tool_errors="report")
    say(agent.run("go").text)
    """
    assert run(source, url=server.url) == ["I see"]
    assert server.exchanges[-1].json()["messages"][-1]["content"] == "ValueError: no answer in time"


SHARED = """
    import functools
    from unittest.mock import Mock

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **options):
            return function(*args, **options)
        return wrapper

    class Overdue(Exception):
        "What the program around is told."

    @logged
    def overdue(number, frame):
        del number, frame
        raise Overdue

    def new_agent(tool):
        return kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url), tools=[tool], tool_errors="report")
"""


@pytest.mark.parametrize("handler", ["overdue", "Mock()"])
def test_what_has_the_code_of_a_handler_is_none(server: ModelServer, handler: str) -> None:
    """L4: a tool under the same decorator, and a mock in one: the model is told of what they raise."""
    server.play(play.calls(("divide", {"by": 0})), play.text("I see"))
    source = """
    @kova.tool
    @logged
    def divide(by: int) -> int:
        "Divide."
        return Mock(side_effect=lambda: 1 // by)() if mocked else 1 // by

    say(new_agent(divide).run("go").text)
    """
    source = SHARED + f"    signal.signal(signal.SIGTERM, {handler})\n" + source
    assert run(source, url=server.url, mocked=handler != "overdue") == ["I see"]
    assert "ZeroDivisionError" in server.exchanges[-1].json()["messages"][-1]["content"]


@pytest.mark.parametrize("handler", ["overdue", "functools.partial(overdue)", "Mock(side_effect=Overdue)"])
def test_a_handler_that_shares_its_code_is_one(server: ModelServer, handler: str) -> None:
    """T10: under a decorator, with its arguments deleted, or as a mock."""
    server.play(play.calls(("wait", {})))
    source = """
    @kova.tool
    @logged
    def wait() -> None:
        "Wait for a signal."
        signal.raise_signal(signal.SIGTERM)

    try:
        new_agent(wait).run("go")
    except Overdue:
        say("over")
    """
    source = SHARED + f"    signal.signal(signal.SIGTERM, {handler})\n" + source
    assert run(source, url=server.url) == ["over"]
