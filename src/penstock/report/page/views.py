"""The views of a page by the name of their option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import UsageError
from penstock.files.writer import to_json
from penstock.report.page.csv_view import to_csv
from penstock.report.page.document import Document
from penstock.report.page.html import to_html
from penstock.report.page.json_view import to_dict
from penstock.report.page.latex import to_latex
from penstock.report.page.markdown import to_markdown
from penstock.report.page.terminal import to_text

VIEWS: Mapping[str, Callable[[Document], str]] = {
    "text": to_text,
    "html": to_html,
    "markdown": to_markdown,
    "json": lambda page: to_json(to_dict(page)),
    "csv": to_csv,
    "latex": to_latex,
}
#: What a file's ending says about the view it should hold.
VIEW_OF_ENDING = {
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".json": "json",
    ".csv": "csv",
    ".tex": "latex",
}


def view_of(path: Path) -> str:
    """The view that a file's ending asks for."""
    view = VIEW_OF_ENDING.get(path.suffix.lower())
    if view is None:
        known = ", ".join(VIEW_OF_ENDING)
        raise UsageError(f'{path}: no format has the ending "{path.suffix}"; known: {known}')
    return view


def one_of(asked: Mapping[str, bool]) -> str | None:
    """The format that was asked for, if any; two are one too many."""
    names = [name for name, wanted in asked.items() if wanted]
    if len(names) > 1:
        raise UsageError(f"give only one of {', '.join('--' + name for name in names)}")
    return names[0] if names else None
