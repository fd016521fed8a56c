"""The robust line of one group, written plainly: what fits in bulk are held against.

Loops over groups, sorts and solves with numpy's general routines, and reweights until nothing
moves. Slow, and easy to read beside the papers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.telemetry.fit.points import Points

_BISQUARE = 4.685


@dataclass(frozen=True)
class PlainLine:
    coefficients: FloatVector
    errors: FloatVector
    r_squared: float


def plain_line(points: Points) -> PlainLine:
    """Slope and level; through the origin where the level would be below zero."""
    ones = np.ones(len(points))
    line = _fit(np.column_stack([points.rate, ones]), points)
    if line.coefficients[1] >= 0:
        return line
    through = _fit(points.rate[:, None], points)
    e, error = through.coefficients[0], max(through.errors[0], line.errors[0])
    return PlainLine(np.array([e, 0.0]), np.array([error, line.errors[1]]), through.r_squared)


def _fit(basis: FloatMatrix, points: Points) -> PlainLine:
    theta = _median_line(points.rate, points.cpu)[: basis.shape[1]]
    scatter = (0.0, 0.0)
    for turn in range(400):
        level = basis @ theta
        residual = points.cpu - level
        if turn < 8:
            scatter = _scatter(level, residual)
        sigma = _sigma(scatter, level)
        u = residual / sigma
        weights = _weight(u) / sigma**2
        moments = _moments(basis, weights, _slope(u) / sigma**2 * points.rate_variance)
        updated = np.linalg.pinv(moments) @ (basis.T @ (weights * points.cpu))
        settled = turn >= 8 and np.allclose(updated, theta, rtol=1e-11, atol=1e-13)
        theta = updated
        if settled:
            break
    return _with_errors(basis, points, theta, scatter)


def _with_errors(
    basis: FloatMatrix, points: Points, theta: FloatVector, scatter: tuple[float, float]
) -> PlainLine:
    residual = points.cpu - basis @ theta
    sigma = _sigma(scatter, basis @ theta)
    u = residual / sigma
    weights, slope = _weight(u) / sigma**2, _slope(u) / sigma**2
    scores = (weights * residual)[:, None] * basis
    scores[:, 0] += slope * theta[0] * points.rate_variance
    bread = np.linalg.pinv(_moments(basis, slope, slope * points.rate_variance))
    meat, number, freedom = _meat(scores, points, u)
    variance = np.diag(bread @ meat @ bread.T)
    factor = np.sqrt(number / freedom) * stats.t.ppf(0.975, freedom) / stats.norm.ppf(0.975)
    mean = np.average(points.cpu, weights=weights)
    explained = 1 - (weights @ residual**2) / (weights @ (points.cpu - mean) ** 2)
    return PlainLine(theta, np.sqrt(variance) * factor, float(max(explained, 0.0)))


def _meat(scores: FloatMatrix, points: Points, u: FloatVector) -> tuple[FloatMatrix, int, int]:
    """Over clusters, or over single windows that resemble each other; how many, freedom."""
    labels = np.unique(points.cluster)
    if len(labels) >= 12:
        sums = np.array([scores[points.cluster == label].sum(axis=0) for label in labels])
        return sums.T @ sums, len(labels), len(labels) - 1
    correlation = _serial_correlation(u, points)
    widened = (1 + correlation) / (1 - correlation)
    number = len(points)
    return widened * (scores.T @ scores), number, number - scores.shape[1]


def _serial_correlation(u: FloatVector, points: Points) -> float:
    order = np.lexsort((points.time_ms, points.task))
    clipped = np.clip(u[order], -_BISQUARE, _BISQUARE)
    neighbours = points.task[order][1:] == points.task[order][:-1]
    if neighbours.sum() < 20:
        return 0.0
    value = np.mean((clipped[:-1] * clipped[1:])[neighbours]) / np.mean(clipped**2)
    return min(float(value), 0.9) if value > 2 / np.sqrt(neighbours.sum()) else 0.0


def _median_line(x: FloatVector, y: FloatVector) -> FloatVector:
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    half = len(x) // 2
    reach = x[half : 2 * half] - x[:half]
    steep = (y[half : 2 * half] - y[:half])[reach > 0] / reach[reach > 0]
    slope = float(np.median(steep))
    return np.array([slope, float(np.median(y - slope * x))])


def _scatter(level: FloatVector, residual: FloatVector) -> tuple[float, float]:
    size = np.abs(residual)
    overall = 1.4826 * float(np.median(size))
    number = max(min(8, len(level) // 25), min(3, len(level) // 12), 1)
    slices = np.array_split(np.argsort(level, kind="stable"), number)
    if number < 3:
        return overall, 0.0
    centre = np.array([np.mean(np.abs(level[s])) for s in slices])
    spread = np.array([1.4826 * np.median(size[s]) for s in slices])
    slope, floor = np.polyfit(centre, spread, 1)
    if slope <= 0:
        return overall, 0.0
    if floor < 0:
        floor, slope = 0.0, float(np.median(spread / centre))
    return max(float(floor), 0.05 * overall), float(slope)


def _sigma(scatter: tuple[float, float], level: FloatVector) -> FloatVector:
    return np.asarray(scatter[0] + scatter[1] * np.abs(level))


def _weight(u: FloatVector) -> FloatVector:
    return np.where(np.abs(u) < _BISQUARE, (1 - (u / _BISQUARE) ** 2) ** 2, 0.0)


def _slope(u: FloatVector) -> FloatVector:
    t = (u / _BISQUARE) ** 2
    return np.where(t < 1, (1 - t) * (1 - 5 * t), 0.0)


def _moments(basis: FloatMatrix, weights: FloatVector, error: FloatVector) -> FloatMatrix:
    moments = np.asarray(basis.T @ (weights[:, None] * basis))
    moments[0, 0] -= error.sum()
    return moments
