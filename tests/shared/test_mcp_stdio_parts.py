"""What the stdio transport computes without any I/O: lines, the server's environment, its last words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kova
from kova._mcp.environment import server_environment
from kova._mcp.last_words import LastWords, how_it_ended
from kova._mcp.lines import Lines, LineTooLong


@given(st.lists(st.binary(max_size=20)), st.data())
def test_lines_do_not_depend_on_how_the_bytes_come(pieces: list[bytes], data: st.DataObject) -> None:
    whole = b"\n".join(pieces)
    lines, found, rest = Lines(), [], whole
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        found += lines.feed(rest[:size])
        rest = rest[size:]
    assert found == whole.split(b"\n")[:-1]


@pytest.mark.parametrize("separator", ["\r", "\u2028", "\x85", "\x0b", "\x00"])
def test_nothing_else_ends_a_line(separator: str) -> None:
    text = f"a{separator}b".encode()
    assert Lines().feed(text + b"\n") == [text]


@pytest.mark.parametrize("feed", [[b"12345\n67890\n"], [b"123", b"45\n6", b"7890\n"]])
def test_a_line_may_be_as_long_as_the_limit(feed: list[bytes]) -> None:
    lines = Lines(limit=5)
    assert [line for data in feed for line in lines.feed(data)] == [b"12345", b"67890"]


@pytest.mark.parametrize(
    "feed", [[b"123456\n"], [b"123456"], [b"123", b"456"], [b"123", b"456\n"], [b"1\n23456", b"7"]]
)
def test_a_longer_line_is_an_error_that_names_the_limit(feed: list[bytes]) -> None:
    """M3: also before its end has come, for that may never be."""
    lines = Lines(limit=5)
    with pytest.raises(kova.StreamError, match="a line of more than 5 bytes") as caught:
        for data in feed:
            lines.feed(data)
    assert isinstance(caught.value, LineTooLong)
    assert caught.value.head.startswith((b"1234", b"2345"))


def test_a_server_gets_what_is_known_to_be_safe() -> None:
    ours = {
        "PATH": "/bin",
        "HOME": "/root",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "TMPDIR": "/tmp",
        "OPENAI_API_KEY": "sk",
        "DATABASE_URL": "x",
        "HTTPS_PROXY": "http://user:password@proxy",
        "SHELL": "() { :; }",
    }
    safe = {"PATH": "/bin", "HOME": "/root", "LANG": "de_DE.UTF-8", "LC_ALL": "C", "TMPDIR": "/tmp"}
    assert server_environment(ours, {}, inherit=False) == safe
    assert server_environment(ours, {"PATH": "/opt", "KEY": "k"}, inherit=False) == {**safe, "PATH": "/opt", "KEY": "k"}
    assert server_environment(ours, {"KEY": "k"}, inherit=True) == {**ours, "KEY": "k"}


def test_the_end_of_stderr_is_kept() -> None:
    words = LastWords()
    for number in range(100_000):
        words.add(b"line %d\n" % number)
    assert words.text.endswith("line 99998\nline 99999")
    assert len(words.text) <= 1_200


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[31;1mred\x1b[0m",
        b"\x1b]0;title\x07red",
        b"\x1b]8;;https://example.com\x1b\\red\x1b]8;;\x1b\\",
        b"\x1b(Bred\x1bc",
        b"\x07re\x08\x00d\r",
        "\x9b31mred".encode(),
        b"red\x1b",
        b"red\x1b]0;never ended",
    ],
)
def test_what_it_says_cannot_steer_a_terminal(data: bytes) -> None:
    words = LastWords()
    words.add(data)
    assert words.text == "red"


def test_what_it_says_need_not_be_utf_8() -> None:
    words = LastWords()
    words.add(b"caf\xe9 \xc3\xbc")
    assert words.text == "caf\ufffd \xfc"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, "ended with exit code 0"),
        (-9, "was ended by SIGKILL"),
        (-99, "was ended by signal 99"),
        (None, "closed its output"),
    ],
)
def test_how_a_server_ended(status: int | None, text: str) -> None:
    assert how_it_ended(status) == text
