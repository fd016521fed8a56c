"""A plan when machines are lost: what is left takes over, in the shares it had among itself."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

import numpy as np

from penstock.errors import InputError
from penstock.evaluate.capacity import capacity
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.planning.stage_plans import spread_over


def without_machines(plan: Plan, lost: Set[str]) -> Plan:
    """The plan on the machines that are left; an error where that cannot be."""
    gone: list[str] = []
    for machine in sorted(lost):
        plan = _without(plan, machine, gone)
        gone.append(machine)
    return plan


def part_left(before: Plan, after: Plan) -> float:
    """What a plan carries, as a part of what another did."""
    whole = capacity(before.problem, before.placement).scale
    return capacity(after.problem, after.placement).scale / whole if whole else 0.0


def _without(plan: Plan, machine: str, gone: Sequence[str]) -> Plan:
    problem, placement = plan.problem, plan.placement
    number = problem.cluster.machine_index[machine]
    left = placement.machine != number
    components = np.unique(placement.component)
    if not np.array_equal(np.unique(placement.component[left]), components):
        # Some component ran nowhere else: everything goes on all machines that may be there.
        names = {machine, *gone}
        others = [m for m, one in enumerate(problem.cluster.machines) if one.name not in names]
        spread = spread_over(problem, others) if others else None
        if spread is None:
            raise InputError(f"without {machine}, the machines that are left cannot run the plan")
        return replace(plan, placement=spread)
    share = placement.share[left].copy()
    of = placement.component[left]
    totals = np.bincount(of, weights=np.nan_to_num(share), minlength=int(components.max()) + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isnan(share), share, share / totals[of])
    placement_left = Placement.of(of, placement.machine[left], placement.slot[left], share)
    return replace(plan, placement=placement_left)
