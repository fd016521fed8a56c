"""``default``: Storm's EvenScheduler.

Each topology gets as many workers as it asks for (one per machine if it does not say, Nasiri's
setting), as far as there are free slots. Slots are taken round-robin over the machines, machines
with more free slots first, so that each machine gives one before any gives two. The instances, by
task id, are dealt round-robin over the workers. It looks at nothing else: not at CPU, not
at memory, not at who talks to whom. Several topologies are served by priority, then in the order
given. Cost: linear in slots and instances.

Follows ``EvenScheduler.sortSlots`` and ``scheduleTopology`` of Apache Storm. Storm numbers tasks
component by component in the alphabetical order of their ids (``StormCommon.stormTaskInfo``), its
own ``__acker`` among them; ``order=declared`` deals in the order of the topology file instead, as
the papers' figures do. Machines with equally many free slots Storm orders by their generated ids;
we use the order of the cluster file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.model.topology import Component, Kind
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import required_counts, topologies_by_priority
from penstock.schedulers.room import Room, Worker, components_of, workers_asked

_ORDERS = ("task-id", "declared")


@dataclass(frozen=True)
class DefaultScheduler:
    """Round-robin over workers, workers round-robin over machines."""

    name: ClassVar[str] = "default"
    summary: ClassVar[str] = "Storm's own: instances dealt evenly, whatever the machines are"
    paper: ClassVar[str] = "Apache Storm, EvenScheduler"
    looks: ClassVar[Looks] = Looks()

    order: str = field(
        default="task-id", metadata={"help": "how instances are dealt: task-id or declared"}
    )

    def __post_init__(self) -> None:
        if self.order not in _ORDERS:
            raise InputError(f'default: order is {" or ".join(_ORDERS)}, not "{self.order}"')

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        counts = required_counts(problem, self.name)
        room = Room.of(problem)
        for topology in topologies_by_priority(problem):
            deal_evenly(room, topology, counts, room.even_slots(), order=self.order)
        return room.outcome()


def deal_evenly(
    room: Room,
    topology: int,
    counts: Sequence[int],
    slots: list[Worker],
    order: str = "task-id",
) -> None:
    """Deal a topology's instances round-robin over as many of the slots as it asks for."""
    if room.problem.topologies[topology].workers is None:
        # Nasiri et al.: one worker per machine, even where another machine has no slot left.
        first: dict[int, Worker] = {}
        for worker in slots:
            first.setdefault(worker[0], worker)
        slots = list(first.values())
    workers = slots[: workers_asked(room.problem, topology)]
    if not workers:
        room.refuse(topology, "slots", 1, 0)
        return
    components = list(components_of(room.problem, topology))
    if order == "task-id":
        components.sort(key=lambda component: _storm_id(room.problem.components[component]))
    dealt = [component for component in components for _ in range(counts[component])]
    for worker in workers[: len(dealt)]:  # Storm keeps only the slots it uses
        room.take(worker)
    for i, component in enumerate(dealt):
        room.put(component, workers[i % len(workers)])


def _storm_id(component: Component) -> str:
    """The id Storm sorts by; its ackers have one of their own, whatever the topology calls them."""
    return "__acker" if component.kind is Kind.ACKER else component.name
