"""Robust straight lines through CPU against rate, with honest error bars.

Nasiri eq. 5, ``cpu = e * rate + met``, on measurements as they come: some readings are wild (a
pause of the garbage collector, a lost counter), the scatter grows with the load, the rate itself is
only sampled (Storm counts one tuple in twenty), and neighbouring windows resemble each other.

- Outliers: Tukey's bisquare weights from a median-of-slopes start: far readings count nothing.
- Scatter: proportional to a + b * level, estimated from medians of the residuals.
- Sampled rates: a corrected score, as errors in x otherwise flatten the slope.
- Error bars: a sandwich over clusters (a task in a stretch of time), so that dependence between
  neighbouring windows and between tasks widens them; where there are too few clusters, over single
  windows, widened by the serial correlation seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector

#: Tukey's constant: 95 % as efficient as least squares where there are no outliers.
BISQUARE = 4.685
_MAD_TO_SIGMA = 1.4826
_ROUNDS = 60
#: The scatter is estimated anew in the first rounds, then held, so that the rounds settle.
_SCATTER_ROUNDS = 8
_FEWEST_CLUSTERS = 12
_NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Points:
    """Measurements of one component on one machine type."""

    #: Tuples/s, shape (n,).
    rate: FloatVector
    #: CPU points, shape (n,).
    cpu: FloatVector
    #: Variance of the error of ``rate``, shape (n,).
    rate_variance: FloatVector
    time_ms: IntVector
    task: IntVector
    #: Measurements of one cluster may depend on each other.
    cluster: IntVector
    #: Executors of the component at that time.
    instances: FloatVector

    def __len__(self) -> int:
        return len(self.rate)

    def where(self, chosen: BoolVector | IntVector) -> Points:
        return Points(
            *(
                getattr(self, name)[chosen]
                for name in (
                    "rate",
                    "cpu",
                    "rate_variance",
                    "time_ms",
                    "task",
                    "cluster",
                    "instances",
                )
            )
        )


@dataclass(frozen=True)
class Scatter:
    """Standard deviation of a reading at a level: floor + slope * level."""

    floor: float
    slope: float

    def at(self, level: FloatVector) -> FloatVector:
        return np.maximum(self.floor + self.slope * np.abs(level), 1e-9)


@dataclass(frozen=True)
class Fitted:
    """Coefficients of a basis, the first of which belongs to the rate."""

    coefficients: FloatVector
    #: Standard errors such that ±1.96 of them is a 95 % interval, small samples included.
    errors: FloatVector
    scatter: Scatter
    r_squared: float
    weights: FloatVector
    residuals: FloatVector


def median_line(x: FloatVector, y: FloatVector) -> FloatVector:
    """Slope and level by medians, untroubled by a quarter of wild readings."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    # Each reading of the lower half with its partner in the upper half: long arms, few pairs.
    half = len(x) // 2
    reach = x[half : 2 * half] - x[:half]
    usable = reach > 0
    if not usable.any():
        return np.array([0.0, float(np.median(y))])
    slope = float(np.median((y[half : 2 * half] - y[:half])[usable] / reach[usable]))
    return np.array([slope, float(np.median(y - slope * x))])


def scatter_of(level: FloatVector, residual: FloatVector) -> Scatter:
    """How residuals spread, and how that grows with the level, from medians in slices.

    In up to eight, of 25 at least; three of twelve will do. Taken for the same everywhere, what is
    ordinary at a high level looks wild, and too little is left to tell a slope by.
    """
    size = np.abs(residual)
    overall = _MAD_TO_SIGMA * float(np.median(size))
    tiny = 1e-6 * (float(np.median(np.abs(level))) + 1e-9)
    number = max(min(8, len(level) // 25), min(3, len(level) // 12), 1)
    slices = np.array_split(np.argsort(level, kind="stable"), number)
    if number < 3:
        return Scatter(max(overall, tiny), 0.0)
    centre = np.array([float(np.mean(np.abs(level[s]))) for s in slices])
    spread = np.array([_MAD_TO_SIGMA * float(np.median(size[s])) for s in slices])
    design = np.column_stack([np.ones_like(centre), centre])
    (floor, slope), *_ = np.linalg.lstsq(design, spread, rcond=None)
    if slope <= 0:
        return Scatter(max(overall, tiny), 0.0)
    if floor < 0:
        floor, slope = 0.0, float(np.median(spread / np.maximum(centre, 1e-12)))
    # Never far below what is seen overall: a slice without spread would draw all the weight.
    return Scatter(max(float(floor), 0.05 * overall, tiny), float(slope))


def bisquare(u: FloatVector) -> FloatVector:
    """Weight of a residual in units of its scatter."""
    return np.where(np.abs(u) < BISQUARE, (1 - (u / BISQUARE) ** 2) ** 2, 0.0)


def bisquare_slope(u: FloatVector) -> FloatVector:
    """Derivative of the score, which says how much information a residual carries."""
    t = (u / BISQUARE) ** 2
    return np.where(t < 1, (1 - t) * (1 - 5 * t), 0.0)


def fit(basis: FloatMatrix, points: Points, start: FloatVector | None = None) -> Fitted:
    """Robust weighted fit of ``cpu`` to a basis whose first column is the rate."""
    y, v = points.cpu, points.rate_variance
    theta = _start(basis, points) if start is None else start
    scatter = scatter_of(basis @ theta, y - basis @ theta)
    weights = np.ones_like(y)
    for turn in range(_ROUNDS):
        level = basis @ theta
        if turn < _SCATTER_ROUNDS:
            scatter = scatter_of(level, y - level)
        sigma = scatter.at(level)
        u = (y - level) / sigma
        weights = bisquare(u) / sigma**2
        moments = _moments(basis, weights, bisquare_slope(u) / sigma**2 * v)
        updated = np.linalg.pinv(moments) @ (basis.T @ (weights * y))
        settled = np.allclose(updated, theta, rtol=1e-9, atol=1e-12)
        theta = updated
        if settled and turn >= _SCATTER_ROUNDS:
            break
    return _with_errors(basis, points, theta, scatter)


def _start(basis: FloatMatrix, points: Points) -> FloatVector:
    theta = np.zeros(basis.shape[1])
    line = median_line(points.rate, points.cpu)
    theta[: len(line)] = line[: basis.shape[1]]
    return theta


def _moments(basis: FloatMatrix, weights: FloatVector, error: FloatVector) -> FloatMatrix:
    """Weighted second moments with the part that is only error in the rate taken out.

    An error d of the rate is in the residual too, so the score r(d) * d has the mean
    -e * var(d) * E[r'] (Stein's lemma): what is taken out has the weight of the score's slope.
    """
    moments = basis.T @ (weights[:, None] * basis)
    moments[0, 0] -= float(error.sum())
    return np.asarray(moments)


def _with_errors(
    basis: FloatMatrix, points: Points, theta: FloatVector, scatter: Scatter
) -> Fitted:
    level = basis @ theta
    residual = points.cpu - level
    sigma = scatter.at(level)
    u = residual / sigma
    weights = bisquare(u) / sigma**2
    slope = bisquare_slope(u) / sigma**2
    information = _moments(basis, slope, slope * points.rate_variance)
    scores = (weights * residual)[:, None] * basis
    scores[:, 0] += slope * theta[0] * points.rate_variance
    bread = np.linalg.pinv(information)
    variance = np.diag(bread @ _meat(scores, points, u) @ bread.T)
    errors = np.sqrt(np.maximum(variance, 0.0)) * small_sample_factor(
        len(points), basis.shape[1], len(np.unique(points.cluster))
    )
    mean = float(np.average(points.cpu, weights=weights)) if weights.sum() > 0 else 0.0
    around = float(weights @ (points.cpu - mean) ** 2)
    explained = 1.0 - float(weights @ residual**2) / around if around > 0 else 0.0
    return Fitted(theta, errors, scatter, max(explained, 0.0), weights, residual)


def _meat(scores: FloatMatrix, points: Points, u: FloatVector) -> FloatMatrix:
    labels, inverse = np.unique(points.cluster, return_inverse=True)
    if len(labels) >= _FEWEST_CLUSTERS:
        sums = np.zeros((len(labels), scores.shape[1]))
        np.add.at(sums, inverse, scores)
        return np.asarray(sums.T @ sums)
    correlation = serial_correlation(u, points)
    widened = (1 + correlation) / (1 - correlation)
    return np.asarray(widened * (scores.T @ scores))


def serial_correlation(u: FloatVector, points: Points) -> float:
    """Correlation of neighbouring windows of a task; 0 unless it stands out from chance."""
    order = np.lexsort((points.time_ms, points.task))
    clipped = np.clip(u[order], -BISQUARE, BISQUARE)
    neighbours = points.task[order][1:] == points.task[order][:-1]
    if neighbours.sum() < 20:
        return 0.0
    left, right = clipped[:-1][neighbours], clipped[1:][neighbours]
    power = float(np.mean(clipped**2))
    value = float(np.mean(left * right)) / power if power > 0 else 0.0
    return min(value, 0.9) if value > 2 / np.sqrt(neighbours.sum()) else 0.0


def small_sample_factor(samples: int, parameters: int, clusters: int) -> float:
    """Widens errors so that ±1.96 of them covers 95 % with few samples or clusters too."""
    clustered = clusters >= _FEWEST_CLUSTERS
    groups = clusters if clustered else samples
    freedom = max(groups - (1 if clustered else parameters), 1)
    return float(np.sqrt(groups / freedom) * stats.t.ppf(0.975, freedom) / _NORMAL_95)


def fit_line(points: Points) -> Fitted:
    """eq. 5: slope e and level met, both never negative."""
    ones = np.ones(len(points))
    line = fit(np.column_stack([points.rate, ones]), points)
    if line.coefficients[1] >= 0:
        return line
    # MET below zero is noise: through the origin then, with the error bar of the free fit on it.
    through = fit(points.rate[:, None], points)
    return replace(
        through,
        coefficients=np.array([through.coefficients[0], 0.0]),
        errors=np.array([max(through.errors[0], line.errors[0]), line.errors[1]]),
    )
