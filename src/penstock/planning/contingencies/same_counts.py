"""What becomes of a plan when a machine is lost and no instance may start or end.

A running Storm moves executors but cannot change their number without a rebalance, so what a plan
keeps for it must move every instance of the lost machine and nothing else. One after the other, the
costly ones first, each goes where the plan then carries most, and among equals where most room is
left. Greedy, because the answer is needed for every machine: about one evaluation per instance and
kind of machine.
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
from penstock.schedulers.base import Budget


def contingencies_same_counts(
    problem: Problem, placement: Placement, budget: Budget
) -> tuple[Contingency, ...]:
    """For every machine in use, where its instances go; nothing if the budget ends before."""
    contingencies = []
    for number, machine in enumerate(placement.machines_used.tolist()):
        if budget.spent(number):
            return ()
        contingencies.append(
            same_counts_contingency(when_lost(problem, placement, machine), placement, machine)
        )
    return tuple(contingencies)


def same_counts_contingency(problem: Problem, placement: Placement, lost: int) -> Contingency:
    """Where the instances of one machine go; ``problem`` is the one :func:`when_lost` gives."""
    changed = placement
    leaving = np.flatnonzero(placement.machine == lost)
    cost = np.where(np.isfinite(problem.e), problem.e, 0.0).max(axis=1)[placement.component]
    for instance in sorted(leaving.tolist(), key=lambda i: (-cost[i], i)):
        moved = _best_move(problem, changed, instance, lost)
        if moved is None:
            return Contingency(problem.cluster.machines[lost].name, (), rate_left_per_s=0.0)
        changed = moved
    changes = InstanceChanges(
        tuple((i, int(changed.machine[i]), int(changed.slot[i])) for i in leaving.tolist())
    )
    return changes.contingency(problem, placement, lost, changed, rate_left(problem, changed))


def _best_move(
    problem: Problem, placement: Placement, instance: int, lost: int
) -> Placement | None:
    broken = _limits_broken(problem, placement)
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
    return next((moved for *_, moved in ways if _limits_broken(problem, moved) <= broken), None)


def _limits_broken(problem: Problem, placement: Placement) -> set[tuple[str, str]]:
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
