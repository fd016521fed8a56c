"""How much to carry from now on: the step that costs least, the steps after it included.

A Markov decision process over the next bins. Its state is how wrong the forecast has become and
what is carried; errors last in part and news come to them (:class:`ForecastErrors`). To hold a
capacity costs its machines; to change costs seconds over the latency target, each worth ``price_s``
seconds of the machines in use. At the beginning of each bin its rate is seen: where it is carried,
the plan may change or stay; where it is not, a change follows after a while that nobody planned, or
the overload is borne. Solved by going backwards from the last bin; cost: bins times errors times
capacities, some milliseconds.

It is inventory control with a fixed cost of every order, under demand that is correlated in time
(Scarf 1960; Song and Zipkin, Operations Research 41, 1993, doi:10.1287/opre.41.2.351); what is too
much may be given back, for the fixed cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

import numpy as np

from penstock.control.forecast import ForecastErrors
from penstock.model.arrays import FloatMatrix, FloatVector

#: Capacities and errors considered.
_LEVELS, _ERRORS = 48, 23
#: Errors in standard deviations: from minus to plus this, close together in the middle, where
#: they are most of the time, for tails are heavy.
_FARTHEST, _CLOSER = 5.0, 2.5
_BELOW, _ABOVE = 0.95, 1.35
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
    window_s: float = 10.0

    def over_s(self, room: FloatMatrix, waited_s: FloatMatrix | float = 0.0) -> FloatMatrix:
        """Seconds over the target of a change into so much room above demand, after a backlog.

        The pause beyond the target, and until what waited drains into the room; latency is judged
        by windows, so half of one more.
        """
        late_s = max(0.0, self.pause_s - self.target_s)
        drain_s = (late_s + waited_s) / np.maximum(room, 1e-6)
        whole = (late_s + drain_s + 0.5 * self.window_s) * (late_s > 0.0)
        return np.asarray(np.where(room > 0.0, np.minimum(whole, _LONGEST_S), _LONGEST_S))

    def borne_s(self, room: FloatMatrix) -> FloatMatrix:
        """Seconds over the target of a bin that is not carried, and is not acted on.

        Half as long again for what is left to drain; a backlog within the target is forgotten.
        """
        return np.asarray(
            np.maximum(0.0, self.bin_s - self.target_s / np.maximum(-room, 1e-9)) * 1.5
        )

    def left_s(self, room: FloatVector, waiting_s: float) -> FloatVector:
        """Seconds over the target where nothing changes and so much waits."""
        late_s = max(0.0, waiting_s - self.target_s)
        drained_s = np.minimum(late_s / np.maximum(room, 1e-9), _LONGEST_S)
        return np.asarray(drained_s + np.where(room < 0.0, self.borne_s(room), 0.0))


@dataclass(frozen=True, slots=True)
class Step:
    """What is best to carry, and what it saves against staying: so many seconds of machines."""

    carry_per_s: float
    saves_s: float


def best_step(
    carries_per_s: float,
    path: FloatVector,
    off: float,
    errors: ForecastErrors,
    price: StepPrice,
    machines_for: Callable[[FloatVector], FloatVector],
    most_per_s: float,
    waiting_s: float = 0.0,
) -> Step:
    """In the first bin of a forecast that is ``off`` by so much there, a log."""
    now_per_s = float(path[0]) * exp(off)
    state = _errors()
    first = off * errors.lasts / float(errors.lasting[0])
    passing = np.exp(errors.passing)
    rates = path[:, None, None] * np.exp(errors.lasting[:, None] * state)[:, :, None] * passing
    grid = np.geomspace(
        _BELOW * min(now_per_s, float(path.min()), most_per_s),
        max(_ABOVE * max(now_per_s, float(rates[:, -_ERRORS // 6].max())), carries_per_s),
        _LEVELS,
    )
    machines = machines_for(grid)
    usual = float(np.interp(np.median(path), grid, machines))
    worth = usual * price.price_s / price.bin_s  # of a second over the target
    value = np.zeros((_ERRORS, _LEVELS))
    moves: dict[float, FloatMatrix] = {}
    for t in range(len(path) - 1, 0, -1):
        bins = _of_bin(rates[t], grid, (machines + value)[:, None, :], worth, price)
        alike = round(float(errors.goes_on[t]), 2)
        if alike not in moves:
            moves[alike] = _moves(alike, state, errors.news)
        value = moves[alike] @ bins.mean(axis=1)
    here = _interpolated(state, value, first)
    room = grid / now_per_s - 1.0
    into = worth * price.over_s(room, waiting_s) + here + machines
    stays = here + machines + worth * price.left_s(room, waiting_s)
    best = int(np.argmin(np.where(grid <= most_per_s, into, np.inf)))
    stay = float(np.interp(carries_per_s, grid, stays))
    return Step(float(grid[best]), (stay - float(into[best])) * price.bin_s / max(usual, 1e-9))


def _errors() -> FloatVector:
    even = np.linspace(-_CLOSER, _CLOSER, _ERRORS)
    return np.asarray(np.sinh(even) * (_FARTHEST / np.sinh(_CLOSER)))


def _of_bin(
    rate: FloatMatrix, grid: FloatVector, after: FloatMatrix, worth: float, price: StepPrice
) -> FloatMatrix:
    """Least cost from a bin on, its rate known, by (error, what passes by, capacity in force)."""
    room = grid / rate[:, :, None] - 1.0
    planned = (worth * price.over_s(room) + after).min(axis=2, keepdims=True)
    carried = np.minimum(after, planned)
    # What waits until an overload is acted on is small against the pause: taken at 5 %.
    surprised = (worth * price.over_s(room, 0.05 * price.confirm_s) + after).min(
        axis=2, keepdims=True
    )
    borne = worth * price.borne_s(room) + after
    return np.asarray(np.where(room >= 0.0, carried, np.minimum(surprised, borne)))


def _moves(alike: float, state: FloatVector, news: FloatVector) -> FloatMatrix:
    """The chance to go from each error to each within a bin, in standard deviations."""
    number = len(state)
    reached = alike * state[:, None] + np.sqrt(1.0 - alike**2) * news
    reached = reached.clip(state[0], state[-1])
    below = np.searchsorted(state[1:-1], reached, side="right")
    part = (reached - state[below]) / (state[below + 1] - state[below])
    row = np.arange(number)[:, None] * number
    moves = np.bincount(
        np.concatenate([(row + below).ravel(), (row + below + 1).ravel()]),
        np.concatenate([(1.0 - part).ravel(), part.ravel()]), number * number,
    )  # fmt: skip
    return np.asarray(moves.reshape(number, number) / len(news))


def _interpolated(state: FloatVector, value: FloatMatrix, at: float) -> FloatVector:
    """The row of a value between two states."""
    at = min(max(at, float(state[0])), float(state[-1]))
    below = int(np.searchsorted(state[1:-1], at, side="right"))
    part = (at - state[below]) / (state[below + 1] - state[below])
    return np.asarray((1.0 - part) * value[below] + part * value[below + 1])
