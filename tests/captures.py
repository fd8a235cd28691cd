"""Answers of real servers, byte for byte as they came over the socket, and what each of them is to kova.

See `tests/data/captures/README.md` for where they are from.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import h11
from attrs import astuple

import kova

FOLDER = Path(__file__).parent / "data" / "captures"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))
STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")

ANSWERS = [name for name, what in EXPECTED.items() if "stop" in what]
ERRORS = [name for name, what in EXPECTED.items() if "class" in what]
MODELS = [name for name, what in EXPECTED.items() if "models" in what]


class Captured(NamedTuple):
    """A response as an HTTP client sees it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def is_stream(self) -> bool:
        return self.status == 200 and self.content_type.startswith(STREAMS)


def raw(name: str) -> bytes:
    """All that came over the socket."""
    return (FOLDER / f"{name}.http").read_bytes()


def captured(name: str) -> Captured:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw(name))
    connection.receive_data(b"")
    head = connection.next_event()
    assert isinstance(head, h11.Response)
    body = b""
    while isinstance(event := connection.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    return Captured(head.status_code, {key.decode(): value.decode() for key, value in head.headers}, body)


def expected(name: str) -> dict[str, Any]:
    return {key: value for key, value in EXPECTED[name].items() if key != "format"}


def seen(response: kova.ModelResponse) -> dict[str, Any]:
    """What a user sees of an answer, in the words of the expectations."""
    assert all(block.id and block.invalid_arguments is None for block in response.tool_calls)
    return {
        "text": response.text,
        "calls": [[block.name, dict(block.input)] for block in response.tool_calls],
        "stop": [response.stop_reason.value, response.raw_stop_reason],
        "usage": list(astuple(response.usage)),
        "model": response.model,
    }


def seen_error(error: kova.ProviderError) -> dict[str, Any]:
    """The same for an error."""
    return {
        "class": error.provider_class and error.provider_class.value,
        "status": error.status_code,
        "message": str(error),
        "is_retryable": error.is_retryable,
        "is_context_length": error.is_context_length,
    }
