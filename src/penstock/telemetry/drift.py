"""Has the cost or the mix changed since the profile was made, how sure is that, and where."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from penstock.model.profile import Profile

#: A change smaller than this is of no consequence for a plan, however sure.
SMALLEST_CHANGE = 0.05
SURE = 0.99


@dataclass(frozen=True)
class Measure:
    """One figure at two times, with standard errors."""

    row: str
    machine_type: str
    name: str
    before: float
    before_error: float
    after: float
    after_error: float


@dataclass(frozen=True)
class CostDrift:
    """What became of one figure. ``confidence`` is one minus the chance of seeing this by luck."""

    row: str
    machine_type: str
    measure: str
    before: float
    after: float
    confidence: float

    @property
    def change(self) -> float:
        return self.after / self.before - 1.0 if self.before else np.inf

    @property
    def drifted(self) -> bool:
        return self.confidence >= SURE and abs(self.change) >= SMALLEST_CHANGE


def drifts(measures: Iterable[Measure]) -> list[CostDrift]:
    """Every figure that was known at both times, those that changed first.

    With a thousand figures ten stray beyond 99 % by luck alone; Holm's rule allows for that.
    """
    measurable = [
        m for m in measures if np.isfinite([m.before, m.after, m.before_error, m.after_error]).all()
    ]
    chances = [_chance(m) for m in measurable]
    order = np.argsort(chances, kind="stable")
    corrected = np.empty(len(measurable))
    worst = 0.0
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, chances[index] * (len(measurable) - rank)))
        corrected[index] = worst
    results = [
        CostDrift(m.row, m.machine_type, m.name, m.before, m.after, 1.0 - float(chance))
        for m, chance in zip(measurable, corrected, strict=True)
    ]
    return sorted(results, key=lambda d: (not d.drifted, -abs(d.change), d.row, d.machine_type))


def _chance(m: Measure) -> float:
    """Probability of so large a difference without any change."""
    error = float(np.hypot(m.before_error, m.after_error))
    if error <= 0:
        return 0.0 if m.before != m.after else 1.0
    # Both tails of the normal distribution.
    return math.erfc(abs(m.after - m.before) / error / math.sqrt(2))


def between_profiles(before: Profile, after: Profile) -> list[CostDrift]:
    """What changed from one profile to another; figures without error bars are left out."""
    return drifts([*_cost_measures(before, after), *_stream_measures(before, after)])


def _cost_measures(before: Profile, after: Profile) -> Iterable[Measure]:
    for new in after.costs:
        old = before.by_place.get((new.row, new.machine_type))
        if old is None or new.extrapolated or old.extrapolated:
            continue
        yield Measure(
            new.row, new.machine_type, "e",
            old.e, _known(old.e_error), new.e, _known(new.e_error),
        )  # fmt: skip
        yield Measure(
            new.row, new.machine_type, "met",
            old.met, _known(old.met_error), new.met, _known(new.met_error),
        )  # fmt: skip


def _stream_measures(before: Profile, after: Profile) -> Iterable[Measure]:
    earlier = {(m.topology, m.source, m.target, m.name): m for m in before.streams}
    for new in after.streams:
        old = earlier.get((new.topology, new.source, new.target, new.name))
        if old is None or old.selectivity is None or new.selectivity is None:
            continue
        yield Measure(
            f"{new.source} -> {new.target}", "", "selectivity",
            old.selectivity, _known(old.selectivity_error),
            new.selectivity, _known(new.selectivity_error),
        )  # fmt: skip


def _known(error: float | None) -> float:
    return np.nan if error is None else error
