"""A problem in which some machines run at a part of their speed.

A tuple keeps its cost in points of the machine as it should be; a slow machine has fewer of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.model.cluster import MachineType
from penstock.model.problem import Problem


def at_speeds(problem: Problem, speed: FloatVector) -> Problem:
    """The same machines in the same order, slow ones as types of their own; (machines,)."""
    cluster, profile = problem.cluster, problem.profile
    slow: dict[str, tuple[MachineType, str]] = {}
    machines = []
    for machine, part in zip(cluster.machines, np.minimum(speed, 1.0).tolist(), strict=True):
        if part < 1.0:
            kind = cluster.types[cluster.type_names[machine.type]]
            name = f"{kind.name} at {100 * part:.0f} %"
            slow[name] = (_slowed(kind, name, part), kind.name)
            machines.append(replace(machine, type=name))
        else:
            machines.append(machine)
    types = (*cluster.types, *(kind for kind, _ in slow.values()))
    slowed = replace(cluster, types=types, machines=tuple(machines))
    if profile is None:
        return replace(problem, cluster=slowed)
    costs, workers = list(profile.costs), list(profile.workers)
    for name, (_, origin) in slow.items():
        costs += [replace(c, machine_type=name) for c in profile.costs if c.machine_type == origin]
        workers += [
            replace(w, machine_type=name) for w in profile.workers if w.machine_type == origin
        ]
    profile = replace(profile, costs=tuple(costs), workers=tuple(workers))
    return replace(problem, cluster=slowed, profile=profile)


def _slowed(kind: MachineType, name: str, part: float) -> MachineType:
    return replace(
        kind,
        name=name,
        cpu_points=kind.cpu_points * part,
        core_points=None if kind.core_points is None else kind.core_points * part,
        speed=None if kind.speed is None else kind.speed * part,
        ghz=None if kind.ghz is None else kind.ghz * part,
    )
