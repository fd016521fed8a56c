"""What happens above the sustainable rate: who saturates first, what each component then does.

With back-pressure (Storm's max.spout.pending) the topology slows down to its sustainable rate.
Without it the queues grow: each full machine divides what its fixed costs leave among its
instances fairly (processor sharing: nobody gets more than it can use, the rest is split evenly),
an instance passes on what it processed, and the rest piles up. That is a fixed point in the
fraction each instance gets done, found by damped iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.assess import assess
from penstock.evaluate.rates import propagate
from penstock.model.arrays import FloatVector, IntVector, sum_by
from penstock.model.placement import Placement
from penstock.model.problem import Problem

_MOST_ROUNDS = 500
_CLOSE_ENOUGH = 1e-10
#: A queue that grows by a smaller part of what arrives does not grow.
_NO_QUEUE = 1e-9
#: How much smaller steps get when they do not settle; much less would stop them too early.
_CALMER = 0.8


@dataclass(frozen=True, slots=True)
class Overload:
    """The steady state under an offered scale. Arrays have shape (components,)."""

    offered_scale: float
    sustainable_scale: float
    saturates_first: str
    #: Names of the machines that are full.
    full_machines: tuple[str, ...]
    arriving_per_s: FloatVector
    processed_per_s: FloatVector
    converged: bool

    @property
    def backlog_per_s(self) -> FloatVector:
        """How fast each component's queues grow."""
        grows = self.arriving_per_s - self.processed_per_s
        # What the iteration leaves open is no queue.
        return np.where(grows > _NO_QUEUE * self.arriving_per_s, grows, 0.0)


def overload(problem: Problem, placement: Placement, offered_scale: float) -> Overload:
    """Rates under an offered scale without back-pressure."""
    judged = assess(problem, placement)
    capacity = judged.capacity
    unit = capacity.rates.per_instance
    # Points per tuple/s as the cost model has them, crossing costs included.
    cost = np.divide(capacity.instance_slope, unit, out=np.zeros_like(unit), where=unit > 0)
    usable = problem.cluster.usable_cpu
    room = np.maximum(usable - capacity.machine_fixed, 0.0)
    kind = problem.cluster.type_of[placement.machine]
    thread = problem.instance_points[placement.component, kind] - capacity.instance_fixed
    thread = np.maximum(thread, 0.0)

    done_part, arriving = np.ones(len(placement)), unit
    weight, last_step = 0.5, np.inf
    converged = False
    for _ in range(_MOST_ROUNDS):
        arriving = propagate(problem, placement, done_part).per_instance * offered_scale
        wanted = np.minimum(arriving * cost, thread)
        granted = _share_fairly(wanted, placement.machine, room)
        needed = arriving * cost
        updated = np.divide(granted, needed, out=np.ones_like(needed), where=needed > 0)
        step = float(np.abs(updated - done_part).max(initial=0.0))
        # A step no smaller than the last means that it swings around the fixed point.
        weight *= _CALMER if step >= last_step else 1.0
        last_step = step
        done_part = done_part + weight * (updated - done_part)
        if step <= _CLOSE_ENOUGH:
            converged = True
            break
    processed = arriving * done_part
    cpu = sum_by(placement.machine, processed * cost, len(room))
    full = np.flatnonzero((cpu >= room * (1 - 1e-6)) & (cpu > 0))
    return Overload(
        offered_scale=offered_scale,
        sustainable_scale=judged.sustainable_scale,
        saturates_first=judged.limited_by,
        full_machines=tuple(problem.cluster.machines[m].name for m in full),
        arriving_per_s=_by_component(problem, placement, arriving),
        processed_per_s=_by_component(problem, placement, processed),
        converged=converged,
    )


def _share_fairly(wanted: FloatVector, machine: IntVector, room: FloatVector) -> FloatVector:
    """Max-min fair division of each machine's room among the instances that want CPU."""
    total = sum_by(machine, wanted, len(room))
    granted = wanted.copy()
    for m in np.flatnonzero(total > room):
        here = np.flatnonzero(machine == m)
        granted[here] = _water_fill(wanted[here], float(room[m]))
    return granted


def _water_fill(wanted: FloatVector, room: float) -> FloatVector:
    """The largest level L with sum(min(wanted, L)) == room."""
    order = np.sort(wanted)
    below = np.concatenate([[0.0], np.cumsum(order)[:-1]])
    left = len(order) - np.arange(len(order))
    level = (room - below) / left
    # The level is right at the first instance that wants at least that much; where rounding hides
    # it, at the one that wants most.
    enough = order >= level
    first = int(np.argmax(enough)) if enough.any() else -1
    return np.minimum(wanted, float(level[first]))


def _by_component(problem: Problem, placement: Placement, values: FloatVector) -> FloatVector:
    return sum_by(placement.component, values, len(problem.components))
