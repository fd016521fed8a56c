"""What Lc-Stream's executors have to do at the operating rate, before anybody is placed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.evaluate.division import divide_stream
from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.model.problem import Problem
from penstock.schedulers.lcstream.counts import Stations
from penstock.schedulers.room import components_of


@dataclass(frozen=True)
class ExecutorWork:
    """What the executors do at the operating rate, wherever they are."""

    stations: Stations
    counts: tuple[int, ...]

    @property
    def problem(self) -> Problem:
        return self.stations.problem

    @cached_property
    def rates(self) -> tuple[FloatVector, ...]:
        """Tuples/s into each executor of each component."""
        totals = self.stations.totals(self.counts)
        return tuple(self.stations.arrivals(c, n, totals) for c, n in enumerate(self.counts))

    @cached_property
    def late(self) -> list[int]:
        """Components whose executors are beyond L and W."""
        totals = self.stations.totals(self.counts)
        return [c for c, n in enumerate(self.counts) if not self.stations.holds(c, n, totals)]

    @cached_property
    def division(self) -> tuple[FloatVector, ...]:
        """Fraction of each stream for each executor of its target."""
        targets = [(stream, stream.target) for stream in self.problem.streams]
        return tuple(
            divide_stream(stream, self.problem.components[t], np.full(self.counts[t], np.nan))
            for stream, t in targets
        )

    @cached_property
    def sent(self) -> tuple[float, ...]:
        """Tuples/s on each stream, before any copying."""
        streams = self.problem.streams
        return tuple(float(self.rates[s.source].sum()) * s.selectivity for s in streams)

    @cached_property
    def streams_into(self) -> tuple[tuple[int, ...], ...]:
        into: list[list[int]] = [[] for _ in self.problem.components]
        for i, stream in enumerate(self.problem.streams):
            into[stream.target].append(i)
        return tuple(tuple(streams) for streams in into)

    @cached_property
    def e(self) -> FloatMatrix:
        """Costs on each machine, three arrays of shape (components, machines)."""
        return self.problem.e[:, self.problem.cluster.type_of]

    @cached_property
    def met(self) -> FloatMatrix:
        return self.problem.met[:, self.problem.cluster.type_of]

    @cached_property
    def e_remote(self) -> FloatMatrix:
        return self.problem.e_remote[:, self.problem.cluster.type_of]

    def order(self, topology: int) -> list[tuple[int, int]]:
        """(component, executor) pairs: all components in step, sources before their targets.

        Placed in this order, every machine gets the same part of each component, so that as much
        of what it sends as of what it receives stays inside.
        """
        mine = components_of(self.problem, topology)
        rank = {c: i for i, c in enumerate(self.problem.order)}
        pairs = [(c, i) for c in mine for i in range(self.counts[c])]
        return sorted(pairs, key=lambda p: ((p[1] + 0.5) / self.counts[p[0]], rank[p[0]]))

    def sends(self, stream: int, i: int) -> float:
        """Tuples/s that executor ``i`` of a stream's source puts on it."""
        flat = self.problem.streams[stream]
        return float(self.rates[flat.source][i] * flat.selectivity)

    def own_points(self, component: int, i: int) -> FloatVector:
        """CPU points of an executor on each machine if all its tuples cross, (machines,)."""
        leaving = sum(
            self.sends(s, i) * float(self.division[s].sum())
            for s in self.problem.streams_from[component]
        )
        entering = sum(self.division[s][i] * self.sent[s] for s in self.streams_into[component])
        points = self.met[component] + self.e[component] * self.rates[component][i]
        return np.asarray(points + self.e_remote[component] * (leaving + entering))
