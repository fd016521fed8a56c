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
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups, PatternTable

#: Parts of a component's input below this are nothing.
_NOTHING = 1e-9


@dataclass(frozen=True)
class ShareSolution:
    """Groups with the share of each of their instances, and the scale they carry by CPU alone."""

    groups: MachineGroups
    #: Share of one instance, NaN throughout for a component divided evenly, shape (groups, C).
    shares: FloatMatrix
    scale: float


def shares_of_groups(
    aggregate: AggregateProblem, groups: MachineGroups, *, may_drop: bool = True
) -> ShareSolution | None:
    """The best shares; ``None`` where the overheads alone are too much."""
    solved = _divide(aggregate, groups)
    if solved is None or not may_drop or aggregate.given is not None:
        return solved
    idle = (groups.counts > 0) & (solved.shares <= _NOTHING)
    # The last instance of a component stays, with or without input.
    last = (groups.machines @ np.where(idle, 0, groups.counts)) == 0
    idle[:, last] = False
    if not idle.any():
        return solved
    fewer = replace(groups, counts=np.where(idle, 0, groups.counts))
    again = _divide(aggregate, fewer)
    return again if again is not None and again.scale >= solved.scale else solved


def best_shares(problem: Problem, placement: Placement) -> Placement:
    """The same instances on the same machines with the best shares, if there are better ones."""
    before = capacity(problem, placement).scale
    if not 0 < before < np.inf:
        return placement
    # Shares may gain much; the programme looks up to twice the bound it is given.
    aggregate = AggregateProblem.of(problem, 4.0 * before)
    table = held_table(problem, placement)
    kind = np.searchsorted(aggregate.kinds, problem.cluster.type_of)
    rows = np.column_stack([kind, table])
    patterns, group, number = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    groups = MachineGroups(patterns[:, 0], number.astype(np.int64), patterns[:, 1:])
    solved = shares_of_groups(aggregate, groups, may_drop=False)
    if solved is None:
        return placement
    shares = solved.shares[group.reshape(-1)[placement.machine], placement.component]
    plan = Placement.of(placement.component, placement.machine, placement.slot, shares)
    return plan if capacity(problem, plan).scale > before else placement


def _divide(aggregate: AggregateProblem, groups: MachineGroups) -> ShareSolution | None:
    room = PatternTable.of(aggregate, groups.counts).room[np.arange(len(groups.kind)), groups.kind]
    if not (room > -np.inf).all() or not groups.totals.all():
        return None
    group, component = np.nonzero(groups.counts)
    parts, scale = _programme(aggregate, groups, room, group, component)
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
    return ShareSolution(groups, shares, scale * aggregate.bound)


def _programme(
    aggregate: AggregateProblem,
    groups: MachineGroups,
    room: FloatVector,
    group: IntVector,
    component: IntVector,
) -> tuple[FloatVector | None, float]:
    """Part of each component's input per held pair, and the scale in units of the bound."""
    pairs, components = len(group), len(aggregate.visits)
    kind, machines = groups.kind[group], groups.machines[group]
    points = aggregate.work[component, kind]
    fed = aggregate.visits > 0
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
    threads = (aggregate.threads - aggregate.met)[component, kind] * groups.counts[group, component]
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
