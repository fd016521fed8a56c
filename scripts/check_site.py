"""Fail where a page of the built site would load something from the network."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

#: What a browser loads by itself; an ``<a href>`` is followed by people only.
_LOADS = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "video"}
_ADDRESS = re.compile(r"(?:https?:)?//[\w.-]+\.\w")
_IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


class Loads(HTMLParser):
    """Addresses of other hosts that a page makes a browser load."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in _LOADS or given.get("rel") == "canonical":
            return
        for name in ("src", "href", "srcset", "data"):
            if _ADDRESS.match(given.get(name) or ""):
                self.addresses.append(str(given[name]))


def foreign_loads(folder: Path) -> list[str]:
    """``page: address`` for everything that a page or a style sheet loads from elsewhere."""
    loads = []
    for page in sorted(folder.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        parser = Loads()
        parser.feed(text)
        loads += [f"{page.relative_to(folder)}: {one}" for one in parser.addresses]
    for style in sorted([*folder.rglob("*.css"), *folder.rglob("*.html")]):
        text = style.read_text(encoding="utf-8")
        loads += [f"{style.relative_to(folder)}: {one}" for one in _IN_STYLE.findall(text)]
    return loads


def main() -> int:
    folder = Path(sys.argv[1])
    loads = foreign_loads(folder)
    for load in loads:
        print(f"loaded from the network: {load}")
    if not loads:
        print(f"{folder}/index.html: {len(list(folder.rglob('*.html')))} pages")
    return int(bool(loads))


if __name__ == "__main__":
    sys.exit(main())
