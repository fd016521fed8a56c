"""Fits one formula to many groups of measurements that are alike but not the same.

Each parameter of the formula is a sum of parts: one for all, one per machine type, per application
plan, per pair of both. Parts below the first are drawn to zero, and how strongly is learnt from the
rows at hand (empirical Bayes: MacKay, Neural Computation 4, 1992), so that a group with twenty rows
has its own parameters and one with two borrows them. Targets are logarithms, so errors are
relative; residuals are weighted as if drawn from Student's t, so that collapsed runs do not pull.
Nothing is random and the number of steps is fixed. One step costs rows · columns².
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from penstock.model.arrays import FloatMatrix, FloatVector, IntVector

#: Logarithm of the prediction for every row, given each parameter's value in every row.
Formula = Callable[[Mapping[str, FloatVector]], FloatVector]
TextVector = npt.NDArray[np.str_]
#: Level name -> the label of every row there. ``all`` is always known.
Labels = Mapping[str, TextVector]

_STEPS = 15
#: Before this step the spreads stay as given: parts must move before they can be judged.
_FIRST_LEARNING_STEP = 4
_LEAST_SPREAD = 0.02
_LEAST_NOISE = 0.02
_FIRST_NOISE = 0.08
_DIFFERENCE = 1e-5
_HALVINGS = 8


@dataclass(frozen=True)
class Term:
    """A parameter, where it starts, how far it may be off, and at which levels it may differ."""

    name: str
    start: float
    spread: float
    levels: tuple[str, ...]


@dataclass(frozen=True)
class SharedFit:
    """What was learnt. Columns are the parts: one per term, level and label."""

    terms: tuple[Term, ...]
    #: (term, level) -> label -> column.
    columns: Mapping[tuple[str, str], Mapping[str, int]]
    parts: FloatVector
    #: Learnt (or given) standard deviation of each part.
    spreads: FloatVector
    #: Residual standard deviation of the logarithms.
    noise: float
    residuals: FloatVector
    #: Slopes of the logarithm in the parts, shape (rows, parts), and each row's inverse variance.
    jacobian: FloatMatrix
    weights: FloatVector

    def parameters(self, labels: Labels, rows: int) -> dict[str, FloatVector]:
        """Every parameter in every row; a label never seen adds nothing."""
        index = _index(self.terms, self.columns, labels, rows)
        return _values(self.terms, index, self.parts)

    def moved(self, parts: FloatVector) -> SharedFit:
        """The same fit with other parts."""
        return replace(self, parts=parts)

    def precision(self, rest: FloatMatrix | float = 0.0) -> FloatMatrix:
        """Inverse covariance of the targets: the parts', that of ``rest``, and noise."""
        own = (self.jacobian * self.spreads**2) @ self.jacobian.T
        return np.asarray(np.linalg.inv(own + rest + np.diag(1.0 / self.weights)), np.float64)

    @property
    def linear_target(self) -> FloatVector:
        """What the parts would have to add up to if the formula were linear in them."""
        return np.asarray(self.residuals + self.jacobian @ self.parts)


def left_out_residuals(
    precision: FloatMatrix, target: FloatVector, groups: TextVector
) -> FloatVector:
    """Residuals had each group been left out and all been fitted again, to first order."""
    pull = precision @ target
    residuals = np.empty_like(target)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        # Cross-validation without refitting (Dubrule, Mathematical Geology 15, 1983).
        residuals[rows] = np.linalg.solve(precision[np.ix_(rows, rows)], pull[rows])
    return residuals


def pairs(one: TextVector, other: TextVector) -> TextVector:
    """Labels that say both."""
    return np.array([f"{a}|{b}" for a, b in zip(one, other, strict=True)], dtype=np.str_)


def fit_shared(
    terms: Sequence[Term],
    labels: Labels,
    formula: Formula,
    log_target: FloatVector,
    *,
    freedom: float = 4.0,
) -> SharedFit:
    """Gauss-Newton with the spreads learnt on the way; ``freedom`` is that of Student's t."""
    rows = len(log_target)
    columns = _columns(terms, labels, rows)
    index = _index(terms, columns, labels, rows)
    spreads = _first_spreads(terms, columns)
    parts = np.zeros(len(spreads))
    noise = _FIRST_NOISE
    jacobian = np.zeros((rows, len(parts)))
    weights = np.ones(rows)

    def residuals_at(at: FloatVector) -> FloatVector:
        return log_target - formula(_values(terms, index, at))

    residuals = residuals_at(parts)

    for step in range(_STEPS):
        jacobian = _jacobian(terms, index, formula, parts)
        weights = (freedom + 1.0) / (freedom + (residuals / noise) ** 2) / noise**2
        precision = (jacobian.T * weights) @ jacobian + np.diag(spreads**-2.0)
        covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        gradient = jacobian.T @ (weights * residuals) - parts / spreads**2
        reach = jacobian @ covariance
        parts = _descend(residuals_at, weights, spreads, parts, covariance @ gradient)
        residuals = residuals_at(parts)
        noise = _noise(residuals, weights * noise**2, np.sum(reach * jacobian, axis=1))
        if step >= _FIRST_LEARNING_STEP:
            spreads = _learn_spreads(terms, columns, parts, covariance, spreads)
    return SharedFit(tuple(terms), columns, parts, spreads, noise, residuals, jacobian, weights)


def _columns(
    terms: Sequence[Term], labels: Labels, rows: int
) -> dict[tuple[str, str], dict[str, int]]:
    columns: dict[tuple[str, str], dict[str, int]] = {}
    count = 0
    for term in terms:
        for level in term.levels:
            labels_present = sorted(set(_at(labels, level, rows)))
            columns[term.name, level] = {label: count + i for i, label in enumerate(labels_present)}
            count += len(labels_present)
    return columns


def _at(labels: Labels, level: str, rows: int) -> list[str]:
    return [""] * rows if level == "all" else labels[level].tolist()


def _index(
    terms: Sequence[Term],
    columns: Mapping[tuple[str, str], Mapping[str, int]],
    labels: Labels,
    rows: int,
) -> dict[str, list[IntVector]]:
    """By term, the column of every row at every level; -1 where the label was never seen."""
    return {
        term.name: [
            np.array(
                [columns[term.name, level].get(label, -1) for label in _at(labels, level, rows)],
                dtype=np.int64,
            )
            for level in term.levels
        ]
        for term in terms
    }


def _values(
    terms: Sequence[Term], index: Mapping[str, list[IntVector]], parts: FloatVector
) -> dict[str, FloatVector]:
    padded = np.append(parts, 0.0)  # column -1: never seen
    return {
        term.name: term.start + np.sum([padded[column] for column in index[term.name]], axis=0)
        for term in terms
    }


def _jacobian(
    terms: Sequence[Term],
    index: Mapping[str, list[IntVector]],
    formula: Formula,
    parts: FloatVector,
) -> FloatMatrix:
    """By differences: a row depends on its own parameters only, so one per term will do."""
    values = _values(terms, index, parts)
    now = formula(values)
    rows = np.arange(len(now))
    jacobian = np.zeros((len(now), len(parts)))
    for term in terms:
        moved = {**values, term.name: values[term.name] + _DIFFERENCE}
        slope = (formula(moved) - now) / _DIFFERENCE
        for column in index[term.name]:
            jacobian[rows, column] = slope
    return jacobian


def _first_spreads(
    terms: Sequence[Term], columns: Mapping[tuple[str, str], Mapping[str, int]]
) -> FloatVector:
    spreads: list[float] = []
    for term in terms:
        for depth, level in enumerate(term.levels):
            spread = term.spread if depth == 0 else 0.3 * term.spread
            spreads += [spread] * len(columns[term.name, level])
    return np.array(spreads)


def _descend(
    residuals_at: Callable[[FloatVector], FloatVector],
    weights: FloatVector,
    spreads: FloatVector,
    parts: FloatVector,
    step: FloatVector,
) -> FloatVector:
    """The longest of step, step/2, step/4, … that does not make it worse."""

    def cost(at: FloatVector) -> float:
        return float(np.sum(weights * residuals_at(at) ** 2) + np.sum((at / spreads) ** 2))

    before = cost(parts)
    length = 1.0
    for _ in range(_HALVINGS):
        if cost(parts + length * step) <= before + 1e-9:
            break
        length /= 2.0
    return np.asarray(parts + length * step)


def _noise(residuals: FloatVector, weights: FloatVector, unknown: FloatVector) -> float:
    """Expected squared residual: the one at hand, and what not knowing the parts adds."""
    return max(float(np.sqrt(np.mean(weights * (residuals**2 + unknown)))), _LEAST_NOISE)


def _learn_spreads(
    terms: Sequence[Term],
    columns: Mapping[tuple[str, str], Mapping[str, int]],
    parts: FloatVector,
    covariance: FloatMatrix,
    spreads: FloatVector,
) -> FloatVector:
    """The spread that makes the parts of a level as likely as can be (one step of EM)."""
    learnt = spreads.copy()
    variance = np.diag(covariance)
    for term in terms:
        for level in term.levels[1:]:
            own = list(columns[term.name, level].values())
            learnt[own] = max(
                float(np.sqrt(np.mean(parts[own] ** 2 + variance[own]))), _LEAST_SPREAD
            )
    return learnt
