"""The prediction that goes into a plan, from the same cost model as everything else."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.agreed import held_back_by, judged_by_terms
from penstock.evaluate.assess import Assessment
from penstock.evaluate.bound import KIND
from penstock.evaluate.limits import cpu_requested, resources_used, violations
from penstock.evaluate.violation import Violation
from penstock.model.arrays import FloatVector
from penstock.model.placement import Placement
from penstock.model.plan import MachineLoad, Prediction
from penstock.model.problem import Problem
from penstock.model.resources import MEMORY

#: The kind of a bound that is no limit of the cluster's.
RATE_ASKED_FOR = "the rate asked for"
#: How the kind of a bound begins that holds only for plans that are not too wide.
LIMITED = "exact search over plans with at most "
#: A plan this close to the bound is optimal for every purpose; floats do not tell it apart.
OPTIMAL_WITHIN = 1e-9


def predict(
    problem: Problem,
    placement: Placement,
    bound_scale: float | None = None,
    bound_kind: str = KIND,
) -> tuple[Prediction, Assessment | None]:
    """What the cost model says of a placement; without rates, what it requests."""
    if len(np.unique(problem.topology_of[placement.component])) < len(problem.topologies):
        # A bound is for plans that carry all topologies; it proves nothing about a part of them.
        bound_scale = None
    broken = tuple(str(violation) for violation in violations(problem, placement))
    if not problem.has_rates:
        loads = _loads(problem, placement, cpu_requested(problem, placement))
        return Prediction(machines=loads, violations=broken), None
    judged = judged_by_terms(problem, placement)
    asked = problem.scale_asked
    if asked is not None and judged.scale < asked * (1.0 - OPTIMAL_WITHIN):
        demand = float(problem.demand.sum())
        short = Violation("tuples/s", "rate asked for", asked * demand, judged.scale * demand)
        broken = (*broken, str(short))
    rates = zip(problem.topologies, judged.rate_per_s.tolist(), strict=True)
    finite = np.isfinite(judged.scale)
    prediction = Prediction(
        rate_per_s=tuple((topology.name, rate) for topology, rate in rates) if finite else (),
        scale=judged.scale if finite else None,
        throughput_per_s=judged.throughput_per_s if finite else None,
        limited_by=held_back_by(judged) or judged.limited_by,
        bound_scale=bound_scale if bound_scale is not None and np.isfinite(bound_scale) else None,
        bound_kind=bound_kind if bound_scale is not None else "",
        # A plan that breaks a limit may exceed what plans that keep it can reach.
        proven_optimal=not broken
        and bound_scale is not None
        and judged.scale >= bound_scale * (1.0 - OPTIMAL_WITHIN),
        machines=_loads(problem, placement, judged.machine_cpu) if finite else (),
        violations=broken,
    )
    return prediction, judged


def _loads(problem: Problem, placement: Placement, cpu: FloatVector) -> tuple[MachineLoad, ...]:
    cluster = problem.cluster
    usable = cluster.usable_cpu
    instances = np.bincount(placement.machine, minlength=len(cluster.machines))
    used, names = resources_used(problem, placement), problem.resources.names
    capacity = problem.resources.capacity
    knows_memory = not np.isnan(problem.memory_mb).all()
    return tuple(
        MachineLoad(
            machine=cluster.machines[m].name,
            instances=int(instances[m]),
            cpu_points=float(cpu[m]),
            usable_cpu_points=float(usable[m]),
            memory_mb=float(used[m, MEMORY]) if knows_memory else None,
            resources=tuple(
                (names[r], float(used[m, r]))
                for r in range(MEMORY + 1, len(names))
                if used[m, r] or capacity[m, r]
            ),
        )
        for m in placement.machines_used.tolist()
    )
