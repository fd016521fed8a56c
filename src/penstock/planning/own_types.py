"""A problem in which some machines are of types of their own, at the costs of the old ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.model.cluster import MachineType
from penstock.model.problem import Problem


def with_own_types(problem: Problem, kinds: Mapping[int, MachineType]) -> Problem:
    """The same machines in the same order; ``kinds`` are the new types by machine."""
    if not kinds:
        return problem
    cluster, profile = problem.cluster, problem.profile
    machines = list(cluster.machines)
    origins: dict[str, str] = {}
    added: dict[str, MachineType] = {}
    for machine, kind in kinds.items():
        origin = machines[machine].type
        origins[kind.name] = origin
        known = cluster.types[cluster.type_names[origin]].variant_of
        added[kind.name] = replace(kind, variant_of=known or origin)
        machines[machine] = replace(machines[machine], type=kind.name)
    types = (*cluster.types, *added.values())
    changed = replace(cluster, types=types, machines=tuple(machines))
    if profile is None:
        return replace(problem, cluster=changed)
    costs, workers = list(profile.costs), list(profile.workers)
    for name, origin in origins.items():
        costs += [replace(c, machine_type=name) for c in profile.costs if c.machine_type == origin]
        workers += [
            replace(w, machine_type=name) for w in profile.workers if w.machine_type == origin
        ]
    profile = replace(profile, costs=tuple(costs), workers=tuple(workers))
    return replace(problem, cluster=changed, profile=profile)
