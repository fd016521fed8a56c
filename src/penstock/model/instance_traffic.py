"""Measured traffic between the instances of a topology, and who they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

#: Source task, target task, tuples/s.
TaskPair = tuple[int, int, float]


@dataclass(frozen=True)
class InstanceTraffic:
    """Mean tuples/s from task to task in one run of a topology.

    Instance i of a component in a plan is its i-th task here, where there are as many of both.
    """

    #: Tasks of each component in the order of its instances. Numbers are unique in the topology.
    tasks: tuple[tuple[str, tuple[int, ...]], ...]
    #: The heaviest first; a pair that is not here exchanged nothing, or is among those left out.
    pairs: tuple[TaskPair, ...]
    #: Only for this topology; else for all.
    topology: str = ""
    run: str = ""
    #: The telemetry had no source tasks: tuples were dealt out by what each of them put out.
    estimated: bool = False
    #: Pairs that are not listed, lighter ones and those of unknown senders, and their tuples/s.
    pairs_left_out: int = 0
    left_out_per_s: float = 0.0

    @cached_property
    def tasks_of(self) -> dict[str, tuple[int, ...]]:
        return dict(self.tasks)

    @property
    def part_left_out(self) -> float:
        """Of all tuples, those between pairs that are not listed."""
        total = sum(rate for _, _, rate in self.pairs) + self.left_out_per_s
        return self.left_out_per_s / total if total else 0.0
