"""The peer of the evaluation benchmark: the same model in plain Python loops.

Shuffle grouping and CPU only, one instance after the other, as a straightforward implementation
of the papers' formulas would do it.
"""

from __future__ import annotations

from penstock.model.placement import Placement
from penstock.model.problem import Problem


def sustainable_scale_by_loops(problem: Problem, placement: Placement) -> float:
    """Largest scale at which no machine is over-utilised."""
    cluster = problem.cluster
    instances = list(zip(placement.component.tolist(), placement.machine.tolist(), strict=True))
    counts = [0] * len(problem.components)
    for component, _ in instances:
        counts[component] += 1
    rate = [0.0] * len(problem.components)
    for component in problem.order:
        rate[component] += float(problem.spout_rate[component])
        for stream in problem.streams:
            if stream.source == component:
                rate[stream.target] += rate[component] * stream.selectivity
    fixed = [0.0] * len(cluster.machines)
    slope = [0.0] * len(cluster.machines)
    kinds = cluster.type_of.tolist()
    for component, machine in instances:
        fixed[machine] += float(problem.met[component, kinds[machine]])
        each = rate[component] / counts[component]
        slope[machine] += float(problem.e[component, kinds[machine]]) * each
    scale = float("inf")
    for machine, kind in enumerate(kinds):
        room = float(cluster.usable_cpu_per_type[kind]) - fixed[machine]
        if slope[machine] > 0:
            scale = min(scale, max(0.0, room / slope[machine]))
    return scale
