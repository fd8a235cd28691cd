"""Streams of OpenAI's format: cut anywhere they come to the same, ended early they never come to an answer."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.openai.config import OpenAIProviderConfig
from kova._formats.openai.request import build_request
from kova._formats.openai.response import parse_response
from kova._formats.openai.stream import StreamParser
from kova._wire.content_encoding import decoder_for
from kova.config import InferenceConfig
from kova.errors import KovaError, ProviderError, StreamError
from kova.messages import user_message
from kova.responses import StopEvent, TextDelta
from tests.cases import run_cases as runner
from tests.strategies import answers, json_values, pieces, texts

REQUEST = build_request(
    OpenAIProviderConfig("m", base_url="http://localhost"),
    None,
    [user_message("Hi")],
    (),
    InferenceConfig(),
    stream=True,
)


def load_streams():
    for path in sorted((Path(runner.__file__).parent / "openai").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        response = case["response"]
        if case["mode"] == "stream" and response["status"] == 200 and path.stat().st_size < 100_000:
            decoder = decoder_for(response["headers"].get("content-encoding"))
            body = b"".join(runner.body_chunks(response))
            yield case["id"], decoder.feed(body) if decoder else body


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
    marks = [stream.find(mark) for mark in (b'"finish_reason":"', b"[DONE]") if mark in stream]
    for end in range(min(marks, default=len(stream))):
        assert isinstance(play([stream[:end]]), tuple), f"cut after {end} bytes"


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_that_is_cut_after_its_finish_reason_is_the_same_answer(case):
    stream = STREAMS[case]
    whole = play([stream])
    mark = stream.rfind(b'"finish_reason":"')
    end_of_line = stream.find(b"\n", mark)
    if isinstance(whole, tuple) or mark < 0 or end_of_line < 0:
        return
    for end in range(end_of_line, len(stream)):
        answer = play([stream[:end]])
        assert (answer.content, answer.stop_reason) == (whole.content, whole.stop_reason), f"cut after {end} bytes"


# ---- complete and streamed answers are the same


def complete(answer):
    message = {"role": "assistant", "content": answer["text"] or None, "reasoning_content": answer["reasoning"]}
    message["tool_calls"] = [call_of(call, json.dumps(call["arguments"])) for call in answer["calls"]]
    choice = {"index": 0, "message": message, "finish_reason": answer["finish_reason"]}
    return json.dumps({"model": "m", "choices": [choice], "usage": answer["usage"]}).encode()


def call_of(call, arguments):
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}


def chunks_of(answer, data):
    """The same answer as a stream, in pieces of any size."""
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in cut(answer["reasoning"], data)]
    deltas += [{"content": piece} for piece in cut(answer["text"], data)]
    for index, call in enumerate(answer["calls"]):
        first, *rest = cut(json.dumps(call["arguments"]), data)
        deltas.append({"tool_calls": [{"index": index, **call_of(call, first)}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in rest]
    chunks = [{"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": answer["finish_reason"]}]})
    chunks.append({"choices": [], "usage": answer["usage"]})
    lines = [b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n" for chunk in chunks]
    return b"".join([*lines, b"data: [DONE]\n\n"])


def cut(text, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@given(answers(), st.data())
def test_a_streamed_answer_equals_the_complete_one(answer, data):
    """L7."""
    streamed = play(data.draw(pieces(chunks_of(answer, data))))
    assert streamed == parse_response(complete(answer), "application/json", REQUEST)


@given(answers(), st.data())
def test_a_complete_answer_to_a_streaming_call_is_understood(answer, data):
    body = complete(answer)
    assert play(data.draw(pieces(body))) == parse_response(body, "application/json", REQUEST)


@given(answers(), st.data())
def test_a_stream_in_place_of_a_complete_answer_is_understood(answer, data):
    stream = chunks_of(answer, data)
    assert parse_response(stream, "text/event-stream", REQUEST) == parse_response(stream, "", REQUEST) == play([stream])


# ---- whatever comes, an error is one of kova's

NAMES = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "index",
        "usage",
        "finish_reason",
        "error",
        "code",
        "type",
        "metadata",
        "raw",
        "reasoning_details",
        "text",
        "prompt_tokens",
        "model",
    ]
)
odd_values = st.recursive(
    json_values | st.sampled_from([0, "add", "stop", "{}", '{"a":', -1, "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
odd_chunks = st.dictionaries(NAMES, odd_values, max_size=4) | st.builds(
    lambda delta, more: {"choices": [{"index": 0, "delta": delta, **more}]},
    st.dictionaries(NAMES, odd_values, max_size=4),
    st.dictionaries(NAMES, odd_values, max_size=2),
)


@given(st.lists(odd_chunks, max_size=4))
def test_chunks_of_any_shape_give_an_answer_or_one_of_kovas_errors(chunks):
    play([*[b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks], b"data: [DONE]\n\n"])


@given(odd_values)
def test_answers_of_any_shape_give_an_answer_or_one_of_kovas_errors(value):
    try:
        parse_response(json.dumps(value).encode(), "application/json", REQUEST)
    except (ProviderError, StreamError):
        pass


@given(st.binary(max_size=80))
def test_any_bytes_give_an_answer_or_one_of_kovas_errors(data):
    play([data])


@given(texts, st.data())
def test_surrogates_that_come_apart_are_put_together(text, data):
    """A JavaScript gateway cuts between the halves of a character and escapes each of them."""
    escaped = json.dumps(text + "🦀")[1:-1]
    halves = [escaped[:-6], escaped[-6:]]
    chunks = [b'data: {"choices":[{"index":0,"delta":{"content":"' + half.encode() + b'"}}]}\n\n' for half in halves]
    answer = play([*chunks, b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'])
    assert answer.text == text + "🦀"


def test_many_pieces_of_arguments_take_linear_time():
    """The id is repeated, and each piece looks like the end of an object and the beginning of another."""

    def piece(arguments):
        call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}
        return b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [call]}}]}).encode() + b"\n\n"

    end = b'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n'
    answer = play([piece('{"a":"'), *[piece("{}") * 1_000] * 100, end])
    assert answer.tool_calls[0].invalid_arguments == '{"a":"' + "{}" * 100_000
