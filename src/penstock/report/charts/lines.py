"""What charts of lines have in common: how lines differ, their names, the title above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.report.charts.canvas import COLOURS, INK, Sheet, cut

#: Room for the numbers of the vertical axis, in pixels.
LEFT = 56
#: Values that differ by more times than this are drawn with a scale of powers of ten.
FAR_APART = 50.0
#: Lines differ by more than their colour.
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)))


def line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of the line of this number."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": _DASHES[number % len(_DASHES)],
    }


def title(axes: Any, sheet: Sheet, text: str, left: float, y: float) -> None:
    """Bold words above a plot, flush with the numbers of its axis."""
    axes.annotate(
        text, (0, 1), (4 - left, y), xycoords="axes fraction", textcoords="offset points",
        size=sheet.size, weight="bold", va="bottom",
    )  # fmt: skip


def legend(axes: Any, sheet: Sheet, names: Sequence[str], left: float, height: float) -> None:
    """The names of the lines in one row above a plot, each after a piece of its line."""
    at, width = 4.0 - left, axes.bbox.width
    for number, name in enumerate(names):
        label = cut(name, (width + left) / len(names) - 40, sheet.size - 1)
        axes.plot(
            [at / width, (at + 18) / width], [1 + 13 / height] * 2, transform=axes.transAxes,
            linewidth=1.8, clip_on=False, **line_style(number),
        )  # fmt: skip
        axes.annotate(
            label, (0, 1), (at + 22, 13), xycoords="axes fraction", textcoords="offset points",
            size=sheet.size - 1, color=INK, va="center_baseline",
        )  # fmt: skip
        at += 34 + 6.4 * len(label)
