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
