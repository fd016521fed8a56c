"""What a cluster lacks when not even one instance of each component can be placed."""

from __future__ import annotations

import numpy as np

from penstock.model.outcome import Shortfall
from penstock.model.problem import Problem


def shortage(problem: Problem) -> Shortfall:
    """Which total is too small, if one is; else only that nothing fits."""
    cluster = problem.cluster
    slots = float(cluster.per_type("slots")[cluster.type_of].sum())
    memory = float(cluster.per_type("memory_mb", np.inf)[cluster.type_of].sum())
    wanted = (
        ("slots", float(len(problem.topologies)), slots),
        ("memory_mb", float(np.nan_to_num(problem.memory_mb).sum()), memory),
        ("cpu_points", float(problem.met.min(axis=1).sum()), float(cluster.usable_cpu.sum())),
    )
    for resource, needed, available in wanted:
        if needed > available:
            return Shortfall(resource, needed, available)
    return Shortfall("machines that hold one instance of each component", 1, 0)
