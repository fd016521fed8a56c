"""A plan made better step by step by the cost model itself.

For what the search over patterns does not see: keys that are not alike, network cards, tuples that
cost more when they cross processes, fixed numbers of tasks. Whatever limits the plan is relieved:
an instance on the machine that is full moves, ends, or gets another beside it elsewhere; the best
of all such changes is made until none helps. Every candidate is evaluated in full, so this is for
problems of modest size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from penstock.evaluate.capacity import Capacity, Resource, capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.terms import held_table
from penstock.model.arrays import IntMatrix
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget
from penstock.schedulers.machine_groups import placement_of

#: Machines with most room that an instance may go to.
_MOST_TARGETS = 10
_BETTER = 1.0 + 1e-9


def local_search(
    problem: Problem,
    placement: Placement,
    evaluations: int,
    budget: Budget,
    share: Callable[[Problem, Placement], Placement] | None = None,
) -> Placement:
    """The plan after so many evaluations at most; instance counts laid down stay as they are.

    ``share`` gives the instances of a changed plan their shares; without it they are even.
    """
    table, current = held_table(problem, placement), capacity(problem, placement)
    best = placement
    left = evaluations
    while left > 0 and 0 < current.scale < np.inf and not budget.spent(evaluations - left):
        step: tuple[float, IntMatrix, Placement, Capacity] | None = None
        for changed in _changes(problem, best, table, current):
            left -= 1
            candidate = placement_of(problem, changed)
            if share is not None:
                candidate = share(problem, candidate)
            value = capacity(problem, candidate)
            more = value.scale > (step[0] if step else current.scale * _BETTER)
            if more and not violations(problem, candidate):
                step = (value.scale, changed, candidate, value)
            if left <= 0:
                break
        if step is None:
            break
        _, table, best, current = step
    return best


def perturb(problem: Problem, placement: Placement, rng: np.random.Generator) -> Placement:
    """The plan with a few instances elsewhere, one more or one less, to start from anew."""
    table = held_table(problem, placement)
    machines, components = table.shape
    for _ in range(int(rng.integers(2, 5))):
        held = np.argwhere(table > 0)
        origin, c = held[int(rng.integers(len(held)))].tolist()
        goes = rng.random() < 0.7 or problem.given_counts is not None
        if goes and table[:, c].sum() > 0:
            table[origin, c] -= 1
        other = c if goes else int(rng.integers(components))
        if table[:, other].sum() < problem.most_instances[other]:
            table[int(rng.integers(machines)), other] += 1
    candidate = placement_of(problem, table)
    return placement if violations(problem, candidate) else candidate


def _changes(
    problem: Problem, placement: Placement, table: IntMatrix, current: Capacity
) -> Iterator[IntMatrix]:
    """Tables one change away that take something off what is full."""
    limit = current.limit
    if limit.resource is Resource.THREAD_CPU:
        full = int(placement.machine[limit.index])
        tight = [int(placement.component[limit.index])]
    else:
        full = limit.index
        tight = np.flatnonzero(table[full]).tolist()
    room = (
        problem.cluster.usable_cpu - current.machine_fixed - current.machine_slope * current.scale
    )
    targets = [m for m in np.argsort(-room, kind="stable").tolist() if m != full][:_MOST_TARGETS]
    free = problem.given_counts is None
    totals = table.sum(axis=0)
    for c in tight:
        if free and totals[c] > 1:
            yield _with(table, (full, c, -1))
        for m in targets:
            yield _with(table, (full, c, -1), (m, c, 1))
            if free and totals[c] < problem.most_instances[c]:
                yield _with(table, (m, c, 1))


def _with(table: IntMatrix, *changes: tuple[int, int, int]) -> IntMatrix:
    candidate = table.copy()
    for machine, component, by in changes:
        candidate[machine, component] += by
    return candidate
