"""How many instances of each component on each machine type at a given scale.

A linear programme. An *option* of a component is a number of instances, and with it their sizes
(:mod:`.sizes`). The programme mixes options and spreads instances over the types on which their
thread is fast enough, so that the fullest type is as empty as can be: its fill is at most 1 where
the scale can be carried.
Components whose shares may differ have no options: any division of their input will do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from penstock.schedulers.penstock.manycore.costs import Costs
from penstock.schedulers.penstock.manycore.sizes import SizeClasses

#: Of two solutions as good, the one that takes less CPU in all.
_TIE = 1e-3


@dataclass(frozen=True)
class TypeSolution:
    """What the programme says. The fill is inf where some component fits nowhere."""

    fill: float
    #: Weight of each option, by component in the order given.
    weights: tuple[FloatVector, ...]
    #: Instances of each option's class on each type: one matrix (K, T) per option.
    spread: tuple[tuple[FloatMatrix, ...], ...]
    #: For components with shares: part of the input and instances on each type, shape (C, T).
    part: FloatMatrix
    instances: FloatMatrix
    #: Price of a point, a MB, and a byte/s out and in on each type that has machines, (4, types).
    prices: FloatMatrix
    #: Price of a MB on each type, 0 where there are no machines, shape (T,).
    memory_price: FloatVector


@dataclass(frozen=True)
class _OptionColumns:
    """The weight of an option, and its first column: one for each class and type that it fits."""

    weight: int
    first: int
    classes: IntVector
    types: IntVector


@dataclass(frozen=True)
class _SharedColumns:
    """The first column of a component's parts, and their types; its instances come after them."""

    part: int
    types: IntVector


#: Of one component: those of its options, ``None`` for one that fits nowhere, or of its shares.
_Columns = list[_OptionColumns | None] | _SharedColumns


class TypeProgramme:
    """Built anew for each scale: which types an instance fits on depends on it."""

    def __init__(
        self,
        costs: Costs,
        options: list[list[SizeClasses]],
        scale: float,
        reserved_mb: float = 0.0,
    ) -> None:
        self.costs, self.options, self.scale = costs, options, scale
        self.reserved_mb = reserved_mb
        problem = costs.problem
        self.types = np.flatnonzero(problem.cluster.machines_per_type > 0)
        self.machines = problem.cluster.machines_per_type[self.types].astype(np.float64)
        self._entries: list[tuple[IntVector, IntVector, FloatVector]] = []
        self._equal: list[tuple[IntVector, IntVector, FloatVector]] = []
        self._equal_right: list[float] = []
        self._right: list[float] = []
        self._columns = 1  # the fill
        usable = costs.cpu[self.types] * self.machines
        self._cpu_total = max(float(usable.sum()), 1e-300)
        self._cost: list[FloatVector] = [np.array([1.0])]

    def solve(self) -> TypeSolution | None:
        costs, types = self.costs, self.types
        count = len(types)
        cpu = np.maximum(costs.cpu - costs.worker_cpu, 0.0)[types] * self.machines
        memory = np.maximum(costs.memory - costs.worker_mb - self.reserved_mb, 0.0)[types]
        memory = memory * self.machines
        nic = costs.nic[types] * self.machines
        has_memory, has_nic = np.isfinite(memory), np.isfinite(nic)
        # Rows: CPU, memory, card out, card in, of each type; none takes more than its fill.
        self._right = [0.0] * (4 * count)
        card = np.where(has_nic, -nic, 0.0)
        fills = np.concatenate([-cpu, np.where(has_memory, -memory, 0.0), card, card])
        row = np.arange(4 * count)
        self._entries.append((row, np.zeros(4 * count, dtype=np.int64), fills))
        self._masks = (has_memory, has_nic)
        places: list[_Columns] = []
        for c, options in enumerate(self.options):
            place: _Columns | None
            place = self._add_options(c, options) if options else self._add_shared(c)
            if place is None:
                return None
            places.append(place)
        solved = self._run()
        return None if solved is None else self._read(*solved, places)

    def price_of(self, option: SizeClasses, prices: FloatMatrix) -> float:
        """What an option would cost at these prices, each instance where it is cheapest."""
        points, fits, nothing = self._needs(option.component, option)
        costs, c = self.costs, option.component
        each = points * prices[0] + costs.memory_mb[c] * prices[1] + _TIE * points / nothing
        bytes_out, bytes_in = costs.bytes_out[c] * prices[2], costs.bytes_in[c] * prices[3]
        each = each + (option.mean * self.scale)[:, None] * (bytes_out + bytes_in)
        cheapest = np.where(fits, each, np.inf).min(axis=1)
        return float(option.counts @ cheapest)

    # -- columns ------------------------------------------------------------------------------

    def _add_options(
        self, c: int, options: list[SizeClasses]
    ) -> list[_OptionColumns | None] | None:
        """Columns: the weight of each option, then instances of each class on each type."""
        convex = len(self._equal_right)
        self._equal_right.append(1.0)
        places = [self._add_option(c, option) for option in options]
        weights = [place.weight for place in places if place is not None]
        if not weights:
            return None
        row = np.full(len(weights), convex)
        self._equal.append((row, np.array(weights), np.ones(len(weights))))
        return places

    def _needs(self, c: int, option: SizeClasses) -> tuple[FloatMatrix, BoolVector, float]:
        """Points of an instance of each class on each type, where it fits, and all points."""
        costs, types, problem = self.costs, self.types, self.costs.problem
        met = problem.met[c, types]
        e = costs.e_of(option)[:, types]
        points = e * (option.mean * self.scale)[:, None] + met
        hottest = e * (option.largest * self.scale)[:, None] + met
        fits = hottest <= problem.instance_points[c, types] + ROUNDING_POINTS
        fits &= costs.memory_mb[c] <= costs.memory[types] - costs.worker_mb[types]
        return points, fits, float(self._cpu_total)

    def _add_option(self, c: int, option: SizeClasses) -> _OptionColumns | None:
        needed, fits, total = self._needs(c, option)
        if not fits.any(axis=1).all():
            return None
        weight = self._new_columns(np.zeros(1))
        classes, where = np.nonzero(fits)
        points = needed[classes, where]
        column = self._new_columns(_TIE * points / total) + np.arange(len(where))
        self._take(where, column, points, c, option.mean[classes])
        # Instances of each class on all types are as many as the weight of the option says.
        row = len(self._equal_right) + np.arange(len(option.mean))
        self._equal_right += [0.0] * len(row)
        self._equal.append((row[classes], column, np.ones(len(where))))
        self._equal.append((row, np.full(len(row), weight), -option.counts.astype(np.float64)))
        return _OptionColumns(weight, int(column[0]), classes, where)

    def _add_shared(self, c: int) -> _SharedColumns | None:
        """Columns: part of the input on each type, then instances there."""
        costs, types, problem = self.costs, self.types, self.costs.problem
        met = problem.met[c, types]
        busy = np.minimum(problem.instance_points[c], costs.cpu - costs.worker_cpu)[types] - met
        fits = (busy > 0) & (costs.memory_mb[c] <= (costs.memory - costs.worker_mb)[types])
        where = np.flatnonzero(fits & np.isfinite(costs.e[c, types]))
        if not len(where):
            return None
        work = costs.e[c, types[where]] * problem.visits[c] * self.scale
        part = self._new_columns(_TIE * work / self._cpu_total) + np.arange(len(where))
        instances = self._new_columns(_TIE * met[where] / self._cpu_total) + np.arange(len(where))
        self._take(where, part, work, c, np.full(len(where), problem.visits[c]), memory=False)
        self._take(where, instances, met[where], c, np.zeros(len(where)))
        one = len(self._equal_right)
        self._equal_right.append(1.0)
        self._equal.append((np.full(len(where), one), part, np.ones(len(where))))
        row = len(self._right) + np.arange(len(where))
        self._right += [0.0] * len(where)
        self._entries += [(row, part, work), (row, instances, -busy[where])]
        self._limit_total(instances, c)
        return _SharedColumns(int(part[0]), where)

    def _limit_total(self, columns: IntVector, c: int) -> None:
        """At least one instance, at most as many as there may be."""
        most = float(self.costs.problem.most_instances[c])
        for sign, limit in ((-1.0, -1.0), (1.0, most)):
            row = np.full(len(columns), len(self._right))
            self._right.append(limit)
            self._entries.append((row, columns, np.full(len(columns), sign)))

    def _take(
        self, where: IntVector, column: IntVector, points: FloatVector, c: int, rate: FloatVector,
        *, memory: bool = True,
    ) -> None:  # fmt: skip
        """What columns take from the rows of their types."""
        count, (has_memory, has_nic) = len(self.types), self._masks
        self._entries.append((where, column, points))
        if memory and self.costs.memory_mb[c] > 0:
            mine = has_memory[where]
            size = np.full(int(mine.sum()), self.costs.memory_mb[c])
            self._entries.append((count + where[mine], column[mine], size))
        mine = has_nic[where] & (rate > 0)
        if mine.any():
            for block, per_tuple in ((2, self.costs.bytes_out[c]), (3, self.costs.bytes_in[c])):
                size = per_tuple * rate[mine] * self.scale
                self._entries.append((block * count + where[mine], column[mine], size))

    def _new_columns(self, cost: FloatVector) -> int:
        first = self._columns
        self._columns += len(cost)
        self._cost.append(cost)
        return first

    # -- solving ------------------------------------------------------------------------------

    def _run(self) -> tuple[FloatVector, FloatVector] | None:
        solved = linprog(
            np.concatenate(self._cost),
            A_ub=_matrix(self._entries, len(self._right), self._columns),
            b_ub=np.array(self._right),
            A_eq=_matrix(self._equal, len(self._equal_right), self._columns),
            b_eq=np.array(self._equal_right),
            method="highs",
        )
        return None if solved.x is None else (solved.x, -solved.ineqlin.marginals)

    def _read(self, x: FloatVector, prices: FloatVector, places: list[_Columns]) -> TypeSolution:
        components, types = self.costs.e.shape
        part, instances = np.zeros((2, components, types))
        weights: list[FloatVector] = []
        spread: list[tuple[FloatMatrix, ...]] = []
        for c, place in enumerate(places):
            if isinstance(place, _SharedColumns):
                first, where = place.part, place.types
                part[c, self.types[where]] = x[first : first + len(where)]
                instances[c, self.types[where]] = x[first + len(where) : first + 2 * len(where)]
                weights.append(np.zeros(0))
                spread.append(())
                continue
            weights.append(np.array([-1.0 if own is None else x[own.weight] for own in place]))
            options = self.options[c]
            spread.append(
                tuple(self._spread_of(o, own, x) for o, own in zip(options, place, strict=True))
            )
        paid = np.maximum(prices[: 4 * len(self.types)], 0.0).reshape(4, -1)
        memory_price = np.zeros(types)
        memory_price[self.types] = paid[1]
        return TypeSolution(
            float(x[0]), tuple(weights), tuple(spread), part, instances, paid, memory_price
        )

    def _spread_of(
        self, option: SizeClasses, columns: _OptionColumns | None, x: FloatVector
    ) -> FloatMatrix:
        if columns is None:
            return np.zeros((0, self.costs.e.shape[1]))
        matrix = np.zeros((len(option.mean), self.costs.e.shape[1]))
        number = x[columns.first : columns.first + len(columns.types)]
        matrix[columns.classes, self.types[columns.types]] = number
        return matrix


def _matrix(
    entries: list[tuple[IntVector, IntVector, FloatVector]], rows: int, columns: int
) -> sparse.csr_array:
    row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_array((value, (row, column)), shape=(rows, columns))
