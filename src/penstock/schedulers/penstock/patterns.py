"""Shuffle grouping with the size of instances fixed: which patterns, on how many machines.

Under shuffle grouping all instances of a component get the same rate, its *size*. With the sizes
fixed, a *pattern* (so many instances of each component on one machine) either fits a machine type
or not, and the best plan is a covering problem over patterns: machines of each type are dealt over
its patterns so that every component is carried (Gilmore and Gomory's cutting stock, 1961, with
types of rolls). Its linear relaxation says what the sizes can give at most; the mixed-integer
programme over the same columns gives a plan. The relaxation's prices say, by weak duality, what any
*other* sizes can give at most, for the cost of one matrix product: that is what makes a search over
sizes cheap, since nearly all of them are turned down by prices found before.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.schedulers.packing import compositions
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups, PatternTable
from penstock.schedulers.whole_numbers import solve_whole

#: At most this many patterns are listed, and at most so many instances on a machine.
_MOST_PATTERNS = 500
_MOST_INSTANCES = 12
#: Fewer instances per machine than this leave too much out.
_LEAST_INSTANCES = 4
#: Stands for points that no machine has.
_TOO_HOT = 1e15


@dataclass(frozen=True)
class DualPrices:
    """What covering one component, and one instance of a limited one, is worth; shape (C,)."""

    cover: FloatVector
    most: FloatVector


@dataclass(frozen=True)
class PatternColumns:
    """Patterns that fit a kind at some sizes and are not part of a larger one that does."""

    pattern: IntVector
    kind: IntVector
    sizes: FloatVector


@dataclass(frozen=True)
class Relaxation:
    """The relaxation's answer: scale in units of the bound, prices, and its columns."""

    value: float
    prices: DualPrices
    columns: PatternColumns


def list_patterns(aggregate: AggregateProblem) -> IntMatrix | None:
    """All patterns worth listing, shape (patterns, C); ``None`` if they are too many."""
    components = len(aggregate.visits)
    # A machine wider than a thread needs several instances before it is full.
    threads = np.maximum(aggregate.threads.max(axis=0), 1e-300)
    least = max(_LEAST_INSTANCES, 2 + int(np.ceil(min((aggregate.usable / threads).max(), 1e6))))
    most = 0
    while most < _MOST_INSTANCES and comb(most + 1 + components, components) <= _MOST_PATTERNS:
        most += 1
    return compositions(components, most)[1:] if most >= least else None


class MasterProblem:
    """The covering problem over listed patterns."""

    def __init__(self, aggregate: AggregateProblem, counts: IntMatrix) -> None:
        table_of_patterns = PatternTable.of(aggregate, counts)
        listed = (table_of_patterns.room > -np.inf).any(axis=1) & (counts <= aggregate.most).all(
            axis=1
        )
        self.aggregate = aggregate
        self.whole_counts = counts[listed]
        self.counts = table_of_patterns.counts[listed]
        self.room = table_of_patterns.room[listed] + ROUNDING_POINTS
        self.fed = aggregate.visits > 0
        self.limited = np.flatnonzero(np.isfinite(aggregate.most))
        self._credit = np.divide(
            1.0,
            aggregate.visits * aggregate.bound,
            out=np.zeros(len(aggregate.visits)),
            where=self.fed,
        )
        self._larger = self._list_larger()

    def points(self, sizes: FloatVector) -> FloatMatrix:
        """Points that the tuples of one instance cost on each kind, shape (C, K)."""
        aggregate = self.aggregate
        points = aggregate.e * sizes[:, None]
        hot = points + aggregate.met > aggregate.threads + ROUNDING_POINTS
        return np.where(hot, _TOO_HOT, points)

    def fits(self, sizes: FloatVector) -> BoolVector:
        """Whether each pattern fits each kind, shape (patterns, K)."""
        return np.asarray(self.counts @ self.points(sizes) <= self.room)

    def ceiling(self, sizes: FloatVector, fits: BoolVector, prices: DualPrices) -> float:
        """By weak duality, no plan with these sizes exceeds this, in units of the bound."""
        worth = self.counts @ (prices.cover * self._gain(sizes) - prices.most)
        best = np.where(fits, worth[:, None], 0.0).max(axis=0, initial=0.0)
        limits = prices.most[self.limited] @ self.aggregate.most[self.limited]
        return float(self.aggregate.machines @ best + limits - prices.cover[~self.fed].sum())

    def relax(self, sizes: FloatVector, fits: BoolVector) -> Relaxation | None:
        """The relaxation by linear programming; ``None`` if it has no solution."""
        columns = self._columns(sizes, fits)
        if not len(columns.pattern):
            return None
        matrix, right = self._rows(columns)
        objective = np.zeros(matrix.shape[1])
        objective[-1] = -1.0
        solved = linprog(objective, A_ub=matrix, b_ub=right, method="highs-ds")
        if solved.x is None:
            return None
        duals = np.maximum(-solved.ineqlin.marginals, 0.0)
        components = len(self.aggregate.visits)
        cover = duals[:components]
        # Weak duality asks that the prices of covering add up to 1; rounding may miss it.
        total = float(cover[self.fed].sum())
        most = np.zeros(components)
        most[self.limited] = duals[components : components + len(self.limited)]
        prices = DualPrices(cover / total, most / total) if total > 0 else DualPrices(cover, most)
        return Relaxation(float(solved.x[-1]), prices, columns)

    def whole(
        self, columns: PatternColumns, at_least: float, nodes: int, gap: float
    ) -> MachineGroups | None:
        """Whole machines over these columns that carry more than ``at_least``, if any are found."""
        matrix, right = self._rows(columns)
        size = matrix.shape[1]
        objective, low, whole = np.zeros(size), np.zeros(size), np.ones(size)
        objective[-1], low[-1], whole[-1] = -1.0, at_least, 0.0
        solved = solve_whole(
            objective,
            integrality=whole,
            bounds=Bounds(low, np.inf),
            constraints=LinearConstraint(sparse.csr_array(matrix), -np.inf, right),
            # Presolve gains nothing here.
            options={"node_limit": nodes, "mip_rel_gap": gap, "presolve": False},
        )
        return None if solved.x is None else self._groups(columns, solved.x[:-1])

    def exactly(self, sizes: FloatVector, totals: IntVector, nodes: int) -> MachineGroups | None:
        """Whole machines that hold exactly so many instances of these sizes, if any are found."""
        within = np.asarray((self.whole_counts <= totals).all(axis=1))
        fits = self.fits(sizes) & within[:, None]
        pattern, kind = np.nonzero(fits)
        if not len(pattern):
            return None
        kinds = np.zeros((len(self.aggregate.kinds), len(kind)))
        kinds[kind, np.arange(len(kind))] = 1.0
        matrix = sparse.csr_array(np.vstack([self.counts[pattern].T, kinds]))
        wanted = totals.astype(np.float64)
        solved = solve_whole(
            np.zeros(len(pattern)),
            integrality=np.ones(len(pattern)),
            bounds=Bounds(0, np.inf),
            constraints=LinearConstraint(
                matrix,
                np.concatenate([wanted, np.zeros(len(kinds))]),
                np.concatenate([wanted, self.aggregate.machines.astype(np.float64)]),
            ),
            options={"node_limit": nodes},
        )
        return (
            None
            if solved.x is None
            else self._groups(PatternColumns(pattern, kind, sizes), solved.x)
        )

    def _gain(self, sizes: FloatVector) -> FloatVector:
        """What one instance adds to its component's cover; 1 where there is no input to carry."""
        return np.where(self.fed, sizes * self._credit, 1.0)

    def _rows(self, columns: PatternColumns) -> tuple[FloatMatrix, FloatVector]:
        """Rows of ``A v <= b``: cover, limited counts, machines; v = (machines, scale)."""
        aggregate, number = self.aggregate, len(columns.pattern)
        components, kinds = aggregate.e.shape
        held = self.counts[columns.pattern].T
        start = components + len(self.limited)
        matrix = np.zeros((start + kinds, number + 1))
        matrix[:components, :-1] = -held * self._gain(columns.sizes)[:, None]
        matrix[:components, -1] = self.fed
        matrix[components:start, :-1] = held[self.limited]
        matrix[start + columns.kind, np.arange(number)] = 1.0
        right = [np.where(self.fed, 0.0, -1.0), aggregate.most[self.limited], aggregate.machines]
        return matrix, np.concatenate(right)

    def _columns(self, sizes: FloatVector, fits: BoolVector) -> PatternColumns:
        padded = np.vstack([fits, np.zeros((1, fits.shape[1]), dtype=np.bool_)])
        part_of_larger = padded[self._larger].any(axis=1)
        pattern, kind = np.nonzero(fits & ~part_of_larger)
        return PatternColumns(pattern, kind, sizes)

    def _list_larger(self) -> IntMatrix:
        """For each pattern, those with one more instance of an unlimited component; -1: none."""
        index = {row.tobytes(): i for i, row in enumerate(self.whole_counts)}
        components = len(self.aggregate.visits)
        larger = np.full((len(self.whole_counts), components), -1, dtype=np.int64)
        for c in np.setdiff1d(np.arange(components), self.limited).tolist():
            more = self.whole_counts.copy()
            more[:, c] += 1
            larger[:, c] = [index.get(row.tobytes(), -1) for row in more]
        return larger

    def _groups(self, columns: PatternColumns, machines: FloatVector) -> MachineGroups:
        number = np.round(machines).astype(np.int64)
        used = number > 0
        return MachineGroups(
            columns.kind[used], number[used], self.whole_counts[columns.pattern[used]]
        )
