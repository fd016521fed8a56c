"""What runs on a machine and what is left of it; where a component runs and what it costs there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.assess import Assessment, assess
from penstock.evaluate.limits import cpu_requested, resources_used
from penstock.evaluate.network import nic_bytes
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: A resource used to this part is full.
FULL = 0.995
_MEGABITS_PER_BYTE = 8 / 1e6


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """How much of one resource of a machine is in use at the plan's rate."""

    name: str
    used: float
    available: float

    @property
    def left(self) -> float:
        return max(self.available - self.used, 0.0)

    @property
    def part(self) -> float:
        return self.used / self.available if self.available else 0.0

    @property
    def is_full(self) -> bool:
        return self.part >= FULL


@dataclass(frozen=True, slots=True)
class Residents:
    """The instances of one component on one machine, at the plan's rate."""

    component: int
    machine: int
    instances: int
    cpu_points: float
    #: Input of all of them together; ``None`` without rates, as the two below.
    rate_per_s: float | None = None
    #: CPU of the busiest instance over the most that its threads can use.
    thread_load: float | None = None
    #: Cost of a tuple here over that on the cheapest type there is; inf where that costs nothing.
    relative_cost: float | None = None


@dataclass(frozen=True)
class Occupancy:
    """Who runs where. ``judged`` is ``None`` without rates."""

    problem: Problem
    placement: Placement
    judged: Assessment | None
    residents: tuple[Residents, ...]

    def on(self, machine: int) -> tuple[Residents, ...]:
        return tuple(row for row in self.residents if row.machine == machine)

    def of(self, component: int) -> tuple[Residents, ...]:
        return tuple(row for row in self.residents if row.component == component)

    def resources_of(self, machine: int) -> tuple[ResourceUse, ...]:
        """CPU, slots and, where they are limited, other resources and network card."""
        problem, placement = self.problem, self.placement
        kind = problem.cluster.types[int(problem.cluster.type_of[machine])]
        here = placement.machine == machine
        cpu = self.judged.machine_cpu if self.judged else cpu_requested(problem, placement)
        used_cpu = float(cpu[machine]) if here.any() else 0.0
        rows = [
            ResourceUse("CPU points", used_cpu, float(problem.cluster.usable_cpu[machine])),
            ResourceUse("slots", float(len(np.unique(placement.slot[here]))), float(kind.slots)),
        ]
        table, used_of = problem.resources, resources_used(problem, placement)[machine]
        rows += [
            ResourceUse(label, used, available)
            for label, used, available in zip(
                table.labels, used_of.tolist(), table.capacity[machine].tolist(), strict=True
            )
            if np.isfinite(available)
        ]
        if kind.nic_mbps is not None and self.judged is not None:
            sent = nic_bytes(problem, placement, self.judged.capacity.rates)
            for way, bytes_per_s in zip(("sent", "received"), sent, strict=True):
                used = float(bytes_per_s[machine]) * self.judged.scale * _MEGABITS_PER_BYTE
                rows.append(ResourceUse(f"Mbit/s {way}", used, kind.nic_mbps))
        return tuple(rows)

    def full_at(self, machine: int) -> float | None:
        """The scale at which the machine's CPU is full; ``None`` if never or not known."""
        if self.judged is None:
            return None
        capacity = self.judged.capacity
        slope = float(capacity.machine_slope[machine])
        room = float(self.problem.cluster.usable_cpu[machine] - capacity.machine_fixed[machine])
        return max(room, 0.0) / slope if slope > 0 else None


def occupancy(problem: Problem, placement: Placement) -> Occupancy:
    """Who runs where, at the sustainable rate where there is one."""
    judged = assess(problem, placement) if problem.has_rates else None
    if judged is not None and not np.isfinite(judged.scale):
        judged = None
    key = placement.component * len(problem.cluster.machines) + placement.machine
    groups = [np.flatnonzero(key == one) for one in np.unique(key)]
    return Occupancy(
        problem, placement, judged, tuple(_residents(problem, placement, judged, g) for g in groups)
    )


def _residents(
    problem: Problem, placement: Placement, judged: Assessment | None, group: np.ndarray
) -> Residents:
    component, machine = int(placement.component[group[0]]), int(placement.machine[group[0]])
    if judged is None:
        asked = float(np.nan_to_num(problem.cpu_request)[component]) * len(group)
        return Residents(component, machine, len(group), asked)
    kind = int(problem.cluster.type_of[machine])
    cpu = judged.instance_cpu[group]
    rate = judged.capacity.rates.per_instance[group].sum() * judged.scale
    present = np.flatnonzero(problem.cluster.machines_per_type > 0)
    cost, lowest = problem.e[component, kind], problem.e[component, present].min()
    relative = 1.0 if cost == lowest else cost / lowest if lowest > 0 else np.inf
    return Residents(
        component,
        machine,
        len(group),
        float(cpu.sum()),
        float(rate),
        float(cpu.max() / problem.instance_points[component, kind]),
        float(relative),
    )
