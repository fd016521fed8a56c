"""A topology as a graph: rates on components and streams, and how full each component is.

In layers where these fit on the sheet; where they are too many or too full, as a list with an arc
for every stream: any topology fits. Boxes are as large as their words, so no number is ever cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.report.charts.canvas import (
    ACCENT,
    FAINT,
    GROUND,
    INK,
    LINE,
    PHONE,
    SOFT,
    STREAM,
    Sheet,
    cut,
    drawn,
    letter_size,
)
from penstock.report.charts.graph_layout import (
    BAR,
    LINE_HEIGHT,
    NAME_HEIGHT,
    PADDING,
    Box,
    Drawing,
    Edge,
    Node,
    Place,
    arranged,
    box_size,
)
from penstock.report.charts.layers import in_order
from penstock.report.text_width import text_width

__all__ = ["Edge", "Node", "graph_svg"]

_LIST_GAP = 8
_WIDEST_LISTED = 420.0
_BETWEEN = " · "


def graph_svg(nodes: Sequence[Node], edges: Sequence[Edge], width: int) -> str:
    drawing = arranged(nodes, edges, width, letter_size(width), is_phone=width < PHONE)
    if drawing is not None:
        return _layered(nodes, edges, drawing, width)
    ends = [(edge.source, edge.target) for edge in edges]
    return _listed(nodes, edges, in_order(len(nodes), ends), width)


def _layered(nodes: Sequence[Node], edges: Sequence[Edge], drawing: Drawing, width: int) -> str:
    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        for edge, curve in zip(edges, drawing.curves, strict=True):
            _draw_way(axes, curve, 1 + 3 * edge.part, STREAM)
        for node, box in zip(nodes, drawing.boxes, strict=True):
            _box(axes, node, box, sheet.size)
        for edge, place in zip(edges, drawing.labels, strict=True):
            axes.text(
                place.left + place.width / 2, place.top + place.height / 2, edge.label,
                size=sheet.size - 2, color=FAINT, ha="center", va="center_baseline",
                bbox={"facecolor": GROUND, "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip

    return drawn(width, drawing.height, paint)


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


def _box(axes: Any, node: Node, box: Box, size: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    x, y, width, height = box.left, box.top, box.width, box.height
    shape = f"round,pad=0,rounding_size={4}"
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=shape, facecolor=SOFT, edgecolor=LINE)
    )
    name = cut(node.name, width - 2 * PADDING, size, bold=True)
    axes.text(x + PADDING, y + 5, name, size=size, weight="bold", va="top", color=INK)
    for i, line in enumerate(node.lines):
        top = y + NAME_HEIGHT + LINE_HEIGHT * i
        axes.text(x + PADDING, top, line, size=size - 2, va="top", color=FAINT)
    if node.load is not None:
        inner, top = width - 2, y + height - BAR - 1
        axes.add_patch(Rectangle((x + 1, top), inner, BAR, color=LINE))
        filled = inner * min(max(node.load, 0.0), 1.0)
        axes.add_patch(Rectangle((x + 1, top), filled, BAR, color=ACCENT))


def _listed(nodes: Sequence[Node], edges: Sequence[Edge], order: list[int], width: int) -> str:
    size = letter_size(width)
    row_of = {node: row for row, node in enumerate(order)}
    longest = max((abs(row_of[e.source] - row_of[e.target]) for e in edges), default=0)
    # A wide sheet has room for arcs that a phone has not.
    left = min(24.0 + 9 * longest, 0.22 * width)
    wide = min(width - left - 2, _WIDEST_LISTED)
    shown = _on_one_line(nodes, wide - 2 * PADDING, size)
    high = max(box_size(node, size)[1] for node in shown)
    row = high + _LIST_GAP

    def paint(sheet: Sheet) -> None:
        axes = sheet.bare()
        for edge in edges:
            _arc(axes, (row_of[edge.source], row_of[edge.target]), left, edge.part, longest, row)
        for number, node in enumerate(shown):
            _box(axes, node, Box(left, 4 + row * row_of[number], wide, high), sheet.size)

    return drawn(width, row * len(nodes) + 8, paint)


def _on_one_line(nodes: Sequence[Node], width: float, size: float) -> list[Node]:
    """The nodes with all their words on one line, if that is wide enough for each."""
    joined = [Node(n.name, (_BETWEEN.join(filter(None, n.lines)),), n.load) for n in nodes]
    fits = all(text_width(n.lines[0], size - 2) <= width for n in joined)
    return joined if fits else list(nodes)


def _arc(
    axes: Any, rows: tuple[int, int], left: float, part: float, longest: int, row: float
) -> None:
    first, second = rows
    centre = 4 + (row - _LIST_GAP) / 2
    # Leaves a box below its middle and enters one above it, so that both can be told apart.
    y1, y2 = centre + 7 + row * first, centre - 7 + row * second
    far = left - (left - 6) * min(1.0, (abs(second - first) / max(longest, 1)) ** 0.5)
    points = [(left, y1), (far, y1), (far, y2), (left - 2, y2)]
    _draw_way(axes, points, 0.8 + 2.2 * part, STREAM)
