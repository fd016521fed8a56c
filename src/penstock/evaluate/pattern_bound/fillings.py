"""What one machine can hold: whole instances, and the tuples that are worth most with them.

All fillings of a box are listed at the least size of its instances: those of a smaller box are
some of them. With prices for the tuples of each component, the rest of a machine's points goes to
where a point is worth most, up to the most that an instance gets (a fractional knapsack, Dantzig
1957).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.evaluate.pattern_bound.relaxed import (
    SLACK_POINTS,
    SLACK_RESOURCES,
    CountBox,
    RelaxedProblem,
)
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector

#: Instances of one component on a machine; stands for "any number" where they cost nothing.
_ANY = 1e6


@dataclass(frozen=True)
class Fillings:
    """Instance counts that a machine of a kind can hold, kinds one after the other."""

    #: Shape (rows, C).
    counts: FloatMatrix
    #: Kind of each row, and where each kind begins, shapes (rows,) and (K + 1,).
    kind: IntVector
    starts: IntVector
    #: Points that are left for tuples, shape (rows,), and what one tuple/s takes of them.
    points: FloatVector
    weight: FloatMatrix
    #: They are all there are at this scale, and at larger ones.
    scale: float

    def __len__(self) -> int:
        return len(self.kind)

    def within(self, relaxed: RelaxedProblem, box: CountBox, scale: float) -> Fillings:
        """Those that still fit in a part of the box they were listed for."""
        least, _ = relaxed.sizes(box)
        fits = self.weight @ (least * scale) <= self.points + SLACK_POINTS
        fits &= (self.counts <= box.most).all(axis=1)
        return self._rows(fits, len(relaxed.kinds))

    def _rows(self, chosen: np.ndarray, kinds: int) -> Fillings:
        kind = self.kind[chosen]
        return Fillings(
            self.counts[chosen],
            kind,
            np.searchsorted(kind, np.arange(kinds + 1)).astype(np.int64),
            self.points[chosen],
            self.weight[chosen],
            self.scale,
        )


def list_fillings(
    relaxed: RelaxedProblem, box: CountBox, scale: float, most_rows: int
) -> Fillings | None:
    """All fillings of a box at a scale; ``None`` if they are more than so many."""
    tables: list[FloatMatrix] = []
    rows = 0
    for kind in range(len(relaxed.kinds)):
        table = _counts_on(relaxed, box, scale, kind, most_rows - rows)
        if table is None:
            return None
        tables.append(table)
        rows += len(table)
    counts = np.concatenate(tables)
    kind_of = np.repeat(np.arange(len(tables)), [len(table) for table in tables]).astype(np.int64)
    more_workers = np.maximum(relaxed.workers_needed(counts) - 1, 0)
    cost = np.where(counts > 0, relaxed.met[kind_of], 0.0)
    points = relaxed.points[kind_of] - (counts * cost).sum(axis=1)
    points -= relaxed.worker[kind_of] * more_workers
    weight = counts * np.where(counts > 0, relaxed.e[kind_of], 0.0)
    every = Fillings(counts, kind_of, np.zeros(0, dtype=np.int64), points, weight, scale)
    fits = _within_limits(relaxed, counts, kind_of, more_workers + 1)
    return every._rows(fits, len(relaxed.kinds)).within(relaxed, box, scale)


def _counts_on(
    relaxed: RelaxedProblem, box: CountBox, scale: float, kind: int, most_rows: int
) -> FloatMatrix | None:
    """Instance counts that fit a machine by CPU and each resource, component by component."""
    least, _ = relaxed.sizes(box)
    components = len(least)
    e = np.where(relaxed.may_run[kind], relaxed.e[kind], 0.0)
    points = e * scale * least + relaxed.met[kind]
    may_run = relaxed.may_run[kind] & (points <= relaxed.threads[kind] + SLACK_POINTS)
    limited = np.flatnonzero(np.isfinite(relaxed.offered[kind]))
    needs = np.column_stack([points, relaxed.request[:, limited]])
    offered = relaxed.offered[kind, limited] - relaxed.worker_needs[kind, limited]
    room = np.append(relaxed.points[kind] + SLACK_POINTS, offered + SLACK_RESOURCES)[None]
    if (room < 0).any():
        return np.zeros((1, components))
    # In a smaller box an instance may get less than here, but never less than this.
    enough = _enough_instances(relaxed, kind, e * scale * relaxed.least_room(box))
    limit = np.where(may_run, np.minimum(enough, box.most), 0.0)
    counts = np.zeros((1, components))
    for c in range(components):
        ratio = np.divide(room, needs[c], out=np.full(room.shape, np.inf), where=needs[c] > 0)
        number = np.minimum(np.floor(ratio.min(axis=1)), limit[c])
        if (number + 1.0).sum() > most_rows:
            return None
        repeats = (number + 1.0).astype(np.int64)
        row = np.repeat(np.arange(len(counts)), repeats)
        step = np.arange(len(row)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        counts, room = counts[row], room[row] - step[:, None] * needs[c]
        counts[:, c] = step
    return counts


def _enough_instances(relaxed: RelaxedProblem, kind: int, at_most: FloatVector) -> FloatVector:
    """More instances of a component than this only cost: so many can use up a machine. (C,)"""
    thread = np.maximum(relaxed.threads[kind] - relaxed.met[kind], 0.0)
    each = np.minimum(at_most, thread)
    whole = np.full(len(each), float(relaxed.points[kind]))
    enough = np.divide(whole, each, out=np.full(len(each), _ANY), where=each > 1e-12)
    return np.asarray(np.minimum(np.ceil(enough - 1e-12) + 1.0, _ANY))


def _within_limits(
    relaxed: RelaxedProblem, counts: FloatMatrix, kind: IntVector, workers: IntVector
) -> np.ndarray:
    needed = counts @ relaxed.request + relaxed.worker_needs[kind] * workers[:, None]
    empty = ~counts.any(axis=1)
    fits = (needed <= relaxed.offered[kind] + SLACK_RESOURCES).all(axis=1)
    return np.asarray((fits & (workers <= relaxed.slots[kind])) | empty)


@dataclass(frozen=True)
class BestFillings:
    """The worth of a machine of each kind, (K,), and for kinds that can hold anything a filling."""

    worth: FloatVector
    #: Its row, its kind and the input it takes in, as parts of the scale, shape (fillings, C).
    rows: IntVector
    kinds: IntVector
    inputs: FloatMatrix


class BoxFillings:
    """The fillings of one box at one scale, ready to be priced."""

    def __init__(
        self, relaxed: RelaxedProblem, fillings: Fillings, box: CountBox, scale: float
    ) -> None:
        self.relaxed, self.fillings, self.scale = relaxed, fillings, scale
        self.least, most = relaxed.sizes(box)
        #: The most input of an instance on each kind, shape (K, C).
        self.most = _most_on_kinds(relaxed, self.least, most, scale)
        spread = (self.most - self.least)[fillings.kind]
        self._more_points = fillings.weight * (spread * scale)
        self._left = np.maximum(fillings.points - fillings.weight @ (self.least * scale), 0.0)
        self._first_cell = (np.arange(len(fillings)) * len(self.least))[:, None]
        free = fillings.counts * spread * (relaxed.e == 0.0)[fillings.kind]
        self._free = free if free.any() else None

    def best(self, prices: FloatVector) -> BestFillings:
        """What machines of each kind are worth at most, and the fillings that are worth it."""
        cost = self.relaxed.e * self.scale
        per_point = np.divide(
            np.broadcast_to(prices, cost.shape), cost, out=np.zeros(cost.shape), where=cost > 0
        )
        order = np.argsort(-per_point, axis=1, kind="stable")
        kind = self.fillings.kind
        # Points for each component in the order of what they are worth, as far as they reach.
        more = self._more_points.take(self._first_cell + order[kind])
        before = np.cumsum(more, axis=1) - more
        taken = np.minimum(np.maximum(self._left[:, None] - before, 0.0), more)
        in_order = np.sort(per_point, axis=1)[:, ::-1]
        value = self.fillings.counts @ (prices * self.least)
        value += np.einsum("rc,rc->r", taken, in_order[kind])
        if self._free is not None:
            value += self._free @ prices
        rows = self._best_rows(value)
        kinds = kind[rows]
        points = np.empty((len(rows), len(prices)))
        points[np.arange(len(rows))[:, None], order[kinds]] = taken[rows]
        rate = cost[kinds]
        extra = np.divide(points, rate, out=np.zeros(rate.shape), where=(rate > 0) & (points > 0))
        if self._free is not None:
            extra += self._free[rows]
        worth = np.zeros(len(cost))
        worth[kinds] = np.maximum(value[rows], 0.0)
        return BestFillings(worth, rows, kinds, self.fillings.counts[rows] * self.least + extra)

    def _best_rows(self, value: FloatVector) -> IntVector:
        starts = self.fillings.starts.tolist()
        return np.array(
            [a + int(value[a:b].argmax()) for a, b in pairwise(starts) if b > a], dtype=np.int64
        )


def _most_on_kinds(
    relaxed: RelaxedProblem, least: FloatVector, most: FloatVector, scale: float
) -> FloatMatrix:
    cost = relaxed.e * scale
    thread = np.maximum(relaxed.threads - relaxed.met + SLACK_POINTS, 0.0)
    allowed = np.divide(thread, cost, out=np.full(cost.shape, np.inf), where=cost > 0)
    return np.asarray(np.maximum(np.minimum(allowed, most), least))
