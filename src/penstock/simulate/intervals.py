"""How sure a simulated mean is: 95 % intervals over independent runs, or over parts of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

LEVEL = 0.95
#: A single run is cut into so many parts: long enough to be nearly independent of one another.
BATCHES = 10


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and how far the truth may be from it; ``None`` where one value is all there is."""

    mean: float
    half_width: float | None = None

    def covers(self, value: float) -> bool:
        return self.half_width is not None and abs(value - self.mean) <= self.half_width


def interval(values: Sequence[float]) -> Interval:
    """Student's interval of independent values; those that are no number do not count."""
    known = np.array([value for value in values if value == value], dtype=np.float64)
    if not len(known):
        return Interval(float("nan"))
    mean = float(known.mean())
    if len(known) < 2:
        return Interval(mean)
    # Takes longer to load than most commands to run.
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(known) - 1, (1 + LEVEL) / 2))
    return Interval(mean, quantile * float(known.std(ddof=1)) / sqrt(len(known)))
