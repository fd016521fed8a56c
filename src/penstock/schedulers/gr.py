"""``gr``: Gr-Storm, the topology cut where least traffic flows, by max-flow min-cut.

Muhammad 2023 (PhD thesis), section 3.5, Algorithms 10 and 11. The graph of executors, weighted with
traffic, is cut between its sources and sinks by max-flow min-cut. The thesis shows one cut in two;
by our choice, the part with the most executors (the first of equals) is cut again until there are
as many parts as workers. Parts, those with the most traffic inside first, go to the nodes by
GFLOPS, and all slots of a node are used before the next one. Memory is not looked at.

Executors that are alike are cut as one: where only sums per stream are known, those of a component,
with traffic summed over them in the part. That is exact: of the minimum cuts, the one with the
smallest sink side is unique, so exchanging two executors that are alike leaves it as it is, and it
never divides the executors of one component. That is the cut we take, the one nearest the sinks;
the thesis' example, too, leaves the last bolt alone. How many streams a cut crosses, which the
thesis mentions, is not looked at, and traffic from the sink side back to the source side is free,
as in any max-flow. scipy's flow is in whole numbers: traffic is scaled so that a part's adds up to
10^9, at least 1 per stream, and spare capacity no larger than the number of streams is rounding and
counts as none.

Where the thesis is silent: sources are the components without a predecessor in the part, sinks
those without a successor; where cycles leave none, the first component that is no sink, and the
last that is no source. A part that is not connected is cut for nothing: its piece with the most
executors goes one way, the rest the other. A part without traffic inside is halved. Balance: none,
unless ``largest`` is set; then a part over it gives its last executors, in component order, one by
one to the part that has the fewest. A limit too small for the workers there are is raised to the
least that will do, with a note. Traffic, workers, ties between nodes and several topologies as in
``a3``. Cost: a maximum flow between components per worker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.model.arrays import BoolVector, FloatMatrix, IntMatrix, IntVector
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.executor_groups import (
    node_power,
    place_by_traffic,
)
from penstock.schedulers.executor_kinds import ExecutorKinds
from penstock.schedulers.room import Room

#: What a part's traffic is scaled to; scipy's flows are 32-bit integers.
SCALED_TOTAL = 10**9


@dataclass(frozen=True)
class GrScheduler:
    """Cut the weighted graph by max-flow min-cut, parts fill the most powerful node first."""

    name: ClassVar[str] = "gr"
    summary: ClassVar[str] = "Gr-Storm: cuts the topology where least traffic flows"
    paper: ClassVar[str] = "Muhammad 2023 (thesis), Algorithms 10 and 11"
    looks: ClassVar[Looks] = Looks(unlike_machines=True, network=True)

    largest: int = field(
        default=0, metadata={"help": "most executors in a part of the topology; 0 is no limit"}
    )

    def __post_init__(self) -> None:
        if self.largest < 0:
            raise InputError(f"gr: largest must be 0 or more, not {self.largest}")

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        ranking = node_power(problem.cluster, cpu=1.0)
        return place_by_traffic(
            problem, self.name, [ranking] * len(problem.topologies), self._parts
        )

    def _parts(self, room: Room, executors: ExecutorKinds, workers: int) -> IntMatrix:
        """Algorithm 10, line 4, again and again."""
        parts = partition(executors.counts, executors.per_pair, workers)
        return (
            limited(parts, self._limit(room, executors.topology, parts)) if self.largest else parts
        )

    def _limit(self, room: Room, topology: str, parts: IntMatrix) -> int:
        """The most executors that a part may have: as asked, if all of them then fit."""
        least = -(-int(parts.sum()) // len(parts))
        if least > self.largest:
            room.notes.append(
                f"{topology}: parts of up to {least}, largest={self.largest} is too few"
            )
        return max(self.largest, least)


def partition(counts: IntVector, per_pair: FloatMatrix, workers: int) -> IntMatrix:
    """As many parts as workers, or as executors if those are fewer, (parts, kinds)."""
    parts, sizes = [counts], [int(counts.sum())]
    while len(parts) < workers and max(sizes) > 1:
        biggest = sizes.index(max(sizes))
        sides = cut(parts[biggest], per_pair)
        parts[biggest : biggest + 1] = sides
        sizes[biggest : biggest + 1] = [int(side.sum()) for side in sides]
    return np.array(parts)


def limited(parts: IntMatrix, largest: int) -> IntMatrix:
    """No part with more executors than this; the parts must have room for all."""
    groups = parts.copy()
    sizes = groups.sum(axis=1)
    for part in range(len(groups)):
        while sizes[part] > largest:
            last = int(np.flatnonzero(groups[part])[-1])
            fewest = int(np.argmin(sizes))
            groups[part, last] -= 1
            groups[fewest, last] += 1
            sizes[part] -= 1
            sizes[fewest] += 1
    return groups


def cut(part: IntVector, per_pair: FloatMatrix) -> tuple[IntVector, IntVector]:
    """A part of two or more executors in two: source side and sink side."""
    present = np.flatnonzero(part)
    counts = part[present]
    weights = per_pair[np.ix_(present, present)] * np.outer(counts, counts)
    np.fill_diagonal(weights, 0.0)  # what a kind sends to itself is in no cut
    if not weights.any():
        return _halved(part)
    second = _smaller_pieces(weights, counts)
    if not second.any():
        _, second = max_flow_min_cut(weights, *sources_and_sinks(weights))
    sink_side = np.zeros_like(part)
    sink_side[present[second]] = counts[second]
    return part - sink_side, sink_side


def _halved(part: IntVector) -> tuple[IntVector, IntVector]:
    """The first half of the executors, in their order, and the rest."""
    before = np.cumsum(part) - part
    half = -(-int(part.sum()) // 2)
    first = np.clip(half - before, 0, part)
    return first, part - first


def _smaller_pieces(weights: FloatMatrix, counts: IntVector) -> BoolVector:
    """Kinds outside the connected piece with the most executors, (kinds,)."""
    from scipy.sparse.csgraph import connected_components  # slow to load

    pieces, piece_of = connected_components(weights > 0, directed=False)
    executors = np.bincount(piece_of, weights=counts, minlength=pieces)
    return np.asarray(piece_of != np.argmax(executors))


def sources_and_sinks(weights: FloatMatrix) -> tuple[list[int], list[int]]:
    """Kinds without a predecessor, and without a successor; never none, never the same."""
    fed, feeding = (weights > 0).any(axis=0), (weights > 0).any(axis=1)
    sources, sinks = np.flatnonzero(~fed).tolist(), np.flatnonzero(~feeding).tolist()
    if not sources:
        sources = [int(np.flatnonzero(feeding)[0])]
    if not sinks:
        rest = np.setdiff1d(np.arange(len(weights)), sources)
        sinks = [int(rest[-1])]
    return sources, sinks


def max_flow_min_cut(
    weights: FloatMatrix, sources: list[int], sinks: list[int]
) -> tuple[float, BoolVector]:
    """The largest flow from sources to sinks, and the sink side of the minimum cut nearest them."""
    from scipy.sparse import csr_array  # slow to load
    from scipy.sparse.csgraph import maximum_flow

    size = len(weights)
    start, end = size, size + 1
    scale = SCALED_TOTAL / weights.sum()
    capacity = np.zeros((size + 2, size + 2), dtype=np.int32)
    capacity[:size, :size] = np.where(weights > 0, np.maximum(np.rint(weights * scale), 1), 0)
    endless = 2 * capacity.sum()  # more than can flow
    capacity[start, sources] = endless
    capacity[sinks, end] = endless
    flow = maximum_flow(csr_array(capacity), start, end)
    rounding = np.count_nonzero(weights)
    spare = capacity - flow.flow.toarray() > rounding
    sink_side = np.zeros(size + 2, dtype=np.bool_)
    sink_side[end] = True
    while (reaching := spare[:, sink_side].any(axis=1) & ~sink_side).any():
        sink_side |= reaching
    return flow.flow_value / scale, sink_side[:size]
