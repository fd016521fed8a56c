"""The equations of a robust fit at given coefficients, and small linear systems solved in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.telemetry.fit.points import GroupedPoints
from penstock.telemetry.fit.scatter import Scatter, bisquare, bisquare_slope

#: Of a determinant against the product of the diagonal.
_SINGULAR = 1e-13

#: Columns of a basis, each with a value per point; the first is the rate.
Basis = Sequence[FloatVector]
#: A matrix per group, shape (groups, k, k).
Matrices = FloatMatrix


def levels(basis: Basis, coefficients: FloatMatrix, data: GroupedPoints) -> FloatVector:
    """CPU of every point by the fit of its group."""
    level = data.groups.spread(coefficients[:, 0]) * basis[0]
    for k in range(1, len(basis)):
        level += data.groups.spread(coefficients[:, k]) * basis[k]
    return level


@dataclass(frozen=True)
class ScoreEquations:
    """What the points of each group say against its coefficients."""

    basis: Basis
    data: GroupedPoints
    coefficients: FloatMatrix
    level: FloatVector
    scatter: Scatter

    @cached_property
    def residual(self) -> FloatVector:
        return self.data.points.cpu - self.level

    @cached_property
    def u(self) -> FloatVector:
        """Residuals in units of their scatter."""
        return self.residual / self._sigma

    @cached_property
    def _sigma(self) -> FloatVector:
        return self.scatter.at(self.level, self.data.groups)

    @cached_property
    def weights(self) -> FloatVector:
        return bisquare(self.u) / self._sigma**2

    @cached_property
    def _slope(self) -> FloatVector:
        return bisquare_slope(self.u) / self._sigma**2

    @cached_property
    def _rate_error(self) -> FloatVector:
        return self._slope * self.data.points.rate_variance

    def scores(self) -> list[FloatVector]:
        """Of every point and coefficient, corrected for the error of the rate."""
        pull = self.weights * self.residual
        scores = [pull * column for column in self.basis]
        scores[0] += self.data.groups.spread(self.coefficients[:, 0]) * self._rate_error
        return scores

    def information(self) -> Matrices:
        """How the scores of a group change with its coefficients."""
        return self._moments(self._slope)

    def reweighted_step(self, gradient: FloatMatrix) -> FloatMatrix:
        """To the solution that the weights of this round suggest."""
        return solved(self._moments(self.weights), gradient)

    def _moments(self, weights: FloatVector) -> Matrices:
        """Weighted second moments with the part that is only error in the rate taken out.

        An error d of the rate is in the residual too, so the score r(d) * d has the mean
        -e * var(d) * E[r'] (Stein's lemma): what is taken out has the weight of the score's slope.
        """
        size, groups = len(self.basis), self.data.groups
        moments = np.empty((len(groups), size, size))
        for a in range(size):
            weighted = weights * self.basis[a]
            for b in range(a, size):
                moments[:, a, b] = moments[:, b, a] = groups.sums(weighted * self.basis[b])
        moments[:, 0, 0] -= groups.sums(self._rate_error)
        return moments

    def gradient(self) -> FloatMatrix:
        return np.column_stack([self.data.groups.sums(score) for score in self.scores()])

    def r_squared(self) -> FloatVector:
        """Part of the weighted spread that the fit explains."""
        groups, cpu, weights = self.data.groups, self.data.points.cpu, self.weights
        total = groups.sums(weights)
        mean = groups.sums(weights * cpu) / np.where(total > 0, total, 1.0)
        around = groups.sums(weights * (cpu - groups.spread(mean)) ** 2)
        left = groups.sums(weights * self.residual**2)
        explained = np.where(around > 0, 1 - left / np.where(around > 0, around, 1.0), 0.0)
        return np.maximum(explained, 0.0)


def solved(matrices: Matrices, right: FloatMatrix) -> FloatMatrix:
    """Solutions of all systems; of least norm where one has many."""
    return np.asarray(np.einsum("gab,gb->ga", inverse(matrices), right))


def inverse(matrices: Matrices) -> Matrices:
    """Of matrices up to three by three in closed form; pseudo-inverses where there is none."""
    size = matrices.shape[1]
    adjugate = np.empty_like(matrices)
    if size == 1:
        adjugate[:] = 1.0
    elif size == 2:
        adjugate[:, 0, 0], adjugate[:, 1, 1] = matrices[:, 1, 1], matrices[:, 0, 0]
        adjugate[:, 0, 1], adjugate[:, 1, 0] = -matrices[:, 0, 1], -matrices[:, 1, 0]
    else:
        for k in range(3):
            adjugate[:, :, k] = np.cross(matrices[:, (k + 1) % 3], matrices[:, (k + 2) % 3])
    determinant = np.einsum("ga,ga->g", matrices[:, 0], adjugate[:, :, 0])
    diagonal = np.abs(np.einsum("gaa->ga", matrices)).prod(axis=1)
    sound = np.abs(determinant) > _SINGULAR * diagonal
    inverses = adjugate / np.where(sound, determinant, 1.0)[:, None, None]
    if not sound.all():
        inverses[~sound] = np.linalg.pinv(matrices[~sound])
    return np.asarray(inverses)
