"""The example site under real servers: what is promised of an agent holds there too."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from kova.testing import Exchange, ModelServer, call
from tests.web.servers import COMMANDS, Visitor, WebServer, django_server

pytestmark = pytest.mark.timeout(120)

SOON = 5.0  # seconds: five times what a person should see
LIMIT = 20.0  # seconds


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module", params=COMMANDS)
def site(
    request: pytest.FixtureRequest, model_server: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[WebServer, str]]:
    """A server, and the page to visit there."""
    command, page = COMMANDS[request.param]
    with django_server(command, tmp_path_factory.mktemp("site"), model_server.url) as server:
        yield server, page


@pytest.fixture
def server(site: tuple[WebServer, str]) -> WebServer:
    return site[0]


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[ModelServer]:
    """The model's server, with nothing left to be played."""
    model_server.requests.clear()
    yield model_server
    model_server.assert_used_up()


@pytest.fixture
def visitor(site: tuple[WebServer, str]) -> Iterator[Visitor]:
    with Visitor(*site) as visitor:
        yield visitor


def counts(server: WebServer) -> dict[str, int]:
    return httpx.get(f"{server.url}/inside/counts/", timeout=LIMIT).json()


def wait_for_counts(server: WebServer, before: dict[str, int]) -> dict[str, int]:
    """What is left of threads and files, when what ends by itself has had the time for it."""
    until = time.monotonic() + LIMIT
    while True:
        now = counts(server)
        if (now["threads"] <= before["threads"] and now["files"] <= before["files"]) or time.monotonic() > until:
            return now
        time.sleep(0.2)


class SilentModel:
    """A model that says a word and then nothing, and learns when its client goes."""

    def __init__(self, *words: str) -> None:
        self.asked = threading.Event()
        self.gone: queue.Queue[bool] = queue.Queue()
        self._words = words

    def __call__(self, exchange: Exchange) -> Iterator[Any] | None:
        if not self._words:
            self.asked.set()
            self.gone.put(exchange.wait_for_disconnect(LIMIT))
            return None
        return self._speak(exchange)

    def _speak(self, exchange: Exchange) -> Iterator[Any]:
        yield from self._words
        self.asked.set()
        self.gone.put(exchange.wait_for_disconnect(LIMIT))


def test_text_comes_as_it_is_written(model: ModelServer, visitor: Visitor) -> None:
    """T7: through the whole server the first word is there before the second one is sent."""
    seen = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Any]:
        yield "Hel"
        assert seen.wait(LIMIT)
        yield "lo"

    model.play(answer)
    with visitor.asking("Hi") as events:
        assert next(events) == ("text", {"text": "Hel"})
        seen.set()
        assert list(events) == [("text", {"text": "lo"}), ("completed", {"text": "Hello", "stop_reason": "end_turn"})]


def test_the_page_shows_what_was_said_as_text(model: ModelServer, visitor: Visitor) -> None:
    """S5."""
    model.play("<img src=x onerror=alert(1)> & more", "Yes.")
    visitor.answer("Is </li> safe?")
    visitor.answer("Sure?")
    html = visitor.open()
    assert "<p>&lt;img src=x onerror=alert(1)&gt; &amp; more</p>" in html
    assert "<p>Is &lt;/li&gt; safe?</p>" in html
    assert "<img" not in html
    said = [message["content"] for message in model.requests[-1].json()["messages"][1:]]
    assert said == ["Is </li> safe?", "<img src=x onerror=alert(1)> & more", "Sure?"]


def test_only_the_page_itself_may_ask(model: ModelServer, server: WebServer, visitor: Visitor) -> None:
    data = {"csrfmiddlewaretoken": visitor.token, "text": "Hi"}
    assert visitor.client.post(visitor.action, data={"text": "Hi"}).status_code == 403
    assert httpx.post(server.url + visitor.action, data=data).status_code == 403
    assert visitor.client.get(visitor.action).status_code == 405
    for text in ("", " \n", "x" * 8_001):
        assert visitor.client.post(visitor.action, data={**data, "text": text}).status_code == 400
    del visitor.client.cookies["sessionid"]
    assert visitor.client.post(visitor.action, data=data).status_code == 400
    assert model.requests == []


def test_leave_is_given_to_one_visitor_only(model: ModelServer, site: tuple[WebServer, str], visitor: Visitor) -> None:
    """S1: although one agent serves both."""
    look = call("find_order", number=17)
    with Visitor(*site) as other:
        model.play(look, "Sent.", look, "Sent again.", look, "I may not.")
        assert ("tool_finished", "sent yesterday, arrives tomorrow", False) in finished(visitor.ask("?", orders="on"))
        assert ("tool_finished", "sent yesterday, arrives tomorrow", False) in finished(visitor.ask("?"))
        [(_, text, is_error)] = finished(other.ask("Where is order 17?"))
    assert is_error
    assert "has not ticked the box" in text


def finished(events: list[tuple[str, Any]]) -> list[tuple[str, str, bool]]:
    return [(name, data["text"], data["is_error"]) for name, data in events if name == "tool_finished"]


@pytest.mark.parametrize("words", [(), ("Hel",)], ids=["before the first word", "in the middle"])
def test_a_visitor_who_leaves_ends_the_turn(
    model: ModelServer, server: WebServer, visitor: Visitor, words: tuple[str, ...]
) -> None:
    """T11, T12: also while the model is silent; nothing is stored, and nothing stays behind."""
    model.play("Hello")
    visitor.answer("Hi")
    before = wait_for_counts(server, counts(server))
    for _ in range(3):
        silent = SilentModel(*words)
        model.play(silent)
        thread = threading.Thread(target=ask_and_leave, args=[visitor, silent])
        thread.start()
        assert silent.asked.wait(LIMIT)
        left_at = time.monotonic()
        assert silent.gone.get(timeout=LIMIT), "the turn went on for nobody"
        assert time.monotonic() - left_at < SOON
        thread.join()
    after = wait_for_counts(server, before)
    assert (after["threads"], after["files"]) <= (before["threads"], before["files"])
    model.play("Hello again")
    assert visitor.answer("Are you there?") == "Hello again"
    assert [message["content"] for message in model.requests[-1].json()["messages"][1:]] == [
        "Hi",
        "Hello",
        "Are you there?",
    ]


def ask_and_leave(visitor: Visitor, silent: SilentModel) -> None:
    """Ask by a connection of its own, and end it as soon as the model is at work."""
    client = httpx.Client(base_url=visitor.client.base_url, cookies=visitor.client.cookies, timeout=0.5)
    data = {"csrfmiddlewaretoken": visitor.token, "text": "Tell me more"}
    with client, pytest.raises(httpx.ReadTimeout), client.stream("POST", visitor.action, data=data) as response:
        for _ in response.iter_raw():
            pass


def test_two_questions_at_once_wait_for_one_another(model: ModelServer, visitor: Visitor) -> None:
    """C1, T4."""
    model.play(*["Hello"] * 6)
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(visitor.answer, map(str, range(6)))) == ["Hello"] * 6
    html = visitor.open()
    assert html.count('class="message assistant"') == 6


def test_tools_know_the_visitor(
    model: ModelServer, site: tuple[WebServer, str], request: pytest.FixtureRequest
) -> None:
    """T9: context variables of the request, when visitors come at once."""
    tools = ["visitor", "visitor_async"]

    def answer(exchange: Exchange) -> Any:
        results = [message["content"] for message in exchange.json()["messages"] if message["role"] == "tool"]
        return " ".join(results) if results else [call(tool) for tool in tools]

    def visit(number: int) -> str:
        with Visitor(*site, **{"X-Visitor": f"visitor-{number}"}) as visitor:
            return visitor.answer("Who am I?", orders="on")

    model.always(answer)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(visit, range(16)))
    assert answers == [" ".join([f"visitor-{number}"] * len(tools)) for number in range(16)]


def test_the_blocking_agent_in_an_async_view(model: ModelServer, server: WebServer) -> None:
    """T1: there is a running loop, and it does not matter."""
    model.play("Hello")
    assert httpx.get(f"{server.url}/inside/run/", params={"text": "Hi"}, timeout=LIMIT).json() == {"text": "Hello"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_server_that_is_told_to_end_lets_answers_end(name: str, model: ModelServer, tmp_path: Path) -> None:
    """T10: with the exit status of a good end, and without a word of complaint."""
    command, page = COMMANDS[name]
    is_told = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Any]:
        yield "Hel"
        assert is_told.wait(LIMIT)
        yield "lo"

    model.play(answer)
    with django_server(command, tmp_path, model.url) as server, Visitor(server, page) as visitor:
        with visitor.asking("Hi") as events:
            assert next(events) == ("text", {"text": "Hel"})
            server.terminate()
            is_told.set()
            assert list(events)[-1] == ("completed", {"text": "Hello", "stop_reason": "end_turn"})
        visitor.client.close()  # a server may wait for the connections that are kept alive
        status, output = server.end()
    assert status in (0, -signal.SIGTERM), output  # uvicorn ends by the signal, when all is done
    assert not {"Traceback", "Warning", "Error"} & set(output.replace(":", " ").split()), output


@pytest.mark.parametrize("name", ["gthread", "gevent"])
def test_workers_forked_from_a_process_that_has_used_the_agent(name: str, model: ModelServer, tmp_path: Path) -> None:
    """T5, C1: gunicorn's --preload; the workers share conversations, and go on without the connections of the master."""
    command, page = COMMANDS[name]
    site = "tests.web.site.wsgi_preloaded"
    command = [*command[:-1], "--preload", "--workers", "2", site]
    if name == "gevent":
        command[1:1] = ["--config", "python:tests.web.site.gunicorn_gevent"]
    model.always("Hello")
    before = model.connections
    with django_server(command, tmp_path, model.url) as server, ExitStack() as stack:
        visitors = [stack.enter_context(Visitor(server, page)) for _ in range(8)]
        with ThreadPoolExecutor(8) as threads:
            for _ in range(4):
                assert list(threads.map(lambda visitor: visitor.answer("Hi"), visitors)) == ["Hello"] * 8
        assert [visitor.open().count('class="message assistant"') for visitor in visitors] == [4] * 8
    assert model.connections > before + 1
