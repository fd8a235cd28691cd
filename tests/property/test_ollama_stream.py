"""Streams of Ollama's format: cut anywhere they come to the same, ended early they never come to an answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.ollama.config import OllamaProviderConfig
from kova._formats.ollama.request import build_request
from kova._formats.ollama.response import parse_response
from kova._formats.ollama.stream import StreamParser
from kova.config import InferenceConfig
from kova.errors import KovaError, ProviderError, StreamError
from kova.messages import user_message
from kova.responses import StopEvent, TextDelta
from tests.cases import run_cases as runner
from tests.pure_cases import load_cases
from tests.strategies import answers, json_values, pieces, texts

REQUEST = build_request(OllamaProviderConfig("m"), None, [user_message("Hi")], (), InferenceConfig(), stream=True)


def load_streams():
    for parameters in load_cases("ollama"):
        (case,) = parameters.values
        if case["mode"] == "stream" and case["response"]["status"] == 200:
            body = b"".join(runner.body_chunks(case["response"]))
            if len(body) < 10_000:
                yield case["id"], body


STREAMS = dict(load_streams())
stream_ids = st.sampled_from(sorted(STREAMS))


def play(chunks):
    """What a driver does; the response, or the error and the text that came before it."""
    parser, events = StreamParser(REQUEST), []
    try:
        for chunk in chunks:
            events += parser.feed(chunk)
            if parser.finished:
                break
        events += parser.close()
    except KovaError as error:
        return type(error), str(error), text_of(events)
    assert isinstance(events[-1], StopEvent)
    assert events[-1].stop_reason is parser.response().stop_reason
    assert text_of(events) == parser.response().text
    return parser.response()


def text_of(events):
    return "".join([event.text for event in events if isinstance(event, TextDelta)])


@given(stream_ids, st.data())
def test_a_stream_comes_to_the_same_however_it_is_cut(case, data):
    stream = STREAMS[case]
    assert play(data.draw(pieces(stream))) == play([stream])


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_comes_to_the_same_byte_for_byte(case):
    stream = STREAMS[case]
    assert play([stream[index : index + 1] for index in range(len(stream))]) == play([stream])


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_that_ends_early_is_an_error_and_never_an_answer(case):
    stream = STREAMS[case]
    for end in range(len(stream.rstrip())):
        assert isinstance(play([stream[:end]]), tuple), f"cut after {end} bytes"


@pytest.mark.parametrize("case", STREAMS)
def test_an_answer_without_its_last_line_end_is_the_same(case):
    whole = play([STREAMS[case]])
    if not isinstance(whole, tuple):
        assert play([STREAMS[case].rstrip()]) == whole


# ---- complete and streamed answers are the same


def calls_of(answer):
    return [
        {"id": call["id"], "function": {"index": index, "name": call["name"], "arguments": call["arguments"]}}
        for index, call in enumerate(answer["calls"])
    ]


def counts_of(answer):
    usage = answer["usage"] or {}
    return {"prompt_eval_count": usage.get("prompt_tokens"), "eval_count": usage.get("completion_tokens")}


def written(message, done=False, **fields):
    value = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", **message}}
    return json.dumps({**value, "done": done, **fields}, ensure_ascii=False).encode()


def complete(answer):
    message = {"content": answer["text"], "thinking": answer["reasoning"], "tool_calls": calls_of(answer)}
    return written(message, True, done_reason=answer["finish_reason"], **counts_of(answer))


def lines_of(answer, data):
    """The same answer as a stream, in pieces of any size, the calls in any lines from the last text on."""
    lines = [written({"content": "", "thinking": piece}) for piece in cut(answer["reasoning"], data)]
    lines += [written({"content": piece}) for piece in cut(answer["text"], data)]
    calls = calls_of(answer)
    last = data.draw(st.integers(0, len(calls)))
    lines += [written({"content": "", "tool_calls": [call]}) for call in calls[:last]]
    message = {"content": "", "tool_calls": calls[last:]} if last < len(calls) else {"content": ""}
    lines.append(written(message, True, done_reason=answer["finish_reason"], **counts_of(answer)))
    return b"".join([line + data.draw(st.sampled_from([b"\n", b"\r\n", b"\n \n"])) for line in lines])


def cut(text, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@given(answers(), st.data())
def test_a_streamed_answer_equals_the_complete_one(answer, data):
    """L7."""
    streamed = play(data.draw(pieces(lines_of(answer, data))))
    assert streamed == parse_response(complete(answer), "application/json", REQUEST)


@given(answers(), st.data())
def test_a_complete_answer_to_a_streaming_call_is_understood(answer, data):
    body = complete(answer)
    expected = parse_response(body, "application/json", REQUEST)
    assert play(data.draw(pieces(body))) == expected
    pretty = json.dumps(json.loads(body), indent=2).encode()
    assert play(data.draw(pieces(pretty))) == expected


@given(answers(), st.data())
def test_a_stream_in_place_of_a_complete_answer_is_understood(answer, data):
    stream = lines_of(answer, data)
    assert parse_response(stream, "application/x-ndjson", REQUEST) == parse_response(stream, "", REQUEST)
    assert parse_response(stream, "", REQUEST) == play([stream])


@given(texts, st.data())
def test_surrogates_that_come_apart_are_put_together(text, data):
    """A server in JavaScript cuts between the halves of a character and escapes each of them."""
    escaped = json.dumps(text + "🦀")[1:-1]
    halves = [b'{"message":{"content":"' + half.encode() + b'"}}\n' for half in (escaped[:-6], escaped[-6:])]
    assert play([*halves, b'{"done":true}\n']).text == text + "🦀"


# ---- whatever comes, an error is one of kova's

NAMES = st.sampled_from(
    [
        "arguments",
        "code",
        "content",
        "done",
        "done_reason",
        "error",
        "eval_count",
        "function",
        "id",
        "message",
        "model",
        "name",
        "prompt_eval_count",
        "role",
        "status",
        "thinking",
        "tool_calls",
        "type",
    ]
)
odd_values = st.recursive(
    json_values | st.sampled_from([0, "add", "stop", "{}", '{"a":', -1, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
odd_lines = st.dictionaries(NAMES, odd_values, max_size=4) | st.builds(
    lambda message, more: {"message": message, **more},
    st.dictionaries(NAMES, odd_values, max_size=4),
    st.dictionaries(NAMES, odd_values, max_size=2),
)


@given(st.lists(odd_lines, max_size=4))
def test_lines_of_any_shape_give_an_answer_or_one_of_kovas_errors(lines):
    play([*[json.dumps(line).encode() + b"\n" for line in lines], b'{"done":true}\n'])


@given(odd_values | odd_lines)
def test_answers_of_any_shape_give_an_answer_or_one_of_kovas_errors(value):
    try:
        parse_response(json.dumps(value).encode(), "application/json", REQUEST)
    except (ProviderError, StreamError):
        pass


@given(st.binary(max_size=80))
def test_any_bytes_give_an_answer_or_one_of_kovas_errors(data):
    play([data])


def test_many_lines_with_calls_take_linear_time():
    line = written({"content": "", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {}}}]}) + b"\n"
    assert len(play([line * 10_000, b'{"done":true}\n']).tool_calls) == 1
