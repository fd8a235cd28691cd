"""Time grows with the size of a stream and not with its square, however it is cut: four times as much, not sixteen.

CPU time is compared and not bounded, so that it does not matter how fast the machine is.
"""

from __future__ import annotations

import importlib
import json
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kova._formats.openai.request import NO_NAMES
from kova._formats.wire import WireRequest
from kova._wire.aws_eventstream import AWSEventStreamParser
from kova._wire.content_encoding import Decoder
from kova._wire.ndjson import NDJSONParser
from kova._wire.sse import SSEParser
from tests.cases.run_cases import encode_frame

LINE = 10_000_000  # bytes
PIECES = 1_000_000
MOST = 4 * 3  # times as long for four times as much

REQUEST = WireRequest("POST", "http://127.0.0.1/", {}, b"{}", "m", NO_NAMES)


class Stream(NamedTuple):
    """A kind of stream, and what reads it.

    Attributes:
        parser: Makes a new parser.
        event: An event with a text of this many characters, as bytes.
        end: What the stream ends with.
    """

    parser: Callable[[], Any]
    event: Callable[[int], bytes]
    end: bytes


def provider(name: str) -> Callable[[], Any]:
    form = importlib.import_module(f"kova._formats.{name}").FORMAT
    return lambda: form.stream_parser(REQUEST)


def sse(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def frame(kind: str, **fields: object) -> bytes:
    return encode_frame({"headers": {":event-type": kind, ":message-type": "event"}, "payload": fields})


def choice(finish: str | None = None, **delta: object) -> bytes:
    return sse({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def block(**fields: object) -> bytes:
    return sse({"type": "content_block_delta", "index": 0, **fields})


def part(finish: str | None = None, **fields: object) -> bytes:
    return sse({"candidates": [{"index": 0, "content": {"parts": [fields]}, "finishReason": finish}]})


def message(*, done: bool = False, **fields: object) -> bytes:
    return line({"message": {"role": "assistant", **fields}, "done": done})


STREAMS = {
    "sse": Stream(SSEParser, lambda size: sse("x" * size), b""),
    "ndjson": Stream(NDJSONParser, lambda size: line("x" * size), b""),
    "aws event stream": Stream(AWSEventStreamParser, lambda size: frame("x", text="x" * size), b""),
    "openai": Stream(provider("openai"), lambda size: choice(content="x" * size), choice("stop") + b"data: [DONE]\n\n"),
    "anthropic": Stream(
        provider("anthropic"),
        lambda size: block(delta={"type": "text_delta", "text": "x" * size}),
        sse({"type": "message_stop"}),
    ),
    "gemini": Stream(provider("gemini"), lambda size: part(text="x" * size), part("STOP", text="")),
    "ollama": Stream(provider("ollama"), lambda size: message(content="x" * size), message(done=True, content="")),
    "bedrock": Stream(
        provider("bedrock"),
        lambda size: frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "x" * size}),
        frame("messageStop", stopReason="end_turn") + frame("metadata"),
    ),
}


@pytest.fixture(params=STREAMS)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(params=["sse", "ndjson", "aws event stream"])
def wire_parser(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def seconds_of_a_pass(body: bytes) -> float:
    """CPU time that it takes to copy a body."""
    start = time.process_time()
    assert bytearray(body)
    return time.process_time() - start


def seconds(stream: Stream, body: bytes, size: int, events: int) -> float:
    """CPU time that it takes to read a body in pieces of this size."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    parser, seen = stream.parser(), 0
    start = time.process_time()
    for piece in pieces:
        for _ in parser.feed(piece):
            seen += 1
    if stream.end:
        seen += len(parser.close())
        assert parser.response().text
    taken = time.process_time() - start
    assert seen == events
    return taken


def grows_with_its_size(measure: Callable[[int], float]) -> None:
    """Compare the time for a quarter and for the whole; what disturbs the machine is met by measuring again."""
    ratios = []
    for _ in range(3):
        small = min(measure(4) for _ in range(2))
        ratios.append(measure(1) / small)
        if ratios[-1] < MOST:
            return
    pytest.fail(f"four times as much took {', '.join(f'{ratio:.1f}' for ratio in ratios)} times as long")


def test_a_line_of_10_mb(name: str) -> None:
    """In 10,000 pieces, of which each costs another pass over the data where they are joined too early."""
    stream = STREAMS[name]
    body = stream.event(LINE) + stream.end
    one_pass = min(seconds_of_a_pass(body) for _ in range(3))
    passes = [seconds(stream, body, 1_000, 1 + bool(stream.end)) / one_pass for _ in range(2)]
    assert min(passes) < 500


def test_a_line_of_a_million_pieces(wire_parser: str) -> None:
    stream = STREAMS[wire_parser]
    bodies = {part: stream.event(PIECES // part) for part in (1, 4)}
    grows_with_its_size(lambda part: seconds(stream, bodies[part], 1, 1))


def test_events_in_a_million_pieces(name: str) -> None:
    stream = STREAMS[name]
    event = stream.event(5)
    counts = {part: PIECES // part // len(event) for part in (1, 4)}
    bodies = {part: event * counts[part] + stream.end for part in (1, 4)}
    grows_with_its_size(lambda part: seconds(stream, bodies[part], 1, counts[part] + bool(stream.end)))


def test_many_events_in_one_piece(name: str) -> None:
    stream = STREAMS[name]
    counts = {part: 50_000 // part for part in (1, 4)}
    bodies = {part: stream.event(5) * counts[part] + stream.end for part in (1, 4)}
    grows_with_its_size(lambda part: seconds(stream, bodies[part], len(bodies[part]), counts[part] + bool(stream.end)))


def test_a_compressed_body_in_a_million_pieces() -> None:
    def pieces(count: int) -> Iterator[bytes]:
        packed = zlib.compress(bytes(range(256)) * (count // 256), level=0)
        return (packed[start : start + 1] for start in range(len(packed)))

    def measure(part: int) -> float:
        decoder, data = Decoder(), list(pieces(PIECES // part))
        start = time.process_time()
        size = sum(len(decoder.feed(piece)) for piece in data)
        assert size == PIECES // part // 256 * 256
        return time.process_time() - start

    grows_with_its_size(measure)
