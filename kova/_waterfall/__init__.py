"""The waterfall: a timeline as a picture, in HTML and in SVG. Both are self-contained, and escape all that they show."""

from .page import html_fragment, html_page
from .picture import svg

__all__ = ["html_fragment", "html_page", "svg"]
