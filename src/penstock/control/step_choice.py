"""How much to carry from now on: the step that costs least, the steps after it included.

A dynamic programme over the next bins and a grid of capacities. To hold a capacity costs its
machines; to change costs seconds over the latency target, each worth ``price_s`` seconds of the
machines in use; and demand may pass a capacity, as past forecasts were wrong: then a change follows
that nobody planned, at a higher price, to something larger. The chances are hazards from scenarios:
of those that were below a capacity in one bin, the part that is above it in the next.

This is the lot sizing of Wagner and Whitin (Management Science 5, 1958, doi:10.1287/mnsc.5.1.89)
with a chance in each bin that the lot is used up. Cost: bins times the square of the grid, a
millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix

#: Capacities considered, geometric between the lowest and the highest that can matter.
_LEVELS = 64
_BELOW, _ABOVE = 0.95, 1.3
#: Overload that is usual when demand passes a capacity, as a part.
_PASSED_BY = 0.05
#: A backlog that would take longer to drain counts as this.
_LONGEST_S = 900.0


@dataclass(frozen=True, slots=True)
class StepPrice:
    """What a change costs."""

    #: Seconds of the machines in use that a second over the target is worth.
    price_s: float
    pause_s: float
    target_s: float
    #: Seconds of overload before it is acted on.
    confirm_s: float
    bin_s: float

    def over_s(self, room: FloatMatrix) -> FloatMatrix:
        """Seconds over the target of a planned change into so much room above demand."""
        return self._over_s(room, 0.0)

    def surprised_s(self, room: FloatMatrix) -> FloatMatrix:
        """The same where demand has passed the capacity first; room is above that."""
        return self._over_s(room - _PASSED_BY, self.confirm_s * _PASSED_BY)

    def _over_s(self, room: FloatMatrix, waited_s: float) -> FloatMatrix:
        """The pause beyond the target, and until what waited drains into the room."""
        late_s = max(0.0, self.pause_s - self.target_s)
        drain_s = (late_s + waited_s) / np.maximum(room, 1e-6)
        return np.asarray(np.minimum(late_s + drain_s, _LONGEST_S))


@dataclass(frozen=True, slots=True)
class Step:
    """What is best to carry, and what it saves against staying: so many seconds of machines."""

    carry_per_s: float
    saves_s: float


def best_step(
    now_per_s: float,
    carries_per_s: float,
    scenarios: FloatMatrix,
    price: StepPrice,
    machines_for: Callable[[FloatVector], FloatVector],
    most_per_s: float,
) -> Step:
    """From the rate now and the rates that may come, (scenario, bin)."""
    path = np.median(scenarios, axis=0)
    low = _BELOW * min(now_per_s, float(path.min()))
    high = max(_ABOVE * now_per_s, _ABOVE * float(scenarios.max()), carries_per_s)
    grid = np.geomspace(low, high, _LEVELS)
    machines = machines_for(grid)
    usual = float(np.interp(np.median(path), grid, machines))
    worth = usual * price.price_s / price.bin_s  # of a second over the target
    hold = _costs_of_holding(now_per_s, scenarios, path, grid, machines, worth, price)
    # What waits drains in the bin to come: a low moment is no chance to shrink.
    soon = max(now_per_s, float(path[0]))
    into = worth * price.over_s(grid / soon - 1.0) + hold
    best = int(np.argmin(np.where(grid <= most_per_s, into, np.inf)))
    stay = float(np.interp(carries_per_s, grid, hold))
    return Step(float(grid[best]), (stay - float(into[best])) * price.bin_s / max(usual, 1e-9))


def _costs_of_holding(
    now_per_s: float,
    scenarios: FloatMatrix,
    path: FloatVector,
    grid: FloatVector,
    machines: FloatVector,
    worth: float,
    price: StepPrice,
) -> FloatVector:
    """Least cost of all bins for each capacity in force now, in machines times bins; (level,)."""
    hazard = _hazards(now_per_s, scenarios, grid)
    room = grid[None, :] / grid[:, None] - 1.0
    surprise = worth * np.where(room > 0, price.surprised_s(room), np.inf)
    surprise[-1] = worth * _LONGEST_S  # nothing larger is considered
    later = hold = np.zeros(len(grid))
    for t in range(len(path) - 1, -1, -1):
        passed = (surprise + later[None, :]).min(axis=1)
        hold = machines + hazard[t] * passed + (1.0 - hazard[t]) * later
        if t:
            change = worth * price.over_s(grid / path[t - 1] - 1.0) + hold
            later = np.minimum(hold, change.min())
    return hold


def _hazards(now_per_s: float, scenarios: FloatMatrix, grid: FloatVector) -> FloatMatrix:
    """The chance to pass each capacity in each bin, of those that were below; (bin, level)."""
    number, bins = scenarios.shape
    levels = len(grid)
    # Capacities before the index are passed.
    index = np.searchsorted(grid, scenarios).astype(np.int64)
    begins = np.full(number, np.searchsorted(grid, now_per_s), dtype=np.int64)
    before = np.column_stack([begins, index[:, :-1]])
    row = np.arange(bins, dtype=np.int64) * (levels + 1)

    def counts(values: IntMatrix) -> FloatMatrix:
        flat = np.bincount(values.ravel(), minlength=bins * (levels + 1))
        return np.asarray(np.cumsum(flat.reshape(bins, -1), axis=1)[:, :levels], dtype=np.float64)

    below = counts(row + before)
    up = index > before
    crossing = counts((row + before)[up]) - counts((row + index)[up])
    return np.where(below > 0, crossing / np.maximum(below, 1.0), 1.0)
