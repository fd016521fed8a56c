"""Which part of each component every machine takes, where it costs something to move a tuple.

Of a stream from a to b a machine that takes the parts s_a and s_b keeps s_a s_b to itself; the rest
goes through network cards and costs ``e_remote`` at both ends. So loads are bilinear in the parts.
From parts that are known, the programme linearised there says how to change them, within a distance
in which the line is trusted (sequential linear programming); a step that makes the fullest machine
fuller is taken back and tried at a third of the distance. Corners of a programme have few parts
that are not zero: what talks to each other ends up together.

Used twice: to see who should be where before there are instances, and for the best shares of
instances that have their places. Cost of a step: a programme of components x machines columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from penstock.evaluate.capacity import BYTES_PER_MEGABIT, Capacity
from penstock.evaluate.terms import held_table
from penstock.model.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.penstock.manycore.hot_instances import (
    HotInstance,
    hot_instances,
    hot_instances_of,
    those_that_bind,
)

#: Steps, fewer where a programme has more possible parts than these.
_STEPS, _LEAST_STEPS, _STEP_PAIRS = 40, 12, 120_000
#: How far a part may move at once, first and last, and how that changes with a good and a bad step.
_TRUST, _LEAST_TRUST = 0.3, 1e-3
_FARTHER, _NEARER = 1.5, 1.0 / 3.0
#: A step that gains less is the last.
_BETTER = 1.0 - 1e-5


@dataclass(frozen=True)
class PartsProgramme:
    """Loads per part, at scale 1. C components, M machines, S streams."""

    #: Points of all tuples of a component on each machine, where it may run, shape (C, M).
    work: FloatMatrix
    may_run: BoolMatrix
    #: Points of each machine for tuples, and bytes/s of its card, shape (M,).
    room: FloatVector
    card: FloatVector
    #: Points that the threads of a machine's instances have for tuples, (C, M); inf: no limit.
    threads: FloatMatrix
    #: Source, target, tuples/s and bytes/s of each stream, shape (S,).
    source: np.ndarray
    target: np.ndarray
    flow: FloatVector
    bytes_per_s: FloatVector
    #: Points per tuple/s that crosses, shape (C, M).
    remote: FloatMatrix
    #: Components whose parts may change, and the topology of each, shape (C,).
    moves: BoolVector
    topology_of: IntVector
    #: Topologies that a machine may serve, shape (M,).
    slots: FloatVector
    #: The instances with the hottest keys, where they are or should be.
    hot: tuple[HotInstance, ...]

    @classmethod
    def before_instances(cls, problem: Problem) -> PartsProgramme:
        """Any part anywhere: instances are as many as their threads ask for."""
        cluster, kind = problem.cluster, problem.cluster.type_of
        overhead = cluster.per_type("base_cpu_points") + cluster.per_type("worker_cpu_points")
        room = np.maximum(cluster.usable_cpu_per_type - overhead, 0.0)
        busy = np.minimum(problem.instance_points, room) - problem.met
        may_run = (busy > 0) & np.isfinite(problem.e)
        memory = cluster.per_type("memory_mb", np.inf) - cluster.per_type("worker_memory_mb")
        may_run &= np.nan_to_num(problem.memory_mb)[:, None] <= memory
        # Every instance that is full pays its overhead once.
        e = np.where(may_run, problem.e * (1.0 + problem.met / np.maximum(busy, 1e-9)), 0.0)
        return cls._of(
            problem,
            work=(e * problem.visits[:, None])[:, kind],
            may_run=may_run[:, kind],
            room=room[kind],
            threads=np.full((len(problem.components), len(kind)), np.inf),
            moves=problem.visits > 0,
            hot=tuple(h for h in hot_instances(problem) if may_run[h.component, kind[h.machine]]),
        )

    @classmethod
    def of_placement(
        cls, problem: Problem, placement: Placement, judged: Capacity, weighs: BoolVector
    ) -> PartsProgramme:
        """The parts of components with shares, on the machines that hold them."""
        kind = problem.cluster.type_of
        held = held_table(problem, placement).T
        threads = (problem.instance_points - problem.met)[:, kind] * held
        e = np.where(held > 0, problem.e[:, kind], 0.0)
        return cls._of(
            problem,
            work=e * problem.visits[:, None],
            may_run=held > 0,
            room=problem.cluster.usable_cpu - judged.machine_fixed,
            threads=np.where(held > 0, threads, np.inf),
            moves=weighs & (problem.visits > 0),
            hot=those_that_bind(
                problem, hot_instances_of(problem, placement, judged.rates.per_instance)
            ),
        )

    @classmethod
    def _of(
        cls, problem: Problem, *, hot: tuple[HotInstance, ...], **parts: np.ndarray
    ) -> PartsProgramme:
        cluster = problem.cluster
        # What stays wherever it can, or goes everywhere, does not move by parts.
        streams = [s for s in problem.streams if not (s.grouping.is_local or s.grouping.is_copied)]
        flow = np.array([problem.visits[s.source] * s.selectivity for s in streams])
        card = cluster.per_type("nic_mbps", np.inf) * BYTES_PER_MEGABIT
        return cls(
            card=card[cluster.type_of],
            source=np.array([s.source for s in streams], dtype=np.int64),
            target=np.array([s.target for s in streams], dtype=np.int64),
            flow=flow,
            bytes_per_s=flow * np.array([s.tuple_bytes for s in streams]),
            remote=problem.e_remote[:, cluster.type_of],
            topology_of=problem.topology_of,
            slots=cluster.per_type("slots", np.inf)[cluster.type_of],
            hot=hot,
            **parts,
        )

    def even_parts(self) -> FloatMatrix:
        """Each component on all machines where it may run, by their points."""
        parts = np.where(self.may_run, self.room, 0.0)
        total = parts.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(parts, total, out=np.zeros(parts.shape), where=total > 0))

    def movement_binds(self, parts: FloatMatrix, scale: float) -> bool:
        """Whether what moves costs points, or more than the cards let through at this scale."""
        if self.remote.any():
            return True
        _, out, into = self._loads(parts)
        return bool((np.maximum(out, into) * scale > self.card).any())

    def improved(self, parts: FloatMatrix) -> FloatMatrix:
        """Parts with which the fullest machine is emptier, shape (C, M)."""
        parts = self._with_hot_instances(parts)
        trust, least = _TRUST, self.fill(parts)
        pairs = int((self.may_run & self.moves[:, None]).sum())
        most = min(max(_STEP_PAIRS // max(pairs, 1), _LEAST_STEPS), _STEPS)
        for _ in range(most):
            moved = self._step(parts, trust)
            fill = np.inf if moved is None else self.fill(moved)
            if moved is not None and fill < least:
                enough = fill > least * _BETTER
                parts, least, trust = moved, fill, min(trust * _FARTHER, 1.0)
                if enough:
                    break
            else:
                trust *= _NEARER
                if trust < _LEAST_TRUST:
                    break
        return parts

    def within_slots(self, parts: FloatMatrix) -> FloatMatrix:
        """Near these parts, those with no more topologies on a machine than it has slots."""
        topologies = int(self.topology_of.max()) + 1
        points = np.zeros((topologies, len(self.room)))
        np.add.at(points, self.topology_of, self.work * parts)
        for hot in self.hot:
            points[self.topology_of[hot.component], hot.machine] = np.inf
        rank = np.argsort(np.argsort(-points, axis=0, kind="stable"), axis=0)
        allowed = self.may_run & ((points > 0) & (rank < self.slots))[self.topology_of]
        # A topology that would have no place at all keeps those it has.
        allowed |= self.may_run & ~allowed.any(axis=1, keepdims=True)
        if np.array_equal(allowed & (parts > 0), self.may_run & (parts > 0)):
            return parts
        narrowed = replace(self, may_run=allowed)
        inside = np.where(allowed, parts, 0.0)
        total = inside.sum(axis=1, keepdims=True)
        even = narrowed.even_parts()
        inside = np.divide(inside, total, out=even, where=total > 0)
        return narrowed.improved(inside)

    def fill(self, parts: FloatMatrix) -> float:
        """How full the fullest machine, thread or card is at scale 1."""
        points, out, into = self._loads(parts)
        fills = [points.sum(axis=0) / np.maximum(self.room, 1e-300), points / self.threads]
        fills += [out / self.card, into / self.card]
        fills += [np.array([hot.fill(parts) for hot in self.hot])]
        return float(max(np.where(fill > 0, fill, 0.0).max(initial=0.0) for fill in fills))

    def _with_hot_instances(self, parts: FloatMatrix) -> FloatMatrix:
        """The parts, with at least that of the hottest key where its instance should be."""
        parts = parts.copy()
        for hot in self.hot:
            c, m = hot.component, hot.machine
            others = 1.0 - parts[c, m]
            if parts[c, m] < hot.part and others > 0:
                parts[c] *= (1.0 - hot.part) / others
                parts[c, m] = hot.part
        return parts

    def _loads(self, parts: FloatMatrix) -> tuple[FloatMatrix, FloatVector, FloatVector]:
        """Points of each component on each machine, bytes/s out of and into each machine."""
        a, b = parts[self.source], parts[self.target]
        points = self.work * parts
        np.add.at(points, self.source, self.flow[:, None] * self.remote[self.source] * a * (1 - b))
        np.add.at(points, self.target, self.flow[:, None] * self.remote[self.target] * b * (1 - a))
        return points, self.bytes_per_s @ (a * (1 - b)), self.bytes_per_s @ (b * (1 - a))

    # -- one step -----------------------------------------------------------------------------

    def _step(self, parts: FloatMatrix, trust: float) -> FloatMatrix | None:
        """The best parts near these, by the programme linearised at them."""
        component, machine = np.nonzero(self.may_run & self.moves[:, None])
        pairs = len(component)
        if not pairs:
            return None
        now = parts[component, machine]
        blocks = [
            _rows(slopes[component, machine], machine, load, limit, now)
            for slopes, load, limit in self._linearised(parts)
        ]
        blocks.append(self._thread_rows(parts, component, machine))
        blocks.append(self._hot_rows(parts, component, machine))
        present = np.unique(component)
        whole = sparse.csr_array(
            (np.ones(pairs), (np.searchsorted(present, component), np.arange(pairs))),
            shape=(len(present), pairs + 1),
        )
        least = np.zeros(parts.shape)
        for hot in self.hot:
            least[hot.component, hot.machine] = hot.part
        low = np.maximum(now - trust, least[component, machine])
        high = np.minimum(now + trust, 1.0)
        solved = linprog(
            np.append(np.zeros(pairs), 1.0),
            A_ub=sparse.vstack([matrix for matrix, _ in blocks], format="csr"),
            b_ub=np.concatenate([right for _, right in blocks]),
            A_eq=whole,
            b_eq=np.ones(len(present)),
            bounds=np.column_stack([np.append(low, 0.0), np.append(high, np.inf)]),
            method="highs",
        )
        if solved.x is None:
            return None
        moved = parts.copy()
        moved[component, machine] = np.maximum(solved.x[:-1], 0.0)
        total = moved.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(moved, total, out=moved, where=total > 0))

    def _linearised(self, parts: FloatMatrix) -> list[tuple[FloatMatrix, FloatVector, FloatVector]]:
        """Of CPU, bytes out and bytes in: slopes (C, M), loads now and limits, (M,)."""
        a, b = parts[self.source], parts[self.target]
        flow, size = self.flow[:, None], self.bytes_per_s[:, None]
        own_a, own_b = self.remote[self.source], self.remote[self.target]
        cpu, out, into = self.work.copy(), np.zeros(parts.shape), np.zeros(parts.shape)
        # The load a(1 - b) of one end and b(1 - a) of the other, by a and by b.
        np.add.at(cpu, self.source, flow * (own_a * (1 - b) - own_b * b))
        np.add.at(cpu, self.target, flow * (own_b * (1 - a) - own_a * a))
        np.add.at(out, self.source, size * (1 - b))
        np.add.at(out, self.target, -size * a)
        np.add.at(into, self.target, size * (1 - a))
        np.add.at(into, self.source, -size * b)
        points, bytes_out, bytes_in = self._loads(parts)
        return [
            (cpu, points.sum(axis=0), self.room),
            (out, bytes_out, self.card),
            (into, bytes_in, self.card),
        ]

    def _thread_rows(
        self, parts: FloatMatrix, component: np.ndarray, machine: np.ndarray
    ) -> tuple[sparse.csr_array, FloatVector]:
        """Points of the instances of a pair stay within their threads, at the present prices."""
        points, _, _ = self._loads(np.where(self.may_run, np.maximum(parts, 1e-12), parts))
        price = points / np.where(self.may_run, np.maximum(parts, 1e-12), 1.0)
        limit = self.threads[component, machine]
        tight = np.flatnonzero(np.isfinite(limit))
        row = np.arange(len(tight))
        matrix = sparse.csr_array(
            (
                np.concatenate([price[component, machine][tight], -limit[tight]]),
                (np.tile(row, 2), np.concatenate([tight, np.full(len(tight), len(component))])),
            ),
            shape=(len(tight), len(component) + 1),
        )
        return matrix, np.zeros(len(tight))

    def _hot_rows(
        self, parts: FloatMatrix, component: np.ndarray, machine: np.ndarray
    ) -> tuple[sparse.csr_array, FloatVector]:
        """The thread of each instance with a hottest key: less with more of its peers beside it."""
        pairs = len(component)
        matrix = np.zeros((len(self.hot), pairs + 1))
        right = np.zeros(len(self.hot))
        for i, hot in enumerate(self.hot):
            beside = np.flatnonzero(machine == hot.machine)
            for peer, points in zip(hot.peers.tolist(), hot.crossing.tolist(), strict=True):
                matrix[i, beside[component[beside] == peer]] -= points
            # What may not change stays as it is.
            right[i] = matrix[i, beside] @ parts[component[beside], hot.machine]
            right[i] -= hot.load(parts)
            matrix[i, pairs] = -hot.thread
        return sparse.csr_array(matrix), right


def _rows(
    slope: FloatVector,
    machine: np.ndarray,
    load: FloatVector,
    limit: FloatVector,
    now: FloatVector,
) -> tuple[sparse.csr_array, FloatVector]:
    """load + slope * (part - now) <= limit * fill, for each machine that has a limit."""
    pairs, machines = len(slope), len(load)
    everyone = np.arange(machines)
    limited = np.flatnonzero(np.isfinite(limit))
    matrix = sparse.csr_array(
        (
            np.concatenate([slope, -np.where(np.isfinite(limit), limit, 0.0)]),
            (
                np.concatenate([machine, everyone]),
                np.concatenate([np.arange(pairs), np.full(machines, pairs)]),
            ),
        ),
        shape=(machines, pairs + 1),
    )
    fixed = np.bincount(machine, slope * now, minlength=machines) - load
    return matrix[limited], fixed[limited]
