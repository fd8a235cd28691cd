"""The waterfall as an SVG picture, for documents that show pictures only."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .layout import Layout, Row, lay_out
from .words import shortened, shown, text_width

if TYPE_CHECKING:
    from ..timeline import Timeline

__all__ = ["svg"]

NARROWEST = 480
MARGIN, ROW, BAR, THIN = 20, 26, 13, 5  # pixels
TIME, TOKENS, GAP, INDENT = 64, 100, 12, 14
DEEPEST = 6  # levels that are indented

STYLE = """
svg{--back:#fff;--text:#1c1f26;--soft:#5d6472;--line:#e3e5ea;--model:#4c7df0;--tool:#d98a1a;--agent:#8d80d8;
--failed:#d23c52;--pause:#c3c8d2;--in:#2ba393;--out:#a0559f;
font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
@media (prefers-color-scheme:dark){svg{--back:#14161b;--text:#e6e8ee;--soft:#9aa1b0;--line:#2b2f38;--tool:#e8a33d;
--agent:#9d91e6;--failed:#ee6579;--pause:#515867;--in:#3bb8a7;--out:#c07bbf}}
text{fill:var(--text);font-variant-numeric:tabular-nums}.soft{fill:var(--soft)}.small{font-size:11px}
.title{font-size:16px;font-weight:650}.sum{font-size:17px;font-weight:600}.back{fill:var(--back);stroke:var(--line)}
.line{stroke:var(--line)}.error{fill:var(--failed);font-size:11px}.end{text-anchor:end}
.model{fill:var(--model)}.tool{fill:var(--tool)}.agent{fill:var(--agent)}.failed{fill:var(--failed)}
.pause{fill:var(--pause)}.in{fill:var(--in)}.out{fill:var(--out)}
""".strip()


def svg(timeline: Timeline, title: str, width: int) -> str:
    """The picture, as wide as that; its height follows."""
    if type(width) is not int or width < NARROWEST:
        raise ValueError(f"width must be an integer of at least {NARROWEST}, got {width!r}")
    return _Picture(lay_out(timeline), shown(title), width).drawn()


class _Picture:
    def __init__(self, layout: Layout, title: str, width: int) -> None:
        self._layout = layout
        self._title = title
        self._width = width
        self._tokens = TOKENS if layout.has_tokens else 0
        self._right = width - MARGIN
        names = min(max(width * 0.26, 140), 320)
        self._left = MARGIN + names + GAP  # of the bars
        self._span = self._right - self._left - GAP - TIME - (GAP + self._tokens if self._tokens else 0)
        self._parts: list[str] = []
        self._y = float(MARGIN)

    def drawn(self) -> str:
        self._head()
        if self._layout.rows:
            self._rows()
            self._legend()
        else:
            self._y += 14
            self._text(MARGIN, self._y, "Nothing was called.", "soft")
        height = round(self._y + MARGIN)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._width} {height}" width="{self._width}" '
            f'height="{height}" role="img" style="max-width:100%;height:auto"><title>{escape(self._title)}</title>'
            f'<style>{STYLE}</style><rect class="back" x=".5" y=".5" width="{self._width - 1}" height="{height - 1}" '
            f'rx="10"/>\n' + "\n".join(self._parts) + "\n</svg>\n"
        )

    def _head(self) -> None:
        self._y += 14
        self._text(MARGIN, self._y, shortened(self._title, self._right - MARGIN, 17), "title")
        x = float(MARGIN)
        for word, figure, note in self._layout.sums:
            width = max(text_width(figure, 18), text_width(note, 11.5), text_width(word, 11.5)) + 26
            if x > MARGIN and x + width > self._right:
                x, self._y = MARGIN, self._y + 56
            self._text(x, self._y + 24, word, "soft small")
            self._text(x, self._y + 43, figure, "sum")
            self._text(x, self._y + 58, note, "soft small")
            x += width
        self._y += 76

    def _rows(self) -> None:
        top = self._y
        self._y += 18
        bottom = self._y + ROW * len(self._layout.rows)
        for share, label in self._layout.ticks:
            x = self._left + share * self._span
            self._parts.append(f'<path class="line" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
            if x + 4 + text_width(label, 11) <= self._left + self._span + GAP:
                self._text(x + 4, top + 10, label, "soft small")
        self._text(self._right - (GAP + self._tokens if self._tokens else 0), top + 10, "time", "soft small end")
        if self._tokens:
            self._text(self._right, top + 10, "tokens in → out", "soft small end")
        for row in self._layout.rows:
            self._row(row)

    def _row(self, row: Row) -> None:
        middle = self._y + ROW / 2
        base = middle + 4
        x = MARGIN + min(row.depth, DEEPEST) * INDENT
        self._parts.append(f"<g><title>{escape(row.tooltip)}</title>")
        self._rect(row.kind, x, middle - 4.5, 9, 9, 2.5)
        room = self._left - GAP - x - 16
        error = shortened(row.error, room * 0.55, 11) if row.error else ""
        name = shortened(row.name, room - (text_width(error, 11) + 8 if error else 0), 12)
        self._text(x + 16, base, name)
        if error:
            self._text(self._left - GAP, base, error, "error end")
        for segment in row.segments:
            height = THIN if segment.look in ("pause", "agent") else BAR
            left = self._left + segment.left * self._span
            wide = max(segment.width * self._span, 2)
            self._rect(
                segment.look,
                min(left, self._left + self._span - 2),
                middle - height / 2,
                wide,
                height,
                0 if height == THIN else 3,
            )
        self._text(self._right - (GAP + self._tokens if self._tokens else 0), base, row.time, "end")
        if row.tokens:
            self._text(self._right, base - 1, row.tokens, "small end")
            self._token_bar(row, middle + 7)
        self._parts.append("</g>")
        self._y += ROW

    def _token_bar(self, row: Row, y: float) -> None:
        into, out = (share * self._tokens for share in (row.input_share, row.output_share))
        if into + out:
            self._rect("in", self._right - into - out, y, into, 3, 0)
            self._rect("out", self._right - out, y, out, 3, 0)

    def _legend(self) -> None:
        self._y += 22
        x = float(MARGIN)
        for look, meaning in self._layout.legend:
            width = text_width(meaning, 12) + 34
            if x > MARGIN and x + width > self._right:
                x, self._y = MARGIN, self._y + 18
            height = THIN if look in ("pause", "agent") else 9
            self._rect(look, x, self._y - 4 - height / 2, 12, height, 2)
            self._text(x + 18, self._y, meaning, "soft small")
            x += width

    def _rect(self, look: str, x: float, y: float, width: float, height: float, radius: float) -> None:
        self._parts.append(
            f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'
        )

    def _text(self, x: float, y: float, text: str, look: str = "") -> None:
        if text:
            kind = f' class="{look}"' if look else ""
            self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{kind}>{escape(text)}</text>')
