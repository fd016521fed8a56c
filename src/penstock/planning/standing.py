"""What limits a plan: machine by machine, component by component, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.assess import Assessment, assess
from penstock.evaluate.bound import Bound, upper_bound
from penstock.model.arrays import FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: Machines that are full within this part of each other are full together.
TOGETHER = 1e-3


@dataclass(frozen=True, slots=True)
class MachineStanding:
    """One machine in use: the scale at which it is full, and the points it has left."""

    machine: int
    full_at: float
    spare_points: float


@dataclass(frozen=True, slots=True)
class ComponentStanding:
    """One component: its part of all CPU, and where its first machine or thread is full."""

    component: int
    instances: int
    cpu_points: float
    cpu_part: float
    full_at: float
    #: Part of what the cluster can carry at most that hangs on its cost: 0.3 says that one percent
    #: off its cost per tuple would raise the bound by about 0.3 percent.
    weight: float


@dataclass(frozen=True)
class Standing:
    """A plan held against its limits. Machines and components in the order they fill up."""

    problem: Problem
    judged: Assessment
    machines: tuple[MachineStanding, ...]
    components: tuple[ComponentStanding, ...]
    bound: Bound
    #: The lowest bound that is proven for the plan, where that is known.
    proven_scale: float | None = None

    @property
    def scale(self) -> float:
        return self.judged.sustainable_scale

    @property
    def full_together(self) -> tuple[MachineStanding, ...]:
        """The machines that are full at the plan's rate."""
        return tuple(m for m in self.machines if m.full_at <= self.scale * (1.0 + TOGETHER))

    @property
    def next_limit(self) -> MachineStanding | None:
        """The first machine that is full only later."""
        later = [m for m in self.machines if m.full_at > self.scale * (1.0 + TOGETHER)]
        return later[0] if later and np.isfinite(later[0].full_at) else None


def standing(problem: Problem, placement: Placement) -> Standing:
    """What limits a placement; needs rates."""
    judged = assess(problem, placement)
    capacity = judged.capacity
    full_at = _full_at(problem.cluster.usable_cpu - capacity.machine_fixed, capacity.machine_slope)
    spare = problem.cluster.usable_cpu - judged.machine_cpu
    machines = sorted(
        (
            MachineStanding(m, float(full_at[m]), float(spare[m]))
            for m in placement.machines_used.tolist()
        ),
        key=lambda m: (m.full_at, m.machine),
    )
    bound = upper_bound(problem)
    components = _components(judged, full_at, bound)
    return Standing(problem, judged, tuple(machines), components, bound)


def _components(
    judged: Assessment, machine_full_at: FloatVector, bound: Bound
) -> tuple[ComponentStanding, ...]:
    problem, placement, capacity = judged.problem, judged.placement, judged.capacity
    kind = problem.cluster.type_of[placement.machine]
    thread = problem.instance_points[placement.component, kind] - capacity.instance_fixed
    own = _full_at(thread, capacity.instance_slope)
    at = np.minimum(machine_full_at[placement.machine], own)
    cpu = np.bincount(
        placement.component, weights=judged.instance_cpu, minlength=len(problem.components)
    )
    total = float(cpu.sum()) or 1.0
    starts = placement.starts(len(problem.components))
    rows = [
        ComponentStanding(
            c,
            int(starts[c + 1] - starts[c]),
            float(cpu[c]),
            float(cpu[c]) / total,
            float(at[starts[c] : starts[c + 1]].min(initial=np.inf)),
            float(bound.component_share[c]),
        )
        for c in range(len(problem.components))
    ]
    return tuple(sorted(rows, key=lambda row: (row.full_at, row.component)))


def _full_at(room: FloatVector, slope: FloatVector) -> FloatVector:
    """The scale at which each is full; inf where tuples cost nothing there."""
    never = np.full(len(room), np.inf)
    return np.asarray(np.divide(np.maximum(room, 0.0), slope, out=never, where=slope > 0))
