"""How readings spread around a fit, how that grows with the level, and what it makes of a residual.

The scatter of a group is a line, floor + slope * level, through medians of its residuals in slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.telemetry.fit.segments import Segments

#: Tukey's constant: 95 % as efficient as least squares where there are no outliers.
BISQUARE = 4.685
_MAD_TO_SIGMA = 1.4826
#: A slice without spread would draw all the weight: never far below what is seen overall.
_LEAST_PART = 0.05


@dataclass(frozen=True)
class Scatter:
    """Standard deviation of a reading at a level, by group: floor + slope * level."""

    floor: FloatVector
    slope: FloatVector

    def at(self, level: FloatVector, groups: Segments) -> FloatVector:
        spread = groups.spread(self.slope) * np.abs(level)
        spread += groups.spread(self.floor)
        return np.maximum(spread, 1e-9, out=spread)


@dataclass(frozen=True)
class Slices:
    """Slices of each group by level, in which its scatter is read off.

    Up to eight, of 25 points at least; three of twelve will do. Taken for the same everywhere, what
    is ordinary at a high level looks wild, and too little is left to tell a slope by.
    """

    groups: Segments
    #: Slices of each group.
    number: Segments
    #: Points of each slice.
    members: Segments

    @staticmethod
    def of(groups: Segments) -> Slices:
        counts = groups.counts
        number = np.maximum(np.maximum(np.minimum(8, counts // 25), np.minimum(3, counts // 12)), 1)
        return Slices(groups, Segments(number), groups.split(number))

    def scatter(self, level: FloatVector, residual: FloatVector) -> Scatter:
        """Of points that lie in the order of their level."""
        size, height = np.abs(residual), np.abs(level)
        overall = _MAD_TO_SIGMA * self.groups.medians(size)
        tiny = 1e-6 * (_middle(self.groups, height) + 1e-9)
        centre = self.members.means(height)
        spread = _MAD_TO_SIGMA * self.members.medians(size)
        floor, slope = _lines(self.number, centre, spread)
        through_zero = self.number.medians(spread / np.maximum(centre, 1e-12))
        below = floor < 0
        floor, slope = np.where(below, 0.0, floor), np.where(below, through_zero, slope)
        # A slope that is not above zero, below, is one that was not seen.
        even = (self.number.counts < 3) | ~(slope > 0)
        least = np.maximum(_LEAST_PART * overall, tiny)
        return Scatter(
            np.where(even, np.maximum(overall, tiny), np.maximum(floor, least)),
            np.where(even, 0.0, slope),
        )


def _middle(groups: Segments, ordered: FloatVector) -> FloatVector:
    """About the median of values that are in order or nearly so."""
    return ordered[np.minimum(groups.starts + groups.counts // 2, len(ordered) - 1)]


def _lines(number: Segments, x: FloatVector, y: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Level and slope by least squares in each group; no slope where all x are the same."""
    mean_x, mean_y = number.means(x), number.means(y)
    off = x - number.spread(mean_x)
    around = number.sums(off * off)
    known = around > 1e-24 * mean_x**2
    slope = np.where(known, number.sums(off * y) / np.where(known, around, 1.0), 0.0)
    return mean_y - slope * mean_x, slope


def bisquare(u: FloatVector) -> FloatVector:
    """Weight of a residual in units of its scatter."""
    return np.maximum(1 - (u / BISQUARE) ** 2, 0.0) ** 2


def bisquare_slope(u: FloatVector) -> FloatVector:
    """Derivative of the score, which says how much information a residual carries."""
    t = (u / BISQUARE) ** 2
    return np.maximum(1 - t, 0.0) * (1 - 5 * t)
