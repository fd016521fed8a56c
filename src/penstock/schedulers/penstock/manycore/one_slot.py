"""Machines divided among topologies where a machine serves only one of them.

With one slot each, the machines of a type are shared out in whole machines. An integer programme
over types and topologies shares them out so that the scale is as high as can be; in the problem
that it leads to, every topology has machine types of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import IntMatrix
from penstock.model.problem import Problem
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Topology
from penstock.schedulers.whole_numbers import solve_whole

#: How far from the best the division may be, and nodes it may take.
_NEAR, _NODES = 1e-3, 2000
#: An instance on a machine of another topology costs this many times what the machine has.
_NEVER = 10.0


def has_one_slot_each(problem: Problem) -> bool:
    """Whether every machine serves one topology and there are several."""
    used = problem.cluster.machines_per_type > 0
    slots = problem.cluster.per_type("slots", np.inf)[used]
    return len(problem.topologies) > 1 and bool((slots == 1).all())


def divided(problem: Problem) -> Problem | None:
    """The problem with machine types of its own for every topology; ``None`` if that cannot be.

    Machines keep their places, so a placement for one is a placement for the other.
    """
    numbers = _division(problem)
    if numbers is None:
        return None
    cluster, topologies = problem.cluster, range(len(problem.topologies))
    name = [[f"{kind.name}/{p}" for p in topologies] for kind in cluster.types]
    types = tuple(
        replace(kind, name=name[t][p]) for t, kind in enumerate(cluster.types) for p in topologies
    )
    left = numbers.copy()
    machines = []
    for machine, t in zip(cluster.machines, cluster.type_of.tolist(), strict=True):
        p = int(left[t].argmax())
        left[t, p] -= 1
        machines.append(replace(machine, type=name[t][p]))
    rows = tuple(f"{problem.topology_of[c]}/{label}" for c, label in enumerate(problem.labels))
    own = replace(cluster, types=types, machines=tuple(machines))
    return replace(
        problem,
        topologies=_with_rows(problem, rows),
        cluster=own,
        profile=_profile_of(problem, rows, name),
    )


def _with_rows(problem: Problem, rows: tuple[str, ...]) -> tuple[Topology, ...]:
    topologies, first = [], 0
    for topology in problem.topologies:
        own = rows[first : first + len(topology.components)]
        first += len(own)
        components = tuple(
            replace(c, profile=row) for c, row in zip(topology.components, own, strict=True)
        )
        topologies.append(replace(topology, components=components))
    return tuple(topologies)


def _profile_of(problem: Problem, rows: tuple[str, ...], name: list[list[str]]) -> Profile:
    """Costs of every component on the types of its own topology; on others it has no room."""
    profile, kinds = problem.profile, problem.cluster.types
    assert profile is not None
    workers = {worker.machine_type: worker for worker in profile.workers}
    costs, memory = [], []
    for c, row in enumerate(rows):
        memory_mb = float(problem.memory_mb[c])
        if np.isfinite(memory_mb):
            memory.append((row, memory_mb))
        for t, kind in enumerate(kinds):
            e = float(problem.e[c, t])
            if not np.isfinite(e):
                continue
            worker = workers.get(kind.name)
            own = int(problem.topology_of[c])
            cost = Cost(
                row,
                kind.name,
                e=e - (worker.e if worker else 0.0),
                met=float(problem.met[c, t]),
                e_remote=float(problem.e_remote[c, t]) - (worker.e_remote if worker else 0.0),
            )
            never = _NEVER * kind.cpu_points
            costs += [
                replace(cost, machine_type=type_name, met=cost.met if p == own else never)
                for p, type_name in enumerate(name[t])
            ]
    own_workers = tuple(
        replace(workers[kind.name], machine_type=type_name)
        for t, kind in enumerate(kinds)
        if kind.name in workers
        for type_name in name[t]
    )
    return replace(profile, costs=tuple(costs), memory_mb=tuple(memory), workers=own_workers)


def _division(problem: Problem) -> IntMatrix | None:
    """Machines of each type for each topology, shape (T, P)."""
    cluster, of = problem.cluster, problem.topology_of
    topologies, types = len(problem.topologies), len(cluster.types)
    overhead = cluster.per_type("base_cpu_points") + cluster.per_type("worker_cpu_points")
    cpu = np.maximum(cluster.usable_cpu_per_type - overhead, 0.0)
    memory = cluster.per_type("memory_mb", np.inf) - cluster.per_type("worker_memory_mb")
    each = np.nan_to_num(problem.memory_mb)
    busy = np.minimum(problem.instance_points, cpu) - problem.met
    may_run = (busy >= -ROUNDING_POINTS) & np.isfinite(problem.e) & (each[:, None] <= memory)
    c, t = np.nonzero(may_run)
    pairs, divisions = len(c), types * topologies
    cell = t * topologies + of[c]
    # Columns: tuples/s and instances of each pair, machines of each division, the scale.
    width = 2 * pairs + divisions + 1
    column = np.arange(pairs)
    first = 2 * pairs

    def rows(number: int, *parts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> sparse.csr_array:
        row, col, value = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sparse.csr_array((value, (row, col)), shape=(number, width))

    everything = np.arange(divisions)
    own_type = np.repeat(np.arange(types), topologies)
    handled = np.arange(len(of))
    finite = np.isfinite(memory)
    has_memory = finite[t]
    blocks = [
        rows(
            len(of),
            (c, column, -np.ones(pairs)),
            (handled, np.full(len(of), width - 1), problem.visits),
        ),
        rows(
            pairs,
            (column, column, problem.e[c, t]),
            (column, pairs + column, -np.maximum(busy[c, t], 0.0)),
        ),
        rows(
            divisions,
            (cell, column, problem.e[c, t]),
            (cell, pairs + column, problem.met[c, t]),
            (everything, first + everything, -cpu[own_type]),
        ),
        rows(
            divisions,
            (cell[has_memory], pairs + column[has_memory], each[c[has_memory]]),
            (everything, first + everything, -np.where(finite, memory, 0.0)[own_type]),
        ),
        rows(types, (own_type, first + everything, np.ones(divisions))),
    ]
    right = np.zeros(sum(block.shape[0] for block in blocks))
    right[-types:] = cluster.machines_per_type
    cost = np.zeros(width)
    cost[-1] = -1.0
    whole = np.zeros(width)
    whole[first : first + divisions] = 1.0
    solved = solve_whole(
        cost,
        constraints=LinearConstraint(sparse.vstack(blocks, format="csr"), -np.inf, right),
        integrality=whole,
        bounds=Bounds(0.0, np.inf),
        options={"mip_rel_gap": _NEAR, "node_limit": _NODES},
    )
    if solved.x is None or solved.x[-1] <= 0:
        return None
    numbers = np.round(solved.x[first : first + divisions]).astype(np.int64)
    numbers = numbers.reshape(types, topologies)
    # What nobody needs goes to whoever has most.
    spare = cluster.machines_per_type - numbers.sum(axis=1)
    numbers[np.arange(types), numbers.argmax(axis=1)] += spare
    return np.asarray(numbers)
