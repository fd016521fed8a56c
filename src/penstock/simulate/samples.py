"""What a run leaves: looks at its counters. They only grow, so what happened is a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.model.arrays import FloatVector, IntMatrix, IntVector
from penstock.model.problem import Problem
from penstock.simulate.histogram import BUCKETS
from penstock.simulate.scenario import Scenario

#: Whole numbers from the engine; a liquid has none.
Counts: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class CounterSample:
    """Counters at one time: by component, by topology, by machine, by hop."""

    time_s: float
    events: int
    components: dict[str, Counts]
    present: Counts
    topologies: dict[str, Counts]
    latency_s: FloatVector
    at_source: Counts
    cpu_points_s: FloatVector
    hop_tuples: Counts
    hop_bytes: FloatVector
    #: Where the histograms have grown since the last look, and by how much.
    grown_at: IntVector
    grown_by: IntVector
    #: Ages of the tuples that are unfinished now: where the histograms are not 0, and how many.
    aged_at: IntVector
    aged_by: IntVector


@dataclass(frozen=True)
class Samples:
    """A whole run."""

    problem: Problem
    scenario: Scenario
    looks: tuple[CounterSample, ...]
    stopped: bool

    def histogram(self, first: int, last: int) -> IntMatrix:
        """Latencies between two looks, shape (components + topologies, buckets)."""
        rows = len(self.problem.components) + len(self.problem.topologies)
        total = np.zeros(rows * BUCKETS, np.int64)
        for sample in self.looks[first + 1 : last + 1]:
            total[sample.grown_at] += sample.grown_by
        return total.reshape(rows, BUCKETS)

    def ages(self, last: int) -> IntMatrix:
        """How old the unfinished tuples are at a look, shape (topologies, buckets)."""
        rows = len(self.problem.topologies)
        total = np.zeros(rows * BUCKETS, np.int64)
        total[self.looks[last].aged_at] = self.looks[last].aged_by
        return total.reshape(rows, BUCKETS)
