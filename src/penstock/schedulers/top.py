"""``top``: TOP-Storm, connected executors together, on the most powerful nodes.

Muhammad 2023 (PhD thesis), section 3.2, Algorithms 1 to 3. Each slot is to hold
``ceil(executors / workers)``. The first pair of connected executors of which neither is placed
opens the next slot; the slot is filled with the executor that has the most connections with those
in it. Executors that are left are dealt round-robin over the slots. Slots, those with the most
executors first, go to the nodes by ``alpha * GFLOPS + (1 - alpha) * GB``, and all slots of a node
are used before the next one. Memory counts in that ranking only: nothing is refused for want of it.

Where the thesis is silent: pairs are listed by the topology's streams, source executors first to
last; two components are connected once, however many streams join them; ties go to the component
that stands first in the topology. An executor without a connection to the slot is not taken into it
(the thesis says so of Spout B, but not what then): the slot stays short, and the next pair opens
the next one. Once all slots are open, executors of further pairs are left over. A pair is never
divided: where a slot is to hold one executor it holds two, and other slots stay free. Workers are
as many as the topology asks (one per machine if it does not say), as far as there are free slots.
Nodes of equal power: more free slots first, then cluster order. Unknown hardware: see
``node_power``. Several topologies are served by priority, then in the order given. Cost: executors
× components.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import required_counts
from penstock.schedulers.executor_groups import (
    group_by_pairs,
    largest_first,
    node_power,
    put_groups,
    topologies_to_place,
)
from penstock.schedulers.executor_kinds import connected_pairs, own_part
from penstock.schedulers.room import Room
from penstock.schedulers.traffic import connected


@dataclass(frozen=True)
class TopScheduler:
    """Connected executors share a slot, slots fill the most powerful node first."""

    name: ClassVar[str] = "top"
    summary: ClassVar[str] = "TOP-Storm: connected executors together, on the most powerful nodes"
    paper: ClassVar[str] = "Muhammad 2023 (thesis), Algorithms 1 to 3"
    looks: ClassVar[Looks] = Looks(unlike_machines=True, network=True)

    alpha: float = field(
        default=0.8, metadata={"help": "weight of GFLOPS in node power; the rest is for RAM"}
    )

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise InputError(f"top: alpha must be between 0 and 1, not {self.alpha}")

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        counts = np.array(required_counts(problem, self.name))
        ranking = node_power(problem.cluster, cpu=self.alpha, memory=1 - self.alpha)  # eq. (3.2)
        joined = connected(problem)
        room = Room.of(problem)
        room.notes += ranking.notes
        for topology, workers in topologies_to_place(room):
            own = own_part(problem, topology)
            pairs = connected_pairs(problem, topology)
            groups = group_by_pairs(counts[own], pairs, joined[own, own], workers, whole_slot=True)
            executors = groups.sum(axis=1)
            put_groups(room, topology, largest_first(groups, executors), ranking.power)
        return room.outcome()
