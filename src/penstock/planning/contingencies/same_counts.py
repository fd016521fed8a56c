"""What becomes of a plan when a machine is lost and no instance may start or end.

A running Storm moves executors but cannot change their number without a rebalance, so what a plan
keeps for it must move every instance of the lost machine and nothing else. One after the other, the
costly ones first, each goes where the plan then carries most, and among equals where most room is
left. Greedy, because the answer is needed for every machine: about one evaluation per instance and
kind of machine, each of which takes the longer the more instances there are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.evaluate.capacity import Capacity, capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.terms import held_table
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem
from penstock.planning.contingencies.changes import InstanceChanges
from penstock.planning.contingencies.conditions import rate_left, when_lost
from penstock.schedulers.base import MOST_KINDS, Budget

#: Instances that are evaluated for each kind of loss, on the mean: some ten seconds for all kinds
#: that are worked out when nobody asks for it.
_WORK_PER_KIND = 4_000_000
#: An evaluation takes as long as if there were so many instances more.
_WORK_AT_LEAST = 6000

#: Resources and places.
_Limits = set[tuple[str, str]]


def contingencies_same_counts(
    problem: Problem, placement: Placement, budget: Budget, most_kinds: int = MOST_KINDS
) -> tuple[Contingency, ...]:
    """For every machine in use, where its instances go; nothing if the budget ends before.

    Nor where it would be more work than for so many kinds of losses.
    """
    if _work(problem, placement) > most_kinds * _WORK_PER_KIND:
        return ()
    contingencies = []
    for number, machine in enumerate(placement.machines_used.tolist()):
        if budget.spent(number):
            return ()
        contingencies.append(
            same_counts_contingency(when_lost(problem, placement, machine), placement, machine)
        )
    return tuple(contingencies)


def _work(problem: Problem, placement: Placement) -> int:
    """What is evaluated, in instances: every instance leaves once, and is tried everywhere."""
    instances = len(placement.machine)
    tries = instances * len(_kinds_of_machines(problem, placement, lost=-1))
    return tries * (instances + _WORK_AT_LEAST)


def same_counts_contingency(problem: Problem, placement: Placement, lost: int) -> Contingency:
    """Where the instances of one machine go; ``problem`` is the one :func:`when_lost` gives."""
    changed, broken = placement, _limits_broken(problem, placement)
    leaving = np.flatnonzero(placement.machine == lost)
    cost = np.where(np.isfinite(problem.e), problem.e, 0.0).max(axis=1)[placement.component]
    for instance in sorted(leaving.tolist(), key=lambda i: (-cost[i], i)):
        moved = _best_move(problem, changed, broken, instance, lost)
        if moved is None:
            return Contingency(problem.cluster.machines[lost].name, (), rate_left_per_s=0.0)
        changed, broken = moved
    changes = InstanceChanges(
        tuple((i, int(changed.machine[i]), int(changed.slot[i])) for i in leaving.tolist())
    )
    return changes.contingency(problem, placement, lost, changed, rate_left(problem, changed))


def _best_move(
    problem: Problem, placement: Placement, broken: _Limits, instance: int, lost: int
) -> tuple[Placement, _Limits] | None:
    """The plan with this instance elsewhere, and the limits it then breaks: no others than now."""
    ways = []
    for machine in _kinds_of_machines(problem, placement, lost):
        slot = _slot(problem, placement, instance, machine)
        if slot is None or not np.isfinite(
            problem.e[placement.component[instance], problem.cluster.type_of[machine]]
        ):
            continue
        moved = _moved(placement, instance, machine, slot)
        carried = capacity(problem, moved)
        ways.append((-carried.scale, -_own_scale(problem, carried, machine), machine, moved))
    ways.sort(key=lambda way: way[:3])
    for *_, moved in ways:
        still = _limits_broken(problem, moved)
        if still <= broken:
            return moved, still
    return None


def _limits_broken(problem: Problem, placement: Placement) -> _Limits:
    """Which limits of what; those that a plan breaks already may stay broken."""
    return {(broken.resource, broken.place) for broken in violations(problem, placement)}


def _kinds_of_machines(problem: Problem, placement: Placement, lost: int) -> list[int]:
    """The first of all machines of one type that hold the same; the lost and avoided ones apart."""
    table = held_table(problem, placement)
    rows = np.column_stack([problem.cluster.type_of, table])
    index = problem.cluster.machine_index
    closed = {lost, *(index[name] for name in problem.terms.avoid)}
    first: dict[bytes, int] = {}
    for machine, row in enumerate(rows):
        if machine not in closed:
            first.setdefault(row.tobytes(), machine)
    return list(first.values())


def _slot(problem: Problem, placement: Placement, instance: int, machine: int) -> int | None:
    """The topology's own worker there, or a new one; ``None`` where no slot is left."""
    here = placement.machine == machine
    topology = problem.topology_of[placement.component]
    own = placement.slot[here & (topology == topology[instance])]
    if len(own):
        return int(np.bincount(own).argmax())
    occupied = set(placement.slot[here].tolist())
    kind = problem.cluster.types[int(problem.cluster.type_of[machine])]
    if len(occupied) >= kind.slots:
        return None
    return next(number for number in range(len(occupied) + 1) if number not in occupied)


def _moved(placement: Placement, instance: int, machine: int, slot: int) -> Placement:
    machines, slots = placement.machine.copy(), placement.slot.copy()
    machines[instance], slots[instance] = machine, slot
    return replace(placement, machine=machines, slot=slots)


def _own_scale(problem: Problem, carried: Capacity, machine: int) -> float:
    """The scale at which this machine alone would be full."""
    slope = float(carried.machine_slope[machine])
    room = float(problem.cluster.usable_cpu[machine] - carried.machine_fixed[machine])
    return room / slope if slope > 0 else np.inf
