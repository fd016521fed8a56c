"""``a3``: A3-Storm, executors with much traffic together, on the most powerful nodes.

Muhammad 2023 (PhD thesis), section 3.3, Algorithms 4 to 6. As ``top``, with traffic in place of
connections: pairs of executors open the slots in order of their traffic, largest first, and a slot
is filled with the executor that has the most traffic, both ways, with the *opening pair*: Algorithm
5, line 27, passes only that, while the text says "with already mapped executors". With as many
workers as executors, or more, each executor has its own. One worker for all is the thesis' other
special case; it comes out without a line of its own. Slots, those with the most traffic inside
first, go to the nodes by ``alpha * GFLOPS + (1 - alpha) * GB``. Memory counts in that ranking only.

Where the thesis is silent: traffic is the measured one if every stream has it, otherwise what the
rate model says, and the outcome notes which; where the profile has no traffic between executors, a
stream's is spread evenly over its executor pairs; a pair without traffic is in no traffic log and
opens no slot; pairs of equal traffic go by the order of the streams, executors by that of the
components. The rest is as in ``top``. Cost: executors × components.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.model.arrays import IntMatrix
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.executor_groups import (
    group_by_pairs,
    node_power,
    pairs_by_traffic,
    place_by_traffic,
)
from penstock.schedulers.executor_kinds import ExecutorKinds
from penstock.schedulers.room import Room


@dataclass(frozen=True)
class A3Scheduler:
    """Executors with the most traffic share a slot, slots fill the most powerful node first."""

    name: ClassVar[str] = "a3"
    summary: ClassVar[str] = "A3-Storm: most traffic together, on the most powerful nodes"
    paper: ClassVar[str] = "Muhammad 2023 (thesis), Algorithms 4 to 6"
    looks: ClassVar[Looks] = Looks(unlike_machines=True, network=True)

    alpha: float = field(
        default=0.8, metadata={"help": "weight of GFLOPS in node power; the rest is for RAM"}
    )

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise InputError(f"a3: alpha must be between 0 and 1, not {self.alpha}")

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        ranking = node_power(problem.cluster, cpu=self.alpha, memory=1 - self.alpha)  # eq. (3.2)
        return place_by_traffic(problem, self.name, [ranking] * len(problem.topologies), _groups)


def _groups(_room: Room, executors: ExecutorKinds, workers: int) -> IntMatrix:
    """Algorithm 5."""
    counts = executors.counts
    if workers >= counts.sum():  # line 9
        return np.repeat(np.eye(len(counts), dtype=np.int64), counts, axis=0)
    per_pair = executors.per_pair
    pairs = pairs_by_traffic(executors.pairs, per_pair)
    return group_by_pairs(executors.counts, pairs, per_pair + per_pair.T, workers, whole_slot=False)
