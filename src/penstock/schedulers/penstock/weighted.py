"""Weighted grouping: shares that follow the machines' power, proven close to the best there is.

Where few components share few types, the exact programme over supports finds the plan and its own,
tighter bound (:mod:`.supports`); with many, a vertex of the bound's linear programme laid end to
end does (:mod:`.layout`). Whatever places come out, the shares are the best for them
(:mod:`.shares`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.bound import KIND, Bound
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups
from penstock.schedulers.penstock.layout import lay_out
from penstock.schedulers.penstock.shares import ShareSolution, shares_of_groups
from penstock.schedulers.penstock.supports import (
    SolverLimits,
    bound_by_whole_instances,
    list_supports,
    solve_supports,
)

#: Where the exact programme may stop: 0.045 % below its own bound.
_CLOSE_ENOUGH = 4.5e-4
KIND_WHOLE = "linear programme with whole instances, any grouping"
KIND_SUPPORTS = "exact programme over supports, weighted grouping"


@dataclass(frozen=True)
class WeightedSolution:
    """The best plan found, and a scale that no weighted plan exceeds, with its name."""

    plan: ShareSolution | None
    bound: float
    kind: str


def plan_weighted(
    aggregate: AggregateProblem,
    general_bound: Bound,
    starts: list[MachineGroups],
    nodes: int,
    *,
    exact: bool = True,
    seconds: float | None = None,
) -> WeightedSolution:
    """The best of the exact programme's plan, the layout's and the starts with the best shares."""
    effort = SolverLimits(nodes, _CLOSE_ENOUGH, seconds)
    bound, kind = aggregate.bound, KIND
    if exact:
        bound, kind = bound_by_whole_instances(aggregate, effort), KIND_WHOLE
    layout = lay_out(aggregate, general_bound.ideal_rate[:, aggregate.kinds])
    candidates = [*starts, *([] if layout is None else [layout])]
    plans = [
        plan for groups in candidates if (plan := shares_of_groups(aggregate, groups)) is not None
    ]
    best = _best(aggregate, plans)
    close = best is not None and best.scale >= bound * (1.0 - _CLOSE_ENOUGH)
    counts = list_supports(aggregate) if exact and not close else None
    if counts is not None:
        solved = solve_supports(aggregate, counts, bound, effort)
        if (
            solved.groups is not None
            and (plan := shares_of_groups(aggregate, solved.groups)) is not None
        ):
            best = _best(aggregate, [*plans, plan])
        # Two workers of one topology on a machine, which a heap limit can force, are not listed.
        one_worker = all(t.worker_max_heap_mb is None for t in aggregate.problem.topologies)
        if solved.bound < bound and one_worker:
            bound, kind = solved.bound, KIND_SUPPORTS
    return WeightedSolution(best, bound, kind)


def _best(aggregate: AggregateProblem, plans: list[ShareSolution]) -> ShareSolution | None:
    legal = [plan for plan in plans if _keeps_counts(aggregate, plan.groups)]
    return max(legal, key=lambda plan: plan.scale, default=None)


def _keeps_counts(aggregate: AggregateProblem, groups: MachineGroups) -> bool:
    totals = groups.totals
    if aggregate.given is not None:
        return bool(np.array_equal(totals, aggregate.given))
    return bool((totals >= 1).all() and (totals <= aggregate.most).all())
