"""Newline-delimited JSON: however a stream is cut, and whichever line ends it has, its lines are the same."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kova._wire.ndjson import NDJSONParser
from kova.errors import StreamError
from tests.strategies import json_values, pieces


def parse(chunks):
    parser = NDJSONParser()
    lines = [line for chunk in chunks for line in parser.feed(chunk)]
    return lines + parser.close()


def expected(data):
    """The lines of a whole stream, said in the plainest way."""
    return [line for line in re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf")) if line.strip()]


lines = st.text(st.sampled_from("ab {}\t\u2028\u2029\u0085\u000bé🦀\ufeff"), max_size=8).map(str.encode)
ends = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def streams(draw):
    written = draw(st.lists(lines | st.just(b""), max_size=14))
    end = draw(st.none() | ends)  # one kind of line end throughout, or mixed ones
    data = b"".join(line + (draw(ends) if end is None else end) for line in written)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + data + draw(st.sampled_from([b"", b"{}", b" "]))


@given(st.data())
def test_lines_are_the_same_however_the_stream_is_cut(data):
    stream = data.draw(streams())
    assert parse(data.draw(pieces(stream))) == expected(stream)


@given(streams())
@example("\ufeff\ufeff{}\r\n\r\n".encode())
def test_lines_are_the_same_byte_for_byte(stream):
    assert parse([stream[index : index + 1] for index in range(len(stream))]) == expected(stream)


@given(st.lists(json_values, max_size=5), ends, st.data())
def test_values_come_back(values, end, data):
    stream = b"".join(json.dumps(value, ensure_ascii=False).encode() + end for value in values)
    assert [json.loads(line) for line in parse(data.draw(pieces(stream)))] == values


@given(st.binary(max_size=60), st.data())
def test_any_bytes_can_be_fed(stream, data):
    assert parse(data.draw(pieces(stream))) == expected(stream)


def test_a_line_comes_out_as_soon_as_its_end_has_come():
    parser = NDJSONParser()
    assert parser.feed(b'{"a":') == []
    assert parser.feed(b"1}\r") == [b'{"a":1}']  # which may be half a CRLF, and still ends the line
    assert parser.feed(b"\n{}\n{") == [b"{}"]
    assert parser.close() == [b"{"]
    assert parser.close() == []


@pytest.mark.parametrize(
    "chunks",
    [[b"x" * 101 + b"\n"], [b"{}\n", b"x" * 101], [b"x" * 60, b"x" * 60], [b"x" * 60, b"x" * 60 + b"\n"]],
    ids=["line", "unfinished line", "line in pieces", "line that ends"],
)
def test_beyond_the_limit_is_an_error(chunks):
    """S4."""
    parser = NDJSONParser(limit=100)
    with pytest.raises(StreamError, match="larger than 100 bytes"):
        for chunk in chunks:
            parser.feed(chunk)


def test_many_short_lines_in_a_large_piece_are_within_the_limit():
    assert NDJSONParser(limit=100).feed(b"xxxxxxxxxx\n" * 50) == [b"xxxxxxxxxx"] * 50
    assert NDJSONParser(limit=100).feed(b"x" * 100 + b"\n") == [b"x" * 100]
