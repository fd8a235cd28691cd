"""Streams of Bedrock's format: cut anywhere they come to the same, ended early or corrupt never to an answer."""

import base64
import json
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._formats.bedrock.config import BedrockProviderConfig
from kova._formats.bedrock.request import build_request
from kova._formats.bedrock.response import parse_response
from kova._formats.bedrock.stream import StreamParser
from kova._wire.aws_eventstream import FRAME_LIMIT, AWSEventStreamParser
from kova.config import InferenceConfig
from kova.errors import KovaError, ProviderError, StreamError
from kova.messages import user_message
from kova.responses import StopEvent, TextDelta
from tests.cases import run_cases as runner
from tests.strategies import json_objects, json_values, pieces, texts, words

REQUEST = build_request(
    BedrockProviderConfig("m", region="us-east-1"), None, [user_message("Hi")], (), InferenceConfig(), stream=True
)


def load_streams():
    for path in sorted((Path(runner.__file__).parent / "bedrock").glob("*.json")):
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


def frames_of(stream):
    """The frames of a stream, by the lengths that they claim."""
    while stream:
        (size,) = struct.unpack_from(">I", stream)
        yield stream[:size]
        stream = stream[size:]


def end_of_answer(stream):
    """Where the frame ends that ends the answer; that of the stream where there is none."""
    end = 0
    for frame in frames_of(stream):
        end += len(frame)
        if b"messageStop" in frame:
            return end
    return len(stream) + 1


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
    for end in range(min(end_of_answer(stream), len(stream))):
        assert isinstance(play([stream[:end]]), tuple), f"cut after {end} bytes"


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_that_is_cut_after_its_message_stop_is_the_same_answer(case):
    stream = STREAMS[case]
    whole = play([stream])
    if isinstance(whole, tuple):
        return  # a frame before it is corrupt
    for end in range(end_of_answer(stream), len(stream)):
        answer = play([stream[:end]])
        assert (answer.content, answer.stop_reason) == (whole.content, whole.stop_reason), f"cut after {end} bytes"


# ---- corrupt frames

ANSWER = STREAMS["bedrock-stream-basic"]
FRAMES = list(frames_of(ANSWER))


def test_a_flipped_bit_is_an_error_and_never_an_answer():
    """Wherever it is, in lengths, headers, payloads or CRCs; a length is an error before more is waited for."""
    for place in range(sum(map(len, FRAMES[:4]))):
        corrupt = bytearray(ANSWER)
        corrupt[place] ^= 1 << place % 8
        kind, message, text = play([bytes(corrupt)])
        assert kind is StreamError, f"byte {place}"
        assert "corrupt" in message
        assert "Hello".startswith(text)


@given(st.integers(0, len(ANSWER) - 1), st.integers(0, 255), st.data())
def test_a_wrong_byte_never_changes_what_is_said(place, byte, data):
    corrupt = ANSWER[:place] + bytes([byte]) + ANSWER[place + 1 :]
    came = play(data.draw(pieces(corrupt)))
    if corrupt == ANSWER or place >= end_of_answer(ANSWER):
        assert came == play([ANSWER]) or came[0] is StreamError
    else:
        assert came[0] is StreamError


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.booleans(), st.binary(max_size=40))
def test_lengths_of_any_size_are_waited_for_or_an_error(size, headers_size, is_true, rest):
    lengths = struct.pack(">II", size, headers_size)
    prelude = lengths + struct.pack(">I", zlib.crc32(lengths) ^ (not is_true))
    parser = AWSEventStreamParser()
    try:
        frames = list(parser.feed(prelude + rest))
    except StreamError:
        return
    assert is_true
    assert not frames or size <= len(prelude + rest)
    assert 16 + headers_size <= size <= FRAME_LIMIT


def sealed(headers, payload=b""):
    """A frame with right CRCs around whatever is in it."""
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


@given(st.binary(max_size=40), st.binary(max_size=20))
def test_headers_of_any_bytes_are_read_or_an_error(headers, payload):
    try:
        ((read, content),) = AWSEventStreamParser().feed(sealed(headers, payload))
    except StreamError:
        return
    assert isinstance(read, dict)
    assert content == payload


@given(st.integers(10, 255))
def test_a_header_of_a_type_that_does_not_exist_is_an_error(kind):
    with pytest.raises(StreamError, match="corrupt"):
        list(AWSEventStreamParser().feed(sealed(b"\x01a" + bytes([kind]) + b"\0" * 8)))


def test_a_frame_beyond_the_limit_is_an_error():
    """S4."""
    frame = sealed(b"", b"x" * 100)
    assert len(list(AWSEventStreamParser(limit=len(frame)).feed(frame))) == 1
    for data in (frame, frame[:12]):
        with pytest.raises(StreamError, match="larger than 115 bytes"):
            list(AWSEventStreamParser(limit=len(frame) - 1).feed(data))


@pytest.mark.parametrize("size", [1, 1_000, 10_000_000])
def test_a_large_frame_takes_linear_time_in_pieces_of_any_size(size):
    frame = sealed(b"", b"x" * (2_000_000 if size > 1 else 300_000))
    parser = AWSEventStreamParser()
    frames = [each for start in range(0, len(frame), size) for each in parser.feed(frame[start : start + size])]
    assert len(frames) == 1


# ---- complete and streamed answers are the same

COUNTS = st.none() | st.integers(0, 10_000)
base64_texts = st.binary(min_size=1, max_size=6).map(lambda data: base64.b64encode(data).decode())
text_blocks = st.builds(lambda text: {"text": text}, texts)
reasoning = st.builds(
    lambda text, signature: {"reasoningContent": {"reasoningText": {"text": text, **signature}}},
    texts,
    st.just({}) | st.builds(lambda signature: {"signature": signature}, words),
)
redacted = st.builds(lambda data: {"reasoningContent": {"redactedContent": data}}, base64_texts)
calls = st.builds(
    lambda id, name, given: {"toolUse": {"toolUseId": id, "name": name, "input": given}}, words, words, json_objects
)
answers = st.fixed_dictionaries(
    {
        "output": st.builds(
            lambda content: {"message": {"role": "assistant", "content": content}},
            st.lists(text_blocks | reasoning | redacted | calls, max_size=5),
        ),
        "stopReason": st.sampled_from(["end_turn", "tool_use", "max_tokens", "stop_sequence", "odd"]),
        "usage": st.none() | st.fixed_dictionaries({"inputTokens": COUNTS, "cacheReadInputTokens": COUNTS}),
    }
)


def event(kind, **fields):
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return runner.encode_frame({"headers": headers, "payload": {**fields, "p": "abcdef"}})


def events_of(answer, data):
    """The same answer as a stream, in pieces of any size."""
    yield event("messageStart", role="assistant")
    for index, block in enumerate(answer["output"]["message"]["content"]):
        start, deltas = taken_apart(block, data)
        if start is not None:
            yield event("contentBlockStart", contentBlockIndex=index, start=start)
        for delta in deltas:
            yield event("contentBlockDelta", contentBlockIndex=index, delta=delta)
        yield event("contentBlockStop", contentBlockIndex=index)
    yield event("messageStop", stopReason=answer["stopReason"])
    yield event("metadata", usage=answer["usage"], metrics={"latencyMs": 1})


def taken_apart(block, data):
    """How a stream begins a block, if it says so, and goes on with it."""
    if "text" in block:
        return None, [{"text": piece} for piece in cut(block["text"], data)]
    if "toolUse" in block:
        call = dict(block["toolUse"])
        given_input = json.dumps(call.pop("input"))
        return {"toolUse": call}, [{"toolUse": {"input": piece}} for piece in cut(given_input, data)]
    content = block["reasoningContent"]
    if "redactedContent" in content:
        whole = base64.b64decode(content["redactedContent"])
        encoded = [base64.b64encode(piece).decode() for piece in data.draw(pieces(whole, most=2)) if piece]
        return None, [{"reasoningContent": {"redactedContent": piece}} for piece in encoded]
    text = content["reasoningText"]
    deltas = [{"text": piece} for piece in cut(text["text"], data)]
    if "signature" in text:
        deltas.append({"signature": text["signature"]})
    return None, [{"reasoningContent": delta} for delta in deltas]


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


# ---- whatever comes, an error is one of kova's

NAMES = st.sampled_from(
    [
        "contentBlockIndex",
        "delta",
        "start",
        "text",
        "toolUse",
        "toolUseId",
        "name",
        "input",
        "type",
        "reasoningContent",
        "reasoningText",
        "redactedContent",
        "signature",
        "citationsContent",
        "content",
        "message",
        "output",
        "stopReason",
        "usage",
        "inputTokens",
        "trace",
        "promptRouter",
        "invokedModelId",
        "__type",
    ]
)
odd_values = st.recursive(
    json_values | st.sampled_from([0, 1, "add", "{}", '{"a":', -1, "server_tool_use", "end_turn", "b3BhcXVl"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)
odd_events = st.builds(
    lambda kind, fields: event(kind, **fields),
    st.sampled_from(
        [
            "messageStart",
            "contentBlockStart",
            "contentBlockDelta",
            "contentBlockDelta",
            "contentBlockStop",
            "messageStop",
            "metadata",
            "hologram",
        ]
    ),
    st.dictionaries(NAMES, odd_values, max_size=4),
)


@given(st.lists(odd_events, max_size=6))
def test_events_of_any_shape_give_an_answer_or_one_of_kovas_errors(events):
    play([*events, event("messageStop", stopReason="end_turn"), event("metadata")])


@given(st.dictionaries(st.sampled_from([":message-type", ":exception-type", ":error-code"]), texts), odd_values)
def test_frames_of_any_kind_give_an_answer_or_one_of_kovas_errors(headers, payload):
    play([runner.encode_frame({"headers": headers, "payload": payload})])


@given(odd_values)
def test_answers_of_any_shape_give_an_answer_or_one_of_kovas_errors(value):
    try:
        parse_response(json.dumps(value).encode(), "application/json", REQUEST)
    except (ProviderError, StreamError):
        pass


@given(st.binary(max_size=80))
def test_any_bytes_give_an_answer_or_one_of_kovas_errors(data):
    play([data])
