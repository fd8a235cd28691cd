"""Histories and outputs of orchestrations as a notebook and a terminal show them."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import kova
from kova import ImageBlock, ThinkingBlock, ToolUseBlock

HISTORY = [
    kova.system_message("Be brief."),
    kova.user_message("What is 1 + 2?"),
    kova.assistant_message("One moment.", ToolUseBlock("c1", "add", {"a": 1, "b": "two"})),
    kova.tool_message("c1", "b must be a number", is_error=True),
    kova.assistant_message("It is 3."),
]


class Reader(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] != "style":
            self.text += data


def test_it_is_the_history() -> None:
    transcript = kova.Transcript(HISTORY)
    assert list(transcript) == HISTORY
    with pytest.raises(TypeError, match=r"messages\[0\] must be a ConversationMessage, not str"):
        kova.Transcript(["Hi"])  # type: ignore[list-item]


def test_as_text() -> None:
    assert str(kova.Transcript(HISTORY)).splitlines() == [
        "system: Be brief.",
        "user: What is 1 + 2?",
        "assistant: One moment.",
        'assistant: add(a=1, b="two")',
        "add: [failed] b must be a number",
        "assistant: It is 3.",
    ]
    assert repr(kova.Transcript(HISTORY)) == str(kova.Transcript(HISTORY))


def test_as_html() -> None:
    page = Reader(kova.Transcript(HISTORY)._repr_html_())
    assert [who for tag, who in page.elements if "class" in who][1:] == [
        {"class": look} for look in ("system", "user", "assistant", "assistant", "failed", "assistant")
    ]
    for text in ("What is 1 + 2?", 'add(a=1, b="two")', "b must be a number", "It is 3."):
        assert text in page.text


EVIL = "</p></div><script>alert(1)</script><img src=x onerror=alert(1)>\x1b]0;owned\x07"


@pytest.mark.parametrize(
    "message",
    [
        kova.user_message(EVIL),
        kova.assistant_message("", ToolUseBlock(EVIL, EVIL, {EVIL: EVIL})),
        kova.assistant_message("", ToolUseBlock("c", EVIL, {}, invalid_arguments=EVIL)),
        kova.tool_message(EVIL, EVIL),
        kova.tool_message("c", [kova.TextBlock(EVIL), ImageBlock(EVIL, url=EVIL), ImageBlock(EVIL, b"<svg/onload=1>")]),
        kova.assistant_message("", ThinkingBlock(EVIL, "signature")),
    ],
)
def test_nothing_that_is_said_is_obeyed(message: kova.ConversationMessage) -> None:
    """S5: neither by a page nor by a terminal."""
    transcript = kova.Transcript([message])
    page = Reader(transcript._repr_html_())
    assert {tag for tag, _ in page.elements} <= {"style", "div", "b", "p", "code", "details", "summary"}
    assert not [attributes for _, attributes in page.elements if {*attributes} - {"class"}]
    assert "\x1b" not in transcript._repr_html_()
    assert "\x1b" not in str(transcript)


def test_outputs_of_orchestrations_are_escaped() -> None:
    """S5."""
    usage = kova.UsageStats()
    response = kova.AgentResponse(EVIL, [], kova.StopReason.END_TURN, None, usage, None, 1)
    for output in (
        kova.SingleOutput(EVIL, ()),
        kova.ParallelOutput({EVIL: response}, {f"{EVIL}2": kova.StreamError(EVIL)}),
    ):
        page = Reader(output._repr_html_())
        assert {tag for tag, _ in page.elements} <= {"style", "div", "b", "p"}
        assert "<script>alert(1)</script>" in page.text


def test_pictures_that_are_here_are_shown_and_no_others() -> None:
    """S2, S5: what an address in a message points at is not fetched, and what could run something is not shown."""
    here = ImageBlock("image/png", b"\x89PNG")
    there = ImageBlock("image/png", url="https://tracker.example/pixel.png")
    drawing = ImageBlock("image/svg+xml", b"<svg/>")
    page = Reader(kova.Transcript([kova.user_message("", here, there, drawing)])._repr_html_())
    assert [attributes["src"] for tag, attributes in page.elements if tag == "img"] == [
        "data:image/png;base64,iVBORw=="
    ]
    assert "https://tracker.example/pixel.png" in page.text


def test_long_texts_are_folded_and_whole() -> None:
    text = "".join(map(str, range(2000)))
    page = Reader(kova.Transcript([kova.tool_message("c", text)])._repr_html_())
    assert "details" in {tag for tag, _ in page.elements}
    assert sum(map(len, page.text.split())) > len(text)
    assert text[-50:] in page.text
