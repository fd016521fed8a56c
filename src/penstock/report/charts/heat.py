"""Machines as a heat map: a few as a table with numbers, many as a field of small squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from penstock.report.charts.canvas import FAINT, HEAT, INK, LINE, OVER, Sheet, cut, drawn

#: Up to so many machines get a line each.
MOST_LINES = 30
#: Cells smaller than this hold no number.
_LEAST_FOR_NUMBER = 24
#: More cells than this are drawn as one image.
_MOST_CELLS = 400
#: Above this it is more than full, not a matter of rounding.
_FULL = 1.0 + 1e-6
#: Height of the key of colours.
_KEY = 24


@dataclass(frozen=True, slots=True)
class Gauge:
    """One thing that can fill up, such as CPU: the part in use of each machine, NaN if unknown."""

    name: str
    parts: Sequence[float]


def heat_svg(machines: Sequence[tuple[str, str]], gauges: Sequence[Gauge], width: int) -> str:
    """Machines are (name, type) in order; every gauge has a value for each."""
    if len(machines) <= MOST_LINES:
        return _lines(machines, gauges, width)
    return _field(machines, gauges, width)


def _colour(part: float) -> tuple[Any, str]:
    """The colour of a cell, and that of letters on it."""
    from matplotlib import colormaps

    if np.isnan(part):
        return "none", FAINT
    if part > _FULL:
        return OVER, "#000000"
    chosen = colormaps[HEAT](min(max(part, 0.0), 1.0))
    bright = 0.299 * chosen[0] + 0.587 * chosen[1] + 0.114 * chosen[2]
    return chosen, "#000000" if bright > 0.5 else "#ffffff"


def _lines(machines: Sequence[tuple[str, str]], gauges: Sequence[Gauge], width: int) -> str:
    row, top = 24, 26
    left = min(190.0, 0.38 * width)
    cell = min(150.0, (width - left) / len(gauges))

    def paint(sheet: Sheet) -> None:
        from matplotlib.patches import Rectangle

        axes = sheet.bare()
        for x, gauge in enumerate(gauges):
            middle = left + (x + 0.5) * cell
            axes.text(
                middle, top - 8, gauge.name, size=sheet.size - 1, color=FAINT, ha="center",
                va="bottom",
            )  # fmt: skip
        for y, (name, kind) in enumerate(machines):
            line = top + row * y + row / 2
            told = cut(f"{name} ({kind})", left - 10, sheet.size - 1)
            axes.text(0, line, told, size=sheet.size - 1, va="center_baseline", color=INK)
            for x, gauge in enumerate(gauges):
                part = float(gauge.parts[y])
                fill, ink = _colour(part)
                axes.add_patch(
                    Rectangle(
                        (left + x * cell + 1, top + row * y + 1), cell - 2, row - 2,
                        facecolor=fill, edgecolor=LINE if fill == "none" else "none",
                    )
                )  # fmt: skip
                words = "–" if np.isnan(part) else f"{100 * part:.0f} %"
                axes.text(
                    left + (x + 0.5) * cell, line, words, size=sheet.size - 1, color=ink,
                    ha="center", va="center_baseline",
                )  # fmt: skip

    return drawn(width, top + row * len(machines) + 2, paint)


@dataclass(frozen=True, slots=True)
class _Group:
    """Machines of one type: where in the order they are, and their place in the field."""

    kind: str
    members: list[int]
    top: float


def _field(machines: Sequence[tuple[str, str]], gauges: Sequence[Gauge], width: int) -> str:
    size = _cell_size(len(machines), width)
    columns = max(1, int(width // size))
    kinds: list[tuple[str, list[int]]] = [
        (kind, [i for i, _ in group])
        for kind, group in groupby(
            sorted(enumerate(machines), key=lambda m: (m[1][1], m[0])), key=lambda m: m[1][1]
        )
    ]
    groups, y = [], 0.0
    for kind, members in kinds:
        groups.append(_Group(kind, members, y + 18))
        y += 18 + size * -(-len(members) // columns) + 8
    block = y + 30

    def paint(sheet: Sheet) -> None:
        _key(sheet)
        for number, gauge in enumerate(gauges):
            _gauge(sheet, gauge, groups, _KEY + number * block, size, columns)

    return drawn(width, _KEY + block * len(gauges), paint)


def _key(sheet: Sheet) -> None:
    """Which colour is how much."""
    from matplotlib.patches import Rectangle

    axes = sheet.bare()
    axes.add_patch(Rectangle((190, 3), 14, 12, color=OVER))
    axes.text(209, 9, "more than full", size=sheet.size - 1, color=FAINT, va="center_baseline")
    axes.text(0, 9, "0 %", size=sheet.size - 1, color=FAINT, va="center_baseline")
    axes.text(148, 9, "100 %", size=sheet.size - 1, color=FAINT, va="center_baseline")
    scale = sheet.axes(30, 3, 110, 12)
    scale.imshow(np.linspace(0, 1, 64)[None, :], aspect="auto", cmap=HEAT, interpolation="none")
    scale.axis("off")


def _cell_size(machines: int, width: int) -> float:
    """As large as numbers need, or as small as keeps the field about as high as wide."""
    for size in (34.0, 26.0, 18.0, 13.0, 9.0):
        if machines * size * size <= 0.75 * width * max(width, 500):
            return size
    return 6.0


def _gauge(
    sheet: Sheet, gauge: Gauge, groups: Sequence[_Group], top: float, size: float, columns: int
) -> None:
    axes = sheet.bare()
    axes.text(0, top + 12, f"{gauge.name}, percent in use", size=sheet.size, weight="bold")
    for group in groups:
        parts = np.array([float(gauge.parts[m]) for m in group.members])
        known = parts[~np.isnan(parts)]
        told = (
            f"{len(parts)} × {group.kind}: {100 * known.min():.0f} to {100 * known.max():.0f} %, "
            f"mean {100 * known.mean():.0f} %"
            if len(known)
            else f"{len(parts)} × {group.kind}: not known"
        )
        y = top + 18 + group.top
        axes.text(
            0, y - 4, cut(told, sheet.width, sheet.size - 2), size=sheet.size - 1, color=FAINT
        )
        if len(parts) > _MOST_CELLS or size < _LEAST_FOR_NUMBER:
            _image(sheet, parts, y, size, columns)
        else:
            _cells(axes, sheet, parts, y, size, columns)


def _cells(
    axes: Any, sheet: Sheet, parts: np.ndarray, top: float, size: float, columns: int
) -> None:
    from matplotlib.patches import Rectangle

    for i, part in enumerate(parts.tolist()):
        x, y = (i % columns) * size, top + (i // columns) * size
        fill, ink = _colour(part)
        edge = LINE if fill == "none" else "none"
        axes.add_patch(Rectangle((x, y), size - 1.5, size - 1.5, facecolor=fill, edgecolor=edge))
        if not np.isnan(part):
            middle = (size - 1.5) / 2
            axes.text(
                x + middle, y + middle, f"{100 * part:.0f}", size=sheet.size - 2, color=ink,
                ha="center", va="center_baseline",
            )  # fmt: skip


def _image(sheet: Sheet, parts: np.ndarray, top: float, size: float, columns: int) -> None:
    """One image with a pixel for each machine, and lines between them."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba

    rows = -(-len(parts) // columns)
    wide = columns if rows > 1 else len(parts)
    colours = np.zeros((rows * wide, 4))
    colours[: len(parts)] = colormaps[HEAT](np.clip(np.nan_to_num(parts), 0.0, 1.0))
    colours[: len(parts)][parts > _FULL] = to_rgba(OVER)
    colours[: len(parts), 3] = np.where(np.isnan(parts), 0.0, 1.0)
    axes = sheet.axes(0, top, wide * size, rows * size)
    axes.imshow(colours.reshape(rows, wide, 4), interpolation="none", aspect="auto")
    axes.axis("off")
