"""What rounding a relaxation down leaves: the last instances packed onto the last machines.

Of the machines that a relaxation gives each pattern, the whole part is kept. The machines that are
left, about one per pattern in use, take the instances that are still missing: components with the
largest instances first, each where its points are cheapest at the relaxation's prices and, among
equals, where least room is left. How high the scale can be is found by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups

_BISECTIONS = 14


@dataclass(frozen=True)
class Remainder:
    """The whole part of a relaxation and what is left to do."""

    aggregate: AggregateProblem
    sizes: FloatVector
    #: Points of one instance on each kind, inf where it cannot run, shape (C, K).
    points: FloatMatrix
    #: Price of a machine of each kind, shape (K,).
    rents: FloatVector
    whole_part: MachineGroups

    def pack(self, most: float) -> MachineGroups | None:
        """The best whole plan up to the scale ``most`` (in units of the bound)."""
        left = self.aggregate.machines - np.bincount(
            self.whole_part.kind, self.whole_part.machines, minlength=len(self.aggregate.kinds)
        )
        kind = np.repeat(np.arange(len(left)), np.maximum(left, 0).astype(np.int64))
        low, high, best = 0.9 * most, most, None
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            table = self._fill(kind, self._missing(middle))
            if table is None:
                high = middle
            else:
                low, best = middle, table
        return None if best is None else self._joined(kind, best)

    def _missing(self, scale: float) -> IntVector:
        """Instances of each component still to be placed at a scale, shape (C,)."""
        wanted = self.aggregate.visits * self.aggregate.bound * scale
        number = np.divide(wanted, self.sizes, out=np.ones(len(wanted)), where=self.sizes > 0)
        number = np.maximum(np.ceil(number - 1e-9), 1.0)
        return np.maximum(number - self.whole_part.totals, 0.0).astype(np.int64)

    def _fill(self, kind: IntVector, missing: IntVector) -> IntMatrix | None:
        """Instances on each machine that is left, shape (machines, C); ``None`` if not all fit."""
        aggregate = self.aggregate
        offered = (
            aggregate.usable - aggregate.base - aggregate.worker * len(aggregate.problem.topologies)
        )
        room = offered[kind]
        price = (self.rents / np.maximum(offered, 1e-12))[kind]
        types = [aggregate.problem.cluster.types[t] for t in aggregate.kinds[kind].tolist()]
        memory = np.array([np.inf if t.memory_mb is None else t.memory_mb for t in types])
        memory -= np.array([t.worker_memory_mb for t in types]) * len(aggregate.problem.topologies)
        size = np.nan_to_num(aggregate.problem.memory_mb)
        table = np.zeros((len(kind), len(missing)), dtype=np.int64)
        largest = np.argsort(-np.where(np.isfinite(self.points), self.points, 0).max(axis=1))
        for c in largest[missing[largest] > 0].tolist():
            points = self.points[c, kind]
            fits = np.minimum(np.floor((room + 1e-9) / np.maximum(points, 1e-12)), missing[c])
            if size[c] > 0:
                fits = np.minimum(fits, np.floor((memory + 1e-9) / size[c]))
            cost = np.where(np.isfinite(points), points, 1e300) * np.maximum(price, 1e-12)
            order = np.lexsort((room, cost))
            able = np.maximum(fits[order], 0.0)
            before = np.cumsum(able) - able
            taken = np.clip(missing[c] - before, 0.0, able)
            if taken.sum() < missing[c]:
                return None
            number = np.zeros(len(kind))
            number[order] = taken
            table[:, c] = number.astype(np.int64)
            room = room - number * np.where(number > 0, points, 0.0)
            memory = memory - number * size[c]
        return table

    def _joined(self, kind: IntVector, table: IntMatrix) -> MachineGroups:
        used = table.any(axis=1)
        return MachineGroups(
            np.concatenate([self.whole_part.kind, kind[used]]),
            np.concatenate([self.whole_part.machines, np.ones(int(used.sum()), dtype=np.int64)]),
            np.concatenate([self.whole_part.counts, table[used]]),
        )
