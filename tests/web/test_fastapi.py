"""The FastAPI example under uvicorn."""

from __future__ import annotations

import functools
import json
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from kova.testing import Exchange, ModelServer, provider_error
from tests.web.servers import ROOT, WebServer

pytestmark = pytest.mark.timeout(120)

SOON = 5.0  # seconds: five times what a person should see
LIMIT = 20.0  # seconds
COMMAND = ["uvicorn", "--timeout-graceful-shutdown", "20", "--port", "{port}", "fastapi_chat:app"]


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[ModelServer]:
    model_server.requests.clear()
    yield model_server
    model_server.assert_used_up()


@pytest.fixture(scope="module")
def server(model_server: ModelServer) -> Iterator[WebServer]:
    with running(model_server) as server:
        yield server


def running(model: ModelServer) -> WebServer:
    environment = {
        "OPENAI_API_KEY": "key of the tests",
        "OPENAI_BASE_URL": model.url,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'examples'}",
    }
    return WebServer(COMMAND, environment, ready="/openapi.json")


def ask(server: WebServer, text: str, conversation: str = "1") -> list[str]:
    response = httpx.post(f"{server.url}/chats/{conversation}", json={"text": text}, timeout=LIMIT).raise_for_status()
    return [line for line in response.text.split("\n") if line]


def test_a_conversation(model: ModelServer, server: WebServer) -> None:
    """S5: JSON, whatever the model writes."""
    asking = functools.partial(ask, server, conversation="a whole one")
    hostile = "</script>\n\nevent: completed\r\n\u2028"
    model.play(hostile, "Yes.", provider_error(400, "a detail of the inside"))
    *_, name, data = asking("Hi")
    assert (name, json.loads(data.removeprefix("data: "))) == ("event: completed", {"text": hostile})
    assert asking("Sure?") == [
        "event: text",
        'data: {"text": "Yes."}',
        "event: completed",
        'data: {"text": "Yes."}',
    ]
    assert [message["content"] for message in model.requests[1].json()["messages"][1:]] == ["Hi", hostile, "Sure?"]
    assert asking("Really?") == ["event: error", 'data: {"error": "ProviderError", "is_retryable": false}']


def test_a_question_that_is_none(server: WebServer) -> None:
    for body in ({"text": " "}, {"text": "x" * 8_001}, {}):
        assert httpx.post(f"{server.url}/chats/1", json=body, timeout=LIMIT).status_code == 422


@pytest.mark.parametrize("words", [[], ["Hel"]], ids=["before the first word", "in the middle"])
def test_a_client_that_leaves_ends_the_turn(model: ModelServer, server: WebServer, words: list[str]) -> None:
    """T11, T12: the model's server sees it; nothing is stored, and no connection or thread stays behind."""
    gone: queue.Queue[bool] = queue.Queue()

    def silent(exchange: Exchange) -> Iterator[Any] | None:
        def parts() -> Iterator[Any]:
            yield from words
            gone.put(exchange.wait_for_disconnect(LIMIT))

        if words:
            return parts()
        gone.put(exchange.wait_for_disconnect(LIMIT))
        return None

    model.play("Hello")
    ask(server, "Hi")
    before = server.counts()
    model.play(*[silent] * 10)
    with ThreadPoolExecutor(10) as threads:
        list(threads.map(lambda number: leave(server, f"{len(words)}-{number}"), range(10)))
    left_at = time.monotonic()
    assert [gone.get(timeout=LIMIT) for _ in range(10)] == [True] * 10
    assert time.monotonic() - left_at < SOON
    until = time.monotonic() + LIMIT
    while server.counts() > before and time.monotonic() < until:
        time.sleep(0.1)
    assert server.counts() <= before
    model.play("Hello again")
    ask(server, "Are you there?", f"{len(words)}-3")
    assert len(model.requests[-1].json()["messages"]) == 2


def leave(server: WebServer, conversation: str) -> None:
    with (
        pytest.raises(httpx.ReadTimeout),
        httpx.stream("POST", f"{server.url}/chats/{conversation}", json={"text": "Hi"}, timeout=1) as response,
    ):
        for _ in response.iter_raw():
            pass


def test_a_server_that_is_told_to_end_lets_answers_end(model: ModelServer) -> None:
    """T10."""
    is_told = threading.Event()

    def answer(exchange: Exchange) -> Iterator[Any]:
        yield "Hel"
        assert is_told.wait(LIMIT)
        yield "lo"

    model.play(answer)
    with running(model) as server:
        with httpx.stream("POST", f"{server.url}/chats/1", json={"text": "Hi"}, timeout=LIMIT) as response:
            lines = response.iter_lines()
            assert [next(lines), next(lines)] == ["event: text", 'data: {"text": "Hel"}']
            server.terminate()
            is_told.set()
            assert 'data: {"text": "Hello"}' in list(lines)
        _, output = server.end()
        assert "Application shutdown complete" in output
        assert "Traceback" not in output
