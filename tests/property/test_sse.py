"""Server-sent events: however a stream is cut, and whichever line ends it has, its payloads are the same."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kova._wire.sse import SSEParser
from kova.errors import StreamError
from tests.strategies import pieces


def parse(chunks):
    parser = SSEParser()
    payloads = [payload for chunk in chunks for payload in parser.feed(chunk)]
    return payloads + parser.close()


def expected(data):
    """What the specification makes of a whole stream, said in the plainest way; the last event need not be closed."""
    payloads, lines = [], []
    for line in [*re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf")), b""]:
        name, _, value = line.partition(b":")
        if not line and lines:
            payloads.append(b"\n".join(lines))
            lines = []
        elif name == b"data":
            lines.append(value.removeprefix(b" "))
    return payloads


values = st.text(st.sampled_from("ab :{}\u2028\u2029\u0085é🦀\ufeff"), max_size=8).map(str.encode)
fields = st.builds(
    lambda name, blank, value: name + b":" + blank + value,
    st.sampled_from([b"data", b"data", b"data", b"event", b"id", b"retry", b"", b"database"]),
    st.sampled_from([b"", b" ", b"  "]),
    values,
)
lines = fields | st.sampled_from([b"", b"", b"", b"data", b":", b"id"])
ends = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def streams(draw):
    written = draw(st.lists(lines, max_size=14))
    end = draw(st.none() | ends)  # one kind of line end throughout, or mixed ones
    data = b"".join(line + (draw(ends) if end is None else end) for line in written)
    start = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return start + data + draw(st.sampled_from([b"", b"data: unterminated", b"dat", b":"]))


@given(st.data())
def test_payloads_are_those_of_the_specification_however_the_stream_is_cut(data):
    stream = data.draw(streams())
    assert parse(data.draw(pieces(stream))) == expected(stream)


@given(streams())
def test_payloads_are_the_same_byte_for_byte(stream):
    assert parse([stream[index : index + 1] for index in range(len(stream))]) == parse([stream])


@given(st.binary(max_size=60))
@example(b"\xff\xfedata: x\n\n")
def test_any_bytes_can_be_fed(data):
    parse([data[:7], data[7:]])


def test_an_event_comes_out_as_soon_as_its_blank_line_has_come():
    parser = SSEParser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"\r") == [b"a"]  # which may be half a CRLF, and still ends the event
    assert parser.feed(b"\ndata: b\n\n") == [b"b"]


@pytest.mark.parametrize(
    ("line", "payload"),
    [
        (b'error: {"code":400}', b'{"error":{"code":400}}'),
        (b"error: out of memory", b'{"error":"out of memory"}'),
        (b'{"error":{"code":500}}', b'{"error":{"code":500}}'),
        (b'{\n  "error": {\n    "code": 500\n  }\n}', b'{\n  "error": {\n    "code": 500\n  }\n}'),
        (b'[{"error":{"code":500}}]', b'[{"error":{"code":500}}]'),
        (b'[{\n  "error": {}\n}\n]', b'[{\n  "error": {}\n}\n]'),
        (b'[\n  {\n    "error": {}\n  }\n]', b'[\n  {\n    "error": {}\n  }\n]'),
    ],
)
def test_a_failure_that_is_no_data_is_a_payload_all_the_same(line, payload):
    assert parse([b"data: a\n" + line + b"\n\ndata: b\n\n"]) == [b"a", payload, b"b"]


def test_bare_json_that_was_cut_is_a_payload_at_the_end_of_the_body():
    assert parse([b"data: a\n\n{\n", b'  "error": {']) == [b"a", b'{\n  "error": {']


def test_a_line_in_brackets_is_an_unknown_field():
    assert parse([b"[INFO] busy\n\ndata: b\n\n"]) == [b"b"]


def test_a_million_lines_of_one_event_take_linear_time():
    parser = SSEParser()
    for _ in range(1_000):
        parser.feed(b"data: x\n" * 1_000)
    assert parser.feed(b"\n") == [b"\n".join([b"x"] * 1_000_000)]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 100 + b"\n\n"],
        [b"data: \n\n", b"data: " + b"x" * 100 + b"\n\n"],
        [b"data: ", b"x" * 60, b"x" * 60],
        [b"data: xxxxxxxxxx\n"] * 12,
    ],
    ids=["line", "line in the midst", "unfinished line", "event of many lines"],
)
def test_beyond_the_limit_is_an_error(chunks):
    """S4."""
    parser = SSEParser(limit=100)
    with pytest.raises(StreamError, match="larger than 100 bytes"):
        for chunk in chunks:
            parser.feed(chunk)


def test_many_short_lines_in_a_large_piece_are_within_the_limit():
    assert SSEParser(limit=100).feed(b"data: xxxxxxxxxx\n\n" * 50) == [b"xxxxxxxxxx"] * 50
