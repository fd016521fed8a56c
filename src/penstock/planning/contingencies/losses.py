"""What a plan's contingencies say in short: the worst loss, and instances that find no room."""

from __future__ import annotations

import numpy as np

from penstock.model.plan import Contingency, Plan


def losses(plan: Plan) -> list[Contingency]:
    """What the plan says of machines in use; one on which nothing runs is no loss."""
    machines = plan.problem.cluster.machines
    used = {machines[m].name for m in plan.placement.machines_used.tolist()}
    return [lost for lost in plan.if_lost if lost.machine in used]


def worst_loss(plan: Plan) -> Contingency | None:
    """The lost machine that leaves the least; ``None`` where no rate is known."""
    known = [lost for lost in losses(plan) if lost.rate_left_per_s is not None]
    return min(known, key=lambda lost: lost.rate_left_per_s or 0.0, default=None)


def loss_in_words(plan: Plan, lost: Contingency) -> str:
    """Which machine is lost, and that idle ones do not help where the plan leaves them off."""
    idle = len(plan.problem.cluster.machines) - len(plan.placement.machines_used)
    off = "; idle machines stay off" if idle and plan.problem.terms.leaves_idle_off else ""
    return f"without {lost.machine}{off}"


def without_room(plan: Plan) -> list[tuple[str, int]]:
    """Machines in use, and how many of their instances no other takes if they are lost.

    By requests no rate tells that a loss is too much; a move that is missing does.
    """
    index = plan.problem.cluster.machine_index
    held = np.bincount(plan.placement.machine, minlength=len(index))
    return [
        (lost.machine, missing)
        for lost in losses(plan)
        if (missing := int(held[index[lost.machine]]) - len(lost.moves)) > 0
    ]
