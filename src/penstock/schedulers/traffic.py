"""Traffic between components, and between their instances, for schedulers that follow it.

Instances of one component are alike: the traffic of a stream is spread evenly over the pairs of
its source's and target's instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.model.problem import Problem
from penstock.model.topology import Topology


@dataclass(frozen=True)
class ComponentTraffic:
    """Tuples/s from component to component, (components, components), and where it is from."""

    between: FloatMatrix
    note: str = ""
    #: Every stream's was measured.
    is_measured: bool = False

    def per_pair(self, counts: Sequence[int]) -> FloatMatrix:
        """Tuples/s from one instance to one instance, shape (components, components)."""
        instances: FloatVector = np.maximum(np.asarray(counts, dtype=np.float64), 1.0)
        return self.between / (instances[:, None] * instances[None, :])


def traffic_between(problem: Problem, counts: Sequence[int]) -> ComponentTraffic:
    """Measured traffic where every stream has it, else what the rate model says."""
    size = len(problem.components)
    between = np.zeros((size, size))
    if problem.streams and all(stream.tuples_per_s is not None for stream in problem.streams):
        for stream in problem.streams:
            between[stream.source, stream.target] += stream.tuples_per_s or 0.0
        return ComponentTraffic(between, "traffic as measured", is_measured=True)
    notes = ["traffic from the rate model, not measured"]
    for topology, first in zip(problem.topologies, problem.first_component, strict=True):
        if topology.order is None:
            notes.append(f"{topology.name} has a cycle: all its streams count alike")
        rates = _rates(problem, topology, first)
        for stream in problem.streams:
            if first <= stream.source < first + len(topology.components):
                copies = problem.copies(stream, counts[stream.target])
                sent = rates[stream.source - first] * stream.selectivity * copies
                between[stream.source, stream.target] += sent
    return ComponentTraffic(between, "; ".join(notes))


def _rates(problem: Problem, topology: Topology, first: int) -> list[float]:
    """Input of each component of one topology at scale 1; 1 everywhere where there is a cycle."""
    if topology.order is None:
        return [1.0] * len(topology.components)
    rates = [float(problem.spout_rate[first + c]) for c in range(len(topology.components))]
    for component in topology.order:
        for index in problem.streams_from[first + component]:
            stream = problem.streams[index]
            rates[stream.target - first] += rates[component] * stream.selectivity
    return rates


def connected(problem: Problem) -> FloatMatrix:
    """1 where a stream joins two components, in either direction, (components, components)."""
    size = len(problem.components)
    joined = np.zeros((size, size))
    for stream in problem.streams:
        joined[stream.source, stream.target] = joined[stream.target, stream.source] = 1.0
    return joined
