"""What becomes of a plan when a machine is lost: what ran there goes elsewhere, little else moves.

Machines of one type that hold the same are lost with the same consequences, so each kind of loss is
worked out once (:mod:`penstock.schedulers.regroup`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.evaluate.capacity import capacity
from penstock.evaluate.terms import held_table
from penstock.model.arrays import IntMatrix
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem
from penstock.planning.contingencies.changes import InstanceChanges
from penstock.planning.contingencies.conditions import places_all, rate_left, reshared, when_lost
from penstock.planning.contingencies.same_counts import same_counts_contingency
from penstock.planning.contingencies.spread import LossPlanner
from penstock.schedulers.base import MOST_KINDS, Budget
from penstock.schedulers.machine_groups import Allowance, Classes, State, placement_of
from penstock.schedulers.penstock.aggregate import allows_shares, is_many_core, patterns_suffice
from penstock.schedulers.penstock.shares import best_shares
from penstock.schedulers.regroup import Regroup

#: Instances that may change besides those of the lost machine.
EXTRA = 10


def without_machine(
    problem: Problem,
    placement: Placement,
    machine: int,
    extra: int = EXTRA,
    budget: Budget | None = None,
) -> Placement | None:
    """The plan without one machine: its instances, and at most ``extra`` others, change."""
    problem = when_lost(problem, placement, machine)
    table = held_table(problem, placement)
    search, best = _search(problem, table, machine, extra, budget or Budget())
    return _placed(problem, placement, search.table_of(best)) if best.scale > 0 else None


def contingencies(
    problem: Problem,
    placement: Placement,
    budget: Budget,
    most_kinds: int = MOST_KINDS,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Contingency, ...]:
    """For every machine in use, where its instances go if it is lost.

    Nothing where more kinds of losses are possible than can be worked out.
    """
    whole, table = problem, held_table(problem, placement)
    if divides_by_number(problem) or not places_all(problem, placement):
        return _spread(problem, placement, budget, most_kinds)
    used = np.flatnonzero(table.any(axis=1))
    classes = Classes.of(problem)
    rows = np.column_stack([classes.of_machine, table])[used]
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    if not len(used) or kind.max() >= most_kinds:
        return ()
    steps: dict[int, State] = {}
    results = []
    for machine, k in zip(used.tolist(), kind.tolist(), strict=True):
        if budget.spent(len(steps)):
            return ()
        problem = when_lost(whole, placement, machine)
        if k not in steps:
            progress(f"what if {problem.cluster.machines[machine].name} is lost")
            search, steps[k] = _search(problem, table, machine, EXTRA, budget)
        else:
            search = _prepared(problem, table, machine, EXTRA, budget)
        results.append(_contingency(problem, placement, machine, table, search, steps[k]))
    return tuple(results)


def divides_by_number(problem: Problem) -> bool:
    """Whether it matters which instance goes where, or a thread can be full before its machine."""
    return is_many_core(problem) or not patterns_suffice(problem)


def _spread(
    problem: Problem, placement: Placement, budget: Budget, most_kinds: int
) -> tuple[Contingency, ...]:
    used = placement.machines_used.tolist()
    if len(used) > most_kinds:
        return ()
    results = []
    for number, machine in enumerate(used):
        if budget.spent(number):
            return ()
        planner = LossPlanner(when_lost(problem, placement, machine), placement, same_counts=False)
        results.append(planner.without(machine, EXTRA, lambda: budget.spent(0)))
    return tuple(results)


def _search(
    problem: Problem, table: IntMatrix, machine: int, extra: int, budget: Budget
) -> tuple[Regroup, State]:
    search = _prepared(problem, table, machine, extra, budget)
    last = search.run()
    if not allows_shares(problem) or not search.start.totals.all() or last is search.start:
        return search, last
    # Where shares may differ, those of the others may simply grow.
    stays, moves = (
        capacity(problem, best_shares(problem, placement_of(problem, search.table_of(state)))).scale
        for state in (search.start, last)
    )
    return search, last if moves > stays else search.start


def _prepared(
    problem: Problem, table: IntMatrix, machine: int, extra: int, budget: Budget
) -> Regroup:
    """The search from the plan without the machine's part."""
    lost = table[machine].copy()
    rest = table.copy()
    rest[machine] = 0
    classes = Classes.of(problem, (machine,))
    return Regroup(classes, rest, Allowance(extra, lost), budget, lost[None])


def _placed(problem: Problem, before: Placement, table: IntMatrix) -> Placement:
    changed = placement_of(problem, table)
    return best_shares(problem, changed) if before.has_shares else changed


def _contingency(
    problem: Problem,
    placement: Placement,
    machine: int,
    before: IntMatrix,
    search: Regroup,
    best: State,
) -> Contingency:
    if best.scale <= 0:
        return same_counts_contingency(problem, placement, machine)
    changes = InstanceChanges.between(problem, placement, machine, before, search.table_of(best))
    after = changes.carried_out(placement)
    if placement.has_shares:
        after = reshared(problem, after, best_shares(problem, after))
    rate = rate_left(problem, after)
    if rate == 0.0:
        return same_counts_contingency(problem, placement, machine)
    return changes.contingency(problem, placement, machine, after, rate)
