"""``ban``: BAN-Storm, as A3-Storm with bandwidth in the power of a node.

Muhammad 2023 (PhD thesis), section 3.4, Algorithms 7 to 9. Executors are grouped by traffic as in
``a3``, but without its two special cases. Groups, those with the most traffic inside first, go to
the nodes by ``a * GFLOPS + b * GB + g * Mb/s``: 0.5 for what the topology is bound by, 0.25 for the
two others (Algorithm 9). All slots of a node are used before the next one. Memory and bandwidth
count in that ranking only: nothing is refused for want of them.

Where the thesis is silent: what a topology is bound by is what its file declares (``bound_by``),
cpu where it does not, unless the parameter says one thing for all of them; scores are rounded to
whole numbers, halves up, because Tables 3.8 to 3.10 are sorted so (by exact scores Node D would
stand before Node B in Table 3.9), and equal ones go to more free slots, then cluster order; with as
many workers as executors, the two of a pair still share a slot. The rest is as in ``a3`` and
``top``. Cost: executors × components.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.model.arrays import IntMatrix
from penstock.model.cluster import Cluster
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.model.topology import Topology
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.executor_groups import (
    NodePower,
    group_by_pairs,
    node_power,
    pairs_by_traffic,
    place_by_traffic,
)
from penstock.schedulers.executor_kinds import ExecutorKinds
from penstock.schedulers.room import Room

BOUNDS = ("cpu", "memory", "network")
#: Each topology by what it says itself.
DECLARED = "declared"


@dataclass(frozen=True)
class BanScheduler:
    """Executors with the most traffic share a slot, nodes ranked by CPU, memory and bandwidth."""

    name: ClassVar[str] = "ban"
    summary: ClassVar[str] = "BAN-Storm: as a3, nodes ranked by CPU, memory and bandwidth"
    paper: ClassVar[str] = "Muhammad 2023 (thesis), Algorithms 7 to 9"
    looks: ClassVar[Looks] = Looks(unlike_machines=True, network=True)

    bound: str = field(
        default=DECLARED,
        metadata={
            "help": "what topologies are bound by: cpu, memory, network, or as each declares (cpu)"
        },
    )

    def __post_init__(self) -> None:
        if self.bound not in (DECLARED, *BOUNDS):
            known = f"{', '.join(BOUNDS)} or {DECLARED}"
            raise InputError(f'ban: bound must be {known}, not "{self.bound}"')

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        power = {bound: weighted_power(problem.cluster, bound) for bound in BOUNDS}
        rankings = [power[self._bound_of(topology)] for topology in problem.topologies]
        return place_by_traffic(problem, self.name, rankings, _groups)

    def _bound_of(self, topology: Topology) -> str:
        if self.bound != DECLARED:
            return self.bound
        return topology.bound_by or BOUNDS[0]


def _groups(_room: Room, executors: ExecutorKinds, workers: int) -> IntMatrix:
    """Algorithm 7."""
    per_pair = executors.per_pair
    pairs = pairs_by_traffic(executors.pairs, per_pair)
    return group_by_pairs(executors.counts, pairs, per_pair + per_pair.T, workers, whole_slot=False)


def weighted_power(cluster: Cluster, bound: str) -> NodePower:
    """Node power in whole numbers, with the weights of Algorithm 9."""
    cpu, memory, network = (0.5 if bound == kind else 0.25 for kind in BOUNDS)
    exact = node_power(cluster, cpu, memory, network)  # eq. (3.3)
    return NodePower(np.floor(exact.power + 0.5), exact.notes)
