"""A topology as a graph: rates on components and streams, and how full each component is.

On a wide sheet in layers from left to right. On a phone, and where the layers would be too many or
too full, as a list with an arc for every stream: any topology fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.report.charts.canvas import ACCENT, FAINT, GROUND, INK, LINE, SOFT, Sheet, cut, drawn
from penstock.report.charts.layers import in_order, layers

_MOST_LAYERS, _MOST_IN_LAYER = 7, 8
_BOX_HEIGHT, _GAP = 62, 26
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


def graph_svg(nodes: Sequence[Node], edges: Sequence[Edge], width: int) -> str:
    ends = [(edge.source, edge.target) for edge in edges]
    found = layers(len(nodes), ends)
    fits = len(found) <= _MOST_LAYERS and max(map(len, found)) <= _MOST_IN_LAYER
    if width >= 500 and fits:
        return _layered(nodes, edges, found, width)
    return _listed(nodes, edges, in_order(len(nodes), ends), width)


def _layered(
    nodes: Sequence[Node], edges: Sequence[Edge], found: list[list[int]], width: int
) -> str:
    deepest = max(map(len, found))
    height = deepest * (_BOX_HEIGHT + _GAP) + _GAP
    step = width / len(found)
    box = min(170.0, step - 46 if len(found) > 1 else width)
    places: dict[int, tuple[float, float]] = {}
    for x, layer in enumerate(found):
        top = (height - len(layer) * (_BOX_HEIGHT + _GAP) + _GAP) / 2
        left = 1 + x * (width - box - 2) / max(len(found) - 1, 1)
        for y, node in enumerate(layer):
            places[node] = (left, top + y * (_BOX_HEIGHT + _GAP))

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        for edge in edges:
            _arrow(axes, edge, places, box)
        for number, node in enumerate(nodes):
            _box(axes, node, *places[number], box, _BOX_HEIGHT - 8, sheet.size)
        for edge in edges:
            _label(axes, edge, places, box, sheet.size)

    return drawn(width, height, paint)


def _arrow(axes: Any, edge: Edge, places: dict[int, tuple[float, float]], box: float) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    middle = (_BOX_HEIGHT - 8) / 2
    start, end = (x1 + box, y1 + middle), (x2 - 3, y2 + middle)
    if end[0] <= start[0]:  # back along a cycle, or to itself: below the boxes
        low = max(y1, y2) + _BOX_HEIGHT + _GAP / 2
        start, end = (x1 + box / 2, y1 + _BOX_HEIGHT - 8), (x2 + box / 2, y2 + _BOX_HEIGHT - 8)
        points = [start, (start[0], low), (end[0], low), end]
    else:
        bend = (end[0] - start[0]) / 2
        points = [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(
        FancyArrowPatch(
            path=path,
            arrowstyle="-|>,head_length=5,head_width=3",
            linewidth=1 + 3 * edge.part,
            color=LINE,
            mutation_scale=1,
        )
    )


def _label(
    axes: Any, edge: Edge, places: dict[int, tuple[float, float]], box: float, size: float
) -> None:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    # Nearer to the target, where streams that start together have parted.
    x = x1 + box + 0.62 * (x2 - x1 - box)
    y = y1 + 0.75 * (y2 - y1) + (_BOX_HEIGHT - 8) / 2 - 5
    if 0 < x2 - x1 - box < 90:  # no room for words inside the line
        x, y = (x1 + x2 + box) / 2, y - 9
    if x2 <= x1:
        x, y = (x1 + x2 + box) / 2, max(y1, y2) + _BOX_HEIGHT + 8
    behind = {"facecolor": GROUND, "edgecolor": "none", "pad": 0.5}
    axes.text(
        x, y + 5, edge.label, size=size - 2, color=FAINT, ha="center", va="center_baseline",
        bbox=behind,
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
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    centre = 4 + (_ROW - 8) / 2
    # Leaves a box below its middle and enters one above it, so that both can be told apart.
    y1, y2 = centre + 7 + _ROW * first, centre - 7 + _ROW * second
    far = left - (left - 6) * min(1.0, (abs(second - first) / max(longest, 1)) ** 0.5)
    points = [(left, y1), (far, y1), (far, y2), (left - 2, y2)]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(
        FancyArrowPatch(
            path=path,
            arrowstyle="-|>,head_length=5,head_width=3",
            linewidth=0.8 + 2.2 * part,
            color=FAINT,
            mutation_scale=1,
        )
    )
