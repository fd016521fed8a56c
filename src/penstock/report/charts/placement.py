"""Who runs where: a box for each machine in use, filled by the CPU of its components.

Machines stand by type and rack, as in a heat map. The legend says which colour is which component;
a box is as full as its machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.planning.machine_use import MachineUse
from penstock.report.charts.canvas import (
    COLOURS,
    FAINT,
    INK,
    LINE,
    SOFT,
    Sheet,
    cut,
    drawn,
    letter_size,
)
from penstock.report.charts.heat_parts import (
    Group,
    HeatMachine,
    groups_of,
    heading,
    heading_height,
    idle_line,
)
from penstock.report.text_width import text_width

#: Widths of a machine's box.
_NARROWEST, _WIDEST = 46.0, 120.0
_BOX, _GAP, _LINE = 56.0, 8.0, 20.0
#: A box with its machine's name and load below.
_PITCH = _BOX + 32.0
_IDLE = 24.0
_LONGEST_LABEL = 260.0
#: With more groups than this, machines of one type are one group whatever their rack.
_MOST_GROUPS = 24
#: Each round of colours is darker or lighter than the first.
_SHADES = (1.0, 0.6, 1.4, 0.4)


@dataclass(frozen=True, slots=True)
class ComponentCount:
    """A component by its label, with the number of its instances."""

    label: str
    instances: int


def placement_svg(
    uses: Sequence[MachineUse],
    components: Sequence[ComponentCount],
    sizes: Mapping[str, str],
    width: int,
) -> str:
    """``sizes`` says of each type how large its machines are."""
    machines = [HeatMachine(use.name, use.type, use.rack, not use.slices) for use in uses]
    groups = groups_of(machines, sizes, by_rack=True)
    if len(groups) > _MOST_GROUPS:
        groups = groups_of(machines, sizes, by_rack=False)
    small = letter_size(width) - 1
    longest = max((text_width(use.name, small) for use in uses if use.slices), default=0.0)
    box = min(max(longest + 2, _NARROWEST), _WIDEST)
    entries = list(_legend(components, width))
    top = (max((y for _, y, _ in entries), default=0.0)) + _LINE + 8
    heights = [_group_height(group, box, width) for group in groups]

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        for number, (x, y, label) in enumerate(entries):
            _rectangle(axes, (x, y + 2), (12, 12), colour(number), LINE)
            axes.text(x + 17, y + 8, label, size=sheet.size, va="center_baseline", color=INK)
        y = top
        for group, height in zip(groups, heights, strict=True):
            _group(axes, sheet, uses, group, (y, box))
            y += height

    return drawn(width, top + sum(heights), paint)


def colour(component: int) -> str:
    """One of the palette's series, then the same ones darker and lighter."""
    round_, place = divmod(component, len(COLOURS))
    shade = _SHADES[round_ % len(_SHADES)]
    return "#" + "".join(
        f"{min(255, round(shade * int(COLOURS[place][i : i + 2], 16))):02X}" for i in (1, 3, 5)
    )


def _legend(components: Sequence[ComponentCount], width: int) -> Iterator[tuple[float, float, str]]:
    """Place and words of each component's entry, as many in a row as fit."""
    x = y = 0.0
    for one in components:
        size = letter_size(width)
        label = f"{cut(one.label, min(_LONGEST_LABEL, width - 90.0), size)} ×{one.instances:,}"
        wide = 34 + text_width(label, size)
        if x and x + wide > width:
            x, y = 0.0, y + _LINE
        yield x, y, label
        x += wide


def _per_row(box: float, width: float) -> int:
    return max(1, int((width + _GAP) // (box + _GAP)))


def _group_height(group: Group, box: float, width: float) -> float:
    rows = -(-len(group.busy) // _per_row(box, width))
    return heading_height(group, width) + 4 + rows * _PITCH + (_IDLE if group.idle else 0)


def _group(
    axes: Any,
    sheet: Sheet,
    uses: Sequence[MachineUse],
    group: Group,
    at: tuple[float, float],
) -> None:
    top, box = at
    heading(axes, sheet, group, top)
    y = top + heading_height(group, sheet.width) + 4
    per_row = _per_row(box, sheet.width)
    for number, index in enumerate(group.busy):
        row, column = divmod(number, per_row)
        _machine(axes, sheet, uses[index], (column * (box + _GAP), y + row * _PITCH), box)
    idle_line(axes, sheet, group, y + -(-len(group.busy) // per_row) * _PITCH)


def _machine(axes: Any, sheet: Sheet, use: MachineUse, at: tuple[float, float], box: float) -> None:
    x, y = at
    _rectangle(axes, (x + 0.5, y), (box - 1, _BOX), SOFT, LINE)
    bottom = y + _BOX
    for part in use.slices:
        tall = _BOX * min(part.cpu_points / use.capacity_points, 1.0)
        bottom -= tall
        _rectangle(axes, (x + 1, bottom), (box - 2, tall), colour(part.component), "#ffffff")
    small = sheet.size - 1
    middle, below = x + box / 2, y + _BOX
    axes.text(middle, below + 12, cut(use.name, box, small), size=small, color=INK, ha="center")
    load = f"{100 * use.utilisation:.0f} %"
    axes.text(middle, below + 24, load, size=small, color=FAINT, ha="center")


def _rectangle(
    axes: Any, at: tuple[float, float], size: tuple[float, float], fill: str, edge: str
) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(at, *size, facecolor=fill, edgecolor=edge, linewidth=0.6))
