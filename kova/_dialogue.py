"""Who said what, as a part of a page: a notebook shows it. All that is shown is escaped, and nothing is fetched."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from ._waterfall.words import shown

__all__ = ["Speech", "dialogue", "folded", "picture", "said", "code"]

LONGEST = 1200  # characters that are shown without being asked for
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # what can run nothing

# Text takes the colour of what is around it: a notebook's theme is not known here.
STYLE = """
.kova-dialogue{max-width:900px;text-align:left;line-height:1.45;
font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.kova-dialogue>div{display:grid;grid-template-columns:clamp(64px,16%,130px) minmax(0,1fr);column-gap:14px;padding:7px 0 7px 10px;
border-left:3px solid rgba(128,132,145,.4);margin:0 0 6px}
.kova-dialogue>div.user{border-color:#4c7df0}.kova-dialogue>div.assistant{border-color:#2ba393}
.kova-dialogue>div.tool{border-color:#e0962c}.kova-dialogue>div.failed{border-color:#dc4a5f}
.kova-dialogue>div.failed>b{color:#dc4a5f;opacity:1}
.kova-dialogue b{font-weight:600;opacity:.72;font-size:12px;line-height:20px;overflow-wrap:anywhere}
.kova-dialogue p{margin:0 0 4px;white-space:pre-wrap;overflow-wrap:anywhere}
.kova-dialogue code{display:block;margin:0 0 4px;padding:0;background:none;color:inherit;white-space:pre-wrap;
overflow-wrap:anywhere;font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.kova-dialogue summary{opacity:.72;cursor:pointer;font-size:12px}
.kova-dialogue img{max-width:100%;max-height:320px;display:block}
""".strip()


class Speech(NamedTuple):
    """What one of them said.

    Attributes:
        who: Stands beside it; not yet escaped.
        look: "user", "assistant", "system", "tool" or "failed".
        parts: HTML, made by the functions below.
    """

    who: str
    look: str
    parts: Iterable[str]


def dialogue(speeches: Iterable[Speech]) -> str:
    """All of it, one below the other."""
    rows = [
        f'<div class="{speech.look}"><b>{_text(speech.who)}</b><div>{"".join(speech.parts)}</div></div>'
        for speech in speeches
    ]
    return f'<style>{STYLE}</style>\n<div class="kova-dialogue">{"".join(rows) or "<p>Nothing was said.</p>"}</div>\n'


def said(text: str) -> str:
    """A paragraph; what is long is folded."""
    return _clipped("p", text)


def code(text: str) -> str:
    """The same for what a program has written, or reads."""
    return _clipped("code", text)


def folded(summary: str, text: str) -> str:
    """A text that is shown when it is asked for."""
    return f"<details><summary>{_text(summary)}</summary><p>{_text(text)}</p></details>"


def picture(media_type: str, data: bytes | None, url: str | None) -> str:
    """An image that is here; of one that is elsewhere, its address, for nothing is fetched."""
    if data is None:
        return code(f"[{media_type} at {url if url and not url.startswith('data:') else 'a data URL'}]")
    if media_type not in PICTURES:
        return code(f"[{media_type}, {len(data):,} bytes]")
    return f'<img alt="" src="data:{media_type};base64,{base64.b64encode(data).decode()}">'


def _clipped(tag: str, text: str) -> str:
    if len(text) <= LONGEST:
        return f"<{tag}>{_text(text)}</{tag}>"
    rest = f"<details><summary>{len(text) - LONGEST:,} more characters</summary><{tag}>{_text(text[LONGEST:])}</{tag}>"
    return f"<{tag}>{_text(text[:LONGEST])}</{tag}>{rest}</details>"


def _text(text: str) -> str:
    """Escaped, and with a mark in place of what cannot be shown; lines and tabs stay."""
    lines = text.replace("\r\n", "\n").split("\n")
    return escape("\n".join("\t".join(map(shown, line.split("\t"))) for line in lines))
