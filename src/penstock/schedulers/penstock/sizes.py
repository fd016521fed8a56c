"""Shuffle grouping: the search for instance sizes (tuples/s of one instance of each component).

With the sizes fixed the rest is a covering problem (:mod:`.patterns`).
What it gives jumps where a pattern just fits, so good sizes are such that several patterns are
exactly full; every step of the search therefore *snaps* the size of one component to a value at
which some pattern fills some type. First several climbs on the relaxation's value from random
starts, then whole plans of the best of them, then steps from the best whole plan: snapped sizes, or
the sizes at which slightly different instance counts would carry a little more. A step costs one
matrix product unless no known price turns it down (weak duality), then a linear programme, and only
if that is better than the best whole plan a mixed-integer one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatVector, IntVector
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.aggregate import MachineGroups, even_scale
from penstock.schedulers.penstock.patterns import DualPrices, MasterProblem, Relaxation

#: Dual prices kept to turn sizes down with.
_MOST_PRICES = 12
#: Random sizes tried before a climb goes on by snapping.
_RANDOM_STARTS = 60
#: Relative widths of a snap, one drawn each time.
_WIDTHS = (0.02, 0.1, 0.5)
#: A step must promise this much more than the best whole plan.
_PROMISE = 1.0 + 2e-4
_GAP = 2e-3
_FEW_MACHINES = 60
#: Up to this many instances of a component, sizes between those of whole numbers are waste.
_FEW_INSTANCES = 12
#: The part of the bound that a plan is likely to reach, before one is known.
_LIKELY = 0.9
#: Halvings of the range of scales for counts that are laid down.
_BISECTIONS = 12


@dataclass(frozen=True)
class SearchEffort:
    """How much to search, in counts that do not depend on the clock."""

    climbs: int = 6
    tries_per_climb: int = 400
    programmes_per_climb: int = 40
    #: Mixed-integer programmes after each climb and at the end, and steps tried for each.
    whole_plans_per_climb: int = 8
    whole_plans: int = 10
    steps_per_whole_plan: int = 60
    nodes: int = 60

    @classmethod
    def on(cls, machines: int) -> SearchEffort:
        """On many machines the relaxation says nearly all, and whole plans take longer."""
        if machines <= _FEW_MACHINES:
            return cls()
        return cls(
            climbs=4,
            tries_per_climb=300,
            programmes_per_climb=25,
            whole_plans_per_climb=2,
            whole_plans=0,
            nodes=10,
        )


class SizeSearch:
    """The best whole plan so far, in ``groups``, and the rounds spent on it."""

    def __init__(
        self, master: MasterProblem, effort: SearchEffort, budget: Budget, rng: np.random.Generator
    ) -> None:
        self.master, self.aggregate, self.effort = master, master.aggregate, effort
        self.budget, self.rng = budget, rng
        self.rounds = 0
        self.groups: MachineGroups | None = None
        #: In units of the bound.
        self.scale = 0.0
        self._prices: list[DualPrices] = []
        self._programmes = 0
        self._sizes: FloatVector | None = None

    def start_from(self, groups: MachineGroups) -> None:
        """A first plan, if it keeps to the counts searched over."""
        if (groups.totals <= self.aggregate.most).all():
            self._keep(groups, None)

    def run(self) -> None:
        """Search; counts that are laid down leave only the packing."""
        if self.aggregate.given is not None:
            self._pack(self.aggregate.given)
        else:
            self._search()

    def try_counts(self, counts: FloatVector) -> None:
        """A whole plan with about these instance counts, if it carries more than the best."""
        relaxation = self._value(self._sizes_of(counts), self.scale)
        if relaxation is not None:
            self._make_whole(relaxation)

    def _pack(self, totals: IntVector) -> None:
        """The highest scale at which these counts can be packed, by bisection."""
        low, high = self.scale, 1.0
        for _ in range(_BISECTIONS):
            if self._spent():
                return
            middle = 0.5 * (low + high)
            sizes = self.aggregate.visits * self.aggregate.bound * middle / totals
            groups = self.master.exactly(sizes, totals, self.effort.nodes)
            if groups is None:
                high = middle
            else:
                self._keep(groups, sizes)
                low = max(middle, self.scale)

    def _search(self) -> None:
        """Climbs, each followed by steps from the best whole plan; then more steps."""
        for _ in range(self.effort.climbs):
            climbed = self._climb()
            if climbed is not None:
                self._make_whole(climbed)
            self._walk(self.effort.whole_plans_per_climb)
        self._walk(self.effort.whole_plans)

    def _walk(self, whole_plans: int) -> None:
        tried = 0
        for _ in range(self.effort.steps_per_whole_plan * whole_plans):
            if self.groups is None or tried >= whole_plans or self._spent():
                return
            relaxation = self._value(self._step(), self.scale * _PROMISE)
            if relaxation is not None:
                tried += 1
                self._make_whole(relaxation)

    def _climb(self) -> Relaxation | None:
        """Climb on the relaxation's value from the best of some random sizes."""
        best: Relaxation | None = None
        enough = self._programmes + self.effort.programmes_per_climb
        for turn in range(self.effort.tries_per_climb):
            if self._spent() or self._programmes >= enough:
                break
            if best is None or turn < _RANDOM_STARTS:
                sizes = self._random_sizes()
            else:
                sizes = self._snap(best.columns.sizes)
            best = self._value(sizes, 0.0 if best is None else best.value) or best
        return best

    def _value(self, sizes: FloatVector, more_than: float) -> Relaxation | None:
        """The relaxation at these sizes if it is worth more, by prices first."""
        fits = self.master.fits(sizes)
        for i, prices in enumerate(self._prices):
            if self.master.ceiling(sizes, fits, prices) <= more_than:
                self._prices.insert(0, self._prices.pop(i))  # likely to serve again
                return None
        self._programmes += 1
        relaxation = self.master.relax(sizes, fits)
        if relaxation is None:
            return None
        self._prices.insert(0, relaxation.prices)
        del self._prices[_MOST_PRICES:]
        return relaxation if relaxation.value > more_than else None

    def _make_whole(self, relaxation: Relaxation) -> None:
        if relaxation.value > self.scale:
            groups = self.master.whole(relaxation.columns, self.scale, self.effort.nodes, _GAP)
            if groups is not None:
                self._keep(groups, relaxation.columns.sizes)

    def _keep(self, groups: MachineGroups, sizes: FloatVector | None) -> None:
        scale = even_scale(self.aggregate, groups) / self.aggregate.bound
        if scale > self.scale:
            self.groups, self.scale = groups, scale
            self._sizes = self._sizes_of(groups.totals) if sizes is None else sizes

    def _step(self) -> FloatVector:
        """Sizes near those of the best whole plan."""
        assert self.groups is not None
        assert self._sizes is not None
        draw = self.rng.random()
        if draw < 0.6:
            return self._sizes_of(self._nearby(self.groups.totals))
        return self._snap(self._sizes_of(self.groups.totals) if draw < 0.9 else self._sizes)

    def _nearby(self, totals: IntVector) -> IntVector:
        near = totals.copy()
        for _ in range(int(self.rng.integers(1, 3))):
            c = int(self.rng.integers(len(near)))
            near[c] = max(1, near[c] + int(self.rng.choice([-3, -2, -1, 1, 2, 3])))
        return near

    def _sizes_of(self, totals: IntVector | FloatVector) -> FloatVector:
        """The sizes at which so many instances carry a little more than the best so far."""
        wanted = max(self.scale, 1e-9) * self.aggregate.bound * _PROMISE
        return np.asarray(self.aggregate.visits * wanted / totals)

    def _random_sizes(self) -> FloatVector:
        """Each component's size such that a few instances fill some kind of machine alone."""
        aggregate = self.aggregate
        components, kinds = aggregate.e.shape
        kind = self.rng.integers(kinds, size=components)
        number = self.rng.integers(1, 5, size=components)
        at = (np.arange(components), kind)
        room = (aggregate.usable - aggregate.base - aggregate.worker)[kind] / number
        points = np.minimum(room, aggregate.threads[at]) - aggregate.met[at]
        sizes = np.divide(
            points, aggregate.e[at], out=np.full(components, np.inf), where=aggregate.e[at] > 0
        )
        return self._possible(sizes)

    def _snap(self, sizes: FloatVector) -> FloatVector:
        """Change one size, sometimes two, so that some pattern exactly fills some kind."""
        sizes = sizes.copy()
        master, aggregate = self.master, self.aggregate
        for _ in range(1 + int(self.rng.random() < 0.3)):
            c, k = (int(self.rng.integers(n)) for n in aggregate.e.shape)
            width = float(self.rng.choice(_WIDTHS))
            held = master.counts[:, c]
            per_size = held * aggregate.e[c, k]
            left = master.room[:, k] - master.counts @ (aggregate.e[:, k] * sizes)
            change = np.divide(left, per_size, out=np.full(len(held), np.inf), where=per_size > 0)
            far = np.abs(change)
            near = np.flatnonzero((far < width * sizes[c]) & (far > 1e-9 * sizes[c]))
            if len(near):
                sizes[c] += change[int(self.rng.choice(near))]
        return self._possible(sizes)

    def _possible(self, sizes: FloatVector) -> FloatVector:
        """Sizes that a whole number of instances of each component has, where they are few."""
        most = self.aggregate.visits * self.aggregate.bound * max(self.scale * _PROMISE, _LIKELY)
        number = np.ceil(np.divide(most, sizes, out=np.ones(len(sizes)), where=sizes > 0) - 1e-9)
        number = np.clip(number, 1.0, 1e6)
        return np.where(number <= _FEW_INSTANCES, most / number, np.minimum(sizes, most))

    def _spent(self) -> bool:
        self.rounds += 1
        return self.budget.spent(self.rounds)
