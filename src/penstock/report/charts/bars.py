"""Horizontal bars: schedulers beside the bound, limits beside the rate, before beside after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.report.charts.canvas import (
    ACCENT,
    COLOURS,
    FAINT,
    GROUND,
    INK,
    LINE,
    PHONE,
    SOFT,
    Sheet,
    cut,
    drawn,
    letter_size,
)
from penstock.report.text_width import text_width

_BAR = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """A named value with its words; ``low`` and ``high`` are the ends of its spread.

    ``hollow``: it is not to be had, for instance because the plan breaks a limit.
    """

    name: str
    value: float | None
    words: str
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across all bars."""

    value: float
    words: str


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where bars begin, how long the longest is, and how high a row is."""

    left: float
    plot: float
    most: float
    row: int
    #: On a phone the words stand above the bar and not beside it.
    above: bool

    def x_of(self, value: float) -> float:
        return self.left + self.plot * value / self.most


def bars_svg(bars: Sequence[Bar], marks: Sequence[Mark], unit: str, width: int) -> str:
    """One bar each; marks are dashed lines named below the bars."""
    frame = _frame(bars, marks, width)
    shown = sorted(marks, key=lambda mark: mark.value)
    bottom = frame.row * len(bars) + 6
    height = bottom + 15 * len(shown) + 22

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        for level, mark in enumerate(shown):
            _mark(axes, sheet, mark, frame.x_of(mark.value), bottom, level)
        for number, bar in enumerate(bars):
            _bar(axes, sheet, bar, 6 + frame.row * number, frame)
        axes.text(frame.left, height - 4, unit, size=sheet.size - 1, color=FAINT, va="bottom")

    return drawn(width, height, paint)


def _frame(bars: Sequence[Bar], marks: Sequence[Mark], width: int) -> _Frame:
    ends = [bar.high or bar.value or 0.0 for bar in bars] + [mark.value for mark in marks]
    most = max([*ends, 1e-300])
    if width < PHONE:
        return _Frame(1, width - 3.0, most, 40, above=True)
    size = letter_size(width)
    longest = max((text_width(bar.name, size, bold=bar.strong) for bar in bars), default=30.0)
    left = min(longest + 14, 0.34 * width)
    # Room for the words behind the longest bar.
    right = 12 + max((text_width(b.words, size, bold=b.strong) for b in bars), default=0.0)
    return _Frame(left, max(width - left - right, 60.0), most, 30, above=False)


def _bar(axes: Any, sheet: Sheet, bar: Bar, top: float, frame: _Frame) -> None:
    from matplotlib.patches import Rectangle

    left, weight = frame.left, "bold" if bar.strong else "normal"
    if frame.above:
        top += 16
    middle = top + _BAR / 2
    end = left
    if bar.value is not None:
        end = frame.x_of(bar.value)
        fill = "none" if bar.hollow else ACCENT if bar.strong else COLOURS[4]
        axes.add_patch(
            Rectangle(
                (left, top), end - left, _BAR, facecolor=fill, edgecolor=ACCENT, linewidth=1,
                zorder=2,
            )
        )  # fmt: skip
    if bar.low is not None and bar.high is not None and bar.high > bar.low:
        low, high = frame.x_of(bar.low), frame.x_of(bar.high)
        axes.plot([low, high], [middle, middle], color=INK, linewidth=1.4, zorder=3)
        for x in (low, high):
            axes.plot([x, x], [middle - 4, middle + 4], color=INK, linewidth=1.4, zorder=3)
        end = max(end, high)
    _name_and_words(axes, sheet, bar, (left, end), middle, frame.above, weight)


def _name_and_words(
    axes: Any,
    sheet: Sheet,
    bar: Bar,
    ends: tuple[float, float],
    middle: float,
    above: bool,
    weight: str,
) -> None:
    left, end = ends
    style = {"size": sheet.size, "weight": weight, "va": "center_baseline", "color": INK}
    behind = {"facecolor": GROUND, "edgecolor": "none", "pad": 0.0}
    if above:
        room = sheet.width - text_width(bar.words, sheet.size, bold=bar.strong) - 12
        line = middle - _BAR / 2 - 9
        axes.text(left, line, cut(bar.name, room, sheet.size, bold=bar.strong), **style)
        axes.text(sheet.width - 1, line, bar.words, ha="right", bbox=behind, **style)
        return
    name = cut(bar.name, left - 12, sheet.size, bold=bar.strong)
    axes.text(left - 8, middle, name, ha="right", **style)
    axes.text(end + 6, middle, bar.words, bbox=behind, **style)


def _mark(axes: Any, sheet: Sheet, mark: Mark, x: float, bottom: float, level: int) -> None:
    low = bottom + 12 + 15 * level
    axes.plot([x, x], [0, low - 9], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    half = text_width(mark.words, sheet.size - 1) / 2
    side = "right" if x + half > sheet.width else "left" if x < half else "center"
    axes.text(x, low, mark.words, size=sheet.size - 1, ha=side, va="center_baseline")


@dataclass(frozen=True, slots=True)
class Pair:
    """A value before and after."""

    name: str
    before: float
    after: float
    words: str


def pairs_svg(pairs: Sequence[Pair], most: float, unit: str, width: int) -> str:
    """Before as a ring, after as a dot, and a line between them."""
    size = letter_size(width) - 1
    longest = max((text_width(pair.name, size) for pair in pairs), default=30.0)
    left = min(longest + 12, 0.34 * width)
    right = 10 + max((text_width(pair.words, size) for pair in pairs), default=0.0)
    plot = max(width - left - right, 60.0)
    row = 22
    height = 24 + row * len(pairs) + 20

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        _key(axes, sheet, left)
        for number, pair in enumerate(pairs):
            y = 24 + row * number + row / 2
            before, after = (left + plot * v / most for v in (pair.before, pair.after))
            axes.plot([left, left + plot], [y, y], color=SOFT, linewidth=7, zorder=0)
            axes.plot([before, after], [y, y], color=LINE, linewidth=3, zorder=1)
            _ring(axes, before, y)
            axes.plot([after], [y], marker="o", markersize=8, color=ACCENT, zorder=3)
            name = cut(pair.name, left - 10, sheet.size - 1)
            axes.text(left - 8, y, name, size=sheet.size - 1, ha="right", va="center_baseline")
            axes.text(left + plot + 8, y, pair.words, size=sheet.size - 1, va="center_baseline")
        axes.text(left, height - 5, unit, size=sheet.size - 1, color=FAINT, va="bottom")

    return drawn(width, height, paint)


def _ring(axes: Any, x: float, y: float) -> None:
    axes.plot(
        [x], [y], marker="o", markersize=8, markerfacecolor="none", markeredgecolor=INK,
        markeredgewidth=1.4, zorder=2, linestyle="none",
    )  # fmt: skip


def _key(axes: Any, sheet: Sheet, left: float) -> None:
    _ring(axes, left + 5, 10)
    axes.text(left + 14, 10, "before", size=sheet.size - 1, va="center_baseline")
    axes.plot([left + 75], [10], marker="o", markersize=8, color=ACCENT, linestyle="none")
    axes.text(left + 84, 10, "after", size=sheet.size - 1, va="center_baseline")
