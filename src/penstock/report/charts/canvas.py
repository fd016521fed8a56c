"""A sheet of so many pixels, and what is drawn on it as an SVG element for a page or a file."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

from penstock.report.page.palette import OVER as OVER
from penstock.report.page.palette import SERIES, on_white
from penstock.report.text_width import cut as cut

#: Colours that the page decides, by stand-ins that nobody would draw with.
INK, FAINT, LINE, GROUND, SOFT, ACCENT, STREAM = (
    "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f", "#101112", "#131415",
)  # fmt: skip
_ROLES = {
    INK: "ink",
    FAINT: "faint",
    LINE: "line",
    GROUND: "ground",
    SOFT: "soft",
    ACCENT: "blue",
    STREAM: "stream",
}
COLOURS = SERIES
#: From empty to full: the lightness says it, too, and it is made for all colour vision.
HEAT = "cividis"
#: Below this width a chart is meant for a phone.
PHONE = 500

#: Around a picture that is a file of its own, and above it.
_MARGIN, _HEAD = 12, 44
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "penstock",
    # Measured in a wide font, so that what is shown in another has room.
    "font.family": ["DejaVu Sans"],
    # A dollar in a user's name is a dollar.
    "text.parse_math": False,
    "text.usetex": False,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": FAINT,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": FAINT,
    "ytick.labelcolor": FAINT,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "path.simplify": True,
}


def letter_size(width: float) -> float:
    """Height of ordinary letters, in pixels, on a sheet of this width."""
    return 11.0 if width < PHONE else 12.0


class Sheet:
    """Places things by pixels from the upper left corner."""

    def __init__(self, width: int, height: int) -> None:
        from matplotlib.figure import Figure

        self.width, self.height = width, height
        self.figure: Any = Figure(figsize=(width / 72, height / 72), dpi=72)

    @property
    def is_phone(self) -> bool:
        return self.width < PHONE

    @property
    def size(self) -> float:
        """Height of ordinary letters, in pixels."""
        return letter_size(self.width)

    def axes(self, left: float, top: float, width: float, height: float) -> Any:
        """A plot whose frame has this place."""
        place = (
            left / self.width,
            1 - (top + height) / self.height,
            width / self.width,
            height / self.height,
        )
        axes = self.figure.add_axes(place)
        axes.tick_params(labelsize=self.size - 1, length=3)
        return axes

    def bare(self) -> Any:
        """The whole sheet in pixels from the upper left corner, without a frame."""
        axes = self.axes(0, 0, self.width, self.height)
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        axes.axis("off")
        return axes


def drawn(width: int, height: float, paint: Callable[[Sheet], None]) -> str:
    """What ``paint`` draws, as an SVG element that takes its colours from the page around it."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # Letters that the measuring font lacks are shown by the reader's.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        sheet = Sheet(width, int(height))
        paint(sheet)
        out = io.StringIO()
        sheet.figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return _tidy(out.getvalue(), width, int(height))


def standalone(svg: str, title: str) -> str:
    """An element made by :func:`drawn` as a file of its own: on white, under its title."""
    svg = on_white(svg)
    opening = re.match(r'<svg viewBox="0 0 (\d+) (\d+)"[^>]*>', svg)
    assert opening is not None  # made by drawn
    width, height = int(opening[1]) + 2 * _MARGIN, int(opening[2]) + _HEAD + _MARGIN
    words = cut(title, width, 16)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-_MARGIN} {-_HEAD} {width} {height}" '
        f'width="{width}" height="{height}" stroke-linejoin="round" font-family="{_FONT}">'
        f'<rect x="{-_MARGIN}" y="{-_HEAD}" width="{width}" height="{height}" fill="#ffffff"/>'
        f'<text y="{18 - _HEAD + _MARGIN}" font-size="16" font-weight="bold">{escape(words)}</text>'
        f"{svg[opening.end() :]}\n"
    )


def _tidy(svg: str, width: int, height: int) -> str:
    """Without what only a file needs; names only where something refers to them."""
    body = svg[svg.index("<svg") :]
    body = body[body.index(">") + 1 : body.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))
    # Only inside tags: what users call things is left alone.
    body = re.sub(r"<[^>]+>", lambda tag: _tidy_tag(tag.group(), referred), body)
    body = re.sub(r">\s*\n\s*<", "><", body)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'stroke-linejoin="round" font-family="{_FONT}">{body.strip()}</svg>'
    )


def _tidy_tag(tag: str, referred: set[str]) -> str:
    if tag.startswith("<!--"):
        return ""
    tag = re.sub(
        r' id="([^"]*)"', lambda name: name.group() if name.group(1) in referred else "", tag
    )
    tag = re.sub(r" font-family: [^;\"]*;", "", tag)
    tag = re.sub(r' transform="rotate\(-0 [^"]*"', "", tag)
    tag = re.sub(r"(\d\.\d\d)\d+", r"\1", tag).replace("xlink:href", "href")
    tag = re.sub(r"\s*\n", " ", tag)
    for stand_in, role in _ROLES.items():
        tag = tag.replace(stand_in, f"var(--{role})")
    return tag
