"""What an instance takes from a machine: CPU, memory, network card.

A tuple that stays on its machine does not go through the card and costs no ``e_remote``. How much
stays depends on who shares the machine; the search takes it as known, first by :mod:`.parts`, then
from the plan it has (:func:`kept_on_machines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import BYTES_PER_MEGABIT, Capacity
from penstock.evaluate.movement import can_matter
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, sum_by
from penstock.model.cluster import Cluster
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.resources import MEMORY
from penstock.schedulers.penstock.manycore.sizes import SizeClasses

#: Weight of a machine that takes no part, in averages over machines; stands for none of a resource.
_UNUSED = 1e-9


@dataclass(frozen=True)
class Costs:
    """Rates are tuples/s at scale 1. C components, T types, M machines."""

    problem: Problem
    #: Points per tuple/s that an instance takes in, with what it costs to move it; by type, as on
    #: an average machine, and by machine, shapes (C, T) and (C, M).
    e: FloatMatrix
    e_on: FloatMatrix
    #: The same for the largest instance: where a hot key makes that matter, on the machine of each
    #: type that is best for it, shape (C, T).
    e_least: FloatMatrix
    #: Bytes/s out of and into a machine per tuple/s, on average and by machine, (C,) and (C, M).
    bytes_out: FloatVector
    bytes_in: FloatVector
    bytes_out_on: FloatMatrix
    bytes_in_on: FloatMatrix
    #: Memory, or another resource that is scarcer; all that follows about memory is about that.
    memory_mb: FloatVector
    #: Per machine of a type: points, MB and bytes/s it offers before workers, shape (T,).
    cpu: FloatVector
    memory: FloatVector
    nic: FloatVector
    worker_cpu: FloatVector
    worker_mb: FloatVector
    #: Whether a component's instances may have unequal shares, shape (C,).
    weighs: BoolVector

    def e_of(self, option: SizeClasses) -> FloatMatrix:
        """Points per tuple/s for instances of each class on each type, shape (K, T)."""
        e = np.repeat(self.e[[option.component]], len(option.mean), axis=0)
        if option.counts[0] == 1:
            e[0] = self.e_least[option.component]
        return e

    @classmethod
    def of(
        cls, problem: Problem, parts: FloatMatrix, *, weighted: bool, hot: Sequence[int] = ()
    ) -> Costs:
        """``parts`` is the part of each component's input that each machine takes, (C, M).

        ``hot``: components whose largest instance goes where it is best off.
        """
        cluster = problem.cluster
        e_extra, out, into = _movement(problem, parts)
        # On average a machine counts as much as it takes of the component.
        weight = parts + _UNUSED
        in_all = weight.sum(axis=1)
        e = problem.e + _by_type(cluster, weight * e_extra) / _by_type(cluster, weight)
        e_on = problem.e[:, cluster.type_of] + e_extra
        e_least = e.copy()
        e_least[list(hot)] = _least_by_type(cluster, e_on[list(hot)])
        table, scarcest = problem.resources, _scarcest_resource(problem)
        return cls(
            problem=problem,
            e=e,
            e_on=e_on,
            e_least=e_least,
            bytes_out=(weight * out).sum(axis=1) / in_all,
            bytes_in=(weight * into).sum(axis=1) / in_all,
            bytes_out_on=out,
            bytes_in_on=into,
            memory_mb=table.request[:, scarcest],
            cpu=cluster.usable_cpu_per_type - cluster.per_type("base_cpu_points"),
            memory=np.maximum(table.capacity_of_type[:, scarcest], _UNUSED),
            nic=cluster.per_type("nic_mbps", np.inf) * BYTES_PER_MEGABIT,
            worker_cpu=cluster.per_type("worker_cpu_points"),
            worker_mb=table.worker_on_type[:, scarcest],
            weighs=_may_weigh(problem, weighted=weighted),
        )


def _scarcest_resource(problem: Problem) -> int:
    """The hard resource that the instances of the bound's solution fill most.

    The search keeps to one resource; a plan that breaks another one is not returned.
    """
    table = problem.resources
    if len(table.kinds) == 1:
        return MEMORY
    needed = table.total(upper_bound(problem).ideal_instances.sum(axis=1))
    filled = needed / np.maximum(table.capacity.sum(axis=0), _UNUSED)
    return int(np.argmax(np.where(table.hard, filled, 0.0)))


def _by_type(cluster: Cluster, rows: FloatMatrix) -> FloatMatrix:
    """Sums over the machines of each type, shape (C, T); 1 where a type has no machine."""
    sums = np.stack([sum_by(cluster.type_of, row, len(cluster.types)) for row in rows])
    return np.where(cluster.machines_per_type > 0, sums, 1.0)


def _least_by_type(cluster: Cluster, rows: FloatMatrix) -> FloatMatrix:
    """The least over the machines of each type, shape (C, T); inf where a type has no machine."""
    least = np.full((len(rows), len(cluster.types)), np.inf)
    np.minimum.at(least.T, cluster.type_of, rows.T)
    return least


def _may_weigh(problem: Problem, *, weighted: bool) -> BoolVector:
    follows = np.full(len(problem.components), weighted)
    for stream in problem.streams:
        follows[stream.target] &= stream.grouping.follows_shares
    return follows


def _movement(problem: Problem, parts: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """Points, bytes out and bytes in per tuple/s on each machine for what leaves it, (C, M)."""
    shape = parts.shape
    points, out, into = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    if not can_matter(problem):
        return points, out, into
    remote = problem.e_remote[:, problem.cluster.type_of]
    for stream in problem.streams:
        a, b = stream.source, stream.target
        arriving = problem.visits[a] * stream.selectivity / max(problem.visits[b], 1e-300)
        leaves, comes = 1.0 - parts[b], 1.0 - parts[a]
        if stream.grouping.is_local:
            leaves = comes = np.where((parts[a] > 0) & (parts[b] > 0), 0.0, 1.0)
        points[a] += remote[a] * stream.selectivity * leaves
        points[b] += remote[b] * arriving * comes
        out[a] += stream.selectivity * stream.tuple_bytes * leaves
        into[b] += arriving * stream.tuple_bytes * comes
    return points, out, into


def kept_on_machines(problem: Problem, placement: Placement, judged: Capacity) -> FloatMatrix:
    """The part of each component's input that each machine of a plan takes, shape (C, M)."""
    components, machines = len(problem.components), len(problem.cluster.machines)
    cell = placement.component * machines + placement.machine
    rate = sum_by(cell, judged.rates.per_instance, components * machines)
    total = np.maximum(problem.visits, 1e-300)[:, None]
    return np.asarray(np.minimum(rate.reshape(components, machines) / total, 1.0))
