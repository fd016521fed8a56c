"""What heat maps of machines are made of: groups with their headings, colours and their key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.planning.numbers import counted
from penstock.report.charts.canvas import FAINT, HEAT, INK, OVER, PHONE, Sheet, cut, letter_size
from penstock.report.name_ranges import name_ranges
from penstock.report.text_width import text_width

#: Above this it is more than full, not a matter of rounding.
FULL = 1.0 + 1e-6
#: Height of a line of small letters.
LINE_HEIGHT = 15
_SCALE = 110.0


@dataclass(frozen=True, slots=True)
class HeatMachine:
    name: str
    type: str
    rack: str
    is_idle: bool = False


@dataclass(frozen=True, slots=True)
class Gauge:
    """One thing that can fill up, such as CPU: the part in use of each machine, NaN if unknown."""

    name: str
    parts: Sequence[float]


@dataclass(frozen=True, slots=True)
class Group:
    """Machines that are alike, by their place in the order."""

    kind: str
    #: How many there are, where they are, and how large.
    about: tuple[str, ...]
    busy: tuple[int, ...]
    #: Names of those on which nothing runs.
    idle: tuple[str, ...]
    in_several_racks: bool


def groups_of(
    machines: Sequence[HeatMachine], sizes: Mapping[str, str], *, by_rack: bool
) -> list[Group]:
    """By type, and by rack where asked, in the order in which the machines come."""
    members: dict[tuple[str, str], list[int]] = {}
    for i, machine in enumerate(machines):
        members.setdefault((machine.type, machine.rack if by_rack else ""), []).append(i)
    groups = []
    for (kind, _), own in sorted(members.items(), key=lambda item: _first_of(item[0][0], machines)):
        racks = list(dict.fromkeys(machines[i].rack for i in own))
        where = racks[0] if len(racks) == 1 else counted(len(racks), "rack")
        size = [f"each {sizes[kind]}"] if sizes.get(kind) else []
        groups.append(
            Group(
                kind,
                (f"{counted(len(own), 'machine')} in {where}", *size),
                tuple(i for i in own if not machines[i].is_idle),
                tuple(machines[i].name for i in own if machines[i].is_idle),
                len(racks) > 1,
            )
        )
    return groups


def _first_of(kind: str, machines: Sequence[HeatMachine]) -> int:
    return next(i for i, machine in enumerate(machines) if machine.type == kind)


def _about(group: Group, width: float) -> list[str]:
    """One line where it is wide enough, else two: sizes are never cut, a long rack's name is."""
    small = letter_size(width) - 1
    joined = ", ".join(group.about)
    if text_width(joined, small) <= width:
        return [joined]
    return [cut(line, width, small) for line in group.about]


def heading_height(group: Group, width: float) -> float:
    return 22 + LINE_HEIGHT * len(_about(group, width))


def heading(axes: Any, sheet: Sheet, group: Group, y: float) -> None:
    """The name of a type, and below it how many machines there are, where and how large."""
    title = cut(group.kind, sheet.width, sheet.size, bold=True)
    axes.text(0, y + 14, title, size=sheet.size, weight="bold", color=INK)
    for number, line in enumerate(_about(group, sheet.width)):
        axes.text(0, y + 29 + LINE_HEIGHT * number, line, size=sheet.size - 1, color=FAINT)


def idle_line(axes: Any, sheet: Sheet, group: Group, y: float) -> None:
    if group.idle:
        small = sheet.size - 1
        words = cut(f"{len(group.idle):,} idle: {name_ranges(group.idle)}", sheet.width, small)
        axes.text(0, y + 11, words, size=small, color=FAINT)


def ink_on(colour: Sequence[float]) -> str:
    """Black or white, whichever stands out more (WCAG 2.1); at least 4.5 to 1 on any colour."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (light + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def colour_of(part: float) -> tuple[Any, str]:
    """The colour of a cell, and that of letters on it."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    if np.isnan(part):
        return "none", FAINT
    chosen = to_rgb(OVER) if part > FULL else colormaps[HEAT](min(max(part, 0.0), 1.0))
    return chosen, ink_on(chosen)


def key_height(width: float) -> int:
    return 40 if width < PHONE else 24


def key(sheet: Sheet) -> None:
    """Which colour is how much."""
    from matplotlib.patches import Rectangle

    axes, small = sheet.bare(), sheet.size - 1
    style = {"size": small, "color": INK, "va": "center_baseline"}
    ends = ("idle 0 %", "100 % full")
    left = text_width(ends[0], small) + 6
    axes.text(0, 9, ends[0], **style)
    axes.text(left + _SCALE + 6, 9, ends[1], **style)
    scale = sheet.axes(left, 3, _SCALE, 12)
    scale.imshow(np.linspace(0, 1, 64)[None, :], aspect="auto", cmap=HEAT, interpolation="none")
    scale.axis("off")
    beside = left + _SCALE + text_width(ends[1], small) + 30
    x, y = (0.0, 26.0) if sheet.is_phone else (beside, 9.0)
    axes.add_patch(Rectangle((x, y - 6), 14, 12, color=OVER))
    axes.text(x + 19, y, "more than the machine has", **style)
