"""A load to rehearse on: rates over time in steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from penstock.model.arrays import FloatVector, frozen


@dataclass(frozen=True, eq=False)
class RecordedLoad:
    """Tuples/s offered, each value for ``step_s`` seconds."""

    name: str
    rate_per_s: FloatVector
    step_s: float = 300.0

    @property
    def duration_s(self) -> float:
        return len(self.rate_per_s) * self.step_s

    @cached_property
    def _rates(self) -> list[float]:
        """Plain numbers: they are asked for one at a time, some hundred thousand times."""
        return [float(rate) for rate in self.rate_per_s]

    def at(self, time_s: float) -> float:
        """The rate offered at a time; the last one goes on."""
        return self._rates[min(int(time_s // self.step_s), len(self._rates) - 1)]

    def mean(self, begin_s: float, end_s: float) -> float:
        """The mean rate offered between two times."""
        first, last = int(begin_s // self.step_s), int(np.ceil(end_s / self.step_s))
        return float(np.mean(self.rate_per_s[first : max(last, first + 1)]))

    def with_highest(self, rate_per_s: float) -> RecordedLoad:
        """Scaled so that its highest step has this rate."""
        highest = float(self.rate_per_s.max())
        return replace(self, rate_per_s=frozen(self.rate_per_s * (rate_per_s / highest)))

    def first(self, seconds: float) -> RecordedLoad:
        """Its beginning."""
        # Who asks for more than any clock counts gets all there is.
        steps = max(1, round(min(seconds / self.step_s, len(self.rate_per_s))))
        return replace(self, rate_per_s=frozen(self.rate_per_s[:steps].copy()))

    def medians(self, step_s: float) -> RecordedLoad:
        """Medians over longer steps, as many whole ones as it takes: gaps and peaks are gone."""
        per = min(max(1, round(step_s / self.step_s)), len(self.rate_per_s))
        whole = self.rate_per_s[: len(self.rate_per_s) // per * per].reshape(-1, per)
        return RecordedLoad(self.name, frozen(np.median(whole, axis=1)), per * self.step_s)
