"""Max-min fair division of every machine's CPU at once."""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import FloatVector, IntVector, sum_by


def share_by_need(need: FloatVector, machine: IntVector, room: FloatVector) -> FloatVector:
    """Points for each instance: what it wants, or the level of its machine where that is less.

    The same division as :func:`penstock.evaluate.overload.overload` makes, for all machines
    together: the level rises as those that want less than it leave their part to the others.
    """
    size = len(room)
    total = sum_by(machine, need, size)
    over = total > room
    if not over.any():
        return need
    level = np.full(size, np.inf)
    count = np.bincount(machine, minlength=size)
    level[over] = room[over] / count[over]
    while True:
        content = need <= level[machine]
        used = sum_by(machine, np.where(content, need, 0.0), size)
        left = sum_by(machine, (~content).astype(np.float64), size)
        rising = over & (left > 0)
        raised = np.where(rising, (room - used) / np.maximum(left, 1.0), level)
        if not (raised[rising] > level[rising] * (1 + 1e-12)).any():
            return np.minimum(need, level[machine])
        level = np.where(rising, np.maximum(raised, level), level)
