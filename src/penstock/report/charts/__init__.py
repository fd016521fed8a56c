"""Charts as SVG, drawn by matplotlib (extra ``report``); the only place that knows it.

A chart is a function of numbers and a width in pixels. Its text stays text, and its colours are the
page's, so it turns dark with it. :func:`require_charts` says what to install where the library is
missing; nothing here imports it before something is drawn.
"""

from __future__ import annotations

from importlib.util import find_spec

from penstock.errors import InputError


def has_charts() -> bool:
    return find_spec("matplotlib") is not None


def require_charts() -> None:
    """An error that says how to get it, where matplotlib is missing."""
    if not has_charts():
        raise InputError(
            "charts need matplotlib: pip install 'penstock[report]'; reports as --markdown, "
            "--json, --csv and --latex do without"
        )
