"""A topology as a graph: rates on components and streams, and how full each component is.

On a wide sheet in layers from left to right. On a phone, and where the layers would be too many or
too full, as a list with an arc for every stream: any topology fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.report.charts.canvas import (
    ACCENT,
    FAINT,
    GROUND,
    INK,
    LINE,
    PHONE,
    SOFT,
    Sheet,
    cut,
    drawn,
)
from penstock.report.charts.layers import Layers, in_order, layers

_MOST_LAYERS, _MOST_IN_LAYER = 7, 8
_BOX, _GAP = 54, 34
#: What a stream takes of a layer that it passes, and what its label needs between two.
_BEND, _LEAST_FOR_LABEL = 30, 90
_ROW = 58
_BAR = 5


@dataclass(frozen=True, slots=True)
class Node:
    """A component: its name, two short lines about it, and how full it is (``None``: unknown)."""

    name: str
    lines: tuple[str, str]
    load: float | None


@dataclass(frozen=True, slots=True)
class Edge:
    """A stream by the places of its ends, with a label and its part of the busiest stream."""

    source: int
    target: int
    label: str
    part: float


Place = tuple[float, float]


def graph_svg(nodes: Sequence[Node], edges: Sequence[Edge], width: int) -> str:
    ends = [(edge.source, edge.target) for edge in edges]
    found = layers(len(nodes), ends)
    fits = len(found.rows) <= _MOST_LAYERS and max(map(len, found.rows)) <= _MOST_IN_LAYER
    if width >= PHONE and fits:
        return _layered(nodes, edges, found, width)
    return _listed(nodes, edges, in_order(len(nodes), ends), width)


def _layered(nodes: Sequence[Node], edges: Sequence[Edge], found: Layers, width: int) -> str:
    back = any((edge.source, edge.target) not in found.ways for edge in edges)
    tall = max(sum(_height(n, found.count) for n in row) for row in found.rows)
    height = tall + (3 * _GAP if back else _GAP)
    box = min(170.0, width / len(found.rows) - 60) if len(found.rows) > 1 else 170.0
    middles: dict[int, Place] = {}
    for x, row in enumerate(found.rows):
        left = 1 + x * (width - box - 2) / max(len(found.rows) - 1, 1)
        top = (tall + _GAP - sum(_height(n, found.count) for n in row)) / 2
        for node in row:
            middles[node] = (left, top + _height(node, found.count) / 2)
            top += _height(node, found.count)

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        for edge in edges:
            way = found.ways.get((edge.source, edge.target))
            if way is None:
                _way_back(axes, edge, middles, box, sheet.size)
            else:
                _arrow(axes, edge, [middles[n] for n in way], box)
        for number, node in enumerate(nodes):
            left, middle = middles[number]
            _box(axes, node, left, middle - _BOX / 2, box, _BOX, sheet.size)
        for edge in edges:
            way = found.ways.get((edge.source, edge.target))
            if way is not None:
                _label(axes, edge, [middles[n] for n in way], box, sheet.size)

    return drawn(width, height, paint)


def _height(node: int, count: int) -> float:
    """What a node, or a bend, takes of its layer."""
    return _BOX + _GAP if node < count else _BEND


def _arrow(axes: Any, edge: Edge, places: list[Place], box: float) -> None:
    """From the right side of the first box to the left side of the last; straight through bends."""
    points: list[Place] = [(places[0][0] + box, places[0][1])]
    for number, (x, y) in enumerate(places[1:], start=1):
        last = number == len(places) - 1
        before, after = points[-1], (x - 3, y) if last else (x, y)
        bend = (after[0] - before[0]) / 2
        points += [(before[0] + bend, before[1]), (after[0] - bend, after[1]), after]
        if not last:
            third = box / 3
            points += [(x + third, y), (x + 2 * third, y), (x + box, y)]
    _draw_way(axes, points, 1 + 3 * edge.part, LINE)


def _draw_way(axes: Any, points: Sequence[Place], width: float, colour: str) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    codes = [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)]
    axes.add_patch(
        FancyArrowPatch(
            path=Path(points, codes),
            arrowstyle="-|>,head_length=5,head_width=3",
            linewidth=width,
            color=colour,
            mutation_scale=1,
        )
    )


def _way_back(axes: Any, edge: Edge, middles: dict[int, Place], box: float, size: float) -> None:
    """A stream that closes a cycle runs below the boxes."""
    (x1, y1), (x2, y2) = middles[edge.source], middles[edge.target]
    low = max(y1, y2) + _BOX / 2 + 1.6 * _GAP
    start, end = (x1 + 0.6 * box, y1 + _BOX / 2), (x2 + 0.4 * box, y2 + _BOX / 2 + 3)
    _draw_way(axes, [start, (start[0], low), (end[0], low), end], 1 + 3 * edge.part, LINE)
    middle = ((start[0] + end[0]) / 2, low - 0.4 * _GAP)
    axes.text(*middle, edge.label, size=size - 2, color=FAINT, ha="center", va="center_baseline")


def _label(axes: Any, edge: Edge, places: list[Place], box: float, size: float) -> None:
    """On the last stretch, nearer to the target: streams that start together have parted there."""
    (x1, y1), (x2, y2) = places[-2:]
    room = x2 - x1 - box
    x, y = x1 + box + 0.62 * room, y1 + 0.75 * (y2 - y1)
    if room < _LEAST_FOR_LABEL:  # no room for words inside the line
        x, y = x1 + box + 0.5 * room, y1 + 0.5 * (y2 - y1) - 9
    axes.text(
        x, y, edge.label, size=size - 2, color=FAINT, ha="center", va="center_baseline",
        bbox={"facecolor": GROUND, "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip


def _box(
    axes: Any, node: Node, x: float, y: float, width: float, height: float, size: float
) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    shape = f"round,pad=0,rounding_size={4}"
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=shape, facecolor=SOFT, edgecolor=LINE)
    )
    name = cut(node.name, width - 12, size)
    axes.text(x + 6, y + 5, name, size=size, weight="bold", va="top", color=INK)
    for i, line in enumerate(node.lines):
        told = cut(line, width - 12, size - 2)
        axes.text(x + 6, y + 20 + 12.5 * i, told, size=size - 2, va="top", color=FAINT)
    if node.load is not None:
        inner = width - 2
        axes.add_patch(Rectangle((x + 1, y + height - _BAR - 1), inner, _BAR, color=LINE))
        filled = inner * min(max(node.load, 0.0), 1.0)
        axes.add_patch(Rectangle((x + 1, y + height - _BAR - 1), filled, _BAR, color=ACCENT))


def _listed(nodes: Sequence[Node], edges: Sequence[Edge], order: list[int], width: int) -> str:
    row_of = {node: row for row, node in enumerate(order)}
    longest = max((abs(row_of[e.source] - row_of[e.target]) for e in edges), default=0)
    # A wide sheet has room for arcs that a phone has not.
    left = min(24.0 + 9 * longest, 0.22 * width)
    height = _ROW * len(nodes) + 8

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        for edge in edges:
            _arc(axes, row_of[edge.source], row_of[edge.target], left, edge.part, longest)
        for number, node in enumerate(nodes):
            top = 4 + _ROW * row_of[number]
            _box(axes, node, left, top, min(width - left - 2, 420), _ROW - 8, sheet.size)

    return drawn(width, height, paint)


def _arc(axes: Any, first: int, second: int, left: float, part: float, longest: int) -> None:
    centre = 4 + (_ROW - 8) / 2
    # Leaves a box below its middle and enters one above it, so that both can be told apart.
    y1, y2 = centre + 7 + _ROW * first, centre - 7 + _ROW * second
    far = left - (left - 6) * min(1.0, (abs(second - first) / max(longest, 1)) ** 0.5)
    points = [(left, y1), (far, y1), (far, y2), (left - 2, y2)]
    _draw_way(axes, points, 0.8 + 2.2 * part, FAINT)
