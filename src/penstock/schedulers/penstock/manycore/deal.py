"""Instances by type onto machines: topologies side by side, each dealt evenly over its machines.

On every type the topologies get machines of their own, end to end, so that a machine has few worker
processes and tuples stay on it where they can; where some need memory and others CPU, they share
all machines. Within a topology instances go, the largest first, to the machine that is emptiest for
its part. Where moving tuples costs something, who should be where is known (:mod:`.parts`), and
instances are dealt by that.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector, sum_by
from penstock.schedulers.penstock.manycore.machines import InstanceGroups

#: Parts of a machine too small to be worth a worker process.
_SLIVER = 0.02
#: Whole instances may fill this much more than the parts of them that the programme counts with.
_ROUNDED_UP = 1.02
#: What a machine that should take nothing counts where nobody who should has a thread for it.
_TRACE = 1e-12


def round_spread(spread: FloatMatrix, totals: IntVector) -> IntMatrix:
    """Whole numbers near each row with the row's total: the largest remainders are rounded up."""
    whole = np.floor(spread + 1e-9)
    missing = totals - whole.sum(axis=1)
    rest = spread - whole
    for row, lack in enumerate(missing.astype(np.int64).tolist()):
        for column in np.argsort(-rest[row], kind="stable")[: max(lack, 0)].tolist():
            whole[row, column] += 1
    return whole.astype(np.int64)


def deal(groups: InstanceGroups, by_type: IntMatrix, scale: float) -> IntMatrix:
    """Instances of each group on each machine, shape (M, G), from those on each type, (G, T)."""
    problem = groups.costs.problem
    cluster = problem.cluster
    count = np.zeros((len(cluster.machines), len(groups.component)), dtype=np.int64)
    memory = groups.costs.memory_mb[groups.component]
    for t in np.flatnonzero(cluster.machines_per_type > 0).tolist():
        points = problem.met[groups.component, t]
        points = points + groups.costs.e[groups.component, t] * groups.rate * scale
        machines = np.flatnonzero(cluster.type_of == t)
        # Of one instance, the part of a machine.
        takes = np.stack([points / groups.costs.cpu[t], memory / groups.costs.memory[t]])
        needs = [
            sum_by(groups.topology, by_type[:, t] * own, len(problem.topologies)) for own in takes
        ]
        slots = int(min(cluster.types[t].slots, len(problem.topologies)))
        for topology, parts in enumerate(topology_parts(np.stack(needs), len(machines), slots)):
            mine = np.flatnonzero((groups.topology == topology) & (by_type[:, t] > 0))
            order = mine[np.argsort(-points[mine], kind="stable")]
            here = np.flatnonzero(parts > 0)
            dealt = _deal_evenly(by_type[order, t], takes[:, order], parts[here])
            count[np.ix_(machines[here], order)] += dealt
    return count


def deal_by_parts(
    groups: InstanceGroups, numbers: IntVector, parts: FloatMatrix, scale: float
) -> IntMatrix:
    """Instances of each group on each machine, (M, G), near the parts of its component, (C, M).

    Only machines whose threads are fast enough at the scale get any.
    """
    costs, problem = groups.costs, groups.costs.problem
    kind = problem.cluster.type_of
    wanted = parts[groups.component]
    points = costs.e_on[groups.component] * (groups.largest * scale)[:, None]
    points = points + problem.met[groups.component][:, kind]
    fits = points <= problem.instance_points[groups.component][:, kind] + ROUNDING_POINTS
    fits |= ~fits.any(axis=1, keepdims=True)
    wanted = np.where(fits, wanted + _TRACE, 0.0)
    spread = wanted / wanted.sum(axis=1, keepdims=True) * numbers[:, None]
    return round_spread(spread, numbers).T


def topology_parts(takes: FloatMatrix, machines: int, slots: int) -> FloatMatrix:
    """The part of each machine that each topology gets, shape (P, machines).

    ``takes``: machines that each topology fills by CPU and by memory, shape (2, P). End to end
    where each has room by itself; else one that is short of memory shares all machines with those
    that are short of CPU. A machine serves as many topologies as it has slots; of more, the
    smallest parts go elsewhere.
    """
    needs = takes.max(axis=0)
    here = needs > 0
    if needs.sum() > machines * _ROUNDED_UP and here.sum() <= slots:
        return np.repeat(here[:, None].astype(np.float64), machines, axis=1)
    ends = np.cumsum(needs) / max(float(needs.sum()), 1e-300) * machines
    begins = np.concatenate([[0.0], ends[:-1]])
    edges = np.arange(machines)
    parts = np.minimum(edges + 1, ends[:, None]) - np.maximum(edges, begins[:, None])
    parts = np.asarray(np.maximum(parts, 0.0))
    for p in np.flatnonzero(needs > 0).tolist():
        large = parts[p] > _SLIVER
        parts[p] = np.where(large, parts[p], 0.0)
        if not large.any():
            parts[p, min(int(begins[p]), machines - 1)] = _SLIVER
    for m in np.flatnonzero((parts > 0).sum(axis=0) > slots).tolist():
        for p in np.argsort(parts[:, m], kind="stable").tolist():
            if (parts[:, m] > 0).sum() <= slots:
                break
            if (parts[p] > 0).sum() > 1:
                parts[p, m] = 0.0
    return np.asarray(parts)


def _deal_evenly(numbers: IntVector, takes: FloatMatrix, parts: FloatVector) -> IntMatrix:
    """Each group's instances over machines with these parts, each to the emptiest of them."""
    dealt = np.zeros((len(parts), len(numbers)), dtype=np.int64)
    cpu, memory = takes.tolist()
    used_cpu, used_memory = np.zeros(len(parts)), np.zeros(len(parts))
    if not len(parts):  # no machine of this type is for them
        return dealt
    for g, number in enumerate(numbers.tolist()):
        heap = []
        for m in range(len(parts)):
            level = max(used_cpu[m] + cpu[g], used_memory[m] + memory[g]) / parts[m]
            heap.append((level, m))
        heapify(heap)
        for _ in range(number):
            _, m = heappop(heap)
            dealt[m, g] += 1
            used_cpu[m] += cpu[g]
            used_memory[m] += memory[g]
            level = max(used_cpu[m] + cpu[g], used_memory[m] + memory[g]) / parts[m]
            heappush(heap, (level, m))
    return dealt
