"""A plan on the machines that are there: near to what runs, and mended where machines are lost."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.terms import held_table
from penstock.model.arrays import BoolVector, IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.penstock.aggregate import allows_shares
from penstock.schedulers.penstock.shares import best_shares

#: More machines than this are not matched best, but in their order.
_MOST_MATCHED = 400


def laid_near(
    problem: Problem,
    class_of: IntVector,
    placement: Placement,
    alive: BoolVector,
    current: Placement | None,
) -> Placement:
    """The placement on machines that are there, class by class, near to the current one."""
    wanted = held_table(problem, placement)
    now = np.zeros_like(wanted) if current is None else held_table(problem, current)
    place = np.arange(len(class_of))
    for c in np.unique(class_of[placement.machine]).tolist():
        asked = np.flatnonzero((class_of == c) & wanted.any(axis=1))
        there = np.flatnonzero((class_of == c) & alive)
        place[asked] = there[_matched(wanted[asked], now[there])]
    return Placement.of(
        placement.component, place[placement.machine], placement.slot, placement.share
    )


def _matched(wanted: IntMatrix, now: IntMatrix) -> IntVector:
    """A different row of ``now`` for each row of ``wanted``, with the largest overlap."""
    partner = np.full(len(wanted), -1, dtype=np.int64)
    free = np.ones(len(now), dtype=np.bool_)
    rows: dict[bytes, list[int]] = {}
    for i in range(len(now) - 1, -1, -1):
        rows.setdefault(now[i].tobytes(), []).append(i)
    for i, row in enumerate(wanted):  # what runs there already stays
        if same := rows.get(row.tobytes()):
            partner[i] = same.pop()
            free[partner[i]] = False
    left, places = np.flatnonzero(partner < 0), np.flatnonzero(free)
    if max(len(left), len(places)) > _MOST_MATCHED:
        partner[left] = places[: len(left)]
        return partner
    from scipy.optimize import linear_sum_assignment  # slow to load

    overlap = np.minimum(wanted[left][:, None, :], now[places][None, :, :]).sum(axis=2)
    # Where it makes no difference, machines in use before machines that would have to wake.
    in_use = 1e-3 * now[places].any(axis=1)
    row, column = linear_sum_assignment(overlap + in_use, maximize=True)
    partner[left[row]] = places[column]
    return partner


def repaired(problem: Problem, placement: Placement, alive: BoolVector) -> Placement | None:
    """What ran on lost machines goes to an idle machine each, the fastest; nobody else moves.

    Without idle machines it goes where most is left. ``None`` where there is no place.
    """
    lost = ~alive[placement.machine]
    if not lost.any():
        return placement
    machine, slot = placement.machine.copy(), placement.slot.copy()
    idle = alive.copy()
    idle[placement.machine] = False
    for gone in np.unique(placement.machine[lost]).tolist():
        here = np.flatnonzero(placement.machine == gone)
        target = _stand_in(problem, placement, here, gone, idle, alive)
        if target is None:
            return None
        machine[here] = target
        if not idle[target]:
            slot[here] += int(slot[machine == target].max(initial=-1)) + 1
        idle[target] = False
    result = Placement.of(placement.component, machine, slot, placement.share)
    if violations(problem, result):
        result = Placement.of(placement.component, machine, np.zeros_like(slot), placement.share)
        if violations(problem, result):
            return None
    return best_shares(problem, result) if allows_shares(problem) else result


def _stand_in(
    problem: Problem,
    placement: Placement,
    here: IntVector,
    gone: int,
    idle: BoolVector,
    alive: BoolVector,
) -> int | None:
    kind = problem.cluster.type_of
    if idle.any():
        # Points that its tuples cost on each type: the machine of its own type first, then fast
        # ones.
        work = (problem.e[placement.component[here]]).sum(axis=0)[kind]
        work = np.where(kind == kind[gone], 0.0, work)
        return int(np.flatnonzero(idle)[np.argmin(work[idle])])
    used = np.flatnonzero(alive)
    if not len(used):
        return None
    judged = capacity(problem, placement)
    load = judged.machine_fixed + judged.machine_slope * judged.scale
    room = (problem.cluster.usable_cpu - load)[used]
    return int(used[np.argmax(room)])
