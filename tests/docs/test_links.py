"""Links of the pages lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import generate
import pytest

PAGES = [generate.ROOT / "README.md", *sorted(generate.DOCS.rglob("*.md"))]
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_OUTSIDE = ("http://", "https://", "mailto:")


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCED.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """Targets of the links to other files, and within the page."""
    return [target for target in _LINK.findall(prose(page)) if not target.startswith(_OUTSIDE)]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
        if found[slug]:
            found[f"{slug}-{found[slug]}"] = 0
    return set(found)


def resolved(page: Path, target: str) -> tuple[Path, str]:
    name, _, anchor = target.partition("#")
    return ((page.parent / unquote(name)).resolve() if name else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(generate.ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in links(page):
        path, anchor = resolved(page, target)
        there = path.exists() and path.is_relative_to(generate.ROOT)
        if not there or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [generate.DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            found = [resolved(page, target)[0] for target in links(page)]
            waiting += [path for path in found if path in PAGES]
    assert [str(page.relative_to(generate.ROOT)) for page in PAGES[1:] if page not in reached] == []
