"""``default``: Storm's EvenScheduler (SPEC 3.1).

Each topology gets as many workers as it asks for (one per machine if it does not say, Nasiri's
setting), as far as there are free slots. Slots are taken round-robin over the machines, machines
with more free slots first, so that each machine gives one before any gives two. The instances, in
component order, are dealt round-robin over the workers. It looks at nothing else: not at CPU, not
at memory, not at who talks to whom. Several topologies are served by priority, then in the order
given. Cost: linear in slots and instances.

Follows ``EvenScheduler.sortSlots`` and ``scheduleTopology`` of Apache Storm. Storm orders machines
with equally many free slots, and the executors, by their generated ids; we use the order of the
cluster file and of the topology file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.model.outcome import Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import required_counts, topologies_by_priority

Slot = tuple[int, int]


@dataclass(frozen=True)
class DefaultScheduler:
    """Round-robin over workers, workers round-robin over machines."""

    name: ClassVar[str] = "default"
    summary: ClassVar[str] = "Storm's own: instances dealt evenly, whatever the machines are"
    paper: ClassVar[str] = "Apache Storm, EvenScheduler"
    looks: ClassVar[Looks] = Looks()

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        counts = required_counts(problem, self.name)
        kinds = problem.cluster.types
        free: list[list[int]] = [
            list(range(kinds[kind].slots)) for kind in problem.cluster.type_of.tolist()
        ]
        component: list[int] = []
        workers: list[Slot] = []
        shortfalls: list[Shortfall] = []
        for t in topologies_by_priority(problem):
            topology = problem.topologies[t]
            slots = _interleaved(free)[: topology.workers or len(problem.cluster.machines)]
            if not slots:
                shortfalls.append(Shortfall("slots", 1, 0, topology.name))
                continue
            for machine, slot in slots:
                free[machine].remove(slot)
            first = problem.first_component[t]
            mine = range(first, first + len(topology.components))
            dealt = [c for c in mine for _ in range(counts[c])]
            component += dealt
            workers += [slots[i % len(slots)] for i in range(len(dealt))]
            # Storm keeps only the slots it used.
            for machine, slot in slots[len(dealt) :]:
                free[machine].append(slot)
                free[machine].sort()
        placement = None
        if component:
            machines, used = zip(*workers, strict=True)
            placement = Placement.of(component, machines, used)
        return Outcome(placement, tuple(shortfalls), iterations=len(component))


def _interleaved(free: list[list[int]]) -> list[Slot]:
    """One slot of each machine in turn, machines with more free slots first."""
    order = sorted(range(len(free)), key=lambda machine: -len(free[machine]))
    rounds = max((len(slots) for slots in free), default=0)
    return [
        (machine, free[machine][turn])
        for turn in range(rounds)
        for machine in order
        if turn < len(free[machine])
    ]
