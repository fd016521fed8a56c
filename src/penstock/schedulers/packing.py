"""Can given instance counts be packed on the machines at a given scale? Exactly.

A *pattern* says how many instances of each component one machine holds. All patterns with at most
``per_machine`` instances are listed once; which of them fit a machine type at a scale is one matrix
product. All ways to deal them over the machines are then tried at once
(:mod:`penstock.evaluate.pattern_bound.packing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from penstock.evaluate.pattern_bound.packing import pack_counts, packing_effort
from penstock.model.arrays import BoolVector, FloatVector, IntMatrix, IntVector
from penstock.model.problem import Problem

#: More patterns than this are not listed.
MOST_PATTERNS = 400_000
#: Rounds in which prices are sought that prove a packing impossible.
_PRICE_ROUNDS = 16
#: Work that no machine can do.
_ENDLESS = 1e300


@dataclass(frozen=True)
class Patterns:
    """All ways to put at most ``per_machine`` instances on a machine, and what each needs."""

    problem: Problem
    #: Instances of each component, shape (patterns, components).
    counts: IntMatrix
    #: Worker processes needed: one per topology present, shape (patterns,).
    workers: IntVector
    #: Whether resources, heap and slots allow the pattern on each type, shape (patterns, types).
    allowed: BoolVector

    @classmethod
    def of(cls, problem: Problem, per_machine: int) -> Patterns | None:
        """The patterns of a problem; ``None`` if there are too many to list."""
        components = len(problem.components)
        if comb(per_machine + components, components) > MOST_PATTERNS:
            return None
        return cls.listed(problem, compositions(components, per_machine))

    @classmethod
    def listed(cls, problem: Problem, counts: IntMatrix) -> Patterns:
        """These patterns, shape (patterns, components), with what each needs."""
        workers = np.stack(
            [
                (counts[:, problem.topology_of == t] > 0).any(axis=1)
                for t in range(len(problem.topologies))
            ]
        ).sum(axis=0)
        return cls(problem, counts, workers, _allowed(problem, counts, workers))

    def effort(self, counts: IntVector, machines: IntVector) -> float:
        """Work of packing these counts, about the number of shifts times their length."""
        inside = float(np.minimum(np.prod(counts + 1.0), len(self.counts)))
        return packing_effort(inside, counts, float(machines.sum()))

    @property
    def effort_to_rule_out(self) -> float:
        """Work of asking whether one vector is impossible, in the unit of :meth:`effort`."""
        return len(self.counts) * len(self.problem.cluster.types) * 0.4

    def fits(self, vectors: IntMatrix, scale: float) -> BoolVector:
        """Whether each pattern fits each machine type when there are so many instances in all.

        ``vectors`` are count vectors, shape (vectors, components); the answer has the shape
        (vectors, types, patterns). A pattern with more instances than there are does not fit.
        """
        problem, cluster = self.problem, self.problem.cluster
        each = problem.visits * scale / vectors
        # eq. (5) for an instance of each component on each type: (vectors, types, components)
        with np.errstate(invalid="ignore"):  # no tuples at an unknown cost
            tcu = problem.e.T * each[:, None, :] + problem.met.T
        # Of types without machines no cost is known, and at an endless scale work is endless: that
        # of no instance is 0 all the same.
        load = np.nan_to_num(tcu, nan=_ENDLESS, posinf=_ENDLESS) @ self.counts.T
        if cluster.has_overhead:
            load += cluster.per_type("worker_cpu_points")[:, None] * self.workers
            load += cluster.per_type("base_cpu_points")[:, None] * (self.workers > 0)
        fits = (load <= cluster.usable_cpu_per_type[:, None]) & self.allowed.T
        if cluster.has_core_limit:  # more than one thread can do: no pattern may have it
            too_hot = tcu > problem.instance_points.T
            fits &= (too_hot @ self.counts.T) == 0
        for c in range(vectors.shape[1]):
            fits &= (self.counts[:, c] <= vectors[:, c, None])[:, None, :]
        return np.asarray(fits)

    def impossible(self, vectors: IntMatrix, scale: float, machines: IntVector) -> BoolVector:
        """Vectors of which a price per instance proves that no packing holds them, (vectors,).

        Lagrangian duality: with prices pi >= 0, if the best pattern of every machine is worth less
        in all than the counts are, there is no packing. Prices of what is scarce are raised in
        turn; False means only that no proof was found.
        """
        barred = np.where(self.fits(vectors, scale), 0.0, -np.inf)
        prices = 1.0 / vectors
        proven = np.zeros(len(vectors), dtype=np.bool_)
        open_ = np.arange(len(vectors))
        for turn in range(_PRICE_ROUNDS):
            worth = (prices[open_] @ self.counts.T)[:, None, :] + barred[open_]
            best = self.counts[worth.argmax(axis=2)]  # (vectors, types, components)
            supplied = np.einsum("t,vtc->vc", machines, best)
            wanted = vectors[open_]
            value = (supplied * prices[open_]).sum(axis=1)
            needed = (wanted * prices[open_]).sum(axis=1)
            proven[open_] = value < needed * (1.0 - 1e-12)
            lack = (wanted - supplied) / wanted
            prices[open_] *= np.exp(lack * (0.7 / (1.0 + 0.3 * turn)))
            open_ = open_[~proven[open_] & (lack.max(axis=1) > 0)]
            if not len(open_):
                break
        return proven


def pack(
    patterns: Patterns, counts: IntVector, scale: float, machines: IntVector
) -> list[IntVector] | None:
    """A pattern for every machine (grouped by type) that holds exactly these counts, or None."""
    fits = patterns.fits(counts[None], scale)[0]
    return pack_counts([patterns.counts[row] for row in fits], counts, machines)


def compositions(components: int, most: int) -> IntMatrix:
    """All vectors of non-negative integers with a sum of at most ``most``, zero vector first."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(components):
        used = rows.sum(axis=1)
        parts = [
            np.hstack([rows[used + n <= most], np.full((int((used + n <= most).sum()), 1), n)])
            for n in range(most + 1)
        ]
        rows = np.vstack(parts)
    return rows


def _allowed(problem: Problem, counts: IntMatrix, workers: IntVector) -> BoolVector:
    cluster = problem.cluster
    table = problem.resources.only_hard
    asked = table.total(counts)
    allowed = np.empty((len(counts), len(cluster.types)), dtype=np.bool_)
    fits_anywhere = np.ones(len(counts), dtype=np.bool_)
    for t, topology in enumerate(problem.topologies):
        if topology.worker_max_heap_mb is not None:
            mine = problem.topology_of == t
            heap: FloatVector = counts[:, mine] @ problem.onheap_mb[mine]
            fits_anywhere &= heap <= topology.worker_max_heap_mb
    fits_anywhere &= _apart(problem, counts)
    for t, kind in enumerate(cluster.types):
        needed = asked + table.worker_on_type[t] * workers[:, None]
        has_all = (needed <= table.capacity_of_type[t]).all(axis=1)
        allowed[:, t] = fits_anywhere & has_all & (workers <= kind.slots)
    return allowed


def _apart(problem: Problem, counts: IntMatrix) -> BoolVector:
    """Patterns without components that must not share a machine, shape (patterns,)."""
    labels = {label: c for c, label in enumerate(problem.labels)}
    compatible = np.ones(len(counts), dtype=np.bool_)
    for a, b in problem.terms.apart:
        one, other = counts[:, labels[a]], counts[:, labels[b]]
        compatible &= (one <= 1) if a == b else (one == 0) | (other == 0)
    return compatible
