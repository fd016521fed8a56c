"""``isolation``: machines of their own for the topologies that are named.

Apache Storm's IsolationScheduler, which the thesis compares with. Each named topology gets a given
number of machines that nobody else uses; its workers are spread evenly over them and its instances
dealt round-robin over the workers. The rest share what is left under ``default``. Named topologies
are served first, by priority; they take the machines with the most free slots, ties in cluster
order, as Storm does. One that cannot have its machines is refused with what is missing; Storm would
leave it unassigned likewise. Nothing else is looked at. Cost: linear in slots and instances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError, UnknownNameError
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import required_counts, topologies_by_priority
from penstock.schedulers.even import deal_evenly
from penstock.schedulers.room import Room


@dataclass(frozen=True)
class IsolationScheduler:
    """Named topologies alone on their machines, the others together on the rest."""

    name: ClassVar[str] = "isolation"
    summary: ClassVar[str] = "named topologies on machines of their own, the rest as default"
    paper: ClassVar[str] = "Apache Storm, IsolationScheduler"
    looks: ClassVar[Looks] = Looks()

    machines: str = field(
        default="",
        metadata={"help": "machines for each isolated topology, as name:count,name:count"},
    )

    def __post_init__(self) -> None:
        _parse(self.machines)

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        wanted = _parse(self.machines)
        names = [topology.name for topology in problem.topologies]
        for name in wanted:
            if name not in names:
                raise UnknownNameError("topology to isolate", name, names)
        counts = required_counts(problem, self.name)
        room = Room.of(problem)
        order = topologies_by_priority(problem)
        for topology in (t for t in order if names[t] in wanted):
            _isolate(room, topology, wanted[names[topology]], counts)
        for topology in (t for t in order if names[t] not in wanted):
            deal_evenly(room, topology, counts, room.even_slots())
        return room.outcome()


def _isolate(room: Room, topology: int, machines: int, counts: tuple[int, ...]) -> None:
    slots = room.problem.cluster.types
    kinds = room.problem.cluster.type_of
    untouched = [m for m, free in enumerate(room.free_slots) if len(free) == slots[kinds[m]].slots]
    if len(untouched) < machines:
        room.refuse(topology, "machines of its own", machines, len(untouched))
        return
    chosen = sorted(untouched, key=lambda m: -len(room.free_slots[m]))[:machines]
    deal_evenly(room, topology, counts, room.even_slots(chosen))
    for machine in chosen:
        room.free_slots[machine].clear()


def _parse(machines: str) -> dict[str, int]:
    """``name:count`` pairs; a topology's name may hold colons itself."""
    wanted = {}
    for part in filter(None, (p.strip() for p in machines.split(","))):
        name, _, count = part.rpartition(":")
        if not (name and count.isdigit() and int(count) > 0):
            raise InputError(f'isolation: machines takes name:count,name:count, not "{part}"')
        wanted[name] = int(count)
    return wanted
