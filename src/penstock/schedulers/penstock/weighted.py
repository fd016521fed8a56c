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
from penstock.schedulers.penstock.ground import Ground, Groups
from penstock.schedulers.penstock.layout import lay_out
from penstock.schedulers.penstock.shares import Shared, share
from penstock.schedulers.penstock.supports import (
    Effort,
    bound_by_whole_instances,
    solve_supports,
    supports,
)

#: Where the exact programme may stop: 0.045 % below its own bound.
_CLOSE_ENOUGH = 4.5e-4
KIND_WHOLE = "linear programme with whole instances, any grouping"
KIND_SUPPORTS = "exact programme over supports, weighted grouping"


@dataclass(frozen=True)
class Weighted:
    """The best plan found, and a scale that no weighted plan exceeds, with its name."""

    plan: Shared | None
    bound: float
    kind: str


def plan_weighted(
    ground: Ground,
    found: Bound,
    starts: list[Groups],
    nodes: int,
    *,
    exact: bool = True,
    seconds: float | None = None,
) -> Weighted:
    """The best of the exact programme's plan, the layout's and the starts with the best shares."""
    effort = Effort(nodes, _CLOSE_ENOUGH, seconds)
    bound, kind = ground.bound, KIND
    if exact:
        bound, kind = bound_by_whole_instances(ground, effort), KIND_WHOLE
    laid = lay_out(ground, found.ideal_rate[:, ground.kinds])
    candidates = [*starts, *([] if laid is None else [laid])]
    plans = [plan for groups in candidates if (plan := share(ground, groups)) is not None]
    best = _best(ground, plans)
    close = best is not None and best.scale >= bound * (1.0 - _CLOSE_ENOUGH)
    counts = supports(ground) if exact and not close else None
    if counts is not None:
        solved = solve_supports(ground, counts, bound, effort)
        if solved.groups is not None and (plan := share(ground, solved.groups)) is not None:
            best = _best(ground, [*plans, plan])
        # Two workers of one topology on a machine, which a heap limit can force, are not listed.
        one_worker = all(t.worker_max_heap_mb is None for t in ground.problem.topologies)
        if solved.bound < bound and one_worker:
            bound, kind = solved.bound, KIND_SUPPORTS
    return Weighted(best, bound, kind)


def _best(ground: Ground, plans: list[Shared]) -> Shared | None:
    legal = [plan for plan in plans if _keeps_counts(ground, plan.groups)]
    return max(legal, key=lambda plan: plan.scale, default=None)


def _keeps_counts(ground: Ground, groups: Groups) -> bool:
    totals = groups.totals
    if ground.given is not None:
        return bool(np.array_equal(totals, ground.given))
    return bool((totals >= 1).all() and (totals <= ground.most).all())
