"""``proportional``: every component on every machine, in proportion to its speed there.

For engines that run components one after the other, as Spark runs stages: while one works, all
machines should, and none should be waited for. With e(c, m) the cost of a tuple and P(m) the points
of a machine, component c gets the share P(m) / e(c, m), normed, on machine m; a batch then takes
the sum over components of visits / sum of P / e, which no other division of the same stages beats.
Components that follow each other by shuffle alone run as one stage (a *chain*): they get the same
share, by the cost of a tuple in the whole chain.
Where components run side by side, as in Storm, ``penstock`` is at least as good: this one ignores
that a machine can be better at one component than at another, and it pays the fixed cost of an
instance everywhere.

A machine with several cores gets as many instances as fill it. Components that are not divided
(global, all) have one instance, on the fastest machine; those whose streams do not follow shares
have equal ones. Counts that are laid down are kept: the fastest machines first. Topologies are
served by priority. Cost: components times machines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import ClassVar

import numpy as np

from penstock.errors import TooMuchWorkError
from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.resources import MEMORY
from penstock.model.topology import Grouping
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import topologies_by_priority
from penstock.schedulers.room import Room, components_of


@dataclass(frozen=True)
class ProportionalScheduler:
    """Shares in proportion to speed, everywhere."""

    name: ClassVar[str] = "proportional"
    summary: ClassVar[str] = "every component on every machine by its speed there, for Spark"
    paper: ClassVar[str] = ""
    looks: ClassVar[Looks] = Looks(counts=True, unlike_machines=True, memory=True, grouping=True)

    most_instances: int = field(
        default=200_000, metadata={"help": "refuse a plan that would have more instances"}
    )

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        self._require_few(problem)
        room = Room.of(problem)
        shares: list[float] = []
        for topology in topologies_by_priority(problem):
            shares += _place(room, topology)
        outcome = room.outcome()
        if outcome.placement is None:
            return outcome
        component, machine, slot = zip(*room.placed, strict=True)
        placement = Placement.of(component, machine, slot, shares)
        return Outcome(placement, outcome.shortfalls, outcome.iterations, outcome.notes)

    def _require_few(self, problem: Problem) -> None:
        """Refuse before the memory is full: every component goes on every machine."""
        cluster = problem.cluster
        full = np.ceil(cluster.usable_cpu_per_type / problem.instance_points - 1e-9)
        everywhere = np.maximum(full, 1.0) @ cluster.machines_per_type
        each = [
            1.0 if asked is None and _is_not_divided(problem, c) else asked or everywhere[c]
            for c, asked in enumerate(problem.counts_asked)
        ]
        number = float(np.minimum(each, problem.most_instances).sum())
        if number > self.most_instances:
            raise TooMuchWorkError(
                f"proportional: every component on every machine makes some {number:,.0f} "
                f"instances, at most {self.most_instances:,} are planned: state instances in the "
                "topology (--counts-from topology), take another scheduler, or allow so many "
                f"(--set most_instances={number:.0f})"
            )


def _place(room: Room, topology: int) -> list[float]:
    """Put a topology's instances; the share of each."""
    problem = room.problem
    slots = {m: free[0] for m, free in enumerate(room.free_slots) if free}
    instances: list[tuple[int, int, float]] = []
    left = room.resources - problem.resources.worker
    for component in components_of(problem, topology):
        counts = _counts(problem, component, slots, left)
        if not counts.any():
            _refuse(room, topology, component, left)
            return []
        left -= counts[:, None] * problem.resources.request[component]
        speed = _speed(problem, _chain(problem, component))
        total = float(speed[counts > 0].sum())
        is_weighed = _follows(problem, component)
        for machine in np.flatnonzero(counts).tolist():
            each = speed[machine] / total / counts[machine] if is_weighed else np.nan
            instances += [(component, machine, float(each))] * int(counts[machine])
    for machine in {machine for _, machine, _ in instances}:
        room.resources[machine] = left[machine]
        room.take((machine, slots[machine]))
    for component, machine, _ in instances:
        room.put(component, (machine, slots[machine]))
    return [share for _, _, share in instances]


def _refuse(room: Room, topology: int, component: int, left: FloatMatrix) -> None:
    """Say which resource is short; memory, as a matter of room, is not set apart from CPU."""
    table = room.problem.resources
    needed = np.broadcast_to(table.request[component], left.shape)
    has_slot = np.array([bool(free) for free in room.free_slots])
    scarcest = table.scarcest(needed, left, has_slot, ROUNDING_POINTS)
    if scarcest is None or scarcest[1] == MEMORY:
        room.refuse(topology, "machines with room", 1, 0)
    else:
        m, r = scarcest
        room.refuse(topology, table.names[r], float(needed[m, r]), max(float(left[m, r]), 0.0))


def _counts(
    problem: Problem, component: int, slots: dict[int, int], left: FloatMatrix
) -> IntVector:
    """Instances on each machine, shape (machines,)."""
    cluster = problem.cluster
    has_slot = np.zeros(len(cluster.machines), dtype=bool)
    has_slot[list(slots)] = True
    table, fit = problem.resources, np.full(len(left), np.inf)
    for r in np.flatnonzero(table.hard & (table.request[component] > 0)).tolist():
        fit = np.minimum(fit, np.floor(left[:, r] / table.request[component, r] + 1e-9))
    threads = problem.instance_points[component][cluster.type_of]
    full = np.ceil(cluster.usable_cpu / threads - 1e-9)
    wanted = np.where(has_slot, np.minimum(np.maximum(full, 1), fit), 0).astype(np.int64)
    asked = problem.counts_asked[component]
    number = asked if asked is not None else int(wanted.sum())
    if _is_not_divided(problem, component) and asked is None:
        number = 1
    number = min(number, int(problem.most_instances[component]))
    room = np.where(has_slot, np.minimum(fit, number), 0).astype(np.int64)
    return _dealt(_speed(problem, _chain(problem, component)), number, wanted, room)


def _dealt(speed: FloatVector, number: int, wanted: IntVector, room: IntVector) -> IntVector:
    """So many instances, one after the other to where most speed is left for it."""
    counts = np.zeros(len(speed), dtype=np.int64)
    number = min(number, int(room.sum()))
    # A first instance everywhere goes before a second anywhere, as far as it is wanted.
    first = np.flatnonzero((wanted > 0) & (room > 0))
    counts[first[np.argsort(-speed[first], kind="stable")][:number]] = 1
    left = [(-float(speed[m]) / (int(counts[m]) + 1), m)
            for m in np.flatnonzero(counts < room).tolist()]  # fmt: skip
    heapify(left)
    for _ in range(number - int(counts.sum())):
        machine = left[0][1]
        counts[machine] += 1
        if counts[machine] < room[machine]:
            heapreplace(left, (-float(speed[machine]) / (int(counts[machine]) + 1), machine))
        else:
            heappop(left)
    return counts


def _chain(problem: Problem, component: int) -> list[int]:
    """The component with all that run in one stage with it."""
    first = component
    while (before := _goes_on_from(problem, first)) is not None:
        first = before
    chain = [first]
    for c in problem.order:
        if _goes_on_from(problem, c) in chain and c not in chain:
            chain.append(c)
    return chain


def _goes_on_from(problem: Problem, component: int) -> int | None:
    """Whom a component takes all its tuples from, with nothing between them but a shuffle."""
    inputs = [s for s in problem.streams if s.target == component]
    if len(inputs) != 1 or not inputs[0].grouping.follows_shares or inputs[0].declared.fields:
        return None
    # Other numbers of instances are another division.
    ends = (inputs[0].source, component)
    is_alike = problem.counts_asked[ends[0]] == problem.counts_asked[ends[1]] and (
        problem.most_instances[ends[0]] == problem.most_instances[ends[1]]
    )
    return inputs[0].source if is_alike else None


def _speed(problem: Problem, chain: list[int]) -> FloatVector:
    """Tuples/s of a chain alone on each machine; points where nothing is known of it."""
    cluster = problem.cluster
    visits = problem.visits[chain] / max(problem.visits[chain[0]], np.finfo(float).tiny)
    # No tuples cost nothing, also on types of which no cost is known.
    e = np.where(visits[:, None] > 0, problem.e[chain], 0.0)
    cost = (visits[:, None] * e)[:, cluster.type_of].sum(axis=0)
    speed = cluster.usable_cpu.copy()
    if (cost > 0).all():
        speed = speed / cost
    return np.maximum(speed, np.finfo(float).tiny)


def _streams_to(problem: Problem, component: int) -> list[Grouping]:
    return [s.grouping for s in problem.streams if s.target == component]


def _is_not_divided(problem: Problem, component: int) -> bool:
    return any(not grouping.is_divided for grouping in _streams_to(problem, component))


def _follows(problem: Problem, component: int) -> bool:
    return problem.weighted and all(g.follows_shares for g in _streams_to(problem, component))
