"""The best shares for instances whose places are fixed (weighted grouping), by a linear programme.

Machines of a group hold the same and cost the same, so by symmetry they carry the same: one
variable per group and component, however many machines. Instances left without a share are dropped,
which gives their overhead back, and the programme is solved once more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from penstock.evaluate.capacity import capacity
from penstock.evaluate.terms import held_table
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.penstock.ground import Catalogue, Ground, Groups

#: Parts of a component's input below this are nothing.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Shared:
    """Groups with the share of each of their instances, and the scale they carry by CPU alone."""

    groups: Groups
    #: Share of one instance, NaN throughout for a component divided evenly, shape (groups, C).
    shares: FloatMatrix
    scale: float


def share(ground: Ground, groups: Groups, *, may_drop: bool = True) -> Shared | None:
    """The best shares; ``None`` where the overheads alone are too much."""
    solved = _divide(ground, groups)
    if solved is None or not may_drop or ground.given is not None:
        return solved
    idle = (groups.counts > 0) & (solved.shares <= _NOTHING)
    # The last instance of a component stays, with or without input.
    last = (groups.machines @ np.where(idle, 0, groups.counts)) == 0
    idle[:, last] = False
    if not idle.any():
        return solved
    fewer = replace(groups, counts=np.where(idle, 0, groups.counts))
    again = _divide(ground, fewer)
    return again if again is not None and again.scale >= solved.scale else solved


def best_shares(problem: Problem, placement: Placement) -> Placement:
    """The same instances on the same machines with the best shares, if there are better ones."""
    before = capacity(problem, placement).scale
    if not 0 < before < np.inf:
        return placement
    # Shares may gain much; the programme looks up to twice the bound it is given.
    ground = Ground.of(problem, 4.0 * before)
    table = held_table(problem, placement)
    kind = np.searchsorted(ground.kinds, problem.cluster.type_of)
    rows = np.column_stack([kind, table])
    found, group, number = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    groups = Groups(found[:, 0], number.astype(np.int64), found[:, 1:])
    solved = share(ground, groups, may_drop=False)
    if solved is None:
        return placement
    shares = solved.shares[group.reshape(-1)[placement.machine], placement.component]
    made = Placement.of(placement.component, placement.machine, placement.slot, shares)
    return made if capacity(problem, made).scale > before else placement


def _divide(ground: Ground, groups: Groups) -> Shared | None:
    room = Catalogue.of(ground, groups.counts).room[np.arange(len(groups.kind)), groups.kind]
    if not (room > -np.inf).all() or not groups.totals.all():
        return None
    group, component = np.nonzero(groups.counts)
    parts, scale = _programme(ground, groups, room, group, component)
    if parts is None:
        return None
    table = np.zeros(groups.counts.shape)
    table[group, component] = parts
    total = table.sum(axis=0)
    each = groups.machines[:, None] * groups.counts
    shares = np.divide(
        table, each * total, out=np.zeros(table.shape), where=(each > 0) & (total > 0)
    )
    shares[:, total <= 0] = np.nan
    return Shared(groups, shares, scale * ground.bound)


def _programme(
    ground: Ground, groups: Groups, room: FloatVector, group: IntVector, component: IntVector
) -> tuple[FloatVector | None, float]:
    """Part of each component's input per held pair, and the scale in units of the bound."""
    pairs, components = len(group), len(ground.visits)
    kind, machines = groups.kind[group], groups.machines[group]
    points = ground.work[component, kind]
    fed = ground.visits > 0
    at = np.arange(pairs)
    capacity = sparse.csr_array((points, (group, at)), shape=(len(groups.kind), pairs + 1))
    cover = sparse.csr_array(
        (
            np.concatenate([-np.ones(pairs), np.ones(components)]),
            (
                np.concatenate([component, np.arange(components)]),
                np.concatenate([at, np.full(components, pairs)]),
            ),
        ),
        shape=(components, pairs + 1),
    )[np.flatnonzero(fed)]
    threads = (ground.threads - ground.met)[component, kind] * groups.counts[group, component]
    most = np.divide(threads * machines, points, out=np.full(pairs, np.inf), where=points > 0)
    upper = np.concatenate([np.minimum(np.maximum(most, 0.0), 2.0), [2.0]])
    objective = np.zeros(pairs + 1)
    objective[-1] = -1.0
    solved = linprog(
        objective,
        A_ub=sparse.vstack([capacity, cover], format="csr"),
        b_ub=np.concatenate([np.maximum(room, 0.0) * groups.machines, np.zeros(int(fed.sum()))]),
        bounds=np.column_stack([np.zeros(pairs + 1), upper]),
        method="highs",
    )
    if solved.x is None:
        return None, 0.0
    return np.maximum(solved.x[:-1], 0.0), float(solved.x[-1])
