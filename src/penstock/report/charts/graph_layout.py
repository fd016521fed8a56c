"""Where the boxes, streams and labels of a topology go: boxes are as large as their words need.

From left to right where that fits, else from top to bottom. Places are worked out along the streams
and across them, and turned round at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.report.charts.layers import Layers, layers
from penstock.report.text_width import text_width

#: A layer with more boxes than this, or more layers from top to bottom, is no picture any more.
_MOST_IN_LAYER, _MOST_LAYERS = 8, 14
PADDING = 7
BAR = 5
#: Heights of a line of words and of the name above them.
LINE_HEIGHT, NAME_HEIGHT = 12.5, 21.0
#: A longer name loses its middle, the longest first; numbers never do.
LONGEST_NAMES = (280.0, 160.0)
#: Between boxes of a layer, from left to right and from top to bottom.
_GAP, _LEAST_GAP, _MOST_GAP = 26.0, 22.0, 70.0
#: What a stream takes of a layer that it passes.
_BEND = 24.0
#: Between layers; from top to bottom there is a line of labels for so many of them.
_LEAST_STRETCH, _MOST_STRETCH = 34.0, 150.0
_LABELS_ON_A_LINE = 3
_PORT = 16.0
#: Below or beside the boxes, for streams that close a cycle.
_BACK = 62.0
_ARROW = 3.0
_ROUNDING = 1e-6

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Node:
    """A component: its name, short lines about it, and how full it is (``None``: unknown)."""

    name: str
    lines: tuple[str, ...]
    load: float | None


@dataclass(frozen=True, slots=True)
class Edge:
    """A stream by the places of its ends, with a label and its part of the busiest stream."""

    source: int
    target: int
    label: str
    part: float


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    width: float
    height: float

    def touches(self, other: Box) -> bool:
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.top < other.top + other.height
            and other.top < self.top + self.height
        )


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes in the order of nodes, curves (cubic) and label places in the order of edges."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    curves: tuple[tuple[Place, ...], ...]
    labels: tuple[Box, ...]


def box_size(node: Node, size: float, longest_name: float = LONGEST_NAMES[0]) -> Place:
    """Width and height that its words need; only a very long name is to be cut."""
    name = min(text_width(node.name, size, bold=True), longest_name)
    lines = [text_width(line, size - 2) for line in node.lines]
    height = NAME_HEIGHT + LINE_HEIGHT * len(node.lines) + BAR + 5
    return max(name, *lines, 30.0) + 2 * PADDING + 1, height


def arranged(
    nodes: Sequence[Node], edges: Sequence[Edge], width: float, size: float, *, is_phone: bool
) -> Drawing | None:
    """The drawing in layers; ``None`` where it would be wider than the page, or no picture."""
    layered = layers(len(nodes), [(edge.source, edge.target) for edge in edges])
    fullest = max(map(len, layered.rows))
    for longest_name in LONGEST_NAMES:
        for rightwards in (False,) if is_phone else (True, False):
            if fullest > _MOST_IN_LAYER if rightwards else len(layered.rows) > _MOST_LAYERS:
                continue
            sizes = [box_size(node, size, longest_name) for node in nodes]
            drawing = _Arrangement(sizes, edges, layered, size, rightwards).drawing(width)
            if drawing.width <= width + _ROUNDING:
                return drawing
    return None


class _Arrangement:
    """One topology in one direction. A place is (along, across) until it is turned round."""

    def __init__(
        self,
        sizes: Sequence[Place],
        edges: Sequence[Edge],
        layered: Layers,
        size: float,
        rightwards: bool,
    ) -> None:
        self.edges, self.layers, self.size, self.rightwards = edges, layered, size, rightwards
        tallest = max(height for _, height in sizes)
        self.across = [tallest if rightwards else wide for wide, _ in sizes]
        self.depth = [
            max((sizes[n][0] for n in row if n < layered.count), default=0.0)
            if rightwards
            else tallest
            for row in layered.rows
        ]
        self.has_back = any((e.source, e.target) not in layered.ways for e in edges)

    def drawing(self, page: float) -> Drawing:
        starts, end = self._layer_starts(page)
        layer_of = {n: layer for layer, row in enumerate(self.layers.rows) for n in row}
        middle, extent = self._middles(page)
        boxes = tuple(
            self._box(starts[layer_of[n]], middle[n] - self.across[n] / 2,
                      self.depth[layer_of[n]], self.across[n])
            for n in range(self.layers.count)
        )  # fmt: skip
        ports = _Ports(self.edges, self.layers, middle, self.across)
        stations = [
            self._stations(i, ports, starts, layer_of, middle) for i in range(len(self.edges))
        ]
        curves = tuple(tuple(self._turned(place) for place in _curve(stops)) for stops in stations)
        extent += _BACK if self.has_back else 0.0
        width, height = self._turned((end, extent))
        return Drawing(width, height, boxes, curves, tuple(self._labels(stations, boxes)))

    def _layer_starts(self, page: float) -> tuple[list[float], float]:
        """Where each layer begins and the last one ends; what the page has left goes between."""
        stretches = [self._stretch(layer) for layer in range(len(self.depth) - 1)]
        spare = page - 2 - sum(self.depth) - sum(stretches)
        if self.rightwards and stretches and spare > 0:
            more = spare / len(stretches)
            stretches = [max(s, min(s + more, _MOST_STRETCH)) for s in stretches]
        starts = [1.0]
        for depth, stretch in zip(self.depth, stretches, strict=False):
            starts.append(starts[-1] + depth + stretch)
        return starts, starts[-1] + self.depth[-1] + 1

    def _stretch(self, layer: int) -> float:
        """Room between a layer and the next one, for the labels of the streams that end there."""
        following = set(self.layers.rows[layer + 1])
        labels = [e.label for e in self.edges if e.target in following and e.label]
        if not labels:
            return _LEAST_STRETCH
        if not self.rightwards:
            return 34.0 + self.size * -(-len(labels) // _LABELS_ON_A_LINE)
        return max(_LEAST_STRETCH, *(text_width(x, self.size - 2) + 18 for x in labels))

    def _middles(self, page: float) -> tuple[dict[int, float], float]:
        """Middle of every node and bend across the streams, and how far all of it reaches."""
        sizes = [
            [self.across[n] if n < self.layers.count else _BEND for n in row]
            for row in self.layers.rows
        ]
        gap = _GAP if self.rightwards else self._gap_beside(sizes, page)
        reaches = [sum(row) + gap * (len(row) - 1) for row in sizes]
        middle: dict[int, float] = {}
        for row, wide, reach in zip(self.layers.rows, sizes, reaches, strict=True):
            at = 1 + (max(reaches) - reach) / 2
            for node, own in zip(row, wide, strict=True):
                middle[node] = at + own / 2
                at += own + gap
        return middle, max(reaches) + 2

    def _gap_beside(self, sizes: Sequence[Sequence[float]], page: float) -> float:
        """From top to bottom: as much room between boxes as the page has, within reason."""
        room = page - 2 - (_BACK if self.has_back else 0.0)
        gaps = [(room - sum(row)) / (len(row) - 1) for row in sizes if len(row) > 1]
        return min(max(min(gaps, default=_LEAST_GAP), _LEAST_GAP), _MOST_GAP)

    def _stations(
        self,
        edge: int,
        ports: _Ports,
        starts: list[float],
        layer_of: dict[int, int],
        middle: dict[int, float],
    ) -> list[Place]:
        """The ends of the curved stretches of a stream; between two pairs it goes straight."""
        source, target = self.edges[edge].source, self.edges[edge].target
        way = self.layers.ways.get((source, target))
        if way is None:
            return self._way_back(starts[layer_of[source]], starts[layer_of[target]], edge, middle)
        stops = [(starts[layer_of[source]] + self.depth[layer_of[source]], ports.leaves[edge])]
        for bend in way[1:-1]:
            start = starts[layer_of[bend]]
            stops += [(start, middle[bend]), (start + self.depth[layer_of[bend]], middle[bend])]
        return [*stops, (starts[layer_of[target]] - _ARROW, ports.enters[edge])]

    def _way_back(
        self, start: float, end: float, edge: int, middle: dict[int, float]
    ) -> list[Place]:
        """A stream that closes a cycle: from behind its source to behind its target."""
        source, target = self.edges[edge].source, self.edges[edge].target
        low = [middle[n] + self.across[n] / 2 for n in (source, target)]
        return [(start + 0.6 * 50, low[0]), (0.0, max(low) + 0.9 * _BACK),
                (end + 0.4 * 50, low[1] + _ARROW)]  # fmt: skip

    def _labels(self, stations: Sequence[Sequence[Place]], boxes: Sequence[Box]) -> Iterator[Box]:
        obstacles = list(boxes)
        for edge, stops in zip(self.edges, stations, strict=True):
            wide, high = text_width(edge.label, self.size - 2) + 4, self.size
            options = [
                Box(x - wide / 2, y + shift - high / 2, wide, high)
                for shift in (0.0, high, -high, 2 * high, -2 * high)
                for x, y in self._label_places(stops)
            ]
            chosen = next((o for o in options if not any(map(o.touches, obstacles))), options[0])
            if edge.label:
                obstacles.append(chosen)
            yield chosen

    def _label_places(self, stops: Sequence[Place]) -> list[Place]:
        """Places on the last stretch of a stream, the best first."""
        if len(stops) == 3:  # a way back
            return [self._turned(((stops[0][0] + stops[2][0]) / 2, stops[1][1] - 0.2 * _BACK))]
        (a1, c1), (a2, c2) = stops[-2:]
        places = []
        for t in (0.5, 0.6, 0.4, 0.7, 0.3):
            along = 1.5 * t * (1 - t) + t**3
            across = 3 * t**2 * (1 - t) + t**3
            places.append(self._turned((a1 + along * (a2 - a1), c1 + across * (c2 - c1))))
        return places

    def _turned(self, place: Place) -> Place:
        return place if self.rightwards else (place[1], place[0])

    def _box(self, along: float, across: float, depth: float, wide: float) -> Box:
        left, top = self._turned((along, across))
        width, height = self._turned((depth, wide))
        return Box(left, top, width, height)


class _Ports:
    """Where streams leave and enter their boxes, so that those of one box do not run together."""

    def __init__(
        self,
        edges: Sequence[Edge],
        layered: Layers,
        middle: dict[int, float],
        across: Sequence[float],
    ) -> None:
        self.leaves: dict[int, float] = {}
        self.enters: dict[int, float] = {}
        ways = [layered.ways.get((e.source, e.target)) for e in edges]
        for node in range(layered.count):
            going = [(middle[w[1]], i) for i, w in enumerate(ways) if w and w[0] == node]
            coming = [(middle[w[-2]], i) for i, w in enumerate(ways) if w and w[-1] == node]
            for sides, into in ((going, self.leaves), (coming, self.enters)):
                step = min(_PORT, (across[node] - 20) / max(len(sides) - 1, 1))
                for k, (_, edge) in enumerate(sorted(sides)):
                    into[edge] = middle[node] + (k - (len(sides) - 1) / 2) * step


def _curve(stops: Sequence[Place]) -> list[Place]:
    """Points of cubic curves: flat at both ends of a stretch, straight through a layer."""
    if len(stops) == 3:  # a way back: down, along, up
        (a1, c1), (_, low), (a2, c2) = stops
        return [(a1, c1), (a1, low), (a2, low), (a2, c2)]
    points = [stops[0]]
    for number, ((a1, c1), (a2, c2)) in enumerate(pairwise(stops)):
        if number % 2:
            third = (a2 - a1) / 3
            points += [(a1 + third, c1), (a1 + 2 * third, c1), (a2, c2)]
        else:
            half = (a2 - a1) / 2
            points += [(a1 + half, c1), (a2 - half, c2), (a2, c2)]
    return points
