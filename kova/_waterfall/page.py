"""The waterfall in HTML: a page of its own, or a part of one, such as a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .layout import Layout, Row, lay_out
from .words import shown

if TYPE_CHECKING:
    from ..timeline import Timeline

__all__ = ["html_fragment", "html_page"]

DEEPEST = 8  # levels that are indented

# Text takes the colour of what is around it, and the bars are seen on light and on dark: a notebook's theme is not
# known here. Names are long enough not to meet those of a page around it.
STYLE = """
.kova-timeline{--model:#4c7df0;--tool:#e0962c;--agent:#8d80d8;--failed:#dc4a5f;--pause:rgba(128,132,145,.38);
--line:rgba(128,132,145,.24);--in:#2ba393;--out:#a0559f;container-type:inline-size;max-width:1200px;text-align:left;
font:13px/1.35 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
.kova-timeline *{box-sizing:border-box}
.kova-timeline-title{font-size:17px;font-weight:650;margin:0 0 10px;overflow-wrap:anywhere}
.kova-timeline-sums{display:flex;flex-wrap:wrap;gap:10px 32px;margin:0 0 14px}
.kova-timeline-sums div{display:flex;flex-direction:column}
.kova-timeline-sums span{opacity:.68;font-size:12px}
.kova-timeline-sums b{font-size:19px;font-weight:600;line-height:1.25}
.kova-timeline-row{display:grid;grid-template-columns:minmax(130px,24%) 1fr 68px var(--tokens);column-gap:12px;
align-items:center;min-height:27px}
.kova-timeline-row:hover{background:rgba(128,132,145,.1)}
.kova-timeline-name{display:flex;align-items:baseline;gap:7px;min-width:0;
padding-left:calc(var(--depth,0)*15px)}
.kova-timeline-name i{flex:none;width:9px;height:9px;border-radius:2.5px}
.kova-timeline-name bdi{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.kova-timeline-name em{flex:1 1000 auto;min-width:3em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
font-style:normal;font-size:11px;color:var(--failed)}
.kova-timeline-track{position:relative;align-self:stretch;min-height:22px;
background:linear-gradient(to right,var(--line) 1px,transparent 1px) 0 0/var(--step,20%) 100%}
.kova-timeline-track b{position:absolute;top:50%;height:13px;margin-top:-6.5px;min-width:2px;border-radius:3px}
.kova-timeline-track b.agent{height:5px;margin-top:-2.5px}
.kova-timeline-track b.pause{height:5px;margin-top:-2.5px;border-radius:0}
.kova-timeline .model{background:var(--model)}.kova-timeline .tool{background:var(--tool)}
.kova-timeline .agent{background:var(--agent)}.kova-timeline .failed{background:var(--failed)}
.kova-timeline .pause{background:var(--pause)}
.kova-timeline-time,.kova-timeline-tokens{text-align:right;white-space:nowrap}
.kova-timeline-tokens{font-size:12px}
.kova-timeline-tokens u{display:flex;justify-content:flex-end;height:3px;margin-top:1px;text-decoration:none}
.kova-timeline-tokens u span{height:3px;min-width:1px}
.kova-timeline-axis{font-size:11px}
.kova-timeline-axis .kova-timeline-track,.kova-timeline-axis .kova-timeline-head{opacity:.68}
.kova-timeline-axis .kova-timeline-track{overflow:hidden}
.kova-timeline-axis .kova-timeline-track span{position:absolute;top:3px;padding-left:4px;white-space:nowrap}
.kova-timeline-axis:hover{background:none}
.kova-timeline-legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin-top:12px;font-size:12px;opacity:.8}
.kova-timeline-legend i{display:inline-block;width:12px;height:9px;border-radius:2.5px;margin-right:6px}
.kova-timeline-legend i.agent,.kova-timeline-legend i.pause{height:5px;vertical-align:2px;border-radius:0}
@container (max-width:640px){
.kova-timeline-row{grid-template-columns:minmax(0,1fr) 60px calc(var(--tokens)*.92);row-gap:1px;padding:4px 0 5px}
.kova-timeline-track{grid-row:2;grid-column:1/-1;min-height:15px}
.kova-timeline-axis .kova-timeline-head{display:none}
.kova-timeline-axis .kova-timeline-track{grid-row:1;min-height:18px}
.kova-timeline-axis .kova-timeline-track span:nth-child(even){display:none}
}
""".strip()

PAGE_STYLE = """
:root{color-scheme:light dark;background:#fff;color:#1c1f26}
body{margin:0;padding:clamp(14px,3vw,32px)}
.kova-timeline{margin:0 auto}
@media (prefers-color-scheme:dark){:root{background:#14161b;color:#e6e8ee}}
@media print{.kova-timeline{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
""".strip()

# Nothing of what is shown could be run or fetched, even if it were not escaped.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(timeline: Timeline, title: str) -> str:
    """A page of its own."""
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(shown(title))}</title><style>{PAGE_STYLE}</style>"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{html_fragment(timeline, title)}</body></html>\n'
    )


def html_fragment(timeline: Timeline, title: str) -> str:
    """A part of a page."""
    layout = lay_out(timeline)
    parts = [
        f"<style>{STYLE}</style>",
        f'<div class="kova-timeline" style="--step:{_percent(layout.step)};--tokens:{104 if layout.has_tokens else 0}px">',
        f'<div class="kova-timeline-title">{escape(shown(title))}</div>',
        *_sums(layout),
        *(_rows(layout) if layout.rows else ['<div style="opacity:.68">Nothing was called.</div>']),
        "</div>",
    ]
    return "\n".join(parts) + "\n"


def _sums(layout: Layout) -> list[str]:
    sums = [
        f"<div><span>{escape(word)}</span><b>{escape(figure)}</b><span>{escape(note)}</span></div>"
        for word, figure, note in layout.sums
    ]
    return ['<div class="kova-timeline-sums">', *sums, "</div>"]


def _rows(layout: Layout) -> list[str]:
    ticks = "".join(f'<span style="left:{_percent(share)}">{escape(label)}</span>' for share, label in layout.ticks)
    axis = (
        f'<div class="kova-timeline-row kova-timeline-axis"><div></div><div class="kova-timeline-track">{ticks}</div>'
        '<div class="kova-timeline-time kova-timeline-head">time</div>'
        f'<div class="kova-timeline-tokens kova-timeline-head">{"tokens in → out" if layout.has_tokens else ""}</div>'
        "</div>"
    )
    legend = [f'<span><i class="{look}"></i>{escape(meaning)}</span>' for look, meaning in layout.legend]
    return [axis, *map(_row, layout.rows), '<div class="kova-timeline-legend">', *legend, "</div>"]


def _row(row: Row) -> str:
    bars = "".join(
        f'<b class="{segment.look}" style="left:{_percent(segment.left)};width:{_percent(segment.width)}"></b>'
        for segment in row.segments
    )
    error = f"<em>{escape(row.error)}</em>" if row.error else ""
    shares = ""
    if row.input_share or row.output_share:
        shares = (
            f'<u><span style="width:{_percent(row.input_share)};background:var(--in)"></span>'
            f'<span style="width:{_percent(row.output_share)};background:var(--out)"></span></u>'
        )
    return (
        f'<div class="kova-timeline-row" title="{escape(row.tooltip)}">'
        f'<div class="kova-timeline-name" style="--depth:{min(row.depth, DEEPEST)}">'
        f'<i class="{row.kind}"></i><bdi>{escape(row.name)}</bdi>{error}</div>'
        f'<div class="kova-timeline-track">{bars}</div>'
        f'<div class="kova-timeline-time">{escape(row.time)}</div>'
        f'<div class="kova-timeline-tokens">{escape(row.tokens)}{shares}</div></div>'
    )


def _percent(share: float) -> str:
    return f"{share * 100:.2f}%"
