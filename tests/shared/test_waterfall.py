"""The picture of a timeline: what it shows, in HTML and in SVG, and what nobody can put into it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova import Timeline, TimelineAttempt, TimelineEntry, UsageStats
from kova._waterfall.layout import lay_out
from kova._waterfall.words import count_text, duration_text, shortened, shown, text_width

NASTY = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;\x00\x1b[31m\u202e\ud800\uffff"

TRIP = Timeline(
    [
        TimelineEntry(
            "model",
            "gpt-5",
            0.0,
            2.9,
            UsageStats(1204, 86),
            None,
            (TimelineAttempt(0.0, 0.35, "ProviderError 429"), TimelineAttempt(0.9, 2.9)),
            1.3,
        ),
        TimelineEntry("tool", "send_invoice", 2.9, 5.6, waited=1.9),
        TimelineEntry(
            "tool",
            "expert",
            2.9,
            5.0,
            UsageStats(900, 120),
            None,
            (),
            None,
            0.0,
            Timeline([TimelineEntry("model", "claude", 2.9, 4.9, UsageStats(900, 120))]),
        ),
        TimelineEntry("tool", "book_hotel", 2.9, 3.6, None, "error"),
    ]
)


class Page(HTMLParser):
    """Collects the tags, the texts and the attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)


def svg_texts(text: str) -> list[str]:
    root = ET.fromstring(text)
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


# ---- what is seen


def test_a_page_says_where_the_time_and_the_tokens_went() -> None:
    texts = [text for text in Page(TRIP.to_html(title="A trip")).texts if text.strip()]
    assert texts[:2] == ["A trip", "A trip"]
    sums = "total|5.6 s|model|4.9 s|2 calls, 1 retry|tools|2.7 s|3 calls|tokens|2,310|2,104 in, 206 out"
    assert texts[2:13] == sums.split("|")
    for shown_text in ("gpt-5", "1 retry", "1,204 → 86", "send_invoice", "2.7 s", "expert", "claude", "error"):
        assert shown_text in texts
    assert texts[-4:] == ["waiting: first word, retry, approval", "model", "tool", "failed"]


def test_a_picture_says_the_same() -> None:
    texts = svg_texts(TRIP.to_svg(title="A trip", width=1000))
    assert texts[0] == "A trip"
    for shown_text in ("5.6 s", "2,310", "gpt-5", "1 retry", "1,204 → 86", "send_invoice", "claude", "error"):
        assert shown_text in texts
    assert texts[-4:] == ["waiting: first word, retry, approval", "model", "tool", "failed"]


def test_a_bar_has_a_piece_for_each_thing_that_took_time() -> None:
    layout = lay_out(TRIP)
    pieces = [
        [(piece.look, round(piece.left * 5.6, 2), round(piece.width * 5.6, 2)) for piece in row.segments]
        for row in layout.rows
    ]
    assert pieces == [
        [("failed", 0.0, 0.35), ("pause", 0.35, 0.55), ("pause", 0.9, 0.4), ("model", 1.3, 1.6)],
        [("pause", 2.9, 1.9), ("tool", 4.8, 0.8)],
        [("tool", 2.9, 2.1)],
        [("model", 2.9, 2.0)],
        [("failed", 2.9, 0.7)],
    ]
    assert [row.depth for row in layout.rows] == [0, 0, 0, 1, 0]
    assert [label for _, label in layout.ticks] == ["0", "2 s", "4 s"]
    assert "attempt 1: 350 ms, ProviderError 429" in layout.rows[0].tooltip


def test_a_notebook_gets_a_part_of_a_page() -> None:
    page = Page(TRIP._repr_html_())
    assert not {"html", "head", "body"} & set(page.tags)
    assert "gpt-5" in page.texts


@pytest.mark.parametrize(
    "timeline", [Timeline(), Timeline([TimelineEntry("model", "m", 0.0, 0.0)])], ids=["none", "no time"]
)
def test_nothing_is_shown_as_nothing(timeline: Timeline) -> None:
    assert Page(timeline.to_html()).tags
    assert ET.fromstring(timeline.to_svg()).tag.endswith("svg")
    assert ("Nothing was called." in timeline.to_svg()) == (not timeline)


def test_it_is_self_contained() -> None:
    """S5: nothing is fetched, and nothing could be run."""
    html, svg = TRIP.to_html(), TRIP.to_svg()
    assert not re.search(r"(\bsrc=|href|url\(|@import)", html + svg)
    assert re.findall(r"https?://[^\"' ]+", html + svg) == ["http://www.w3.org/2000/svg"]
    assert "default-src &#x27;none&#x27;" in html


# ---- what nobody can put into it


@pytest.mark.parametrize("place", ["name", "error", "title", "model"])
def test_names_are_text_whatever_they_hold(place: str) -> None:
    """S5."""
    text = {"name": "tool", "error": "no", "title": "Turn", "model": "m"} | {place: NASTY}
    timeline = Timeline(
        [
            TimelineEntry("tool", text["name"], 0.0, 1.0, None, text["error"]),
            TimelineEntry("model", text["model"], 1.0, 2.0),
        ]
    )
    calm = Timeline([TimelineEntry("tool", "t", 0.0, 1.0, None, "e"), TimelineEntry("model", "m", 1.0, 2.0)])
    page, plain = Page(timeline.to_html(title=text["title"])), Page(calm.to_html(title="t"))
    assert page.tags == plain.tags
    assert [name for name, _ in page.attributes] == [name for name, _ in plain.attributes]
    assert any(shown(NASTY) in seen for seen in page.texts)
    svg = timeline.to_svg(title=text["title"])
    assert len([*ET.fromstring(svg).iter()]) == len([*ET.fromstring(calm.to_svg(title="t")).iter()])
    for unwanted in ("<script", "<img", "\x1b", "\x00", "\u202e"):
        assert unwanted not in timeline.to_html(title=text["title"]) + svg


names = st.text(st.characters(exclude_categories=()), max_size=30)
moments = st.floats(0, 1000)


@given(st.lists(st.tuples(names, names, moments, moments), max_size=6), names)
def test_whatever_happened_the_picture_is_well_formed(calls: list[tuple[str, str, float, float]], title: str) -> None:
    """S5."""
    timeline = Timeline(
        [
            TimelineEntry("tool", name, start, start + length, UsageStats(int(length), 1), error or None)
            for name, error, start, length in calls
        ]
    )
    svg = timeline.to_svg(title=title, width=480)
    ET.fromstring(svg.encode())
    page = Page(timeline.to_html(title=title))
    assert page.tags.count("bdi") == len(calls)
    assert "script" not in page.tags


@pytest.mark.parametrize("width", [480, 700, 2000])
def test_all_of_it_lies_inside(width: int) -> None:
    root = ET.fromstring(TRIP.to_svg(width=width, title="A title " * 50))
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(rect.attrib["x"]) <= float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 <= float(text.attrib["x"]) <= width


# ---- files


@pytest.mark.parametrize("name", ["turn.svg", "turn.html", "TURN.HTML"])
def test_it_is_saved_as_its_name_says(tmp_path: Path, name: str) -> None:
    TRIP.save(tmp_path / name, title="Ärger")
    text = (tmp_path / name).read_text("utf-8")
    assert text == (TRIP.to_svg(title="Ärger") if name == "turn.svg" else TRIP.to_html(title="Ärger"))


def test_other_files_and_widths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="path must end in .svg or .html, not '.png'"):
        TRIP.save(tmp_path / "turn.png")
    assert list(tmp_path.iterdir()) == []
    for width in (479, 500.5, "wide", True):
        with pytest.raises(ValueError, match="width must be an integer of at least 480"):
            TRIP.to_svg(width=width)  # type: ignore[arg-type]


# ---- words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0"),
        (0.00004, "0.0 ms"),
        (0.0004, "0.4 ms"),
        (0.0051, "5.1 ms"),
        (0.4121, "412 ms"),
        (0.9999, "1 s"),
        (7.4, "7.4 s"),
        (12.34, "12.34 s"),
        (59.99, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10k"),
        (12_340, "12.3k"),
        (123_456, "123k"),
        (999_999, "1M"),
        (2_340_000, "2.3M"),
    ],
)
def test_counts(count: int, text: str) -> None:
    assert count_text(count) == text


@given(names, st.integers(10, 400))
def test_a_shortened_text_fits(text: str, width: int) -> None:
    assert text_width(shortened(text, width, 12), 12) <= max(width, text_width("…", 12))
