"""New patterns for column generation: the most valuable filling of a machine at given prices.

The knapsacks of all kinds are solved together by one dynamic programme over a grid of CPU points,
with weights rounded up, over the items of best value per point; what memory, slots and heaps do not
allow is taken out again.
"""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.schedulers.penstock.aggregate import AggregateProblem, PatternTable
from penstock.schedulers.penstock.column_sizes import Sizes
from penstock.schedulers.penstock.knapsack import fill

#: Cells of the knapsack's grid, and items considered per type.
_CELLS = 5000
_ITEMS = 14


def single_patterns(sizes: Sizes) -> tuple[IntMatrix, IntVector]:
    """As many instances of one component as a machine of each kind holds."""
    aggregate = sizes.aggregate
    room = aggregate.usable - aggregate.base - aggregate.worker
    number = np.floor(room / np.maximum(sizes.points, 1e-12) + 1e-12)
    memory = np.nan_to_num(aggregate.problem.memory_mb)
    types = [aggregate.problem.cluster.types[t] for t in aggregate.kinds.tolist()]
    for k, kind in enumerate(types):
        if kind.memory_mb is not None:
            fits = (kind.memory_mb - kind.worker_memory_mb) / np.maximum(memory, 1e-9)
            number[:, k] = np.minimum(number[:, k], np.floor(fits + 1e-12))
    number = np.clip(number, 0, np.minimum(aggregate.most, sizes.enough)[:, None])
    component, kind_of = np.nonzero(number)
    counts = np.zeros((len(component), len(memory)), dtype=np.int64)
    counts[np.arange(len(component)), component] = number[component, kind_of]
    return counts, kind_of


def best_patterns(sizes: Sizes, worth: FloatVector) -> tuple[IntMatrix, IntVector]:
    """The most valuable pattern of each kind, nearly, when an instance is worth so much."""
    aggregate, points = sizes.aggregate, sizes.points
    room = aggregate.usable - aggregate.base - aggregate.worker * len(aggregate.problem.topologies)
    density = np.where(points <= room, worth[:, None] / np.maximum(points, 1e-12), -np.inf)
    items = np.argsort(-density, axis=0, kind="stable")[: min(_ITEMS, len(worth))].T  # (K, I)
    weight = np.take_along_axis(points.T, items, axis=1) / np.maximum(room, 1e-12)[:, None]
    cells = np.ceil(np.minimum(weight, 2.0) * _CELLS - 1e-9).astype(np.int64)
    # No pattern needs more instances than there are, however little they cost.
    cells = np.maximum(cells, np.ceil(_CELLS / sizes.enough).astype(np.int64)[items])
    value = np.where(weight <= 1.0, worth[items], -np.inf)
    chosen = fill(cells, value, _CELLS)
    counts = np.zeros((len(aggregate.kinds), len(worth)), dtype=np.int64)
    np.put_along_axis(counts, items, chosen, axis=1)
    return _made_legal(aggregate, counts, density), np.arange(len(aggregate.kinds))


def _made_legal(aggregate: AggregateProblem, counts: IntMatrix, density: FloatMatrix) -> IntMatrix:
    """Take instances of least value per point out of patterns that break a limit."""
    for _ in range(int(counts.sum(axis=1).max(initial=0))):
        kind = np.arange(len(counts))
        broken = ~(PatternTable.of(aggregate, counts).room[kind, kind] > -np.inf)
        broken &= counts.any(axis=1)
        if not broken.any():
            break
        for k in np.flatnonzero(broken).tolist():
            held = np.where(counts[k] > 0, density[:, k], np.inf)
            counts[k, int(held.argmin())] -= 1
    return counts
