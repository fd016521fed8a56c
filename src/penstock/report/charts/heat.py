"""Machines as a heat map by type: a few as a table with numbers, many as fields of squares.

Each group says what its machines are called, where they are and how large, and a key above all of
them says which colour is how much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.report.charts.canvas import (
    FAINT,
    HEAT,
    INK,
    LINE,
    OVER,
    Sheet,
    cut,
    drawn,
    letter_size,
)
from penstock.report.charts.heat_parts import (
    FULL,
    LINE_HEIGHT,
    Gauge,
    Group,
    HeatMachine,
    colour_of,
    groups_of,
    heading,
    heading_height,
    idle_line,
    key,
    key_height,
)
from penstock.report.name_ranges import name_ranges
from penstock.report.text_width import text_width

__all__ = ["MOST_LINES", "Gauge", "HeatMachine", "heat_svg"]

#: Up to so many machines in use get a line each.
MOST_LINES = 30
#: With more groups than this, machines of one type are one group whatever their rack.
_MOST_GROUPS = 24
#: Cells smaller than this hold no number.
_LEAST_FOR_NUMBER = 24
#: More cells than this are drawn as one image.
_MOST_CELLS = 400
_ROW = 24


def heat_svg(
    machines: Sequence[HeatMachine],
    sizes: Mapping[str, str],
    gauges: Sequence[Gauge],
    width: int,
) -> str:
    """``sizes`` says of each type how large its machines are; a gauge has a value for each machine.

    Where every machine in use has a line, those that are idle are only named.
    """
    if sum(not machine.is_idle for machine in machines) <= MOST_LINES:
        return _lines(machines, sizes, gauges, width)
    return _field(machines, sizes, gauges, width)


def _lines(
    machines: Sequence[HeatMachine],
    sizes: Mapping[str, str],
    gauges: Sequence[Gauge],
    width: int,
) -> str:
    groups = groups_of(machines, sizes, by_rack=False)
    small = letter_size(width) - 1
    labels = {i: _label(machines[i], group) for group in groups for i in group.busy}
    longest = max((text_width(label, small) for label in labels.values()), default=60.0)
    left = min(max(longest + 14, 80.0), 0.38 * width)
    cell = min(150.0, (width - left) / len(gauges))
    top = key_height(width) + 22
    heights = [
        heading_height(group, width) + _ROW * len(group.busy) + (_ROW if group.idle else 0) + 6
        for group in groups
    ]

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        key(sheet)
        for x, gauge in enumerate(gauges):
            axes.text(
                left + (x + 0.5) * cell, top - 4, gauge.name, size=small, color=INK, ha="center",
                weight="bold",
            )  # fmt: skip
        y = float(top)
        for group, height in zip(groups, heights, strict=True):
            heading(axes, sheet, group, y)
            line = y + heading_height(group, width)
            for i in group.busy:
                label = cut(labels[i], left - 10, small)
                axes.text(0, line + _ROW / 2, label, size=small, va="center_baseline", color=INK)
                _row(axes, sheet, [g.parts[i] for g in gauges], (left, line), cell)
                line += _ROW
            idle_line(axes, sheet, group, line)
            y += height

    return drawn(width, top + sum(heights) + 2, paint)


def _label(machine: HeatMachine, group: Group) -> str:
    """A machine's name, with its rack where the group's machines are in several."""
    return f"{machine.name} ({machine.rack})" if group.in_several_racks else machine.name


def _row(
    axes: Any, sheet: Sheet, parts: Sequence[float], at: tuple[float, float], cell: float
) -> None:
    from matplotlib.patches import Rectangle

    left, top = at
    for x, part in enumerate(parts):
        fill, ink = colour_of(part)
        axes.add_patch(
            Rectangle(
                (left + x * cell + 1, top + 1), cell - 2, _ROW - 2, facecolor=fill,
                edgecolor=LINE if fill == "none" else "none",
            )
        )  # fmt: skip
        words = "not known" if np.isnan(part) else f"{100 * part:.0f} %"
        axes.text(
            left + (x + 0.5) * cell, top + _ROW / 2, words, size=sheet.size - 1, color=ink,
            ha="center", va="center_baseline",
        )  # fmt: skip


def _field(
    machines: Sequence[HeatMachine],
    sizes: Mapping[str, str],
    gauges: Sequence[Gauge],
    width: int,
) -> str:
    groups = groups_of(machines, sizes, by_rack=True)
    if len(groups) > _MOST_GROUPS:
        groups = groups_of(machines, sizes, by_rack=False)
    size = _cell_size(sum(len(group.busy) for group in groups), width)
    heights = [_field_height(group, size, width) for group in groups]
    top, block = key_height(width), sum(heights) + 34

    def paint(sheet: Sheet) -> None:
        key(sheet)
        axes = sheet.bare()
        for number, gauge in enumerate(gauges):
            y = top + number * block
            title = f"{gauge.name}: percent in use"
            axes.text(0, y + 18, title, size=sheet.size + 1, weight="bold")
            y += 22
            for group, height in zip(groups, heights, strict=True):
                _group_field(sheet, axes, machines, group, gauge, y, size)
                y += height

    return drawn(width, top + block * len(gauges), paint)


def _columns(width: float, size: float) -> int:
    return max(1, int(width // size))


def _field_height(group: Group, size: float, width: float) -> float:
    cells = LINE_HEIGHT + size * -(-len(group.busy) // _columns(width, size)) if group.busy else 0.0
    return heading_height(group, width) + cells + (_ROW if group.idle else 0) + 8


def _group_field(
    sheet: Sheet,
    axes: Any,
    machines: Sequence[HeatMachine],
    group: Group,
    gauge: Gauge,
    top: float,
    size: float,
) -> None:
    heading(axes, sheet, group, top)
    y = top + heading_height(group, sheet.width)
    if group.busy:
        parts = np.array([float(gauge.parts[i]) for i in group.busy])
        spread, small = f": {_range_of(parts)}", sheet.size - 1
        room = sheet.width - text_width(spread, small)
        names = cut(name_ranges(machines[i].name for i in group.busy), room, small)
        axes.text(0, y + 7, f"{names}{spread}", size=small, color=FAINT)
        y += LINE_HEIGHT
        columns = _columns(sheet.width, size)
        (_image if len(parts) > _MOST_CELLS else _cells)(sheet, parts, y, size, columns)
        y += size * -(-len(parts) // columns)
    idle_line(axes, sheet, group, y + 4)


def _range_of(parts: np.ndarray) -> str:
    known = 100 * parts[~np.isnan(parts)]
    if not len(known):
        return "not known"
    least, most = f"{known.min():.0f}", f"{known.max():.0f}"
    return f"{least} %" if least == most else f"{least} to {most} %, mean {known.mean():.0f} %"


def _cell_size(machines: int, width: int) -> float:
    """As large as numbers need, or as small as keeps the field about as high as wide."""
    for size in (34.0, 26.0, 18.0, 13.0, 9.0):
        if machines * size * size <= 0.75 * width * max(width, 500):
            return size
    return 6.0


def _cells(sheet: Sheet, parts: np.ndarray, top: float, size: float, columns: int) -> None:
    """A square for each machine, with its number where there is room for it."""
    from matplotlib.patches import Rectangle

    axes = sheet.bare()
    for i, part in enumerate(parts.tolist()):
        x, y = (i % columns) * size, top + (i // columns) * size
        fill, ink = colour_of(part)
        edge = LINE if fill == "none" else "none"
        axes.add_patch(Rectangle((x, y), size - 1.5, size - 1.5, facecolor=fill, edgecolor=edge))
        if size >= _LEAST_FOR_NUMBER and not np.isnan(part):
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
    colours[: len(parts)][parts > FULL] = to_rgba(OVER)
    colours[: len(parts), 3] = np.where(np.isnan(parts), 0.0, 1.0)
    axes = sheet.axes(0, top, wide * size, rows * size)
    axes.imshow(colours.reshape(rows, wide, 4), interpolation="none", aspect="auto")
    axes.axis("off")
