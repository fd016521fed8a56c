"""Where the components of a topology go in a drawing: in layers along the streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Edge = tuple[int, int]


@dataclass(frozen=True)
class Layers:
    """Nodes in layers, from those without a source on.

    Numbers from ``count`` on are no nodes but bends: places in the layers between, through which
    a longer edge passes. ``ways`` has the places of each edge that is no way back.
    """

    count: int
    rows: list[list[int]]
    ways: dict[Edge, list[int]]


def layers(count: int, edges: Sequence[Edge]) -> Layers:
    """Each node one layer after its latest source; inside a layer near its neighbours.

    Streams that close a cycle are drawn but do not decide.
    """
    forward = _without_cycles(count, edges)
    depth = [0] * count
    for node in _ordered(count, forward):
        for source, target in forward:
            if source == node:
                depth[target] = max(depth[target], depth[node] + 1)
    rows: list[list[int]] = [[] for _ in range(max(depth, default=0) + 1)]
    for node in range(count):
        rows[depth[node]].append(node)
    ways: dict[Edge, list[int]] = {}
    following = count
    for source, target in sorted(set(forward)):
        bends = list(range(following, following + depth[target] - depth[source] - 1))
        for layer, bend in enumerate(bends, start=depth[source] + 1):
            rows[layer].append(bend)
        following += len(bends)
        ways[source, target] = [source, *bends, target]
    steps = [step for way in ways.values() for step in pairwise(way)]
    for _ in range(4):
        _sort_by_neighbours(rows, steps)
        _sort_by_neighbours(rows[::-1], [(b, a) for a, b in steps])
    return Layers(count, rows, ways)


def in_order(count: int, edges: Sequence[Edge]) -> list[int]:
    """All nodes, sources before what they feed; as given where it does not matter."""
    return _ordered(count, _without_cycles(count, edges))


def _without_cycles(count: int, edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those that lead back to a node that is being visited."""
    state, forward = [0] * count, []
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in sorted(set(edges)):
        targets[source].append(target)
    for start in range(count):
        if state[start]:
            continue
        state[start] = 1
        stack = [(start, iter(targets[start]))]
        while stack:
            node, following = stack[-1]
            target = next(following, -1)
            if target < 0:
                state[node] = 2
                stack.pop()
            elif state[target] != 1:
                forward.append((node, target))
                if not state[target]:
                    state[target] = 1
                    stack.append((target, iter(targets[target])))
    return forward


def _ordered(count: int, edges: Sequence[Edge]) -> list[int]:
    waiting = [0] * count
    for _, target in edges:
        waiting[target] += 1
    ready = [node for node in range(count) if not waiting[node]]
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for source, target in edges:
            if source == node:
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)
    return order


def _sort_by_neighbours(rows: list[list[int]], edges: Sequence[Edge]) -> None:
    """Every layer in the order of the mean place of its nodes' sources."""
    place = {node: i / max(len(layer), 1) for layer in rows for i, node in enumerate(layer)}
    for layer in rows[1:]:
        means = {}
        for i, node in enumerate(layer):
            sources = [place[a] for a, b in edges if b == node]
            means[node] = (sum(sources) / len(sources) if sources else place[node], i)
        layer.sort(key=lambda node: means[node])
        place |= {node: i / len(layer) for i, node in enumerate(layer)}
