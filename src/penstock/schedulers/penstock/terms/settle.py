"""Which of several like machines gets which part of a plan."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from penstock.evaluate.terms import held_as_table
from penstock.model.arrays import IntMatrix
from penstock.model.problem import Problem


def nearest_machines(problem: Problem, table: IntMatrix, now: IntMatrix) -> IntMatrix:
    """The plan on machines such that as much as possible stays where it is; tables are (M, C).

    Machines of one type, rack and region are interchangeable: an assignment problem for each.
    Those with instances fixed on them keep what they have.
    """
    cluster = problem.cluster
    fixed = {held.machine for held in problem.terms.fixed}
    plan = table.copy()
    alike: dict[tuple[int, int, int], list[int]] = {}
    for m, machine in enumerate(cluster.machines):
        if machine.name not in fixed:
            key = (int(cluster.type_of[m]), int(cluster.rack_of[m]), int(cluster.region_of[m]))
            alike.setdefault(key, []).append(m)
    for machines in alike.values():
        same = np.array(machines)
        overlap = np.minimum(table[same][:, None, :], now[same][None, :, :]).sum(axis=2)
        row, column = linear_sum_assignment(overlap, maximize=True)
        plan[same[column]] = table[same[row]]
    return plan


def pulled_apart(problem: Problem, table: IntMatrix) -> IntMatrix:
    """The plan without instances that must not be where they are; the scarcer component stays."""
    labels = {label: c for c, label in enumerate(problem.labels)}
    plan = table.copy()
    for a, b in problem.terms.apart:
        one, other = labels[a], labels[b]
        if one == other:
            plan[:, one] = np.minimum(plan[:, one], 1)
            continue
        loser = one if plan[:, one].sum() > plan[:, other].sum() else other
        plan[(plan[:, one] > 0) & (plan[:, other] > 0), loser] = 0
    return plan


def settled(problem: Problem, table: IntMatrix) -> IntMatrix:
    """The plan with fixed instances in place: machines change parts, then get what they lack."""
    wanted = held_as_table(problem, problem.terms.fixed)
    plan = table.copy()
    of = problem.cluster.type_of
    for m in np.flatnonzero(wanted.any(axis=1)).tolist():
        lack = np.maximum(wanted[m] - plan, 0).sum(axis=1)
        like = np.flatnonzero((of == of[m]) & ~wanted.any(axis=1) | (np.arange(len(of)) == m))
        best = int(like[np.argmin(lack[like])])
        plan[[m, best]] = plan[[best, m]]
    return np.maximum(plan, wanted)
