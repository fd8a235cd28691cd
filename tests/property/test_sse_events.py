"""Events with names, ids and `retry`: however a stream is cut, they are the specification's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova._mcp.sse_events import SSEEventParser
from kova.errors import StreamError
from tests.strategies import pieces

values = st.text(st.sampled_from("ab1 :{}\u2028\u0085é🦀\ufeff\0"), max_size=6).map(str.encode) | st.sampled_from(
    [b"1500", b"0", b"-1", b"1 "]
)
fields = st.builds(
    lambda name, blank, value: name + b":" + blank + value,
    st.sampled_from([b"data", b"data", b"event", b"id", b"retry", b"", b"idea"]),
    st.sampled_from([b"", b" ", b"  "]),
    values,
)
lines = fields | st.sampled_from([b"", b"", b"", b"data", b"event", b"id", b"retry", b":"])
ends = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def streams(draw):
    written = draw(st.lists(lines, max_size=14))
    end = draw(st.none() | ends)  # one kind of line end throughout, or mixed ones
    data = b"".join(line + (draw(ends) if end is None else end) for line in written)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + data


def parse(chunks):
    parser = SSEEventParser()
    events = [(event.name, event.data) for chunk in chunks for event in parser.feed(chunk)]
    return events, parser.last_event_id, parser.retry


def expected(stream):
    """What the specification makes of a whole stream, said in the plainest way."""
    events, last_id, retry = [], "", None
    data, name, pending = [], "", None
    for line in re.split(rb"\r\n|\r|\n", stream.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            last_id = last_id if pending is None else pending
            if b"\n".join(data):
                events.append((name or "message", b"\n".join(data)))
            data, name, pending = [], "", None
        elif field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode()
        elif field == b"id" and b"\0" not in value:
            pending = value.decode()
        elif field == b"retry" and re.fullmatch(rb"[0-9]+", value):
            retry = int(value) / 1000
    return events, last_id, retry


@given(st.data())
def test_events_are_those_of_the_specification_however_the_stream_is_cut(data):
    stream = data.draw(streams())
    assert parse(data.draw(pieces(stream))) == expected(stream)


@given(streams())
def test_events_are_the_same_byte_for_byte(stream):
    assert parse([stream[index : index + 1] for index in range(len(stream))]) == expected(stream)


@given(st.binary(max_size=60))
def test_any_bytes_can_be_fed(data):
    parser = SSEEventParser()
    parser.feed(data[:7])
    parser.feed(data[7:])
    parser.close()


def test_a_block_without_data_is_no_event_but_its_id_and_retry_count():
    assert parse([b"id: 7\nretry: 1500\ndata:\n\n"]) == ([], "7", 1.5)


def test_an_id_counts_only_when_its_block_is_complete():
    parser = SSEEventParser()
    parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert parser.last_event_id == "1"
    assert [event.data for event in parser.feed(b"\n")] == [b"b"]
    assert parser.last_event_id == "2"


def test_what_is_unterminated_at_the_end_is_an_event_when_it_is_asked_for():
    parser = SSEEventParser()
    assert parser.feed(b'data: {"id":1}') == []
    assert [event.data for event in parser.close()] == [b'{"id":1}']


def test_a_million_tiny_pieces_take_linear_time():
    parser = SSEEventParser()
    parser.feed(b"data: ")
    for _ in range(1_000_000):
        parser.feed(b"x")
    assert [event.data for event in parser.feed(b"\n\n")] == [b"x" * 1_000_000]


def test_a_million_lines_of_one_event_take_linear_time():
    parser = SSEEventParser()
    for _ in range(1_000):
        parser.feed(b"data: x\n" * 1_000)
    assert [event.data for event in parser.feed(b"\n")] == [b"\n".join([b"x"] * 1_000_000)]


@pytest.mark.parametrize(
    "chunks",
    [[b"data: " + b"x" * 100 + b"\n\n"], [b"data: ", b"x" * 60, b"x" * 60], [b"data: xxxxxxxxxx\n"] * 12],
    ids=["line", "unfinished line", "event of many lines"],
)
def test_beyond_the_limit_is_an_error(chunks):
    """S4."""
    parser = SSEEventParser(limit=100)
    with pytest.raises(StreamError, match="larger than 100 bytes"):
        for chunk in chunks:
            parser.feed(chunk)
