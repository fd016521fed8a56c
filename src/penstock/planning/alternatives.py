"""Why an instance is where it is: what every other machine lacks, or what it would be worth there.

Independent of the scheduler that made the plan: the cost model is asked, not the algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.assess import Assessment, assess
from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.evaluate.limits import cpu_requested, resources_used
from penstock.model.arrays import FloatVector
from penstock.model.outcome import Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: Alternatives whose worth is worked out; the others only get their shortfall.
MOST_SCORED = 60
CPU = "cpu_points"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One other machine for an instance."""

    machine: int
    #: What is missing there, at the plan's rate; nothing if it could take the instance.
    lacks: Shortfall | None
    #: Sustainable scale and part of the tuples that leave their process after the move.
    scale: float | None = None
    remote: float | None = None


@dataclass(frozen=True)
class Explanation:
    """An instance, what it uses where it is, and every other machine."""

    problem: Problem
    placement: Placement
    instance: int
    #: CPU points it uses on each machine type at the plan's rate; its request without rates.
    cpu_on_type: FloatVector
    scale: float | None
    remote: float | None
    alternatives: tuple[Alternative, ...]


def explain(problem: Problem, placement: Placement, instance: int) -> Explanation:
    """Hold the place of one instance against all others."""
    judged = assess(problem, placement) if problem.has_rates else None
    component = int(placement.component[instance])
    if judged is not None and np.isfinite(judged.scale):
        rate = float(judged.capacity.rates.per_instance[instance]) * judged.scale
        cpu_on_type = problem.e[component] * rate + problem.met[component]
        used = judged.machine_cpu
    else:
        judged = None
        request = float(np.nan_to_num(problem.cpu_request)[component])
        cpu_on_type = np.full(len(problem.cluster.types), request)
        used = cpu_requested(problem, placement)
    home = int(placement.machine[instance])
    others = [m for m in range(len(problem.cluster.machines)) if m != home]
    lacks = {m: _lacks(problem, placement, instance, m, used, cpu_on_type) for m in others}
    # The machines with most room left are the likeliest; the worth of those is worked out.
    room = problem.cluster.usable_cpu - used
    scoreable = [m for m in others if _is_only_a_matter_of_rate(lacks[m])]
    scored = set(sorted(scoreable, key=lambda m: -room[m])[:MOST_SCORED]) if judged else set()
    return Explanation(
        problem,
        placement,
        instance,
        cpu_on_type,
        judged.scale if judged else None,
        _remote(judged) if judged else None,
        tuple(
            _scored(problem, placement, instance, m, lacks[m])
            if m in scored
            else Alternative(m, lacks[m])
            for m in others
        ),
    )


def _is_only_a_matter_of_rate(lacks: Shortfall | None) -> bool:
    """Whether the machine could take the instance at a lower rate, if not at this one."""
    return lacks is None or lacks.resource.startswith(CPU)


def _lacks(
    problem: Problem,
    placement: Placement,
    instance: int,
    machine: int,
    used_cpu: FloatVector,
    cpu_on_type: FloatVector,
) -> Shortfall | None:
    """The first limit that keeps the instance from a machine."""
    cluster = problem.cluster
    name = cluster.machines[machine].name
    kind = int(cluster.type_of[machine])
    component = int(placement.component[instance])
    if _slot_on(problem, placement, instance, machine) is None:
        return Shortfall("slots", 1, 0, machine=name)
    table = problem.resources
    left = table.capacity[machine] - resources_used(problem, placement)[machine]
    for r in np.flatnonzero(table.hard).tolist():
        needed, free = float(table.request[component, r]), float(left[r])
        if needed > free + ROUNDING_POINTS:
            return Shortfall(table.names[r], needed, max(free, 0.0), machine=name)
    needed = float(cpu_on_type[kind])
    if not np.isfinite(needed):
        return Shortfall("profile", 1, 0, machine=name)
    if problem.has_rates and needed > problem.instance_points[component, kind] + ROUNDING_POINTS:
        most = float(problem.instance_points[component, kind])
        return Shortfall(f"{CPU} of one thread", needed, most, machine=name)
    free = float(cluster.usable_cpu[machine] - used_cpu[machine])
    if needed > free + ROUNDING_POINTS:
        return Shortfall(CPU, needed, max(free, 0.0), machine=name)
    return None


def _slot_on(problem: Problem, placement: Placement, instance: int, machine: int) -> int | None:
    """The topology's worker on a machine, or a free slot; ``None`` if there is neither."""
    topology = problem.topology_of[placement.component]
    here = placement.machine == machine
    own = placement.slot[here & (topology == topology[instance])]
    if len(own):
        return int(own.min())
    slots = problem.cluster.types[int(problem.cluster.type_of[machine])].slots
    occupied = set(placement.slot[here].tolist())
    return next((slot for slot in range(slots) if slot not in occupied), None)


def _scored(
    problem: Problem,
    placement: Placement,
    instance: int,
    machine: int,
    lacks: Shortfall | None,
) -> Alternative:
    """What the plan would be worth with the instance over there."""
    slot = _slot_on(problem, placement, instance, machine)
    machines, slots = placement.machine.copy(), placement.slot.copy()
    machines[instance], slots[instance] = machine, slot or 0
    moved = Placement.of(placement.component, machines, slots, placement.share)
    judged = assess(problem, moved)
    return Alternative(machine, lacks, judged.scale, _remote(judged))


def _remote(judged: Assessment) -> float | None:
    tuples = judged.unit_traffic.tuples
    total = float(tuples.sum())
    return 1.0 - float(tuples[0]) / total if total else None
