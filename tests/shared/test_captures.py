"""What the formats make of answers that real servers have given."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import kova
from kova._formats.format import Format
from kova._formats.openai.request import NO_NAMES
from kova._formats.wire import WireRequest
from tests.captures import ANSWERS, ERRORS, EXPECTED, FOLDER, MODELS, captured, expected, seen, seen_error

REQUEST = WireRequest("POST", "http://127.0.0.1/", {}, b"{}", "m", NO_NAMES)


def format_of(name: str) -> Format[Any]:
    form: Format[Any] = importlib.import_module(f"kova._formats.{EXPECTED[name]['format']}").FORMAT
    return form


def streamed(form: Format[Any], body: bytes, size: int) -> kova.ModelResponse:
    parser = form.stream_parser(REQUEST)
    events: list[kova.StreamEvent] = []
    for start in range(0, len(body), size):
        if parser.finished:
            break
        events += parser.feed(body[start : start + size])
    events += parser.close()
    response = parser.response()
    assert "".join(event.text for event in events if isinstance(event, kova.TextDelta)) == response.text
    assert events[-1] == kova.StopEvent(response.stop_reason, response.raw_stop_reason)
    return response


def test_every_capture_is_expected_to_be_something() -> None:
    files = {str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.http")}
    assert files == {*ANSWERS, *ERRORS, *MODELS} == EXPECTED.keys()
    assert {EXPECTED[name]["format"] for name in ANSWERS} == {"anthropic", "bedrock", "gemini", "ollama", "openai"}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_what_the_server_meant(name: str) -> None:
    """L7: streams whole, byte by byte, and read as if they had not been asked for."""
    answer, form = captured(name), format_of(name)
    assert answer.status == 200
    assert seen(form.parse_response(answer.body, answer.content_type, REQUEST)) == expected(name)
    if answer.is_stream:
        for size in (len(answer.body), 1, 7, 1000):
            assert seen(streamed(form, answer.body, size)) == expected(name)


@pytest.mark.parametrize("name", [name for name in ANSWERS if captured(name).is_stream])
def test_a_stream_that_is_cut_short_is_an_error(name: str) -> None:
    """R5: wherever that is; the mark of the end is in the last quarter of what is sent."""
    body, form = captured(name).body, format_of(name)
    for end in range(0, len(body) * 3 // 4, 50):
        with pytest.raises(kova.StreamError):
            streamed(form, body[:end], 100)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_has_its_class(name: str) -> None:
    """R1."""
    answer = captured(name)
    error = format_of(name).parse_error(answer.status, answer.headers, answer.body, REQUEST, ())
    assert seen_error(error) == expected(name)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_listed(name: str) -> None:
    listed = format_of(name).parse_models(captured(name).body, REQUEST)
    assert {"models": [[model.id, model.created, model.owned_by] for model in listed]} == expected(name)
