"""Latency against load: a line for each percentile, with how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.report.charts.canvas import Sheet, drawn
from penstock.report.charts.lines import FAR_APART, LEFT, legend, line_style, title

_PLOT, _RIGHT, _TOP, _FOOT = 220, 16, 46, 40


@dataclass(frozen=True, slots=True)
class LoadLine:
    """One figure at every load; NaN where it is not known."""

    name: str
    values_ms: Sequence[float]
    #: Half the width of each value's 95 % interval.
    half_widths_ms: Sequence[float]


def load_curve_svg(loads: Sequence[float], lines: Sequence[LoadLine], width: int) -> str:
    """``loads`` are parts of the sustainable rate."""
    percents = [100 * load for load in loads]

    def paint(sheet: Sheet) -> None:
        from matplotlib.ticker import FuncFormatter

        axes = sheet.axes(LEFT, _TOP, width - LEFT - _RIGHT, _PLOT)
        values = np.array([line.values_ms for line in lines], dtype=np.float64)
        known = values[np.isfinite(values) & (values > 0)]
        if len(known) and known.max() > FAR_APART * known.min():
            axes.set_yscale("log")
        for number, line in enumerate(lines):
            style = line_style(number)
            axes.errorbar(
                percents, line.values_ms, yerr=np.nan_to_num(line.half_widths_ms), linewidth=1.6,
                elinewidth=1.0, capsize=3, marker="o", markersize=4, **style,
            )  # fmt: skip
        if axes.get_yscale() == "linear":
            axes.set_ylim(bottom=0)
        legend(axes, sheet, [line.name for line in lines], LEFT, _PLOT)
        axes.set_xticks(percents)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 10 else f"{v:.3g}")
        )
        axes.grid(axis="y")
        axes.set_xlabel("load, % of the sustainable rate", size=sheet.size - 1)
        title(axes, sheet, "latency, ms", LEFT, 21)

    return drawn(width, _TOP + _PLOT + _FOOT, paint)
