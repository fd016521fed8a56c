"""A problem as the pattern bound sees it: costs and limits by kind of machine, sizes by box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.model.problem import UNLIMITED, Problem

#: Rounding must not rule out what the cost model lets pass: CPU, and resources that are placed.
SLACK_POINTS = 1e-10
SLACK_RESOURCES = 1e-8


@dataclass(frozen=True)
class CountBox:
    """Count vectors N with ``least <= N <= most``; ``most`` may be infinite. Shape (C,) each."""

    least: FloatVector
    most: FloatVector

    @property
    def is_point(self) -> bool:
        return bool((self.least == self.most).all())

    def split(self, component: int, at: float) -> tuple[CountBox, CountBox]:
        """The counts of a component up to ``at``, and those above."""
        below, above = self.most.copy(), self.least.copy()
        below[component], above[component] = at, at + 1.0
        return CountBox(self.least, below), CountBox(above, self.most)


@dataclass(frozen=True)
class RelaxedProblem:
    """C components, K kinds of machines (types that have machines)."""

    problem: Problem
    kinds: IntVector
    machines: FloatVector
    #: Points of a machine for its instances, with one worker process; points of another one. (K,)
    points: FloatVector
    worker: FloatVector
    #: Points per tuple/s, fixed points, most points of an instance, shape (K, C).
    e: FloatMatrix
    met: FloatMatrix
    threads: FloatMatrix
    #: Input of each component at scale 1: all of it, the part that is divided evenly, and the part
    #: of which an instance may get anything, shape (C,).
    visits: FloatVector
    even: FloatVector
    other: FloatVector
    #: Tasks of each component, 0 where a task is an instance, shape (C,).
    tasks: FloatVector
    #: What limits machines beside CPU, shapes (C, R), (K, R), (K, R).
    request: FloatMatrix
    offered: FloatMatrix
    worker_needs: FloatMatrix
    slots: FloatVector
    #: Heap of an instance and most heap of a worker process, shape (C,).
    heap: FloatVector
    most_heap: FloatVector

    @classmethod
    def of(cls, problem: Problem) -> RelaxedProblem:
        cluster = problem.cluster
        kinds = np.flatnonzero(cluster.machines_per_type > 0)
        worker = cluster.per_type("worker_cpu_points")
        overhead = cluster.per_type("base_cpu_points") + worker
        table = problem.resources.only_hard
        even = _even_input(problem)
        heaps = [t.worker_max_heap_mb for t in problem.topologies]
        most_heap = np.array([np.inf if heap is None else heap for heap in heaps])
        return cls(
            problem=problem,
            kinds=kinds,
            machines=cluster.machines_per_type[kinds].astype(np.float64),
            points=np.maximum(cluster.usable_cpu_per_type - overhead, 0.0)[kinds],
            worker=worker[kinds],
            e=np.ascontiguousarray(problem.e[:, kinds].T),
            met=np.ascontiguousarray(problem.met[:, kinds].T),
            threads=np.ascontiguousarray(problem.instance_points[:, kinds].T),
            visits=problem.visits,
            even=even,
            other=np.maximum(problem.visits - even, 0.0),
            tasks=np.array([float(c.tasks or 0) for c in problem.components]),
            request=table.request,
            offered=table.capacity_of_type[kinds],
            worker_needs=table.worker_on_type[kinds],
            slots=cluster.per_type("slots", np.inf)[kinds],
            heap=problem.onheap_mb,
            most_heap=most_heap[problem.topology_of],
        )

    @cached_property
    def fed(self) -> IntVector:
        """Components with input: the others only cost."""
        return np.flatnonzero(self.visits > 0)

    @cached_property
    def may_run(self) -> np.ndarray:
        """Whether one instance fits a machine by everything but its tuples, shape (K, C)."""
        alone = (
            self.request[None] + self.worker_needs[:, None]
            <= self.offered[:, None] + SLACK_RESOURCES
        )
        fits = np.isfinite(self.e) & alone.all(axis=2)
        fits &= self.met <= np.minimum(self.threads, self.points[:, None]) + SLACK_POINTS
        return np.asarray(fits & (self.visits > 0))

    def whole_box(self) -> CountBox:
        """All count vectors there are; what gets no input counts as one instance."""
        limits = self.problem.most_instances
        most = np.where(limits == UNLIMITED, np.inf, limits.astype(np.float64))
        if self.problem.given_counts is not None:
            given = np.array(self.problem.given_counts, dtype=np.float64)
            return CountBox(given, given)
        return CountBox(np.ones(len(most)), np.where(self.visits > 0, most, 1.0))

    def sizes(self, box: CountBox) -> tuple[FloatVector, FloatVector]:
        """The least and the most input of an instance, as a part of the scale, shape (C,)."""
        uses_tasks = self.tasks > 0
        least = np.where(np.isinf(box.most), 0.0, 1.0 / np.minimum(box.most, 1e300))
        most = 1.0 / box.least
        if uses_tasks.any():
            tasks = np.maximum(self.tasks, 1.0)
            least = np.where(uses_tasks, np.floor(tasks * least + 1e-9) / tasks, least)
            most = np.where(uses_tasks, np.ceil(tasks * most - 1e-9) / tasks, most)
        return self.even * least, np.minimum(self.even * most + self.other, self.visits)

    def least_room(self, box: CountBox) -> FloatVector:
        """What an instance may get at most, where a box is made as small as can be, shape (C,)."""
        least, _ = self.sizes(box)
        return np.asarray(np.minimum(least + self.other, self.visits))

    @cached_property
    def alike(self) -> tuple[tuple[int, int], ...]:
        """Pairs of components that may change names: what one can do, the other can."""
        return tuple(
            (a, b)
            for a in range(len(self.visits))
            for b in range(a + 1, len(self.visits))
            if self._are_alike(a, b)
        )

    def _are_alike(self, a: int, b: int) -> bool:
        problem = self.problem
        rows = (self.visits, self.even, self.tasks, self.heap, problem.most_instances)
        same = problem.topology_of[a] == problem.topology_of[b] and problem.given_counts is None
        same &= all(row[a] == row[b] for row in rows)
        same &= bool((self.request[a] == self.request[b]).all())
        return bool(same) and all(
            bool((table[:, a] == table[:, b]).all()) for table in (self.e, self.met, self.threads)
        )

    def workers_needed(self, counts: FloatMatrix) -> IntVector:
        """Worker processes that these instances need at least, shape (rows,)."""
        needed = np.zeros(len(counts), dtype=np.int64)
        topology_of = self.problem.topology_of
        for t in range(len(self.problem.topologies)):
            mine = topology_of == t
            here = (counts[:, mine] > 0).any(axis=1)
            limit = float(self.most_heap[mine][0])
            heaps = np.zeros(len(counts))
            if np.isfinite(limit) and limit > 0:
                heaps = np.ceil(counts[:, mine] @ self.heap[mine] / limit - 1e-6)
            needed += np.maximum(here, heaps).astype(np.int64)
        return needed


def _even_input(problem: Problem) -> FloatVector:
    """Input of each component at scale 1 that is divided evenly whatever the plan, shape (C,)."""
    total = np.where([problem.weighted] * len(problem.visits), 0.0, problem.spout_rate)
    for stream in problem.streams:
        shuffled = stream.grouping.is_even or (stream.grouping.is_keyed and not stream.keys)
        shared = problem.weighted and stream.grouping.follows_shares
        if shuffled and not shared:
            total[stream.target] += problem.visits[stream.source] * stream.selectivity
    return np.asarray(total)


def whole_counts(box: CountBox) -> IntMatrix:
    """The only count vector of a box that is a point, shape (1, C)."""
    return np.asarray(box.least[None]).astype(np.int64)
