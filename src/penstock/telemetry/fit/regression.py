"""Robust straight lines through CPU against rate, with honest error bars, for all groups at once.

Nasiri eq. 5, ``cpu = e * rate + met``, on measurements as they come: some readings are wild (a
pause of the garbage collector, a lost counter), the scatter grows with the load, the rate itself is
only sampled (Storm counts one tuple in twenty), and neighbouring windows resemble each other.

- Outliers: Tukey's bisquare weights from a median-of-slopes start: far readings count nothing.
- Scatter: proportional to a + b * level, estimated from medians of the residuals.
- Sampled rates: a corrected score, as errors in x otherwise flatten the slope.
- Error bars: a sandwich over clusters (``sandwich``).

Every round solves the normal equations of all groups from sums over flat arrays. Once the scatter
is settled, rounds are Newton's: three or four where reweighting takes ten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector
from penstock.telemetry.fit.equations import (
    Basis,
    Matrices,
    ScoreEquations,
    inverse,
    levels,
    solved,
)
from penstock.telemetry.fit.points import GroupedPoints
from penstock.telemetry.fit.sandwich import standard_errors
from penstock.telemetry.fit.scatter import Scatter, Slices
from penstock.telemetry.fit.segments import Segments

_ROUNDS = 60
#: The scatter is estimated anew in the first rounds, then held, so that the rounds settle.
_SCATTER_ROUNDS = 8
_FEW_SCATTER_ROUNDS = 3


@dataclass(frozen=True)
class GroupFits:
    """The fit of every group; coefficients of a basis, the first of which belongs to the rate."""

    #: Shape (groups, k).
    coefficients: FloatMatrix
    #: Standard errors such that ±1.96 of them is a 95 % interval, small samples included.
    errors: FloatMatrix
    scatter: Scatter
    #: Shape (groups,).
    r_squared: FloatVector
    #: Shape (points,).
    weights: FloatVector
    residuals: FloatVector

    def only(self, chosen: BoolVector, groups: Segments) -> GroupFits:
        """Of the chosen groups."""
        points = groups.spread(chosen)
        return GroupFits(
            self.coefficients[chosen],
            self.errors[chosen],
            Scatter(self.scatter.floor[chosen], self.scatter.slope[chosen]),
            self.r_squared[chosen],
            self.weights[points],
            self.residuals[points],
        )


def fit_lines(data: GroupedPoints) -> GroupFits:
    """eq. 5: slope e and level met, both never negative."""
    rate = data.points.rate
    lines = fit([rate, np.ones(len(rate))], data)
    below = lines.coefficients[:, 1] < 0
    if not below.any():
        return lines
    # MET below zero is noise: through the origin then, with the error bar of the free fit on it.
    part = data.only(below)
    through = fit([part.points.rate], part)
    slope = np.column_stack([through.coefficients[:, 0], np.zeros(len(part))])
    errors = lines.errors[below]
    errors[:, 0] = np.maximum(errors[:, 0], through.errors[:, 0])
    return _merged(lines, replace(through, coefficients=slope, errors=errors), below, data.groups)


def _merged(fits: GroupFits, part: GroupFits, chosen: BoolVector, groups: Segments) -> GroupFits:
    points = groups.spread(chosen)

    def placed(all_values: FloatVector, values: FloatVector, where: BoolVector) -> FloatVector:
        merged = all_values.copy()
        merged[where] = values
        return merged

    return GroupFits(
        placed(fits.coefficients, part.coefficients, chosen),
        placed(fits.errors, part.errors, chosen),
        Scatter(
            placed(fits.scatter.floor, part.scatter.floor, chosen),
            placed(fits.scatter.slope, part.scatter.slope, chosen),
        ),
        placed(fits.r_squared, part.r_squared, chosen),
        placed(fits.weights, part.weights, points),
        placed(fits.residuals, part.residuals, points),
    )


def fit(
    basis: Basis, data: GroupedPoints, *, by_rate: bool = True, start: FloatMatrix | None = None
) -> GroupFits:
    """Robust weighted fit of ``cpu`` to a basis.

    ``by_rate`` says that the level rises with the rate, so that points need not be sorted anew to
    read off the scatter. ``start`` are coefficients that are nearly right.
    """
    rounds = _SCATTER_ROUNDS
    if start is None:
        start = np.zeros((len(data), len(basis)))
        start[:, :2] = median_lines(data)[:, : len(basis)]
    else:
        rounds = _FEW_SCATTER_ROUNDS
    theta, scatter = _scattered(basis, data, start, rounds, by_rate)
    at = _settled(basis, data, theta, scatter)
    errors = standard_errors(inverse(at.information()), at.scores(), data, at.u)
    return GroupFits(at.coefficients, errors, scatter, at.r_squared(), at.weights, at.residual)


def _scattered(
    basis: Basis, data: GroupedPoints, theta: FloatMatrix, rounds: int, by_rate: bool
) -> tuple[FloatMatrix, Scatter]:
    """Coefficients and scatter that go together, after rounds of reweighting."""
    slices = Slices.of(data.groups)
    scatter = Scatter(np.zeros(len(data)), np.zeros(len(data)))
    for _ in range(rounds):
        level = levels(basis, theta, data)
        residual = data.points.cpu - level
        if by_rate:
            scatter = slices.scatter(level, residual)
        else:
            order = data.groups.order(level)
            scatter = slices.scatter(level[order], residual[order])
        at = ScoreEquations(basis, data, theta, level, scatter)
        theta = theta + at.reweighted_step(at.gradient())
    return theta, scatter


def _settled(
    basis: Basis, data: GroupedPoints, theta: FloatMatrix, scatter: Scatter
) -> ScoreEquations:
    """The equations at their solution, the scatter held."""
    settled = np.zeros(len(data), dtype=bool)
    for _ in range(_ROUNDS):
        at = ScoreEquations(basis, data, theta, levels(basis, theta, data), scatter)
        gradient = at.gradient()
        step = _safe(at.information(), gradient, at.reweighted_step(gradient))
        step[settled] = 0.0
        theta = theta + step
        settled |= np.all(np.abs(step) <= 1e-12 + 1e-9 * np.abs(theta), axis=1)
        if settled.all():
            break
    return ScoreEquations(basis, data, theta, levels(basis, theta, data), scatter)


def _safe(information: Matrices, gradient: FloatMatrix, reweighted: FloatMatrix) -> FloatMatrix:
    """Newton's step where it gains about what the step of reweighting gains, which is safe."""
    newton = solved(information, gradient)
    gain, sure_gain = np.sum(gradient * newton, axis=1), np.sum(gradient * reweighted, axis=1)
    convex = np.ones(len(gradient), dtype=bool)
    for k in range(1, gradient.shape[1] + 1):
        convex &= np.linalg.det(information[:, :k, :k]) > 0
    alike = convex & (gain > 0) & (gain <= 4 * sure_gain)
    return np.where(alike[:, None], newton, reweighted)


def median_lines(data: GroupedPoints) -> FloatMatrix:
    """Slope and level by medians, untroubled by a quarter of wild readings."""
    groups, x, y = data.groups, data.points.rate, data.points.cpu
    # Each reading of the lower half with its partner in the upper half: long arms, few pairs.
    halves = Segments(groups.counts // 2)
    lower = halves.spread(groups.starts) + halves.rank
    upper = lower + halves.spread(halves.counts)
    reach = x[upper] - x[lower]
    usable = reach > 0
    slopes = (y[upper] - y[lower])[usable] / reach[usable]
    slope = np.nan_to_num(halves.where(usable).medians(slopes))
    level = groups.medians(y - groups.spread(slope) * x)
    return np.column_stack([slope, level])
