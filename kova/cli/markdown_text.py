"""Markdown that comes in pieces: the blocks that nothing can change any more, and how a block is drawn."""

from __future__ import annotations

from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.segment import Segment

from .._terminal import plain

__all__ = ["Clean", "GrowingMarkdown", "lines_of", "markdown"]

# HTML is not for terminals, and would be left out: it is shown as the text that it is.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


class GrowingMarkdown:
    """Text to which pieces are added, cut into what is settled and what is not."""

    def __init__(self) -> None:
        self.open = ""  # what is not settled

    def add(self, text: str) -> None:
        """One more piece."""
        self.open += text

    def take_settled(self) -> str:
        """The blocks that are complete, which are not open any more.

        Only whole lines are looked at: the beginning of a line may still turn out to go on with the block before it.
        The last block is never settled, as the next line may belong to it.
        """
        whole = self.open[: self.open.rfind("\n") + 1]
        begins = [
            token.map[0] for token in _PARSER.parse(whole) if token.level == 0 and token.map and token.nesting >= 0
        ]
        if len(begins) < 2:
            return ""
        lines = whole.splitlines(keepends=True)
        settled = "".join(lines[: begins[-1]])
        self.open = self.open[len(settled) :]
        return settled

    def take_all(self) -> str:
        """What is open, there being no more pieces."""
        rest, self.open = self.open, ""
        return rest


class _Heading(Heading):
    """A heading on the left, as in all other text of a terminal."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    """Markdown by our own parser. The address of a link is shown, as its text may claim another one."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        self.markup = text
        self.parsed = _PARSER.parse(text)


def markdown(text: str) -> RenderableType:
    """A Markdown text, to be drawn."""
    return Clean(_Markdown(text))


class Clean:
    """Whatever is drawn inside, without terminal escapes: Markdown has ways to write a character by its number (S5)."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            if segment.control is None:
                yield Segment(plain(segment.text), segment.style)


def lines_of(console: Console, renderable: RenderableType) -> list[str]:
    """What is drawn, as lines with the escapes of their colours, without empty ones at the top and at the bottom."""
    with console.capture() as capture:
        console.print(renderable)
    lines = [line.rstrip(" ") for line in capture.get().split("\n")]  # blanks would be copied, and wrapped
    shown = [number for number, line in enumerate(lines) if plain(line).strip()]
    return lines[shown[0] : shown[-1] + 1] if shown else []
