"""No link leads nowhere: files, headings, and the pages in the site's navigation."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from tests.docs.commands import ROOT

DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
_LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
#: Pages of the site that are no files in docs/: at the root, or made from the notebook.
ELSEWHERE = {
    "changelog.md": ROOT / "CHANGELOG.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "reporting-a-weakness.md": ROOT / "SECURITY.md",
    "tutorials/notebook.md": DOCS / "tutorials" / "notebook.ipynb",
}


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_files_and_headings(page):
    dead = []
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    assert dead == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    slugs: Counter[str] = Counter()
    names = set()
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        names.add(f"{slug}-{slugs[slug]}" if slugs[slug] else slug)
        slugs[slug] += 1
    return names


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml; the function that makes anchors is of no interest here."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def test_every_page_is_in_the_navigation_once():
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)
    listed = list(_pages_of(site["nav"]))
    here = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(here | set(ELSEWHERE))
    assert all(file.exists() for file in ELSEWHERE.values())


def _pages_of(entry: object):
    if isinstance(entry, str):
        yield entry
    for one in entry.values() if isinstance(entry, dict) else ():
        yield from _pages_of(one)
    for one in entry if isinstance(entry, list) else ():
        yield from _pages_of(one)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_files_of_ours_that_a_page_names_are_there(page):
    files = [f"/{file.relative_to(ROOT).as_posix()}" for file in _own_files()]
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|java|sh|toml))(?:::\w+)?`", text)
    missing = [
        name
        for name in named
        if "NAME" not in name and not any(file.endswith(f"/{name}") for file in files)
    ]
    assert missing == []


def _own_files() -> list[Path]:
    folders = ("benchmarks", "scripts", "src", "storm-plugin/src", "tests")
    return [file for folder in folders for file in (ROOT / folder).rglob("*.*")]
