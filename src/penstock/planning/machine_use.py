"""Who uses how much of each machine: the table behind loads and pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.assess import assess
from penstock.evaluate.limits import cpu_requested
from penstock.model.cluster import MachineType
from penstock.model.plan import Plan


@dataclass(frozen=True, slots=True)
class Slice:
    """The instances of one component on one machine."""

    component: int
    instances: int
    cpu_points: float


@dataclass(frozen=True, slots=True)
class MachineUse:
    """One machine of the cluster, in use or not."""

    name: str
    type: str
    rack: str
    cpu_points: float
    capacity_points: float
    slices: tuple[Slice, ...]

    @property
    def utilisation(self) -> float:
        return self.cpu_points / self.capacity_points


def machine_size(kind: MachineType) -> str:
    """``800 CPU points (100 per thread), 32,768 MB``: what a machine of a type has."""
    words = f"{kind.cpu_points:,g} CPU points"
    if kind.core_points is not None and kind.core_points < kind.cpu_points:
        words += f" ({kind.core_points:,g} per thread)"
    if kind.memory_mb is not None:
        words += f", {kind.memory_mb:,.0f} MB"
    return words


def machine_uses(plan: Plan) -> tuple[MachineUse, ...]:
    """Every machine of the cluster, in its order, at the plan's sustainable rate."""
    problem, placement = plan.problem, plan.placement
    cluster = problem.cluster
    if problem.has_rates and plan.predicted.scale is not None:
        judged = assess(problem, placement, plan.predicted.scale)
        instance_cpu, machine_cpu = judged.instance_cpu, judged.machine_cpu
    else:
        instance_cpu = np.nan_to_num(problem.cpu_request)[placement.component]
        machine_cpu = cpu_requested(problem, placement)
    slices: list[dict[int, list[float]]] = [{} for _ in cluster.machines]
    rows = zip(
        placement.machine.tolist(), placement.component.tolist(), instance_cpu.tolist(), strict=True
    )
    for machine, component, cpu in rows:
        slices[machine].setdefault(component, []).append(cpu)
    capacity = cluster.per_type("cpu_points")[cluster.type_of]
    used = np.bincount(placement.machine, minlength=len(cluster.machines)) > 0
    return tuple(
        MachineUse(
            name=machine.name,
            type=machine.type,
            rack=machine.rack,
            cpu_points=float(machine_cpu[m]) if used[m] else 0.0,
            capacity_points=float(capacity[m]),
            slices=tuple(
                Slice(component, len(cpus), float(sum(cpus)))
                for component, cpus in sorted(slices[m].items())
            ),
        )
        for m, machine in enumerate(cluster.machines)
    )
