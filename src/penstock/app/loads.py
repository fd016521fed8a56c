"""A plan under a load that is offered: who saturates, what to buy, or what is left over."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.errors import InputError
from penstock.evaluate.assess import Assessment, assess
from penstock.evaluate.overload import Overload, overload
from penstock.model.plan import Plan
from penstock.planning.purchase import Purchase, purchase


@dataclass(frozen=True)
class OfferedLoad:
    """What a plan does with a load. One of the two is there: what is left over, what to buy."""

    overload: Overload
    left_over: Assessment | None = None
    purchase: Purchase | None = None


def offered_load(plan: Plan, offered_per_s: float) -> OfferedLoad:
    """Who saturates first when so many tuples/s of all topologies together are offered."""
    if not 0 < offered_per_s < math.inf:
        raise InputError(f"--offered must be a positive rate, not {offered_per_s:g}")
    problem, placement = plan.problem, plan.placement
    scale = offered_per_s / float(problem.demand.sum())
    state = overload(problem, placement, scale)
    if scale <= state.sustainable_scale:
        return OfferedLoad(state, left_over=assess(problem, placement, scale))
    return OfferedLoad(state, purchase=purchase(problem, placement, scale))
