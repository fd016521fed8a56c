"""What a policy that knows the future would use: a floor under every policy's machine-hours.

Regret is counted against plans that change every five minutes without a pause, which nobody may.
Here changes cost what they cost in the interval model: time over the latency target for the pause
and until what waited is drained, and one of a limited number of changes. Left out, always to the
benefit of the floor: faults, chance in pauses, machines that run while others already leave, plans
above the least, what a backlog of one interval does to the next. Changes are between intervals.

One dynamic programme over intervals and capacities, with a price on time over the target and one on
changes (Lagrangian relaxation). For any prices its value less the prices of what is allowed is at
most the machine-hours of any schedule within the limits (weak duality), so the best prices give a
floor that is proven, whatever the search for them is like. Cost: intervals times capacities for
each pair of prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.control.recorded_load import RecordedLoad
from penstock.control.scores import INTERVAL_S
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from penstock.planning.capacity_plans import FINE_LEVELS, CapacityPlanner

_HALVINGS = 14
_HOUR_S = 3600.0


@dataclass(frozen=True)
class ChangeCost:
    """What a change costs in the engine, and how latency is judged."""

    pause_s: float = 12.0
    target_s: float = 5.0
    window_s: float = 10.0

    def over_s(self, room: FloatMatrix) -> FloatMatrix:
        """Seconds over the target: windows from the pause until less than the target waits.

        At least the pause, in whole windows; what waits after a while t of running is
        ``pause - room * t`` seconds of tuples.
        """
        drained_s = self.pause_s + (self.pause_s - self.target_s) / np.maximum(room, 1e-9)
        whole = np.floor(np.minimum(drained_s, INTERVAL_S) / self.window_s) * self.window_s
        return np.asarray(np.maximum(whole, self.window_s) * (self.pause_s > self.target_s))

    def overload_s(self, load: FloatMatrix) -> FloatMatrix:
        """Seconds over the target of an interval that begins without backlog."""
        grows = 1.0 - 1.0 / np.maximum(load, 1.0)
        return np.asarray(np.maximum(0.0, INTERVAL_S - self.target_s / np.maximum(grows, 1e-9)))


@dataclass(frozen=True)
class Schedule:
    """A way through a load for one pair of prices."""

    machine_hours: float
    over_s: float
    changes: int
    #: Level of each interval.
    level: IntVector


@dataclass(frozen=True)
class Floor:
    """No policy within the limits uses fewer machine-hours; and the schedule nearest to it."""

    machine_hours: float
    regret: float
    schedule: Schedule


class Clairvoyant:
    """All that is known of a load and of what plans carry."""

    def __init__(
        self, load: RecordedLoad, planner: CapacityPlanner, cost: ChangeCost | None = None
    ) -> None:
        self.cost = cost or ChangeCost()
        per = round(INTERVAL_S / load.step_s) if load.step_s < INTERVAL_S else 1
        steps = len(load.rate_per_s) // per * per
        self.rates: FloatVector = load.rate_per_s[:steps].reshape(-1, per).mean(axis=1)
        self.rates = np.repeat(self.rates, max(1, round(load.step_s / INTERVAL_S)))
        everyone = np.ones(len(planner.class_of), dtype=np.bool_)
        self.least = np.array([planner.least_for(r, everyone) for r in self.rates.tolist()])
        self.carries, self.machines = _levels(planner, everyone, float(self.rates.max()))

    @property
    def hours(self) -> float:
        return len(self.rates) * INTERVAL_S / _HOUR_S

    @cached_property
    def _overload_s(self) -> FloatMatrix:
        return self.cost.overload_s(self.rates[:, None] / self.carries[None, :])

    @cached_property
    def _change_s(self) -> FloatMatrix:
        """Of a change before each interval: it may be made on either side of the boundary."""
        lower = np.minimum(self.rates, np.append(self.rates[:1], self.rates[:-1]))
        return self.cost.over_s(self.carries[None, :] / lower[:, None] - 1.0)

    def schedule(self, per_second: float, per_change: float) -> Schedule:
        """The cheapest, with prices in machine-hours."""
        bin_h = INTERVAL_S / _HOUR_S
        holds = self.machines * bin_h + per_second * self._overload_s
        enters = per_change + per_second * self._change_s
        number, levels = holds.shape
        come_from = np.empty((number, levels), dtype=np.int64)
        value, stay = holds[0].copy(), np.arange(levels)
        for i in range(1, number):
            cheapest = int(value.argmin())
            entered = value[cheapest] + enters[i]
            changed = entered < value
            come_from[i] = np.where(changed, cheapest, stay)
            value = np.where(changed, entered, value) + holds[i]
        level = np.empty(number, dtype=np.int64)
        level[-1] = int(value.argmin())
        for i in range(number - 1, 0, -1):
            level[i - 1] = come_from[i, level[i]]
        changed_at = np.flatnonzero(np.diff(level)) + 1
        every = np.arange(number)
        over_s = (
            self._overload_s[every, level].sum()
            + self._change_s[changed_at, level[changed_at]].sum()
        )
        hours = float(self.machines[level].sum()) * bin_h
        return Schedule(hours, float(over_s), len(changed_at), level)

    def floor(self, over_target: float, most_changes: float = np.inf) -> Floor:
        """With at most so large a part of the time over the target, and so many changes."""
        allowed_s = over_target * self.hours * _HOUR_S
        best, value = self.schedule(0.0, 0.0), -np.inf
        # Prices from a hundredth of the mean machines upwards, by halving in the logarithm.
        unit = float(self.machines.mean()) / _HOUR_S
        low, high = np.log(1e-2 * unit), np.log(1e5 * unit)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            found, worth = self._with_changes(float(np.exp(middle)), allowed_s, most_changes)
            if worth > value:
                best, value = found, worth
            low, high = (middle, high) if found.over_s > allowed_s else (low, middle)
        least = float(self.least.sum()) * INTERVAL_S / _HOUR_S
        return Floor(value, value / least - 1.0, best)

    def _with_changes(
        self, per_second: float, allowed_s: float, most_changes: float
    ) -> tuple[Schedule, float]:
        """The price of changes that gives the highest floor, for a price of seconds."""
        found = self.schedule(per_second, 0.0)
        best, value = found, _floor_of(found, per_second, allowed_s, 0.0, 0.0)
        if found.changes <= most_changes:
            return best, value
        low, high = 0.0, float(self.machines.max()) * self.hours
        for _ in range(_HALVINGS):
            per_change = 0.5 * (low + high) if low else high / 16.0
            found = self.schedule(per_second, per_change)
            worth = _floor_of(found, per_second, allowed_s, per_change, most_changes)
            if worth > value:
                best, value = found, worth
            if found.changes > most_changes:
                low = per_change
            else:
                high = per_change
        return best, value


def _floor_of(
    found: Schedule, per_second: float, allowed_s: float, per_change: float, most_changes: float
) -> float:
    """Weak duality: what no schedule within the limits stays below."""
    value = found.machine_hours + per_second * (found.over_s - allowed_s)
    return value + (per_change * (found.changes - most_changes) if per_change else 0.0)


def _levels(
    planner: CapacityPlanner, everyone: BoolVector, highest: float
) -> tuple[FloatVector, FloatVector]:
    """The most that each number of machines may carry, as far as that can matter."""
    step = planner.bound_per_s / FINE_LEVELS
    rates = np.arange(1, FINE_LEVELS) * step
    rates = rates[rates <= max(2.0 * highest, 2 * step)]
    least = np.array([planner.least_for(r, everyone) for r in rates.tolist()])
    known = np.isfinite(least)
    machines, first = np.unique(least[known][::-1], return_index=True)
    # What holds for a rate on the grid holds up to the next one.
    carries = rates[known][::-1][first] + step
    return carries, machines
