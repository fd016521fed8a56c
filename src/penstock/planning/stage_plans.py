"""Plans for a rate that changes, on an engine that runs stages one after the other.

There every component belongs on every machine in use, in proportion to its speed
(:mod:`penstock.schedulers.proportional`), so a plan is a choice of machines: those that carry most
per machine, price or watt first, as many as the rate takes, and of the last one the least that
suffices. Costs: a placement per machine tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.model.arrays import BoolVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.schedulers.base import Budget
from penstock.schedulers.proportional import ProportionalScheduler
from penstock.schedulers.restricted import Restricted

_SCHEDULER = ProportionalScheduler()
_ENOUGH = 1.0 - 1e-9


def planner_for(problem: Problem, scheduler: str) -> CapacityPlanner:
    """The planner of an engine whose plans a scheduler makes."""
    kind = StagePlanner if scheduler == ProportionalScheduler.name else CapacityPlanner
    return kind(problem)


def spread_over(problem: Problem, machines: Sequence[int]) -> Placement | None:
    """Everything on each of these machines, by its speed; ``None`` where there is no room."""
    part = Restricted.to(problem, machines)
    placement = _SCHEDULER.solve(part.problem, Budget(), np.random.default_rng(0)).placement
    return None if placement is None else part.back(placement)


class StagePlanner(CapacityPlanner):
    """Plans that are a choice of machines."""

    def reshared(self, placement: Placement) -> Placement:
        """The same machines, in proportion to what they are worth now."""
        shared = self._on(placement.machines_used.tolist())
        if shared is None or self.moves(placement, shared):
            return placement
        return shared

    def without_lost(self, placement: Placement, alive: BoolVector) -> Placement | None:
        """On what is left of it; where nothing is, on the machine that carries most."""
        left = [m for m in placement.machines_used.tolist() if alive[m]]
        if left and (placed := self._on(left)) is not None:
            return placed
        alone = (self._on([m]) for m in np.flatnonzero(alive).tolist())
        placements = [placed for placed in alone if placed is not None]
        return max(placements, key=self.carries_per_s, default=None)

    def _chosen(self, rate_per_s: float, alive: BoolVector) -> Placement | None:
        order = self._best_first(self._first_of_each(alive))
        chosen: list[int] = []
        placement: Placement | None = None
        for machine in order:
            chosen.append(machine)
            more = self._on(chosen)
            placement = placement if more is None else more
            if more is not None and self.carries_per_s(more) >= rate_per_s * _ENOUGH:
                return self._with_least_last(chosen, order, rate_per_s, more)
        return placement

    def _with_least_last(
        self, chosen: list[int], order: list[int], rate_per_s: float, enough: Placement
    ) -> Placement:
        """Of as many machines, those whose last one carries least, and still enough."""
        for machine in reversed(order[len(chosen) :]):
            placement = self._on([*chosen[:-1], machine])
            if placement is not None and self.carries_per_s(placement) >= rate_per_s * _ENOUGH:
                return placement
        return enough

    def _best_first(self, machines: list[int]) -> list[int]:
        def worth(machine: int) -> float:
            placement = self._on([machine])
            if placement is None:
                return 0.0
            carries = self.carries_per_s(placement)
            return carries / max(self.used(placement, carries), 1e-12)

        return sorted(machines, key=lambda m: (-worth(m), m))

    def _on(self, machines: list[int]) -> Placement | None:
        return spread_over(self.problem, machines)
