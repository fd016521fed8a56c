"""CPU of every machine as ``fixed + slope * scale``, and the largest scale nothing breaks at.

This is the inner loop of planning: only what decides the sustainable rate is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from penstock.evaluate.network import crossings, nic_bytes
from penstock.evaluate.rates import Rates, instance_rates, worker_keys
from penstock.model.arrays import FloatVector, sum_by
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: Sums of a thousand overheads may miss a machine's capacity by this much and still fit.
ROUNDING_POINTS = 1e-9
#: Mb/s to bytes/s.
BYTES_PER_MEGABIT = 1e6 / 8


class Resource(StrEnum):
    """What can run out first."""

    MACHINE_CPU = "machine cpu"
    THREAD_CPU = "instance cpu"
    NIC_OUT = "nic out"
    NIC_IN = "nic in"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Limit:
    """The first thing to run out: a machine's CPU or NIC, or one instance's thread."""

    resource: Resource
    #: Index of the machine, or of the instance for THREAD_CPU; -1 for NOTHING.
    index: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a placement can carry. Arrays: (machines,) unless said otherwise."""

    #: The sustainable scale; 0 if the fixed costs alone are too much, inf if nothing limits.
    scale: float
    limit: Limit
    rates: Rates
    machine_fixed: FloatVector
    machine_slope: FloatVector
    #: CPU of each instance is ``instance_fixed + instance_slope * scale``, (instances,).
    instance_fixed: FloatVector
    instance_slope: FloatVector


def capacity(problem: Problem, placement: Placement) -> Capacity:
    """The sustainable scale of a placement and what limits it."""
    rates = instance_rates(problem, placement)
    cluster = problem.cluster
    machines = len(cluster.machines)
    # Position of each instance's cost in the (components, types) matrices, taken flat.
    cell = placement.component * len(cluster.types) + cluster.type_of.take(placement.machine)

    # eq. (5): tcu = e * rate + met
    fixed = problem.met.take(cell)
    slope = problem.e.take(cell) * rates.per_instance
    if problem.has_remote_cost:
        slope = slope + problem.e_remote.take(cell) * crossings(placement, rates)
    machine_fixed = sum_by(placement.machine, fixed, machines)
    if cluster.has_overhead:
        machine_fixed += overhead_cpu(problem, placement)
    machine_slope = sum_by(placement.machine, slope, machines)

    room = cluster.usable_cpu - machine_fixed
    candidates = [(Resource.MACHINE_CPU, *_first_full(room, machine_slope))]
    if cluster.has_core_limit:  # else an instance is full only when its machine is
        room = problem.instance_points.take(cell) - fixed
        candidates.append((Resource.THREAD_CPU, *_first_full(room, slope)))
    if cluster.has_nic:
        bytes_per_s = (cluster.per_type("nic_mbps", np.inf) * BYTES_PER_MEGABIT)[cluster.type_of]
        out, into = nic_bytes(problem, placement, rates)
        candidates.append((Resource.NIC_OUT, *_first_full(bytes_per_s, out)))
        candidates.append((Resource.NIC_IN, *_first_full(bytes_per_s, into)))

    resource, index, scale = min(candidates, key=lambda candidate: candidate[2])
    limit = Limit(resource, index) if np.isfinite(scale) else Limit(Resource.NOTHING, -1)
    return Capacity(scale, limit, rates, machine_fixed, machine_slope, fixed, slope)


def overhead_cpu(problem: Problem, placement: Placement) -> FloatVector:
    """CPU that machines in use spend on themselves and on their workers, shape (machines,)."""
    kind = problem.cluster.type_of
    workers = workers_per_machine(problem, placement)
    # A machine nothing runs on cannot limit, however much it spends on itself.
    base = np.where(workers > 0, problem.cluster.per_type("base_cpu_points")[kind], 0.0)
    return base + problem.cluster.per_type("worker_cpu_points")[kind] * workers


def workers_per_machine(problem: Problem, placement: Placement) -> FloatVector:
    """Occupied slots of each machine, shape (machines,)."""
    worker, _ = worker_keys(placement)
    slots = int(placement.slot.max(initial=0)) + 1
    machines = np.unique(worker) // slots
    return np.bincount(machines, minlength=len(problem.cluster.machines)).astype(np.float64)


def _first_full(room: FloatVector, slope: FloatVector) -> tuple[int, float]:
    """Where ``slope * scale`` fills ``room`` first, and at which scale; 0 if there is no room."""
    if not np.count_nonzero(room <= 0):
        first = int((slope / room).argmax())
        steepest = float(slope[first])
        return first, float(room[first]) / steepest if steepest > 0 else np.inf
    scales = np.full(len(room), np.inf)
    np.divide(np.maximum(room, 0.0), slope, out=scales, where=slope > 0)
    # Where the fixed costs alone are too much, it is over-utilised at any rate, 0 included.
    scales[room < -ROUNDING_POINTS] = 0.0
    first = int(scales.argmin())
    return first, float(scales[first])
