"""The best shares for the components that may have them, the others divided as they are.

A linear programme over machines: how much of each component every machine that holds it takes in,
so that the scale is as high as can be. Components that are divided evenly or by keys are a load
that grows with the scale. Where moving tuples costs something, by :mod:`.parts`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from penstock.evaluate.capacity import capacity
from penstock.evaluate.movement import can_matter
from penstock.evaluate.terms import held_table
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.penstock.manycore.costs import Costs, kept_on_machines
from penstock.schedulers.penstock.manycore.parts import PartsProgramme

#: Some rows of a programme and their right-hand sides.
Rows = tuple[sparse.csr_array, FloatVector]
#: Parts of a component's input below this are nothing.
_NOTHING = 1e-9


def fit_shares(costs: Costs, placement: Placement, *, may_drop: bool = True) -> Placement | None:
    """The placement with the best shares; ``None`` where there is no solution.

    Instances that would get nothing end, if they may.
    """
    problem = costs.problem
    table = held_table(problem, placement)
    weighs = costs.weighs & (problem.visits > 0)
    machine, component = np.nonzero(np.where(weighs, table, 0))
    if not len(machine):
        return placement
    if can_matter(problem):
        parts = _with_movement(problem, placement, weighs)[component, machine]
    else:
        solved = _solve(costs, placement, table, machine, component)
        if solved is None:
            return None
        parts = solved
    total = np.bincount(component, parts, minlength=len(weighs))
    each = parts / np.maximum(total, 1e-300)[component] / table[machine, component]
    shares = np.full(table.shape, np.nan)
    shares[machine, component] = np.where(each > _NOTHING, each, 0.0)
    share = shares[placement.machine, placement.component]
    busy = ~(share == 0.0)
    if problem.given_counts is not None or not may_drop:
        busy[:] = True
    share = _normed(placement.component[busy], share[busy], len(weighs))
    return Placement.of(
        placement.component[busy], placement.machine[busy], placement.slot[busy], share
    )


def _with_movement(problem: Problem, placement: Placement, weighs: BoolVector) -> FloatMatrix:
    """The part of each component on each machine, for the sake of what moves too, (C, M)."""
    judged = capacity(problem, placement)
    programme = PartsProgramme.of_placement(problem, placement, judged, weighs)
    return programme.improved(kept_on_machines(problem, placement, judged))


def _normed(component: IntVector, share: FloatVector, components: int) -> FloatVector:
    """Shares that sum to one again after those that are nothing were dropped."""
    total = np.bincount(component, np.nan_to_num(share), minlength=components)
    return np.asarray(share / np.where(total > 0, total, 1.0)[component])


def _solve(
    costs: Costs,
    placement: Placement,
    table: np.ndarray,
    machine: IntVector,
    component: IntVector,
) -> FloatVector | None:
    """Part of the component's input, times the scale, that each held pair takes."""
    problem = costs.problem
    kind = problem.cluster.type_of
    machines, pairs = len(kind), len(machine)
    even = capacity(problem, placement)
    divided = ~costs.weighs[placement.component]
    rates = np.where(divided, even.rates.per_instance, 0.0)
    at, of = placement.machine, placement.component
    points = costs.e_on[of, at] * rates
    visits = problem.visits[component]
    e = costs.e_on[component, machine] * visits
    column, own = np.arange(pairs), np.full(machines, pairs)
    everyone = np.arange(machines)

    def rows(each: FloatVector, load: FloatVector, room: FloatVector) -> Rows:
        matrix = sparse.csr_array(
            (
                np.concatenate([each, np.bincount(at, load, minlength=machines)]),
                (np.concatenate([machine, everyone]), np.concatenate([column, own])),
            ),
            shape=(machines, pairs + 1),
        )
        limited = np.flatnonzero(np.isfinite(room))
        return matrix[limited], room[limited]

    room = problem.cluster.usable_cpu - even.machine_fixed
    out, into = costs.bytes_out_on, costs.bytes_in_on
    blocks = [
        rows(e, points, np.maximum(room, 0.0)),
        rows(out[component, machine] * visits, out[of, at] * rates, costs.nic[kind]),
        rows(into[component, machine] * visits, into[of, at] * rates, costs.nic[kind]),
    ]
    threads = (problem.instance_points - problem.met)[component, kind[machine]]
    most = np.full(pairs, np.inf)
    np.divide(threads * table[machine, component], e, out=most, where=e > 0)
    hottest = (problem.instance_points - problem.met)[of, kind[at]]
    limits = np.full(len(at), np.inf)
    np.divide(hottest, points, out=limits, where=points > 0)
    present = np.unique(component)
    whole = sparse.csr_array(
        (
            np.concatenate([np.ones(pairs), -np.ones(len(present))]),
            (
                np.concatenate([np.searchsorted(present, component), np.arange(len(present))]),
                np.concatenate([column, np.full(len(present), pairs)]),
            ),
        )
    )
    objective = np.zeros(pairs + 1)
    objective[-1] = -1.0
    upper = np.append(np.maximum(most, 0.0), max(float(limits.min()), 0.0))
    solved = linprog(
        objective,
        A_ub=sparse.vstack([matrix for matrix, _ in blocks], format="csr"),
        b_ub=np.concatenate([right for _, right in blocks]),
        A_eq=whole,
        b_eq=np.zeros(len(present)),
        bounds=np.column_stack([np.zeros(pairs + 1), upper]),
        method="highs",
    )
    return None if solved.x is None else np.maximum(solved.x[:-1], 0.0)
