"""Links between pages lead somewhere, on GitHub as well as on the site; `make docs` checks the site's once more."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.fences import pages

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")
CODE = re.compile(r"^ *(`{3,}).*?^ *\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
PAGES = [str(path.relative_to(ROOT)) for path in pages(ROOT)]


@cache
def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them: lower case, no punctuation, hyphens for spaces."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    wrong = []
    for match in LINK.finditer(CODE.sub("", path.read_text("utf-8"))):
        target = match["target"] or match["image"]
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found)):
            wrong.append(target)
    assert wrong == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_a_link_leads_to_a_page_and_not_to_a_folder(page: str) -> None:
    """A folder is no page on the site."""
    path = ROOT / page
    links = [match["target"] or "" for match in LINK.finditer(CODE.sub("", path.read_text("utf-8")))]
    files = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#|(\.\./)+examples", link)]
    assert [file for file in files if file and (path.parent / file).is_dir()] == []
