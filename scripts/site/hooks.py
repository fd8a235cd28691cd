"""What the documentation site does that no plugin of MkDocs does."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
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
    """The examples that pages link to; fonts and Mermaid, if `scripts/site/assets.py` could bring them."""
    for example in linked_examples():
        content = zipped(example) if example.is_dir() else example.read_bytes()
        files.append(File.generated(config, served(example), content=content))
    for asset in sorted(ASSETS.glob("*.*")):
        files.append(File.generated(config, f"assets/{asset.name}", abs_src_path=str(asset)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Leave out what is for GitHub and for the tests: links out of docs/, marks of examples. Make room for columns.

    Examples are no pages, but a reader who has installed kova has no other way to them: the site brings copies along.
    """
    page.meta["search"] = {"boost": 0.5 if page.file.src_uri.startswith("reference/") else 1}  # guides are found first
    if '<div class="side-by-side"' in markdown:
        page.meta["hide"] = ["navigation", "toc"]
    folder = DOCS / Path(page.file.src_uri).parent

    def for_the_site(link: re.Match[str]) -> str:
        target = (folder / link["target"]).resolve()
        if target.is_relative_to(EXAMPLES):
            return f"[{link['text']}]({'../' * len(folder.relative_to(DOCS).parts)}{served(target)})"
        return link[0] if target.is_relative_to(DOCS) else link["text"]

    return OUTSIDE.sub(for_the_site, MARK.sub(r"\g<fence>", markdown))


def linked_examples() -> list[Path]:
    """The files and folders of examples/ that pages link to."""
    links = [
        (page.parent / link["target"]).resolve()
        for page in DOCS.rglob("*.md")
        for link in OUTSIDE.finditer(page.read_text("utf-8"))
    ]
    return sorted({target for target in links if target.is_relative_to(EXAMPLES)})


def served(example: Path) -> str:
    """Where the site has an example; a folder is one file there."""
    return example.relative_to(ROOT).as_posix() + (".zip" if example.is_dir() else "")


def zipped(folder: Path) -> bytes:
    """A folder of examples as one file, the same bytes from the same folder."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.writestr(zipfile.ZipInfo(file.relative_to(folder.parent).as_posix()), file.read_bytes())
    return content.getvalue()
