"""What a cluster lacks for a plan, and whether that proves that there is none."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.bound import Bound, upper_bound
from penstock.model.outcome import RATE, Shortfall
from penstock.model.problem import Problem
from penstock.schedulers.restricted import Restricted, open_machines

_ROUNDING = 1e-9


def refutation(problem: Problem, bound: Bound | None) -> Shortfall | None:
    """Why no plan can exist, where totals or the bound prove it; ``None``: nothing is proven."""
    if bound is None:
        return _lacking_total(problem)
    if problem.terms.avoid:
        part = Restricted.to(problem, open_machines(problem), problem.terms.bare).problem
        bound = upper_bound(part)
    if bound.scale <= 0:
        return shortage(problem)
    asked = problem.scale_asked
    if asked is not None and asked > bound.scale * (1.0 + _ROUNDING):
        demand = float(problem.demand.sum())
        return Shortfall(RATE, asked * demand, bound.scale * demand)
    return None


def shortage(problem: Problem) -> Shortfall:
    """Which total is too small, if one is; else only that nothing fits."""
    lacking = _lacking_total(problem)
    if lacking is not None:
        return lacking
    return Shortfall("machines that hold one instance of each component", 1, 0)


def _lacking_total(problem: Problem) -> Shortfall | None:
    """The first of slots, resources and, with costs, CPU of which the cluster has too little."""
    cluster = problem.cluster
    counts = np.array([count or 1 for count in problem.counts_asked], dtype=np.float64)
    if problem.has_costs:  # counts are a matter of choice
        counts = np.ones(len(counts))
    slots = float(cluster.per_type("slots")[cluster.type_of].sum())
    table = problem.resources.only_hard
    asked, offered = table.total(counts), table.capacity.sum(axis=0)
    wanted = [
        ("slots", float(len(problem.topologies)), slots),
        *zip(table.names, asked.tolist(), offered.tolist(), strict=True),
    ]
    if problem.has_costs:
        needed = float(problem.met.min(axis=1).sum())
        wanted.append(("cpu_points", needed, float(cluster.usable_cpu.sum())))
    for resource, needed, available in wanted:
        if needed > available * (1.0 + _ROUNDING):
            return Shortfall(resource, needed, available)
    return None
