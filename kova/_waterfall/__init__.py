"""The waterfall: a timeline in HTML, in SVG and as text. All are self-contained, and escape what they show."""

from .page import html_fragment, html_page
from .picture import svg
from .text import text_lines

__all__ = ["html_fragment", "html_page", "svg", "text_lines"]
