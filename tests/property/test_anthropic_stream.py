"""Streams of Anthropic's format: cut anywhere they come to the same, ended early they never come to an answer."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.anthropic.config import AnthropicProviderConfig
from kova._formats.anthropic.request import build_request
from kova._formats.anthropic.response import parse_response
from kova._formats.anthropic.stream import StreamParser
from kova.config import InferenceConfig
from kova.errors import KovaError, ProviderError, StreamError
from kova.messages import user_message
from kova.responses import StopEvent, TextDelta
from tests.cases import run_cases as runner
from tests.strategies import json_objects, json_values, pieces, texts, words

REQUEST = build_request(
    AnthropicProviderConfig("m", base_url="http://localhost"),
    None,
    [user_message("Hi")],
    (),
    InferenceConfig(),
    stream=True,
)
TERMINAL = b'"message_stop"'


def load_streams():
    for path in sorted((Path(runner.__file__).parent / "anthropic").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["mode"] == "stream" and case["response"]["status"] == 200:
            yield case["id"], b"".join(runner.body_chunks(case["response"]))


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
    last = stream.rfind(TERMINAL)
    for end in range(len(stream) if last < 0 else last + len(TERMINAL)):
        assert isinstance(play([stream[:end]]), tuple), f"cut after {end} bytes"


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_that_is_cut_within_its_last_line_end_is_the_same_answer(case):
    stream = STREAMS[case]
    last = stream.rfind(TERMINAL)
    for end in range(last + len(TERMINAL) + 1, len(stream)) if last >= 0 else ():
        assert play([stream[:end]]) == play([stream]), f"cut after {end} bytes"


# ---- complete and streamed answers are the same

COUNTS = st.none() | st.integers(0, 10_000)
texts_of_blocks = st.builds(lambda text: {"type": "text", "text": text}, texts)
thinking = st.builds(
    lambda text, signature: {"type": "thinking", "thinking": text, "signature": signature}, texts, words | st.just("")
)
calls = st.builds(
    lambda kind, id, name, given: {"type": kind, "id": id, "name": name, "input": given},
    st.sampled_from(["tool_use", "tool_use", "server_tool_use"]),
    words,
    words,
    json_objects,
)
others = st.builds(
    lambda kind, value: {"type": kind, "content": value},
    st.sampled_from(["redacted_thinking", "web_search_tool_result", "hologram"]),
    json_values,
)
answers = st.fixed_dictionaries(
    {
        "type": st.just("message"),
        "model": st.just("m"),
        "content": st.lists(texts_of_blocks | thinking | calls | others, max_size=5),
        "stop_reason": st.sampled_from(["end_turn", "max_tokens", "tool_use", "pause_turn", "refusal", "odd", None]),
        "usage": st.none() | st.fixed_dictionaries({"input_tokens": COUNTS, "cache_read_input_tokens": COUNTS}),
    }
)


def event(kind, **fields):
    value = {"type": kind, **fields}
    return b"event: " + kind.encode() + b"\ndata: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def events_of(answer, data):
    """The same answer as a stream, in pieces of any size."""
    yield event("message_start", message={"model": answer["model"], "content": [], "usage": {}})
    for index, block in enumerate(answer["content"]):
        is_cut = answer["stop_reason"] in ("max_tokens", "refusal") and block is answer["content"][-1]
        start, deltas = taken_apart(block, data, is_cut)
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": answer["stop_reason"]}, usage=answer["usage"])
    yield event("message_stop")


def taken_apart(block, data, is_cut):
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": text} for text in cut(block["text"], data)]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": text} for text in cut(block["thinking"], data)]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signature]
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"])
            if is_cut and block["type"] == "tool_use":
                written = written[:-1]
            deltas = [{"type": "input_json_delta", "partial_json": text} for text in cut(written, data)]
            return {**block, "input": {}}, deltas
    return block, []


def cut(text, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@given(answers, st.data())
def test_a_streamed_answer_equals_the_complete_one(answer, data):
    """L7."""
    streamed = play(data.draw(pieces(b"".join(events_of(answer, data)))))
    assert streamed == parse_response(json.dumps(answer).encode(), "application/json", REQUEST)


@given(answers, st.data())
def test_a_complete_answer_to_a_streaming_call_is_understood(answer, data):
    body = json.dumps(answer).encode()
    assert play(data.draw(pieces(body))) == parse_response(body, "application/json", REQUEST)


@given(answers, st.data())
def test_a_stream_in_place_of_a_complete_answer_is_understood(answer, data):
    stream = b"".join(events_of(answer, data))
    assert parse_response(stream, "text/event-stream", REQUEST) == parse_response(stream, "", REQUEST) == play([stream])


# ---- whatever comes, an error is one of kova's

NAMES = st.sampled_from(
    [
        *("type", "index", "delta", "content_block", "message", "content", "text", "thinking", "signature", "input"),
        *("partial_json", "id", "name", "caller", "usage", "input_tokens", "output_tokens_details", "stop_reason"),
        *("model", "error", "code", "request_id"),
    ]
)
KINDS = st.sampled_from(
    [
        *("message_start", "message_delta", "message", "content_block_start", "content_block_delta"),
        *("content_block_stop", "error", "text", "thinking", "tool_use", "server_tool_use", "text_delta"),
        *("thinking_delta", "signature_delta", "input_json_delta", "compaction_delta"),
    ]
)
odd_values = st.recursive(
    json_values | KINDS | st.sampled_from([0, 1, "{}", '{"a":', -1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
odd_events = st.dictionaries(NAMES, odd_values, max_size=4) | st.builds(
    lambda kind, fields: {**fields, "type": kind}, KINDS, st.dictionaries(NAMES, odd_values, max_size=4)
)


@given(st.lists(odd_events, max_size=5))
def test_events_of_any_shape_give_an_answer_or_one_of_kovas_errors(events):
    play([*[b"data: " + json.dumps(value).encode() + b"\n\n" for value in events], event("message_stop")])


@given(odd_values | odd_events)
def test_answers_of_any_shape_give_an_answer_or_one_of_kovas_errors(value):
    try:
        parse_response(json.dumps(value).encode(), "application/json", REQUEST)
    except (ProviderError, StreamError):
        pass


@given(st.binary(max_size=80))
def test_any_bytes_give_an_answer_or_one_of_kovas_errors(data):
    play([data])


@given(texts)
def test_surrogates_that_come_apart_are_put_together(text):
    """A JavaScript gateway cuts between the halves of a character and escapes each of them."""
    escaped = json.dumps(text + "🦀")[1:-1]
    delta = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}\n\n'
    answer = play([delta % escaped[:-6].encode(), delta % escaped[-6:].encode(), event("message_stop")])
    assert answer.text == text + "🦀"


def test_many_blocks_and_pieces_take_linear_time():
    start = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    blocks = [event("content_block_start", index=index, content_block={"type": "text"}) for index in range(2_000)]
    piece = event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": "[]"})
    call = event("content_block_start", index=0, content_block=start)
    answer = play([*blocks, call, *[piece * 1_000] * 100, event("message_stop")])
    assert answer.tool_calls[0].invalid_arguments == "[]" * 100_000
