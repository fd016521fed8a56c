"""A problem on machines that others use too: what these take is no room for tuples.

A machine is planned with what the others used of it on average, in steps of five points so that
machines with about the same load stay of one type. What a type is stated to use by itself
(``base_cpu_points``) was measured with it and is not counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from penstock.model.problem import Problem
from penstock.planning.own_types import with_own_types

#: Less than half of this is what any system does by itself.
_STEP_POINTS = 5.0


def with_other_tenants(problem: Problem, points: Mapping[str, float]) -> Problem:
    """The same machines, those that others use as types of their own; points by machine."""
    cluster = problem.cluster
    shared = {}
    for index, machine in enumerate(cluster.machines):
        kind = cluster.types[cluster.type_of[index]]
        most = max(0.0, kind.cpu_points - _STEP_POINTS)
        used = min(_STEP_POINTS * np.round(points.get(machine.name, 0.0) / _STEP_POINTS), most)
        if used > kind.base_cpu_points:
            name = f"{kind.name} with {used:g} points of others"
            shared[index] = replace(kind, name=name, base_cpu_points=float(used))
    return with_own_types(problem, shared)
