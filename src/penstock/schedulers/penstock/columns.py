"""Shuffle grouping with many components: patterns are made when prices ask for them.

As :mod:`.patterns`, but where patterns cannot all be listed: column
generation (Gilmore and Gomory 1961). The relaxation is solved over the patterns known so far; its
prices make every instance worth something, and the most valuable filling of each machine type, a
knapsack, is the next pattern. The knapsacks of all types are solved together by one dynamic
programme over a grid of CPU points, with weights rounded up, over the items of best value per
point; what memory, slots and heaps do not allow is taken out again.

Sizes start so that an instance fills a thread on the slowest type that the bound's ideal solution
uses for it; then the programme linearised in machines and sizes together says how to change them,
which fills the patterns in use, and new patterns are made for the new sizes. Cost: components x
types x the grid per round, whatever the number of machines.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.ground import Catalogue, Ground, Groups, even_scale
from penstock.schedulers.penstock.knapsack import fill
from penstock.schedulers.penstock.remainder import Remainder
from penstock.schedulers.whole_numbers import solve_whole

#: Cells of the knapsack's grid, and items considered per type.
_CELLS = 5000
_ITEMS = 14
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

    def __init__(self, ground: Ground, ideal_rate: FloatMatrix, budget: Budget) -> None:
        self.ground, self.budget = ground, budget
        self.rounds = 0
        self.groups: Groups | None = None
        #: In units of the bound.
        self.scale = 0.0
        self.fed = ground.visits > 0
        self._ideal_rate = ideal_rate
        self.sizes = self._first_sizes(0.0)
        self._prices = np.ones(len(ground.visits))
        self._rents = np.zeros(len(ground.kinds))
        # The pool of patterns: instances, kind and points left for tuples of each.
        self._counts: IntMatrix = np.zeros((0, len(ground.visits)), dtype=np.int64)
        self._kind: IntVector = np.zeros(0, dtype=np.int64)
        self._room: FloatVector = np.zeros(0)
        self._known: set[bytes] = set()

    def start_from(self, groups: Groups) -> None:
        """A first plan, to be beaten."""
        self._keep(groups)

    def run(self) -> None:
        """Search from several first sizes."""
        for turn, (least, divisor) in enumerate(_STARTS):
            if self.rounds and (self._spent() or (divisor > 1 and self.scale >= _GOOD_ENOUGH)):
                return
            self.sizes = self._first_sizes(least) / divisor
            self._forget()
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
                self.sizes, trust = best_sizes, trust / 2
                self._drop_unfit()
                value, machines = self._make_patterns()
            if self._spent() or not self._resize(machines, trust):
                return

    # -- sizes --------------------------------------------------------------------------------

    def _first_sizes(self, least: float) -> FloatVector:
        """An instance fills its thread on the slowest type with so much of the ideal solution."""
        ground = self.ground
        points = np.minimum(ground.threads, ground.usable - ground.base - ground.worker)
        most = np.divide(
            points - ground.met, ground.e, out=np.full(ground.e.shape, np.inf), where=ground.e > 0
        )
        ideal = self._ideal_rate
        used = ideal > least * np.maximum(ideal.sum(axis=1, keepdims=True), 1e-300)
        sizes = np.where(used, most, np.inf).min(axis=1)
        sizes = np.where(np.isfinite(sizes), sizes, np.maximum(most, 0.0).max(axis=1))
        limit = ground.visits * ground.bound
        return np.asarray(np.clip(sizes, 1e-9 * limit, limit) * (1.0 - 1e-12))

    def _vary(self) -> None:
        """Other sizes for one component after the other, those that cost most first."""
        best, machines = self._make_patterns()
        whole = best
        cost = self._prices * (machines @ (self._counts * self._gain()))
        for c in np.argsort(-cost, kind="stable")[:_VARIED].tolist():
            for size in self._sizes_beside(c):
                if self._spent():
                    return
                pool = (self.sizes, self._counts, self._kind, self._room, self._known)
                self.sizes = self.sizes.copy()
                self.sizes[c] = size
                self._drop_unfit()
                value, machines = self._make_patterns()
                if value > best * (1.0 + _PROMISE / 10):
                    best = value
                    break
                self.sizes, self._counts, self._kind, self._room, self._known = pool
        if best > whole * (1.0 + _PROMISE):
            self._search()

    def _sizes_beside(self, component: int) -> list[float]:
        """The next larger and smaller size that fills a thread on some kind."""
        ground, now = self.ground, float(self.sizes[component])
        points = np.minimum(ground.threads, ground.usable - ground.base - ground.worker)
        spare, e = (points - ground.met)[component], ground.e[component]
        full = np.divide(spare, e, out=np.zeros(len(e)), where=e > 0) * (1.0 - 1e-12)
        full = np.minimum(full, ground.visits[component] * ground.bound)
        larger = full[full > now * 1.001].tolist()
        smaller = full[(full < now * 0.999) & (full > 0)].tolist()
        return ([min(larger)] if larger else []) + ([max(smaller)] if smaller else [])

    def _resize(self, machines: FloatVector, trust: float) -> bool:
        """Move the sizes by the programme linearised in machines and sizes; False if stuck."""
        ground = self.ground
        used = np.flatnonzero(machines > 1e-9)
        counts, kind = self._counts[used].astype(np.float64), self._kind[used]
        work = ground.e * self.sizes[:, None]
        load = (counts * work.T[kind]).sum(axis=1)
        slack = np.maximum(self._room[used] - load, 0.0)
        components, columns = len(ground.visits), len(used)
        gain = self._gain()
        cover = machines[used] @ (counts * gain)
        # Variables: machines per column, relative change of each size, the scale.
        rows = [
            np.hstack([-(counts * gain).T, -np.diag(cover), self.fed[:, None].astype(float)]),
            np.hstack(
                [np.zeros((columns, columns)), counts * work.T[kind], np.zeros((columns, 1))]
            ),
            np.hstack([self._of_kind(kind), np.zeros((len(ground.kinds), components + 1))]),
        ]
        right = [np.where(self.fed, 0.0, -1.0), slack, ground.machines]
        held = np.zeros(ground.e.shape, dtype=np.bool_)
        held[:, kind] |= (counts > 0).T
        for k in range(len(ground.kinds)):
            held[:, k] = (counts[kind == k] > 0).any(axis=0)
        spare = np.where(held, ground.threads - ground.met - work, np.inf)
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
        limit = ground.visits * ground.bound
        self.sizes = np.minimum(self.sizes * (1.0 + change) * (1.0 - 1e-12), limit)
        self._drop_unfit()
        return True

    # -- patterns -----------------------------------------------------------------------------

    def _make_patterns(self) -> tuple[float, FloatVector]:
        """The relaxation over ever more patterns: its value and the machines of each."""
        self._add(*self._single_patterns())
        value, machines, prices, rents = self._relax()
        for _ in range(_ROUNDS):
            if self._spent():
                break
            counts, kind = self._knapsacks(prices * self._gain())
            worth = counts @ (prices * self._gain()) - rents[kind]
            good = worth > _PROMISE * np.maximum(rents[kind], 1e-12)
            if not self._add(counts[good], kind[good]):
                break
            value, machines, prices, rents = self._relax()
        return value, machines

    def _relax(self) -> tuple[float, FloatVector, FloatVector, FloatVector]:
        """Value, machines per column, price per unit of cover and rent per machine of a kind."""
        matrix, right = self._rows()
        objective = np.zeros(matrix.shape[1])
        objective[-1] = -1.0
        solved = linprog(objective, A_ub=matrix, b_ub=right, method="highs")
        components = len(self.ground.visits)
        if solved.x is None:
            return 0.0, np.zeros(len(self._kind)), np.ones(components), np.zeros(len(right))
        duals = np.maximum(-solved.ineqlin.marginals, 0.0)
        rents = duals[components : components + len(self.ground.kinds)]
        self._prices, self._rents = duals[:components], rents
        return float(solved.x[-1]), solved.x[:-1], duals[:components], rents

    def _rows(self) -> tuple[sparse.csr_array, FloatVector]:
        ground = self.ground
        limited = np.flatnonzero(np.isfinite(ground.most))
        held = sparse.csr_array(self._counts.astype(np.float64).T)
        cover = sparse.diags_array(-self._gain()) @ held
        empty = np.zeros((len(ground.kinds) + len(limited), 1))
        last = sparse.csr_array(np.vstack([self.fed[:, None].astype(np.float64), empty]))
        body = sparse.vstack([cover, sparse.csr_array(self._of_kind(self._kind)), held[limited]])
        right = [np.where(self.fed, 0.0, -1.0), ground.machines, ground.most[limited]]
        return sparse.hstack([body, last], format="csr"), np.concatenate(right)

    def _knapsacks(self, worth: FloatVector) -> tuple[IntMatrix, IntVector]:
        """The most valuable pattern of each kind, nearly."""
        ground = self.ground
        room = ground.usable - ground.base - ground.worker * len(ground.problem.topologies)
        points = self._points()
        density = np.where(points <= room, worth[:, None] / np.maximum(points, 1e-12), -np.inf)
        items = np.argsort(-density, axis=0, kind="stable")[: min(_ITEMS, len(worth))].T  # (K, I)
        weight = np.take_along_axis(points.T, items, axis=1) / np.maximum(room, 1e-12)[:, None]
        cells = np.ceil(np.minimum(weight, 2.0) * _CELLS - 1e-9).astype(np.int64)
        # No pattern needs more instances than there are, however little they cost.
        cells = np.maximum(cells, np.ceil(_CELLS / self._enough()).astype(np.int64)[items])
        value = np.where(weight <= 1.0, worth[items], -np.inf)
        chosen = fill(cells, value, _CELLS)
        counts = np.zeros((len(ground.kinds), len(worth)), dtype=np.int64)
        np.put_along_axis(counts, items, chosen, axis=1)
        kind = np.arange(len(ground.kinds))
        return self._made_legal(counts, density), kind

    def _made_legal(self, counts: IntMatrix, density: FloatMatrix) -> IntMatrix:
        """Take instances of least value per point out of patterns that break a limit."""
        for _ in range(int(counts.sum(axis=1).max(initial=0))):
            kind = np.arange(len(counts))
            broken = ~(Catalogue.of(self.ground, counts).room[kind, kind] > -np.inf)
            broken &= counts.any(axis=1)
            if not broken.any():
                break
            for k in np.flatnonzero(broken).tolist():
                held = np.where(counts[k] > 0, density[:, k], np.inf)
                counts[k, int(held.argmin())] -= 1
        return counts

    def _single_patterns(self) -> tuple[IntMatrix, IntVector]:
        """As many instances of one component as a machine of each kind holds."""
        ground = self.ground
        room = ground.usable - ground.base - ground.worker
        number = np.floor(room / np.maximum(self._points(), 1e-12) + 1e-12)
        memory = np.nan_to_num(ground.problem.memory_mb)
        types = [ground.problem.cluster.types[t] for t in ground.kinds.tolist()]
        for k, kind in enumerate(types):
            if kind.memory_mb is not None:
                fits = (kind.memory_mb - kind.worker_memory_mb) / np.maximum(memory, 1e-9)
                number[:, k] = np.minimum(number[:, k], np.floor(fits + 1e-12))
        number = np.clip(number, 0, np.minimum(ground.most, self._enough())[:, None])
        component, kind_of = np.nonzero(number)
        counts = np.zeros((len(component), len(memory)), dtype=np.int64)
        counts[np.arange(len(component)), component] = number[component, kind_of]
        return counts, kind_of

    def _points(self) -> FloatMatrix:
        """Points of one instance on each kind, overhead included, inf beyond its thread, (C, K)."""
        ground = self.ground
        points = ground.e * self.sizes[:, None] + ground.met
        return np.where(points <= ground.threads + ROUNDING_POINTS, points, np.inf)

    def _gain(self) -> FloatVector:
        most = self.ground.visits * self.ground.bound
        return np.divide(self.sizes, most, out=np.ones(len(most)), where=self.fed)

    def _enough(self) -> FloatVector:
        """Instances that carry all there can be, shape (C,)."""
        return np.clip(np.ceil(1.0 / np.maximum(self._gain(), 1e-9) - 1e-9), 1.0, 1e6)

    # -- the pool -----------------------------------------------------------------------------

    def _forget(self) -> None:
        self._counts = np.zeros((0, len(self.ground.visits)), dtype=np.int64)
        self._kind = np.zeros(0, dtype=np.int64)
        self._room = np.zeros(0)
        self._known = set()

    def _add(self, counts: IntMatrix, kind: IntVector) -> bool:
        """Take patterns that fit into the pool; whether any was new."""
        keys = [row.tobytes() for row in np.column_stack([kind, counts])]
        fresh = np.array([key not in self._known for key in keys], dtype=np.bool_)
        fresh &= counts.any(axis=1)
        room = np.full(len(kind), -np.inf)
        room[fresh] = Catalogue.of(self.ground, counts[fresh]).room[
            np.arange(int(fresh.sum())), kind[fresh]
        ]
        load = (counts * (self.ground.e * self.sizes[:, None]).T[kind]).sum(axis=1)
        fresh &= load <= room + ROUNDING_POINTS
        self._known.update(key for key, new in zip(keys, fresh, strict=True) if new)
        self._counts = np.vstack([self._counts, counts[fresh]])
        self._kind = np.concatenate([self._kind, kind[fresh]])
        self._room = np.concatenate([self._room, room[fresh]])
        return bool(fresh.any())

    def _drop_unfit(self) -> None:
        """Keep the patterns that still fit at the sizes as they are now."""
        counts, kind = self._counts, self._kind
        self._forget()
        points = self._points().T[kind]
        cool = np.isfinite(np.where(counts > 0, points, 0.0)).all(axis=1)
        self._add(counts[cool], kind[cool])

    def _of_kind(self, kind: IntVector) -> FloatMatrix:
        rows = np.zeros((len(self.ground.kinds), len(kind)))
        rows[kind, np.arange(len(kind))] = 1.0
        return rows

    # -- whole machines -----------------------------------------------------------------------

    def _make_whole(self, machines: FloatVector) -> None:
        """Round the relaxation: all but what its fractions leave is kept as it is."""
        matrix, right = self._rows()
        worth = self._counts @ (self._prices * self._gain()) - self._rents[self._kind]
        near = worth > -_NEARLY * self._rents[self._kind]
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
            Groups(self._kind[used][keep], number[keep].astype(np.int64), self._counts[used][keep])
        )

    def _pack_remainder(self, machines: FloatVector, value: float) -> None:
        """Round the relaxation down and pack what is missing by itself."""
        number = np.floor(machines + 1e-9).astype(np.int64)
        used = number > 0
        kept = Groups(self._kind[used], number[used], self._counts[used])
        rest = Remainder(self.ground, self.sizes, self._points(), self._rents, kept)
        groups = rest.pack(value)
        if groups is not None:
            self._keep(groups)

    def _keep(self, groups: Groups) -> None:
        if not (groups.totals <= self.ground.most).all():
            return
        scale = even_scale(self.ground, groups) / self.ground.bound
        if scale > self.scale:
            self.groups, self.scale = groups, scale

    def _spent(self) -> bool:
        self.rounds += 1
        return self.budget.spent(self.rounds)
