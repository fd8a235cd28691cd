"""What the documentation site does that no plugin of MkDocs does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ASSETS = ROOT / ".docs-assets"
MERMAID = "mermaid.min.js"

# A link to a file of the repository that is no page.
OUTSIDE = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>(?:\.\./)+[^)#]*)[^)]*\)")

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
    """Leave out what is for GitHub and for the tests: links out of docs/, marks of examples. Make room for columns."""
    page.meta["search"] = {"boost": 0.5 if page.file.src_uri.startswith("reference/") else 1}  # guides are found first
    if '<div class="side-by-side"' in markdown:
        page.meta["hide"] = ["navigation", "toc"]
    folder = DOCS / Path(page.file.src_uri).parent

    def without_link(link: re.Match[str]) -> str:
        is_page = (folder / link["target"]).resolve().is_relative_to(DOCS)
        return link[0] if is_page else link["text"]

    return OUTSIDE.sub(without_link, MARK.sub(r"\g<fence>", markdown))
