"""Plans for a rate that changes: carried by the least, with few moves, and not worked out twice.

Rates are rounded up to a grid, so that neighbouring rates share a plan, and plans are kept by how
many machines of each class are there: machines of one type, rack and region stand in for each
other. A plan is then laid on those machines such that as much as possible stays where it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor

import numpy as np

from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.terms import changes_between, held_table
from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.terms import Least, Terms
from penstock.planning.laid_out import laid_near, repaired
from penstock.planning.slow_machines import at_speeds
from penstock.planning.solve import plan
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.aggregate import allows_shares
from penstock.schedulers.penstock.shares import best_shares
from penstock.schedulers.penstock.terms.fewest import choose_machines, prices_of
from penstock.schedulers.restricted import Restricted

#: Steps of the grid of rates, as parts of what the cluster carries at most; the least that any
#: plan uses is worked out on a finer one.
LEVELS = 100
FINE_LEVELS = 1000
#: Points of the curve of the least over rates.
CURVE_POINTS = 40
_MOST_KEPT = 4096
#: Planners of slowed clusters kept, each with plans of its own.
_MOST_SLOWED = 32
_ENOUGH = 1.0 - 1e-9


@dataclass(frozen=True)
class CapacityPlan:
    """A plan that can be put in force, beside the least that any plan for its rate uses."""

    placement: Placement
    carries_per_s: float
    machines: int
    used: float
    at_least: float

    @property
    def gap(self) -> float:
        """How far it is from that least, as a part of it."""
        return self.used / self.at_least - 1.0 if self.at_least > 0 else 0.0


@dataclass(frozen=True, slots=True)
class CpuOfMachines:
    """CPU that a placement needs: ``(fixed + slope * scale) / usable``, each (machines,)."""

    fixed: FloatVector
    slope: FloatVector
    usable: FloatVector

    def cpu(self, scale: float) -> FloatVector:
        """Part of its points that each machine needs."""
        return np.asarray((self.fixed + self.slope * scale) / self.usable)


class CapacityPlanner:
    """Plans of one problem, which has rates. The same questions get the same answers."""

    def __init__(
        self,
        problem: Problem,
        least: Least = Least.MACHINES,
        budget: Callable[[], Budget] = Budget,
        levels: int = LEVELS,
    ) -> None:
        self.problem, self.least, self.levels = problem, least, levels
        self._budget = budget
        self._prices = prices_of(problem, least) or prices_of(problem, Least.MACHINES)
        #: Tuples/s of all topologies together at scale 1.
        self.unit = float(problem.demand.sum())
        self.bound_per_s = upper_bound(problem).scale * self.unit
        cluster = problem.cluster
        keys = np.column_stack([cluster.type_of, cluster.rack_of, cluster.region_of])
        _, index = np.unique(keys, axis=0, return_inverse=True)
        #: Machines of one class stand in for each other, shape (machines,).
        self.class_of: IntVector = index.reshape(-1).astype(np.int64)
        self._plans: dict[tuple[int, bytes], Placement | None] = {}
        #: By machines that are there: levels in order, and the least at each.
        self._least: dict[bytes, tuple[list[int], list[float]]] = {}
        self._carried: dict[Placement, float] = {}
        self._loads: dict[Placement, CpuOfMachines] = {}
        self._slowed: dict[bytes, CapacityPlanner] = {}

    @cached_property
    def strongest_per_s(self) -> float:
        """At most so many tuples/s are lost with one machine of a plan."""
        bound = upper_bound(self.problem)
        fewer = float(np.max(bound.added_by_one_machine))
        return max(fewer * self.unit, self.bound_per_s / len(self.problem.cluster.machines))

    @cached_property
    def _least_by_rate(self) -> tuple[FloatVector, FloatVector]:
        everyone = np.ones(len(self.class_of), dtype=np.bool_)
        rates = np.linspace(0.0, 1.0, CURVE_POINTS + 1) * self.bound_per_s * _ENOUGH
        least = [self.least_for(rate, everyone) for rate in rates[1:].tolist()]
        return rates, np.array([0.0, *least])

    def least_about(self, rates_per_s: FloatVector) -> FloatVector:
        """About the least that plans for these rates use, with every machine there."""
        rates, least = self._least_by_rate
        return np.asarray(np.interp(rates_per_s, rates, least))

    # -- what there is ------------------------------------------------------------------------

    def carries_per_s(self, placement: Placement) -> float:
        """Tuples/s that a placement carries, by the cost model."""
        if placement not in self._carried:
            if len(self._carried) > _MOST_KEPT:
                self._carried.clear()
            self._carried[placement] = capacity(self.problem, placement).scale * self.unit
        return self._carried[placement]

    def machine_load(self, placement: Placement) -> CpuOfMachines:
        """What a placement needs of each machine, by the cost model."""
        if placement not in self._loads:
            if len(self._loads) > _MOST_KEPT:
                self._loads.clear()
            judged = capacity(self.problem, placement)
            self._loads[placement] = CpuOfMachines(
                judged.machine_fixed, judged.machine_slope, self.problem.cluster.usable_cpu
            )
        return self._loads[placement]

    def at_speeds(self, speed: FloatVector) -> CapacityPlanner:
        """The planner of the same problem with machines at parts of their speed, (machines,)."""
        if (speed >= 1.0).all():
            return self
        key = speed.tobytes()
        if key not in self._slowed:
            if len(self._slowed) > _MOST_SLOWED:
                self._slowed.clear()
            problem = at_speeds(self.problem, speed)
            self._slowed[key] = type(self)(problem, self.least, self._budget, self.levels)
        return self._slowed[key]

    def used(self, placement: Placement, rate_per_s: float) -> float:
        """Machines, price per hour or watts of a placement at a rate."""
        if self.least is Least.MACHINES:
            return float(len(placement.machines_used))
        judged = assess(self.problem, placement, rate_per_s / self.unit)
        used = judged.price_per_hour if self.least is Least.PRICE else judged.watts
        return float(len(placement.machines_used)) if used is None else used

    def least_for(self, rate_per_s: float, alive: BoolVector) -> float:
        """What no plan for the rate on these machines stays below; inf where none carries it."""
        step = self.bound_per_s / FINE_LEVELS
        # Rounded down: what holds for less holds for more.
        level = floor(rate_per_s / step * _ENOUGH)
        there = self._there(alive).tobytes()
        levels, values = self._least.setdefault(there, ([], []))
        at = bisect_left(levels, level)
        if at < len(levels) and levels[at] == level:
            return values[at]
        if 0 < at < len(levels) and values[at - 1] == values[at]:
            return values[at]  # more needs no less, so between two equal ones nothing differs
        assert self._prices is not None  # machines always have a price: one
        part = Restricted.to(self.problem, self._first_of_each(alive))
        least = choose_machines(part.problem, level * step / self.unit, self._prices)[0]
        if self.least is Least.MACHINES and np.isfinite(least):
            least = float(ceil(least - 1e-6))
        levels.insert(at, level)
        values.insert(at, least)
        return least

    # -- plans --------------------------------------------------------------------------------

    def carrying(
        self, rate_per_s: float, alive: BoolVector, current: Placement | None = None
    ) -> CapacityPlan | None:
        """The rate by the least, near the current placement; where it is too much, the most.

        ``None`` where not even the overheads are carried.
        """
        level = self._level(rate_per_s)
        least = self._planned(level, alive)
        if least is None:
            return None
        placement = laid_near(self.problem, self.class_of, least, alive, current)
        return self.as_plan(placement, alive, rate_per_s)

    def as_plan(
        self, placement: Placement, alive: BoolVector, rate_per_s: float = np.inf
    ) -> CapacityPlan:
        """A placement beside the least for a rate; without one, for what it carries."""
        carries = self.carries_per_s(placement)
        rate = min(rate_per_s, carries)
        return CapacityPlan(
            placement,
            carries,
            len(placement.machines_used),
            self.used(placement, rate),
            self.least_for(rate, alive),
        )

    def on_machines(
        self, number: int, alive: BoolVector, current: Placement | None = None
    ) -> CapacityPlan | None:
        """The plan of the highest rate on the grid that needs no more machines than that."""
        low, high = 1, self.levels
        while low < high:
            middle = (low + high + 1) // 2
            rate = middle * self.bound_per_s / self.levels
            if self.least_for(rate, alive) <= number:
                low = middle
            else:
                high = middle - 1
        return self.carrying(low * self.bound_per_s / self.levels, alive, current)

    def without_lost(self, placement: Placement, alive: BoolVector) -> Placement | None:
        """The placement with what ran on machines that are gone elsewhere; ``None``: no place."""
        return repaired(self.problem, placement, alive)

    def reshared(self, placement: Placement) -> Placement:
        """The same instances with the best shares, where shares may differ."""
        return best_shares(self.problem, placement) if allows_shares(self.problem) else placement

    def moves(self, before: Placement, after: Placement) -> int:
        """Instances moved, started or stopped."""
        return changes_between(held_table(self.problem, before), held_table(self.problem, after))

    # -- how plans are kept -------------------------------------------------------------------

    def _level(self, rate_per_s: float) -> int:
        return max(1, ceil(rate_per_s / self.bound_per_s * self.levels - 1e-9))

    def _there(self, alive: BoolVector) -> IntVector:
        return np.bincount(self.class_of[alive], minlength=int(self.class_of.max()) + 1)

    def _first_of_each(self, alive: BoolVector) -> list[int]:
        """As many machines of each class as there are, the first ones."""
        return [
            int(m)
            for c, number in enumerate(self._there(alive).tolist())
            for m in np.flatnonzero(self.class_of == c)[:number]
        ]

    def _planned(self, level: int, alive: BoolVector) -> Placement | None:
        key = (level, self._there(alive).tobytes())
        if key not in self._plans:
            self._plans[key] = self._chosen(level * self.bound_per_s / self.levels, alive)
        return self._plans[key]

    def _chosen(self, rate_per_s: float, alive: BoolVector) -> Placement | None:
        """The placement that carries a rate by the least; where none does, the most."""
        part = Restricted.to(self.problem, self._first_of_each(alive))
        terms = Terms(carry_per_s=rate_per_s, least=(self.least,))
        best = plan(replace(part.problem, terms=terms), budget=self._budget).plan
        if best is None:  # more than these machines carry
            best = plan(part.problem, budget=self._budget).plan
        return None if best is None else part.back(best.placement)
