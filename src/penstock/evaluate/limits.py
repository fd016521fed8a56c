"""Hard limits that a placement breaks or keeps, whatever its rate: memory, slots, counts, terms."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS, workers_per_machine
from penstock.evaluate.rates import worker_keys
from penstock.evaluate.terms import term_violations
from penstock.evaluate.violation import Violation
from penstock.model.arrays import FloatMatrix, FloatVector, sum_by
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.resources import MEMORY


def resources_used(problem: Problem, placement: Placement) -> FloatMatrix:
    """What each machine holds of each resource, worker processes included, shape (M, R)."""
    table, machines = problem.resources, len(problem.cluster.machines)
    per_instance = table.request[placement.component]
    columns = [sum_by(placement.machine, column, machines) for column in per_instance.T]
    used: FloatMatrix = np.stack(columns, axis=1)
    if table.worker_on_type.any():
        used += table.worker * workers_per_machine(problem, placement)[:, None]
    return used


def memory_used(problem: Problem, placement: Placement) -> FloatVector:
    """Memory of each machine in MB, worker processes included, shape (machines,)."""
    return resources_used(problem, placement)[:, MEMORY]


def cpu_requested(problem: Problem, placement: Placement) -> FloatVector:
    """Requests mode: CPU points charged to each machine, shape (machines,).

    A worker is charged the sum of its instances' requests, but at least the cluster's floor.
    """
    worker, workers = worker_keys(placement)
    asked = sum_by(worker, np.nan_to_num(problem.cpu_request)[placement.component], workers)
    used = np.bincount(worker, minlength=workers) > 0
    charged = np.where(used, np.maximum(asked, problem.cluster.worker_min_cpu_points), 0.0)
    slots = int(placement.slot.max(initial=0)) + 1
    per_machine = np.zeros(len(problem.cluster.machines))
    per_machine[: workers // slots] = charged.reshape(-1, slots).sum(axis=1)
    return per_machine


def violations(problem: Problem, placement: Placement) -> tuple[Violation, ...]:
    """Every hard limit the placement breaks; CPU counts here only in requests mode."""
    cluster = problem.cluster
    names = [machine.name for machine in cluster.machines]

    def per_machine(attribute: str) -> FloatVector:
        return cluster.per_type(attribute, np.inf)[cluster.type_of]

    broken_limits = [
        *_resource_violations(problem, placement),
        *_over(names, "slots", _slots_needed(problem, placement), per_machine("slots")),
        *_heap_violations(problem, placement),
        *_shared_workers(problem, placement),
        *_count_violations(problem, placement),
        *term_violations(problem, placement),
    ]
    if not problem.has_costs:
        usable = cluster.usable_cpu
        broken_limits += _over(names, "CPU points", cpu_requested(problem, placement), usable)
    return tuple(broken_limits)


def _resource_violations(problem: Problem, placement: Placement) -> list[Violation]:
    """Machines that hold more than they have of a hard resource."""
    table, names = problem.resources, [machine.name for machine in problem.cluster.machines]
    used = resources_used(problem, placement)
    return [
        violation
        for r in np.flatnonzero(table.hard).tolist()
        for violation in _over(names, table.labels[r], used[:, r], table.capacity[:, r])
    ]


def _over(
    names: list[str], resource: str, needed: FloatVector, available: FloatVector
) -> list[Violation]:
    over = np.flatnonzero(needed > available + ROUNDING_POINTS)
    return [Violation(resource, names[i], float(needed[i]), float(available[i])) for i in over]


def _slots_needed(problem: Problem, placement: Placement) -> FloatVector:
    highest = np.zeros(len(problem.cluster.machines))
    np.maximum.at(highest, placement.machine, placement.slot + 1.0)
    return highest


def _heap_violations(problem: Problem, placement: Placement) -> list[Violation]:
    limits = np.array(
        [
            np.inf if t.worker_max_heap_mb is None else t.worker_max_heap_mb
            for t in problem.topologies
        ]
    )
    if np.isinf(limits).all():
        return []
    worker, workers = worker_keys(placement)
    heap = sum_by(worker, problem.onheap_mb[placement.component], workers)
    limit = np.full(workers, np.inf)
    limit[worker] = limits[problem.topology_of[placement.component]]
    slots = workers // (int(placement.machine.max(initial=0)) + 1)
    return [
        Violation(
            "MB worker heap",
            f"{problem.cluster.machines[w // slots].name} slot {w % slots}",
            float(heap[w]),
            float(limit[w]),
        )
        for w in np.flatnonzero(heap > limit + ROUNDING_POINTS)
    ]


def _shared_workers(problem: Problem, placement: Placement) -> list[Violation]:
    """A slot serves one topology."""
    number = len(problem.topologies)
    if number == 1:
        return []
    worker, _ = worker_keys(placement)
    topology = problem.topology_of[placement.component]
    owned, owners = np.unique(np.unique(worker * number + topology) // number, return_counts=True)
    slots = int(placement.slot.max(initial=0)) + 1
    return [
        Violation(
            "topologies in one slot",
            f"{problem.cluster.machines[w // slots].name} slot {w % slots}",
            float(count),
            1.0,
        )
        for w, count in zip(owned.tolist(), owners.tolist(), strict=True)
        if count > 1
    ]


def _count_violations(problem: Problem, placement: Placement) -> list[Violation]:
    counts = placement.counts(len(problem.components))
    placed = {int(t) for t in np.unique(problem.topology_of[placement.component])}
    wrong_counts = []
    for c, label in enumerate(problem.labels):
        if counts[c] > problem.most_instances[c]:
            wrong_counts.append(
                Violation("instances", label, float(counts[c]), float(problem.most_instances[c]))
            )
        # A topology that was refused as a whole is a shortfall, not a broken plan.
        if counts[c] == 0 and int(problem.topology_of[c]) in placed:
            wrong_counts.append(Violation("instance at least", label, 1.0, 0.0))
    return wrong_counts
