"""What the documentation site does that no plugin of MkDocs does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ASSETS = Path(__file__).parents[2] / ".docs-assets"
MERMAID = "mermaid.min.js"

# ```python run: the mark is for the tests.
MARK = re.compile(r"^(?P<fence> *`{3,}python) +(?:run|test|peer)$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Draw diagrams only with a program that the site serves itself; the theme would load one from elsewhere."""
    if (ASSETS / MERMAID).exists():
        config.extra_javascript.append(f"assets/{MERMAID}")
    else:
        config.mdx_configs["pymdownx.superfences"]["custom_fences"] = []
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Fonts and Mermaid, if `scripts/site/assets.py` could bring them."""
    for asset in sorted(ASSETS.glob("*.*")):
        files.append(File.generated(config, f"assets/{asset.name}", abs_src_path=str(asset)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Leave the marks of examples out, which the highlighter would take for options; make room for columns."""
    page.meta["search"] = {"boost": 0.5 if page.file.src_uri.startswith("reference/") else 1}  # guides are found first
    if '<div class="side-by-side"' in markdown:
        page.meta["hide"] = ["navigation", "toc"]
    return MARK.sub(r"\g<fence>", markdown)
