"""The patterns that column generation knows so far, and the programme over them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.schedulers.penstock.aggregate import AggregateProblem, PatternTable
from penstock.schedulers.penstock.column_sizes import Sizes


class PatternPool:
    """Patterns, each once: its instances, its kind of machine and the points left for tuples."""

    def __init__(self, aggregate: AggregateProblem) -> None:
        self.aggregate = aggregate
        self.counts: IntMatrix = np.zeros((0, len(aggregate.visits)), dtype=np.int64)
        self.kind: IntVector = np.zeros(0, dtype=np.int64)
        self.room: FloatVector = np.zeros(0)
        self._known: set[bytes] = set()

    def add(self, counts: IntMatrix, kind: IntVector, sizes: Sizes) -> bool:
        """Take in the patterns that fit at these sizes; whether any was new."""
        keys = [row.tobytes() for row in np.column_stack([kind, counts])]
        fresh = np.array([key not in self._known for key in keys], dtype=np.bool_)
        fresh &= counts.any(axis=1)
        room = np.full(len(kind), -np.inf)
        room[fresh] = PatternTable.of(self.aggregate, counts[fresh]).room[
            np.arange(int(fresh.sum())), kind[fresh]
        ]
        load = (counts * sizes.work.T[kind]).sum(axis=1)
        fresh &= load <= room + ROUNDING_POINTS
        self._known.update(key for key, new in zip(keys, fresh, strict=True) if new)
        self.counts = np.vstack([self.counts, counts[fresh]])
        self.kind = np.concatenate([self.kind, kind[fresh]])
        self.room = np.concatenate([self.room, room[fresh]])
        return bool(fresh.any())

    def fitting(self, sizes: Sizes) -> PatternPool:
        """A pool of those that still fit at other sizes."""
        points = sizes.points.T[self.kind]
        cool = np.isfinite(np.where(self.counts > 0, points, 0.0)).all(axis=1)
        pool = PatternPool(self.aggregate)
        pool.add(self.counts[cool], self.kind[cool], sizes)
        return pool

    def rows(self, sizes: Sizes) -> tuple[sparse.csr_array, FloatVector]:
        """Machines of each pattern, then the scale: every component covered, machines, counts."""
        aggregate = self.aggregate
        fed = aggregate.visits > 0
        limited = np.flatnonzero(np.isfinite(aggregate.most))
        held = sparse.csr_array(self.counts.astype(np.float64).T)
        cover = sparse.diags_array(-sizes.gain) @ held
        empty = np.zeros((len(aggregate.kinds) + len(limited), 1))
        last = sparse.csr_array(np.vstack([fed[:, None].astype(np.float64), empty]))
        body = sparse.vstack(
            [cover, sparse.csr_array(of_kind(aggregate, self.kind)), held[limited]]
        )
        right = [np.where(fed, 0.0, -1.0), aggregate.machines, aggregate.most[limited]]
        return sparse.hstack([body, last], format="csr"), np.concatenate(right)


def of_kind(aggregate: AggregateProblem, kind: IntVector) -> FloatMatrix:
    """A row per kind with a one for each pattern of it."""
    rows = np.zeros((len(aggregate.kinds), len(kind)))
    rows[kind, np.arange(len(kind))] = 1.0
    return rows
