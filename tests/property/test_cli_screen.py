"""What the shell shows of text that comes in pieces is what it would show of the whole."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kova._terminal import plain
from kova.cli.live_region import LiveRegion
from kova.cli.markdown_text import GrowingMarkdown
from kova.cli.plain_stream import PlainStream

ESCAPES = [
    "\x1b",
    "\x1b[",
    "[",
    "2",
    ";",
    "J",
    "m",
    "\x1b]",
    "0;t",
    "\x07",
    "\\",
    "\x9b",
    "\x1bP",
    "(",
    "B",
    "\n",
    "a",
    " ",
]
MARKDOWN = [
    "# t",
    "- a",
    "  - b",
    "1. c",
    "text",
    "\n",
    "\n\n",
    "```",
    "~~~py",
    "    x",
    "> q",
    "|a|b|",
    "|-|-|",
    "---",
]


@given(st.lists(st.sampled_from(ESCAPES) | st.text(max_size=3)))
def test_escapes_are_taken_out_wherever_the_text_is_cut(pieces: list[str]) -> None:
    """S5."""
    stream = PlainStream()
    shown = "".join(map(stream.feed, pieces)) + stream.end()
    assert shown == plain("".join(pieces))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)


def test_an_escape_that_never_ends_hides_only_so_much() -> None:
    stream = PlainStream()
    shown = stream.feed("\x1b]0;") + "".join(stream.feed("word ") for _ in range(2_000)) + stream.end()
    assert shown.endswith("word word ")
    assert "\x1b" not in shown


@given(st.lists(st.sampled_from(MARKDOWN)))
def test_markdown_is_settled_in_order_and_whole(pieces: list[str]) -> None:
    """And what is settled once does not depend on how the text was cut."""
    grown, settled = GrowingMarkdown(), ""
    for piece in pieces:
        grown.add(piece)
        settled += grown.take_settled()
    at_once = GrowingMarkdown()
    at_once.add("".join(pieces))
    assert settled == at_once.take_settled()
    assert settled + grown.take_all() == "".join(pieces)


class Screen:
    """Of a terminal, as much as the region makes use of."""

    def __init__(self) -> None:
        self.rows = [""]
        self.row = self.column = 0

    def write(self, text: str) -> None:
        for up, erase, newline, other in re.findall(r"\x1b\[(\d+)A|(\x1b\[[KJ])|(\n)|([^\x1b\n]+)", text):
            if up:
                self.row -= int(up)
                assert self.row >= 0, "it goes up beyond its beginning"
            elif erase == "\x1b[K":
                self.rows[self.row] = self.rows[self.row][: self.column]
            elif erase:
                self.rows[self.row :] = [""]
            elif newline:
                self.row += 1
                self.rows += [""] * (self.row + 1 - len(self.rows))
            else:
                self.rows[self.row] = other + self.rows[self.row][len(other) :]
                self.column = len(other)
                continue
            self.column = 0


LINES = st.lists(st.text("ab", max_size=6), max_size=8)


@given(st.lists(st.tuples(LINES, LINES), min_size=1))
def test_the_region_shows_what_is_settled_and_the_end_of_what_is_not(
    drawings: list[tuple[list[str], list[str]]],
) -> None:
    screen, region, settled = Screen(), LiveRegion(), []
    for added, live in drawings:
        screen.write(region.draw(added, live, 6, 6))
        settled += added
        assert screen.rows == [*settled, *live[-5:], ""]


@given(LINES)
def test_nothing_is_written_where_nothing_has_changed(live: list[str]) -> None:
    """So nothing can flicker."""
    region = LiveRegion()
    region.draw([], live, 6, 20)
    assert region.draw([], live, 6, 20) == ""
    assert "\x1b[1A" not in region.draw([], [*live, "new"], 6, 20)
