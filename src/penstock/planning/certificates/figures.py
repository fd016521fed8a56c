"""The figures of a problem that a certificate is checked by, as plain lists."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.model.problem import Problem

#: What rounding in the cost model may let pass.
SLACK_POINTS, SLACK_RESOURCES = 1e-10, 1e-8


@dataclass(frozen=True)
class MachineLimits:
    """A type of machines and how many there are of it. Lists are by component."""

    number: int
    points: float
    worker_points: float
    slots: float
    #: Points per tuple/s, fixed points, most points of an instance; ``None``: may not run.
    e: list[float | None]
    met: list[float]
    thread: list[float]
    #: What is there of each resource, and what a worker process takes.
    offered: list[float]
    worker_needs: list[float]


def machines_of(problem: Problem) -> list[MachineLimits]:
    """The types that have machines, with the figures of each."""
    cluster, table = problem.cluster, problem.resources.only_hard
    machines = []
    for t, kind in enumerate(cluster.types):
        number = sum(machine.type == kind.name for machine in cluster.machines)
        if not number:
            continue
        usable = kind.cpu_points * (1.0 - cluster.headroom)
        offered, worker = table.capacity_of_type[t].tolist(), table.worker_on_type[t].tolist()
        thread = problem.instance_points[:, t].tolist()
        e, met = problem.e[:, t].tolist(), problem.met[:, t].tolist()
        room = max(usable - kind.base_cpu_points - kind.worker_cpu_points, 0.0)
        may_run = [
            math.isfinite(e[c])
            and all(
                table.request[c, r] + worker[r] <= offered[r] + SLACK_RESOURCES
                for r in range(len(offered))
            )
            and met[c] <= min(thread[c], room) + SLACK_POINTS
            for c in range(len(e))
        ]
        machines.append(
            MachineLimits(
                number=number,
                points=room,
                worker_points=kind.worker_cpu_points,
                slots=kind.slots,
                e=[e[c] if may_run[c] else None for c in range(len(e))],
                met=met,
                thread=thread,
                offered=offered,
                worker_needs=worker,
            )
        )
    return machines


def even_input(problem: Problem) -> list[float]:
    """Input of each component at scale 1 that every plan divides evenly among its instances."""
    spouts = problem.spout_rate.tolist()
    even = [0.0 if problem.weighted else rate for rate in spouts]
    for stream in problem.streams:
        grouping = stream.grouping
        by_shares = problem.weighted and grouping.follows_shares
        if (grouping.is_even or (grouping.is_keyed and not stream.keys)) and not by_shares:
            even[stream.target] += float(problem.visits[stream.source]) * stream.selectivity
    return even
