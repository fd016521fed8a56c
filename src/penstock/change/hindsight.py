"""A plan looked back at: what the cost model says at the rate that came, against what was measured.

The rate that is offered may be far below what a plan carries, so CPU is compared at the measured
rate. What a plan carries at most is compared only where a topology was at its limit; everywhere
else the measured rate is what was offered.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.change.history import (
    PROCESSES,
    THREADS,
    MachineOutcome,
    MeasuredOutcome,
    Receipt,
    TopologyOutcome,
    WhatRan,
)
from penstock.evaluate.assess import Assessment, assess_at_rates
from penstock.model.arrays import FloatVector, sum_by
from penstock.model.plan import Plan
from penstock.model.topology import Kind, Topology

#: Spouts kept waiting for so much of the time say that no more can be taken in. At its limit a
#: recorded topology showed nearly all of the time, below it next to nothing.
HELD_BACK = 0.25
#: So full on the mean, a queue is not emptied any more.
QUEUE_FULL = 0.5
#: So much of its points in use, a machine is full.
CPU_FULL = 0.97


def hindsight(applied: Receipt, ran: WhatRan) -> MeasuredOutcome:
    """What was measured, with what was to be expected of it."""
    plan = applied.plan
    compared, measured = _measured_cpu(plan, ran)
    rates = {t.name: _input_rate(t, ran) for t in plan.problem.topologies}
    expected = _expected_cpu(plan, rates, compared)
    names = [m.name for m in plan.problem.cluster.machines]
    machines = tuple(
        MachineOutcome(
            names[m], measured[names[m]], None if expected is None else float(expected[m])
        )
        for m in plan.placement.machines_used.tolist()
        if names[m] in measured
    )
    full = _full_machines(plan, machines)
    return MeasuredOutcome(
        ran.from_ms,
        ran.to_ms,
        ran.stretches,
        tuple(_topology(t, rates[t.name], ran, full) for t in plan.problem.topologies),
        machines,
        compared,
    )


def _input_rate(topology: Topology, ran: WhatRan) -> float:
    spouts = [c.name for c in topology.components if c.kind is Kind.SPOUT]
    return sum(ran.rate_per_s.get((topology.name, name), 0.0) for name in spouts)


def _measured_cpu(plan: Plan, ran: WhatRan) -> tuple[str, Mapping[str, float]]:
    """Like with like: whole processes where the plan charges for them, else the threads alone."""
    cluster = plan.problem.cluster
    used = plan.placement.machines_used
    charged = bool((cluster.per_type("worker_cpu_points")[cluster.type_of[used]] > 0).any())
    known = {cluster.machines[m].name for m in used.tolist()} <= set(ran.processes_cpu)
    return (PROCESSES, ran.processes_cpu) if charged and known else (THREADS, ran.threads_cpu)


def _expected_cpu(plan: Plan, rates: Mapping[str, float], compared: str) -> FloatVector | None:
    """CPU of every machine at these rates, by the one cost model; ``None`` by requests."""
    problem, placement = plan.problem, plan.placement
    if not problem.has_rates:
        return None
    judged: Assessment = assess_at_rates(problem, placement, rates)
    cluster = problem.cluster
    if compared == THREADS:
        return sum_by(placement.machine, judged.instance_cpu, len(cluster.machines))
    # What a machine spends on itself is in no worker's telemetry.
    base = cluster.per_type("base_cpu_points")[cluster.type_of]
    return np.asarray(judged.machine_cpu - base, dtype=np.float64)


def _full_machines(plan: Plan, machines: tuple[MachineOutcome, ...]) -> list[str]:
    cluster = plan.problem.cluster
    usable = cluster.usable_cpu
    return [
        m.machine
        for m in machines
        if m.cpu_points >= CPU_FULL * usable[cluster.machine_index[m.machine]]
    ]


def _topology(topology: Topology, rate: float, ran: WhatRan, full: list[str]) -> TopologyOutcome:
    own = [c for c in topology.components if c.kind is not Kind.ACKER]
    why = _at_limit(topology, ran, full)
    return TopologyOutcome(
        topology.name,
        rate,
        sum(ran.rate_per_s.get((topology.name, c.name), 0.0) for c in own),
        at_limit=bool(why),
        why=why or "not at its limit",
        latency_ms=ran.latency_ms.get(topology.name),
    )


def _at_limit(topology: Topology, ran: WhatRan, full: list[str]) -> str:
    """How it is known that no more could be taken in; empty if it is not."""
    held = ran.held_back.get(topology.name, 0.0)
    if held >= HELD_BACK:
        return f"spouts were held back {100 * held:.0f} % of the time"
    fills = [
        (ran.queue_fill.get((topology.name, c.name), 0.0), c.name) for c in topology.components
    ]
    fill, component = max(fills)
    if fill >= QUEUE_FULL:
        return f"the queues of {component} were {100 * fill:.0f} % full"
    return f"CPU of {', '.join(full)} was full" if full else ""
