"""A problem in which some machines run at a part of their speed.

A tuple keeps its cost in points of the machine as it should be; a slow machine has fewer of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.model.cluster import MachineType
from penstock.model.problem import Problem
from penstock.planning.own_types import with_own_types


def at_speeds(problem: Problem, speed: FloatVector) -> Problem:
    """The same machines in the same order, slow ones as types of their own; (machines,)."""
    slow = {}
    for machine, part in enumerate(np.minimum(speed, 1.0).tolist()):
        if part < 1.0:
            kind = problem.cluster.types[problem.cluster.type_of[machine]]
            slow[machine] = _slowed(kind, f"{kind.name} at {100 * part:.0f} %", part)
    return with_own_types(problem, slow)


def _slowed(kind: MachineType, name: str, part: float) -> MachineType:
    return replace(
        kind,
        name=name,
        cpu_points=kind.cpu_points * part,
        core_points=None if kind.core_points is None else kind.core_points * part,
        speed=None if kind.speed is None else kind.speed * part,
        ghz=None if kind.ghz is None else kind.ghz * part,
    )
