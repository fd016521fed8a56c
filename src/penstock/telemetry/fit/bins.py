"""Robust sums of points in bins of the rate: what a form is tried on.

A form has to be fitted for every shape it may have, in every fold of a cross-validation: hundreds
of times. A bin stands for its points by their weighted means, wild readings left out, so that each
of these fits is one weighted least-squares solution over a hundred bins or so. Bins never mix
numbers of executors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.telemetry.fit.points import GroupedPoints
from penstock.telemetry.fit.regression import median_lines
from penstock.telemetry.fit.scatter import Slices, bisquare
from penstock.telemetry.fit.segments import Segments

_FEWEST_BINS = 12
_MOST_BINS = 120
_BIN_POINTS = 8


@dataclass(frozen=True)
class BinnedPoints:
    """Weighted means of bins."""

    #: Bins of each group.
    groups: Segments
    rate: FloatVector
    cpu: FloatVector
    instances: FloatVector
    #: Inverse variance of ``cpu``.
    weight: FloatVector
    #: Weighted variance of the error of ``rate``, added up.
    rate_error: FloatVector
    #: The highest CPU of each group that is not wild.
    highest: FloatVector


def binned(data: GroupedPoints) -> BinnedPoints:
    """Bins of about as many points each, by number of executors and rate."""
    groups, points = data.groups, data.points
    order = groups.order(points.instances, points.rate)
    bins, bins_of_group = _bins(groups, points.instances[order])
    slope = groups.spread(median_lines(data)[:, 0])
    trend = slope * points.rate
    off, level = np.empty(len(points)), np.empty(len(points))
    # The middle of a bin is that of what the local trend leaves.
    rest = (points.cpu - trend)[order]
    middle = bins.spread(bins.medians(rest))
    off[order], level[order] = rest - middle, middle + trend[order]
    sigma = Slices.of(groups).scatter(level, off).at(level, groups)
    weight = bisquare(off / sigma) / sigma**2
    total = np.maximum(bins.sums(weight[order]), 1e-300)

    def mean(values: FloatVector) -> FloatVector:
        return bins.sums((weight * values)[order]) / total

    return BinnedPoints(
        bins_of_group,
        rate=mean(points.rate),
        cpu=mean(points.cpu),
        instances=mean(points.instances),
        weight=total,
        rate_error=bins.sums((weight * points.rate_variance)[order]),
        highest=groups.maxima(np.where(weight > 0, points.cpu, -np.inf)),
    )


def _bins(groups: Segments, instances: FloatVector) -> tuple[Segments, Segments]:
    """Points of each bin and bins of each group, for points sorted by number of executors."""
    first = groups.rank == 0
    first[1:] |= instances[1:] != instances[:-1]
    start = np.flatnonzero(first)
    owner = groups.owner[start]
    levels = Segments(np.diff(start, append=len(instances)))
    wanted = np.clip(groups.counts // _BIN_POINTS, _FEWEST_BINS, _MOST_BINS)
    share = levels.counts / groups.counts[owner]
    parts = np.clip(np.round(share * wanted[owner]).astype(np.int64), 1, levels.counts)
    number = np.bincount(owner, parts, len(groups)).astype(np.int64)
    return levels.split(parts), Segments(number)
