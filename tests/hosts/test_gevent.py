"""T5: the blocking twin where gevent has replaced threads, sockets and queues by its own."""

from __future__ import annotations

import signal
import threading

import pytest

from tests import server as play
from tests.hosts.script import PRELUDE, Script, run
from tests.server import Exchange, ModelServer
from tests.tls import TLSModelServer

pytest.importorskip("gevent")

PATCHED = "from gevent import monkey\nmonkey.patch_all()\nimport gevent\n" + PRELUDE
AGENT = """
    @kova.tool
    def look(context: kova.ToolContext) -> str:
        "Look at the state."
        gevent.sleep(0.01)
        return str(context.state)

    def new_agent(**options):
        return kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url, **options), tools=[look])
"""


def look(exchange: Exchange) -> None:
    """Let the model call the tool, twice at once, and then say what came of it."""
    *_, last = exchange.json()["messages"]
    (play.text(last["content"]) if last["role"] == "tool" else play.calls(("look", {}), ("look", {})))(exchange)


def test_turns_of_many_greenlets(server: ModelServer) -> None:
    """T5, T3: with tools, whole and streamed, over fewer connections than there are turns."""
    server.always(look)
    source = """
    agent = new_agent(max_connections=5)

    def ask(number):
        return agent.run("go", state=number, timeout=30).text

    def stream(number):
        with agent.run_stream("go", state=number) as stream:
            return "".join(stream.text_deltas())

    numbers = [str(number) for number in range(30)]
    for function in (ask, stream):
        jobs = [gevent.spawn(function, number) for number in numbers]
        gevent.joinall(jobs, raise_error=True)
        assert [job.value for job in jobs] == numbers
    say("done")
    """
    assert run(AGENT + source, prelude=PATCHED, url=server.url) == ["done"]
    assert len(server.exchanges) == 120
    assert server.connections <= 5


def test_other_greenlets_run_while_a_call_waits(server: ModelServer) -> None:
    """T5: nothing of kova's blocks the one thread that there is."""

    def silent(exchange: Exchange) -> None:
        exchange.wait_for_disconnect()

    server.play(silent)
    source = """
    beats = 0

    def beat():
        global beats
        while True:
            gevent.sleep(0.01)
            beats += 1

    gevent.spawn(beat)
    try:
        new_agent().run("go", timeout=1)
    except kova.TimeoutError:
        assert beats > 20, beats
        say("done")
    """
    assert run(AGENT + source, prelude=PATCHED, url=server.url) == ["done"]


@pytest.mark.parametrize("where", ["headers", "stream", "tool"])
def test_a_token_ends_a_turn(server: ModelServer, where: str) -> None:
    """T5, T12: cancelled by another greenlet, and the provider goes on."""
    reached = threading.Event()

    def silent(exchange: Exchange) -> None:
        if where == "stream":
            exchange.start_stream()
            exchange.send_delta({"content": "first"})
        reached.set()
        exchange.wait_for_disconnect()

    server.play(play.calls(("block", {})) if where == "tool" else silent, play.text("Here I am"))
    source = """
    @kova.tool
    def block() -> None:
        "Block for long."
        say("in the tool")
        gevent.sleep(30)

    token = kova.CancellationToken()
    gevent.signal_handler(signal.SIGUSR1, token.cancel)  # calls it in a greenlet of its own
    agent = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url, max_connections=1), tools=[block])
    try:
        with agent.run_stream("go", cancel=token) as stream:
            for _ in stream:
                pass
    except kova.TurnCancelledError:
        say("cancelled")
    say(agent.run("and now?", timeout=10).text)
    """
    with Script(source, prelude=PATCHED, url=server.url) as script:
        if where == "tool":
            script.expect("in the tool")
        else:
            assert reached.wait(10), script.errors
        at = script.signal(signal.SIGUSR1)
        assert script.expect("cancelled") - at < 1.5
        script.expect("Here I am")
        assert script.end()[1] == 0


def test_tls() -> None:
    """T5: over TLS, which gevent replaces too."""
    with TLSModelServer() as server:
        server.always(look)
        source = """
        import ssl
        agent = new_agent(verify=ssl.create_default_context(cadata=authority))
        jobs = [gevent.spawn(agent.run, "go", state=number, timeout=30) for number in range(5)]
        gevent.joinall(jobs, raise_error=True)
        say(*[job.value.text for job in jobs])
        """
        authority = server.ca.cert_pem.bytes().decode()
        said = run(AGENT + source.replace("\n    ", "\n"), prelude=PATCHED, url=server.url, authority=authority)
        assert said == ["0 1 2 3 4"]


def test_ctrl_c(server: ModelServer) -> None:
    """T10: as everywhere."""
    server.play(play.calls(("block", {})))
    source = """
    @kova.tool
    def block() -> None:
        "Block for long."
        say("in the tool")
        gevent.sleep(60)

    agent = kova.Agent(kova.OpenAICompatibleProvider("m", base_url=url), tools=[block])
    try:
        agent.run("go", timeout=50)
    except KeyboardInterrupt:
        say("interrupted")
    """
    with Script(source, prelude=PATCHED, url=server.url) as script:
        script.expect("in the tool")
        at = script.interrupt()
        assert script.expect("interrupted") - at < 2.5
        assert script.end()[0] - at < 10


def test_a_forked_child(server: ModelServer) -> None:
    """T5: as a pre-forking server of greenlets makes them."""
    server.always(look)
    source = """
    import os
    agent = new_agent()
    assert agent.run("go", state="parent").text == "parent"
    child = os.fork()
    if not child:
        say(agent.run("go", state="child", timeout=10).text)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    say(agent.run("go", state="parent again", timeout=10).text)
    """
    assert run(AGENT + source, prelude=PATCHED, url=server.url) == ["child", "parent again"]
    assert server.connections == 2


def test_a_server_as_a_process_holds_up_no_greenlet() -> None:
    """T5, M2: calls of several greenlets at once, one that takes long, and the closing."""
    source = """
    from tests.mcp_links import children, faulty

    client = kova.MCPClient(faulty(), protocol="legacy")
    client.call_tool("echo")
    ticks = []

    def tick():
        while True:
            ticks.append(1)
            gevent.sleep(0.01)

    ticking = gevent.spawn(tick)
    try:
        client.call_tool("be_silent", timeout=0.5)
    except kova.TimeoutError:
        say(len(ticks) > 5)
    calls = [gevent.spawn(client.call_tool, "echo") for _ in range(5)]
    gevent.joinall(calls)
    say([call.value.text for call in calls] == ["done"] * 5)
    client.close()
    say(children())
    ticking.kill()
    """
    assert run(source, prelude=PATCHED) == ["True", "True", "[]"]
