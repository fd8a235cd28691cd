"""Turns as Server-Sent Events, in Django's responses."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpRequest, StreamingHttpResponse
from django.test import AsyncRequestFactory, RequestFactory

import kova
from kova.contrib.django import EventStreamResponse, event_stream
from kova.testing import AsyncScriptedProvider, Delay, ScriptedProvider, call, provider_error

HOSTILE = "</script>&\n\n\u2028event: completed\r\ndata: {}"
QUICKLY = 2.0  # seconds

Open = Callable[[kova.CancellationToken], Any]


@kova.tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def events_of(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    """What a browser's parser makes of it."""
    frames = re.split(r"\r\n\r\n|\n\n|\r\r", body.decode())
    assert frames.pop() == ""
    matches = [re.fullmatch(r"event: (\w+)\ndata: (.*)", frame) for frame in frames]
    return [(match[1], json.loads(match[2])) for match in matches if match is not None or pytest.fail(str(frames))]


def blocking(*answers: Any) -> Open:
    agent = kova.Agent(ScriptedProvider(*answers), tools=[echo], retry_config=kova.RetryConfig.disabled())
    return lambda cancel: agent.run_stream("Hi", cancel=cancel)


def asynchronous(*answers: Any) -> Open:
    agent = kova.AsyncAgent(AsyncScriptedProvider(*answers), tools=[echo], retry_config=kova.RetryConfig.disabled())
    return lambda cancel: agent.run_stream("Hi", cancel=cancel)


async def read(response: StreamingHttpResponse) -> bytes:
    return b"".join([chunk async for chunk in response])


def body_of(make: Callable[..., Open], kind: str, *answers: Any) -> bytes:
    """The body of a response, by WSGI or ASGI."""
    if kind == "asgi":
        return async_to_sync(read)(EventStreamResponse(AsyncRequestFactory().post("/"), make(*answers)))
    return b"".join(EventStreamResponse(RequestFactory().post("/"), make(*answers)))


WAYS = pytest.mark.parametrize(
    ("make", "kind"),
    [(blocking, "wsgi"), (asynchronous, "wsgi"), (asynchronous, "asgi")],
    ids=["blocking under WSGI", "async under WSGI", "async under ASGI"],
)


@WAYS
def test_a_turn(make: Any, kind: str) -> None:
    """S5: whatever the model and the tools say, the frames stay whole, and there is no markup in them."""
    body = body_of(make, kind, call("echo", text=HOSTILE), HOSTILE)
    assert not re.search(rb"[<>&\r\x80-\xff]", body)
    started, finished, *texts, completed = events_of(body)
    assert started == ("tool_started", {"id": started[1]["id"], "name": "echo", "input": {"text": HOSTILE}})
    result = {"id": started[1]["id"], "name": "echo", "text": HOSTILE, "is_error": False}
    assert finished == ("tool_finished", result)
    assert "".join(data["text"] for name, data in texts if name == "text") == HOSTILE
    assert completed == ("completed", {"text": HOSTILE, "stop_reason": "end_turn"})


@WAYS
def test_a_failure_is_the_last_event(make: Any, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """S3: the page learns the class, the log has the rest."""
    with caplog.at_level(logging.ERROR, "kova"):
        body = body_of(make, kind, provider_error(503, "internal name of a host"))
    assert events_of(body) == [("error", {"error": "ProviderError", "is_retryable": True})]
    assert "internal name of a host" in caplog.text


@WAYS
def test_the_headers_keep_proxies_from_collecting(make: Any, kind: str) -> None:
    response = EventStreamResponse(RequestFactory().post("/"), make("Hello"))
    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-store"
    assert response["X-Accel-Buffering"] == "no"
    response.close()


def test_a_blocking_stream_is_refused_under_asgi() -> None:
    """T8: it would hold up the loop."""
    with pytest.raises(kova.BuildError, match="async_agent"):
        EventStreamResponse(AsyncRequestFactory().post("/"), blocking("Hello"))


def test_a_plain_streaming_response_takes_the_events() -> None:
    assert events_of(b"".join(StreamingHttpResponse(event_stream(blocking("Hello")(kova.CancellationToken())))))

    async def view() -> bytes:
        return await read(StreamingHttpResponse(event_stream(asynchronous("Hello")(kova.CancellationToken()))))

    assert events_of(asyncio.run(view()))


@pytest.mark.parametrize("make", [blocking, asynchronous])
def test_closing_the_response_ends_the_turn(make: Any) -> None:
    """T11."""
    response = EventStreamResponse(RequestFactory().post("/"), make(["Hel", Delay(math.inf)]))
    frames = iter(response)
    assert b"Hel" in next(frames)
    before = threading.active_count()
    response.close()
    assert threading.active_count() <= before
    assert list(frames) == []


@pytest.mark.parametrize("make", [blocking, asynchronous])
def test_a_client_that_goes_ends_the_turn_while_the_model_is_silent(make: Any) -> None:
    """T12: under gunicorn, whose socket it is."""
    server_side, client_side = socket.socketpair()
    request: HttpRequest = RequestFactory().post("/", **{"gunicorn.socket": server_side})
    with server_side:
        response = EventStreamResponse(request, make(Delay(math.inf)))
        threading.Timer(0.1, client_side.close).start()
        assert events_of(b"".join(response)) == [("cancelled", {})]
        response.close()


def test_what_the_client_sends_is_left_to_the_server() -> None:
    server_side, client_side = socket.socketpair()
    with server_side, client_side:
        client_side.sendall(b"GET /next")
        request: HttpRequest = RequestFactory().post("/", **{"gunicorn.socket": server_side})
        response = EventStreamResponse(request, blocking([Delay(0.5), "Hello"]))
        assert events_of(b"".join(response))[-1][0] == "completed"
        response.close()
        assert server_side.recv(100) == b"GET /next"
