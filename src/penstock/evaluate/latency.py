"""An estimate of how long a tuple takes from spout to sink, below the sustainable rate.

An instance's tuple needs ``e / points of its thread`` seconds of CPU when alone. A machine shares
its CPU among its instances (processor sharing), which at utilisation u stretches that by
``1 / (1 - u)``, as in M/G/1-PS. A component's latency is the mean over its instances by rate, a
stream's the mean of its hops; the estimate is the longest path through the topology. Queues in
front of full threads and bursts are for the simulator.
"""

from __future__ import annotations

import numpy as np

from penstock.evaluate.assess import Assessment
from penstock.evaluate.network import flow_latency_ms
from penstock.model.arrays import FloatVector, scaled, sum_by

#: At the sustainable rate itself some machine is full and the wait has no limit.
LOAD = 0.8


def path_latency_ms(
    judged: Assessment, load: float = LOAD, topology: int | None = None
) -> float | None:
    """Latency at a fraction of the sustainable rate, the longest of all topologies or of one.

    ``None`` where that has no meaning.
    """
    problem = judged.problem
    if not np.isfinite(judged.sustainable_scale) or judged.sustainable_scale <= 0:
        return None
    at_component = _component_latency_ms(judged, judged.sustainable_scale * load)
    arrival = np.zeros(len(problem.components))  # when the last tuple gets there
    for c in problem.order:
        for flow in judged.capacity.rates.flows:
            if flow.stream.source == c:
                done = (
                    arrival[c] + at_component[c] + flow_latency_ms(problem, judged.placement, flow)
                )
                target = flow.stream.target
                arrival[target] = max(float(arrival[target]), done)
    done_at = arrival + at_component
    if topology is not None:
        done_at = done_at[problem.topology_of == topology]
    return float(done_at.max())


def _component_latency_ms(judged: Assessment, scale: float) -> FloatVector:
    """Mean time in each component, shape (components,)."""
    problem, placement, capacity = judged.problem, judged.placement, judged.capacity
    rate = capacity.rates.per_instance
    kind = problem.cluster.type_of[placement.machine]
    # A thread runs at the speed of its core, whatever of it a plan keeps free.
    thread = problem.thread_points[placement.component, kind]
    # Points per tuple/s over points of the thread: seconds of CPU per tuple.
    seconds = np.divide(
        capacity.instance_slope, rate * thread, out=np.zeros_like(rate), where=rate > 0
    )
    cpu = capacity.machine_fixed + scaled(capacity.machine_slope, scale)
    idle = 1.0 - cpu / problem.cluster.usable_cpu
    stretched = 1e3 * seconds / np.maximum(idle, 1e-9)[placement.machine]
    size = len(problem.components)
    weight = sum_by(placement.component, rate, size)
    total = sum_by(placement.component, stretched * rate, size)
    return np.divide(total, weight, out=np.zeros(size), where=weight > 0)
