"""What a plan's contingencies say in short: the worst loss, and instances that find no room."""

from __future__ import annotations

import numpy as np

from penstock.model.plan import Contingency, Plan


def worst_loss(plan: Plan) -> Contingency | None:
    """The lost machine that leaves the least; ``None`` where no rate is known."""
    known = [lost for lost in plan.if_lost if lost.rate_left_per_s is not None]
    return min(known, key=lambda lost: lost.rate_left_per_s or 0.0, default=None)


def without_room(plan: Plan) -> list[tuple[str, int]]:
    """Machines in use, and how many of their instances no other takes if they are lost.

    By requests no rate tells that a loss is too much; a move that is missing does.
    """
    index = plan.problem.cluster.machine_index
    held = np.bincount(plan.placement.machine, minlength=len(index))
    return [
        (lost.machine, missing)
        for lost in plan.if_lost
        if (missing := int(held[index[lost.machine]]) - len(lost.moves)) > 0
    ]
