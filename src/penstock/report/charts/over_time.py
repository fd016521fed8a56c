"""What happens over time: lines under one another, and the CPU of machines as strips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.report.charts.canvas import FAINT, GROUND, HEAT, INK, LINE, Sheet, cut, drawn
from penstock.report.charts.lines import LEFT, legend, line_style, title

_PANEL, _GAP = 110, 52
_STRIP = 14
_RIGHT, _FOOT = 10, 34
#: One in so many moments is told apart on a sheet.
_MOST_MOMENTS = 300


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines with one scale; NaN where nothing was measured."""

    title: str
    lines: tuple[tuple[str, Sequence[float]], ...]
    most: float | None = None
    #: A scale of powers of ten, where values are far apart.
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Strips:
    """The part in use of some machines, shape (moments, machines)."""

    title: str
    names: Sequence[str]
    parts: np.ndarray


def over_time_svg(
    times_s: Sequence[float],
    panels: Sequence[Panel],
    strips: Strips | None,
    changes: Sequence[tuple[float, str]],
    width: int,
) -> str:
    """All panels over the same time; ``times_s`` are the ends of the moments.

    ``changes`` are moments to be marked, with a word.
    """
    rows = len(strips.names) if strips else 0
    strips_height = rows * _STRIP + _GAP if rows else 0
    height = len(panels) * (_PANEL + _GAP) + strips_height + _FOOT - _GAP + 52

    def paint(sheet: Sheet) -> None:
        plot = width - LEFT - _RIGHT
        top = 42.0
        axes = None
        for panel in panels:
            axes = sheet.axes(LEFT, top, plot, _PANEL)
            _panel(axes, sheet, panel, times_s)
            _marks(axes, sheet, changes if panel is panels[0] else [(t, "") for t, _ in changes])
            top += _PANEL + _GAP
        if strips and rows:
            axes = sheet.axes(LEFT, top, plot, rows * _STRIP)
            _strips(axes, sheet, strips, times_s)
        if axes is not None:
            axes.tick_params(labelbottom=True, bottom=True)
            axes.set_xlabel("simulated time, s", size=sheet.size - 1)

    return drawn(width, height, paint)


def _panel(axes: Any, sheet: Sheet, panel: Panel, times_s: Sequence[float]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    step = max(1, len(times_s) // _MOST_MOMENTS)
    for number, (_, values) in enumerate(panel.lines):
        drawn_values = list(values)[::step]
        # A value between two that are not known has no line, so it gets a dot.
        marker = None if np.isfinite(drawn_values).all() else "."
        style = line_style(number)
        axes.plot(times_s[::step], drawn_values, linewidth=1.5, marker=marker, **style)
    legend(axes, sheet, [name for name, _ in panel.lines], LEFT, _PANEL)
    axes.set_xlim(0, times_s[-1])
    known = [v for _, values in panel.lines for v in values if np.isfinite(v)]
    most = panel.most or 1.05 * max([*known, 1e-12])
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, most)
        axes.yaxis.set_major_locator(MaxNLocator(4))
    decimals = panel.logarithmic or most < 10
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda v, _: f"{v:.3g}" if decimals and v < 1000 else f"{v:,.0f}")
    )
    axes.grid(axis="y")
    axes.tick_params(labelbottom=False, bottom=False)
    title(axes, sheet, panel.title, LEFT, 21)


def _marks(axes: Any, sheet: Sheet, changes: Sequence[tuple[float, str]]) -> None:
    """Dashed lines, numbered words beside them one below the other."""
    until = axes.get_xlim()[1]
    for level, (at_s, words) in enumerate(c for c in changes if c[0] <= until):
        axes.axvline(at_s, color=INK, linewidth=1, linestyle=(0, (3, 3)))
        late = at_s > 0.6 * until
        if words:
            axes.annotate(
                cut(words, 0.55 * axes.bbox.width, sheet.size - 2), (at_s, 0),
                (-4 if late else 4, 8 + 12 * (level % 5)), textcoords="offset points",
                ha="right" if late else "left", size=sheet.size - 2,
                bbox={"facecolor": GROUND, "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip


def _strips(axes: Any, sheet: Sheet, strips: Strips, times_s: Sequence[float]) -> None:
    step = max(1, len(times_s) // _MOST_MOMENTS)
    moments = len(times_s) // step * step
    rows = strips.parts[:moments].reshape(-1, step, strips.parts.shape[1]).mean(axis=1).T
    extent = (0, times_s[moments - 1], len(strips.names), 0)
    axes.imshow(rows, aspect="auto", interpolation="none", cmap=HEAT, vmin=0, vmax=1, extent=extent)
    axes.set_xlim(0, times_s[-1])
    axes.set_yticks([i + 0.5 for i in range(len(strips.names))])
    axes.set_yticklabels([cut(name, LEFT - 10, sheet.size - 2) for name in strips.names])
    axes.tick_params(axis="y", labelsize=sheet.size - 2, length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(axis="x", labelcolor=FAINT)
    title(axes, sheet, strips.title, LEFT, 8)
