"""Shuffle grouping with many components: patterns are made when prices ask for them.

As :mod:`.patterns`, but where patterns cannot all be listed: column generation (Gilmore and Gomory
1961). The relaxation is solved over the patterns known so far (:mod:`.column_pool`); its prices
make every instance worth something, and the most valuable filling of each machine type, a knapsack,
is the next pattern (:mod:`.column_pricing`).

Sizes (:mod:`.column_sizes`) start so that an instance fills a thread on the slowest type that the
bound's ideal solution uses for it; then the programme linearised in machines and sizes together
says how to change them, which fills the patterns in use, and new patterns are made for the new
sizes. Cost: components x types x the grid per round, whatever the number of machines.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups, even_scale
from penstock.schedulers.penstock.column_pool import PatternPool, of_kind
from penstock.schedulers.penstock.column_pricing import best_patterns, single_patterns
from penstock.schedulers.penstock.column_sizes import Sizes
from penstock.schedulers.penstock.remainder import Remainder
from penstock.schedulers.whole_numbers import solve_whole

#: Rounds of pattern making per set of sizes, and of changing sizes.
_ROUNDS = 30
_RESIZINGS = 8
#: First sizes: types with less than this part of a component's ideal rate do not count, and each
#: instance is this much smaller than what would fill its thread.
_STARTS = ((1e-6, 1), (0.05, 1), (1e-6, 2), (1e-6, 3))
#: Components whose size is varied by itself, and the part of the bound from which on none is.
_VARIED = 25
_GOOD_ENOUGH_TO_STOP = 0.985
#: From this part of the bound on, smaller instances are not tried: they cost more overhead.
_GOOD_ENOUGH = 0.975
#: The largest relative change of a size at once.
_TRUST = 0.06
#: Patterns are made until they promise less than this.
_PROMISE = 1e-4
#: Patterns this little worse than the best of their type may serve when machines are made whole.
_NEARLY = 0.01
_NODES = 300


class ColumnSearch:
    """The best whole plan so far, in ``groups``, and the rounds spent on it."""

    def __init__(
        self, aggregate: AggregateProblem, ideal_rate: FloatMatrix, budget: Budget
    ) -> None:
        self.aggregate, self.budget = aggregate, budget
        self.rounds = 0
        self.groups: MachineGroups | None = None
        #: In units of the bound.
        self.scale = 0.0
        self.fed = aggregate.visits > 0
        self._ideal_rate = ideal_rate
        self.sizes = Sizes.first(aggregate, ideal_rate, 0.0)
        self.pool = PatternPool(aggregate)
        self._prices = np.ones(len(aggregate.visits))
        self._rents = np.zeros(len(aggregate.kinds))

    def start_from(self, groups: MachineGroups) -> None:
        """A first plan, to be beaten."""
        self._keep(groups)

    def run(self) -> None:
        """Search from several first sizes."""
        for turn, (least, divisor) in enumerate(_STARTS):
            if self.rounds and (self._spent() or (divisor > 1 and self.scale >= _GOOD_ENOUGH)):
                return
            self.sizes = Sizes.first(self.aggregate, self._ideal_rate, least).divided(divisor)
            self.pool = PatternPool(self.aggregate)
            self._search()
            if turn == 0 and self.scale < _GOOD_ENOUGH_TO_STOP:
                self._vary()

    def _search(self) -> None:
        best_relaxed, trust = 0.0, _TRUST
        best_sizes = self.sizes
        for _ in range(_RESIZINGS):
            value, machines = self._make_patterns()
            if value > best_relaxed * (1.0 + _PROMISE):
                best_relaxed, best_sizes = value, self.sizes
                self._make_whole(machines)
                self._pack_remainder(machines, value)
            elif value <= best_relaxed:
                if trust < _TRUST / 4:
                    return
                trust /= 2
                self._set_sizes(best_sizes)
                value, machines = self._make_patterns()
            if self._spent() or not self._resize(machines, trust):
                return

    # -- sizes --------------------------------------------------------------------------------

    def _set_sizes(self, sizes: Sizes) -> None:
        """Other sizes; patterns that no longer fit are dropped."""
        self.sizes, self.pool = sizes, self.pool.fitting(sizes)

    def _vary(self) -> None:
        """Other sizes for one component after the other, those that cost most first."""
        best, machines = self._make_patterns()
        whole = best
        cost = self._prices * (machines @ (self.pool.counts * self.sizes.gain))
        for c in np.argsort(-cost, kind="stable")[:_VARIED].tolist():
            for size in self.sizes.beside(c):
                if self._spent():
                    return
                before = self.sizes, self.pool
                self._set_sizes(self.sizes.with_one(c, size))
                value, machines = self._make_patterns()
                if value > best * (1.0 + _PROMISE / 10):
                    best = value
                    break
                self.sizes, self.pool = before
        if best > whole * (1.0 + _PROMISE):
            self._search()

    def _resize(self, machines: FloatVector, trust: float) -> bool:
        """Move the sizes by the programme linearised in machines and sizes; False if stuck."""
        aggregate = self.aggregate
        used = np.flatnonzero(machines > 1e-9)
        counts, kind = self.pool.counts[used].astype(np.float64), self.pool.kind[used]
        work, gain = self.sizes.work, self.sizes.gain
        load = (counts * work.T[kind]).sum(axis=1)
        slack = np.maximum(self.pool.room[used] - load, 0.0)
        components, columns = len(aggregate.visits), len(used)
        cover = machines[used] @ (counts * gain)
        # Variables: machines per column, relative change of each size, the scale.
        rows = [
            np.hstack([-(counts * gain).T, -np.diag(cover), self.fed[:, None].astype(float)]),
            np.hstack(
                [np.zeros((columns, columns)), counts * work.T[kind], np.zeros((columns, 1))]
            ),
            np.hstack([of_kind(aggregate, kind), np.zeros((len(aggregate.kinds), components + 1))]),
        ]
        right = [np.where(self.fed, 0.0, -1.0), slack, aggregate.machines]
        held = np.zeros(aggregate.e.shape, dtype=np.bool_)
        for k in range(len(aggregate.kinds)):
            held[:, k] = (counts[kind == k] > 0).any(axis=0)
        spare = np.where(held, aggregate.threads - aggregate.met - work, np.inf)
        most = np.divide(spare, work, out=np.full(work.shape, np.inf), where=work > 0).min(axis=1)
        upper = np.minimum(np.maximum(most, 0.0), trust)
        bounds = [(0, None)] * columns + [(-trust, high) for high in upper] + [(0, None)]
        objective = np.zeros(columns + components + 1)
        objective[-1] = -1.0
        solved = linprog(
            objective,
            A_ub=sparse.csr_array(np.vstack(rows)),
            b_ub=np.concatenate(right),
            bounds=bounds,
            method="highs",
        )
        if solved.x is None:
            return False
        change = solved.x[columns:-1]
        if np.abs(change).max() < 1e-6:
            return False
        self._set_sizes(self.sizes.changed(change))
        return True

    # -- patterns -----------------------------------------------------------------------------

    def _make_patterns(self) -> tuple[float, FloatVector]:
        """The relaxation over ever more patterns: its value and the machines of each."""
        sizes = self.sizes
        self.pool.add(*single_patterns(sizes), sizes)
        value, machines, prices, rents = self._relax()
        for _ in range(_ROUNDS):
            if self._spent():
                break
            counts, kind = best_patterns(sizes, prices * sizes.gain)
            worth = counts @ (prices * sizes.gain) - rents[kind]
            good = worth > _PROMISE * np.maximum(rents[kind], 1e-12)
            if not self.pool.add(counts[good], kind[good], sizes):
                break
            value, machines, prices, rents = self._relax()
        return value, machines

    def _relax(self) -> tuple[float, FloatVector, FloatVector, FloatVector]:
        """Value, machines per column, price per unit of cover and rent per machine of a kind."""
        matrix, right = self.pool.rows(self.sizes)
        objective = np.zeros(matrix.shape[1])
        objective[-1] = -1.0
        solved = linprog(objective, A_ub=matrix, b_ub=right, method="highs")
        components = len(self.aggregate.visits)
        if solved.x is None:
            return 0.0, np.zeros(len(self.pool.kind)), np.ones(components), np.zeros(len(right))
        duals = np.maximum(-solved.ineqlin.marginals, 0.0)
        rents = duals[components : components + len(self.aggregate.kinds)]
        self._prices, self._rents = duals[:components], rents
        return float(solved.x[-1]), solved.x[:-1], duals[:components], rents

    # -- whole machines -----------------------------------------------------------------------

    def _make_whole(self, machines: FloatVector) -> None:
        """Round the relaxation: all but what its fractions leave is kept as it is."""
        matrix, right = self.pool.rows(self.sizes)
        pool = self.pool
        rents = self._rents[pool.kind]
        worth = pool.counts @ (self._prices * self.sizes.gain) - rents
        near = worth > -_NEARLY * rents
        used = np.flatnonzero((machines > 1e-9) | near)
        floor = np.floor(machines[used] + 1e-9)
        columns = matrix[:, np.append(used, matrix.shape[1] - 1)]
        size = len(used) + 1
        objective, whole = np.zeros(size), np.ones(size)
        objective[-1], whole[-1] = -1.0, 0.0
        # A machine or two less than the floor leaves the solver something to exchange.
        low = np.append(np.maximum(floor - 2, 0), 0.0)
        solved = solve_whole(
            objective,
            integrality=whole,
            bounds=Bounds(low, np.inf),
            constraints=LinearConstraint(columns, -np.inf, right),
            options={"node_limit": _NODES, "mip_rel_gap": 1e-3},
        )
        number = floor if solved.x is None else np.round(solved.x[:-1])
        keep = number > 0
        self._keep(
            MachineGroups(
                pool.kind[used][keep], number[keep].astype(np.int64), pool.counts[used][keep]
            )
        )

    def _pack_remainder(self, machines: FloatVector, value: float) -> None:
        """Round the relaxation down and pack what is missing by itself."""
        number = np.floor(machines + 1e-9).astype(np.int64)
        used = number > 0
        whole_part = MachineGroups(self.pool.kind[used], number[used], self.pool.counts[used])
        rest = Remainder(
            self.aggregate, self.sizes.each, self.sizes.points, self._rents, whole_part
        )
        groups = rest.pack(value)
        if groups is not None:
            self._keep(groups)

    def _keep(self, groups: MachineGroups) -> None:
        if not (groups.totals <= self.aggregate.most).all():
            return
        scale = even_scale(self.aggregate, groups) / self.aggregate.bound
        if scale > self.scale:
            self.groups, self.scale = groups, scale

    def _spent(self) -> bool:
        self.rounds += 1
        return self.budget.spent(self.rounds)
