"""Standard errors by the sandwich, over clusters of points that may depend on each other.

A cluster is a task in a stretch of time, so that dependence between neighbouring windows and
between tasks widens the errors. Where a group has too few clusters, single windows stand for them,
widened by the serial correlation seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.telemetry.fit.points import GroupedPoints
from penstock.telemetry.fit.scatter import BISQUARE
from penstock.telemetry.fit.segments import Segments

_FEWEST_CLUSTERS = 12
_FEWEST_NEIGHBOURS = 20
_NORMAL_95 = 1.959964


def standard_errors(
    bread: FloatMatrix, scores: Sequence[FloatVector], data: GroupedPoints, u: FloatVector
) -> FloatMatrix:
    """From the inverse information of each group and the scores of its points; (groups, k)."""
    meat = _meat(scores, data, u)
    variance = np.einsum("gab,gbc,gac->ga", bread, meat, bread)
    factor = small_sample_factors(data.groups.counts, len(scores), data.clusters.counts)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)) * factor[:, None])


def _meat(scores: Sequence[FloatVector], data: GroupedPoints, u: FloatVector) -> FloatMatrix:
    number = int(data.clusters.counts.sum())
    by_cluster = [np.asarray(np.bincount(data.cluster, s, number), np.float64) for s in scores]
    meat = _products(by_cluster, data.clusters)
    few = data.clusters.counts < _FEWEST_CLUSTERS
    if few.any():
        part, points = data.only(few), data.groups.spread(few)
        correlation = serial_correlations(u[points], part)
        widened = (1 + correlation) / (1 - correlation)
        own = _products([s[points] for s in scores], part.groups)
        meat[few] = widened[:, None, None] * own
    return meat


def _products(scores: Sequence[FloatVector], groups: Segments) -> FloatMatrix:
    size = len(scores)
    products = np.empty((len(groups), size, size))
    for a in range(size):
        for b in range(a, size):
            products[:, a, b] = products[:, b, a] = groups.sums(scores[a] * scores[b])
    return products


def serial_correlations(u: FloatVector, data: GroupedPoints) -> FloatVector:
    """Correlation of neighbouring windows of a task; 0 unless it stands out from chance."""
    owner = data.groups.owner
    order = data.groups.order(data.points.task, data.points.time_ms)
    clipped, task = np.clip(u[order], -BISQUARE, BISQUARE), data.points.task[order]
    neighbours = (task[1:] == task[:-1]) & (owner[1:] == owner[:-1])
    number = np.bincount(owner[1:][neighbours], minlength=len(data))
    products = (clipped[1:] * clipped[:-1])[neighbours]
    together = np.bincount(owner[1:][neighbours], products, len(data)) / np.maximum(number, 1)
    power = data.groups.means(clipped**2)
    value = together / np.where(power > 0, power, np.inf)
    sure = (number >= _FEWEST_NEIGHBOURS) & (value > 2 / np.sqrt(np.maximum(number, 1)))
    return np.where(sure, np.minimum(value, 0.9), 0.0)


def small_sample_factors(samples: IntVector, parameters: int, clusters: IntVector) -> FloatVector:
    """Widens errors so that ±1.96 of them covers 95 % with few samples or clusters too."""
    clustered = clusters >= _FEWEST_CLUSTERS
    groups = np.where(clustered, clusters, samples)
    freedom = np.maximum(groups - np.where(clustered, 1, parameters), 1)
    return np.asarray(np.sqrt(groups / freedom) * special.stdtrit(freedom, 0.975) / _NORMAL_95)
