"""Streams of Gemini's format: cut anywhere they come to the same, ended early they never come to an answer."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.gemini.config import GeminiProviderConfig
from kova._formats.gemini.request import build_request
from kova._formats.gemini.response import parse_response
from kova._formats.gemini.stream import StreamParser
from kova.config import InferenceConfig
from kova.errors import KovaError, ProviderError, StreamError
from kova.messages import user_message
from kova.responses import StopEvent, TextDelta
from tests.cases import run_cases as runner
from tests.strategies import json_objects, json_values, pieces, texts, words

REQUEST = build_request(
    GeminiProviderConfig("m", base_url="http://localhost"),
    None,
    [user_message("Hi")],
    (),
    InferenceConfig(),
    stream=True,
)


def load_streams():
    for path in sorted((Path(runner.__file__).parent / "gemini").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["mode"] == "stream" and case["response"]["status"] == 200:
            yield case["id"], b"".join(runner.body_chunks(case["response"]))


STREAMS = dict(load_streams())
stream_ids = st.sampled_from(sorted(STREAMS))

ENDS = (b'"finishReason"', b'"blockReason"')


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
    marks = [stream.find(mark) for mark in ENDS if mark in stream]
    for end in range(min(marks, default=len(stream))):
        assert isinstance(play([stream[:end]]), tuple), f"cut after {end} bytes"


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_that_is_cut_after_its_end_is_the_same_answer(case):
    stream = STREAMS[case]
    whole = play([stream])
    end_of_json = stream.rfind(b"}") + 1
    if isinstance(whole, tuple):
        return
    for end in range(end_of_json, len(stream)):
        assert play([stream[:end]]) == whole, f"cut after {end} bytes"


# ---- complete and streamed answers are the same

signatures = st.none() | words
parts = st.one_of(
    st.builds(lambda text, signature: signed({"text": text}, signature), texts, signatures),
    st.builds(lambda text, signature: signed({"text": text, "thought": True}, signature), texts, signatures),
    st.builds(
        lambda name, args, signature: signed({"functionCall": {"name": name, "args": args}}, signature),
        words,
        json_objects,
        signatures,
    ),
    st.builds(lambda code: {"executableCode": {"language": "PYTHON", "code": code}}, texts),
)


def signed(part, signature):
    return part if signature is None else {**part, "thoughtSignature": signature}


@st.composite
def answers(draw):
    """What a model says, as the body of a complete answer would have it."""
    candidate = {"index": 0, "content": {"role": "model", "parts": draw(st.lists(parts, max_size=5))}}
    candidate["finishReason"] = draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY", "ODD"]))
    counts = st.dictionaries(
        st.sampled_from(["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"]),
        st.integers(0, 10_000),
    )
    return {"candidates": [candidate], "usageMetadata": draw(counts), "modelVersion": "m-1", "responseId": "r1"}


def chunks_of(answer, data):
    """The same answer as a stream: each part in a chunk of its own, unsigned text in pieces of any size."""
    (candidate,) = answer["candidates"]
    streamed = []
    for part in candidate["content"]["parts"]:
        if part.keys() <= {"text", "thought"}:
            streamed += [{**part, "text": piece} for piece in cut(part["text"], data)]
        else:
            streamed.append(part)
    chunks = [{"candidates": [{"index": 0, "content": {"parts": [part]}}], "modelVersion": "m-1"} for part in streamed]
    chunks.append({**answer, "candidates": [{**candidate, "content": {"parts": []}}]})
    return b"".join([b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\r\n\r\n" for chunk in chunks])


def cut(text, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@given(answers(), st.data())
def test_a_streamed_answer_equals_the_complete_one(answer, data):
    """L7."""
    streamed = play(data.draw(pieces(chunks_of(answer, data))))
    assert streamed == parse_response(json.dumps(answer).encode(), "application/json", REQUEST)


@given(answers(), st.data())
def test_a_complete_answer_to_a_streaming_call_is_understood(answer, data):
    body = json.dumps(answer).encode()
    whole = parse_response(body, "application/json", REQUEST)
    assert play(data.draw(pieces(body))) == play([b"[" + body + b"]"]) == whole


@given(answers(), st.data())
def test_a_stream_in_place_of_a_complete_answer_is_understood(answer, data):
    stream = chunks_of(answer, data)
    assert parse_response(stream, "text/event-stream", REQUEST) == parse_response(stream, "", REQUEST) == play([stream])


# ---- whatever comes, an error is one of kova's

NAMES = st.sampled_from(
    [
        "candidates",
        "content",
        "parts",
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "name",
        "args",
        "id",
        "index",
        "finishReason",
        "usageMetadata",
        "promptTokenCount",
        "promptFeedback",
        "blockReason",
        "modelVersion",
        "responseId",
        "error",
        "code",
        "status",
        "message",
        "details",
    ]
)
odd_values = st.recursive(
    json_values | st.sampled_from([0, "add", "STOP", "{}", '{"a":', -1, "error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
odd_chunks = st.dictionaries(NAMES, odd_values, max_size=4) | st.builds(
    lambda part, more: {"candidates": [{"index": 0, "content": {"parts": [part]}, **more}]},
    st.dictionaries(NAMES, odd_values, max_size=4),
    st.dictionaries(NAMES, odd_values, max_size=2),
)
END = b'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n'


@given(st.lists(odd_chunks, max_size=4))
def test_chunks_of_any_shape_give_an_answer_or_one_of_kovas_errors(chunks):
    play([*[b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks], END])


@given(odd_values)
def test_answers_of_any_shape_give_an_answer_or_one_of_kovas_errors(value):
    try:
        parse_response(json.dumps(value).encode(), "application/json", REQUEST)
    except (ProviderError, StreamError):
        pass


@given(st.binary(max_size=80))
def test_any_bytes_give_an_answer_or_one_of_kovas_errors(data):
    play([data])
    play([END[:-4] + data])
