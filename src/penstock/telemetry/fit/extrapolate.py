"""Costs on machine types where a component was never measured, from the rest of the table.

A machine type that runs other components twice as fast will run this one about twice as fast: in
logarithms, ``log e[i, j] = work_i + speed_j``. Work and speed are fitted to what was measured, each
entry weighing as much as it is sure. What the sum does not explain (a type that likes one kind of
work more than another) is the *interaction*; its spread widens the error bars of every estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.model.speed import ASSUMED_INTERACTION

#: Entries more than needed for the fit, from which the interaction can be seen.
_FEWEST_SPARE = 3
#: The interaction assumed goes on counting as much as this many spare entries.
_DOUBT = 0.25


@dataclass(frozen=True)
class Estimate:
    """A cost that was not measured."""

    value: float
    error: float


def estimate_missing(
    known: Mapping[tuple[str, str], tuple[float, float]],
    targets: Sequence[tuple[str, str]],
) -> dict[tuple[str, str], Estimate]:
    """Estimates of positive figures by (row, machine type), from ``known`` value and error.

    A pair whose row and type are not linked by any chain of measurements gets none.
    """
    positive = {key: pair for key, pair in known.items() if pair[0] > 0}
    estimates: dict[tuple[str, str], Estimate] = {}
    for rows, types in _islands(positive):
        here = {k: p for k, p in positive.items() if k[0] in rows}
        reachable = [k for k in targets if k[0] in rows and k[1] in types and k not in known]
        if reachable:
            estimates |= _estimate_island(here, reachable)
    return estimates


def _islands(known: Mapping[tuple[str, str], object]) -> list[tuple[set[str], set[str]]]:
    """Rows and types that chains of measurements hold together."""
    islands: list[tuple[set[str], set[str]]] = []
    for row, kind in sorted(known):
        touching = [i for i in islands if row in i[0] or kind in i[1]]
        merged = ({row}.union(*(i[0] for i in touching)), {kind}.union(*(i[1] for i in touching)))
        islands = [i for i in islands if i not in touching] + [merged]
    return islands


def _estimate_island(
    known: Mapping[tuple[str, str], tuple[float, float]], targets: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Estimate]:
    keys = sorted(known)
    rows, types = sorted({k[0] for k in keys}), sorted({k[1] for k in keys})

    def design(pairs: Sequence[tuple[str, str]]) -> FloatMatrix:
        matrix = np.zeros((len(pairs), len(rows) + len(types) - 1))
        for line, (row, kind) in enumerate(pairs):
            matrix[line, rows.index(row)] = 1.0
            # The first type is the measure of speed for the others.
            if kind != types[0]:
                matrix[line, len(rows) + types.index(kind) - 1] = 1.0
        return matrix

    logs = np.log([known[k][0] for k in keys])
    errors = np.array([known[k][1] / known[k][0] for k in keys])
    basis = design(keys)
    interaction = _interaction(basis, logs, errors)
    weights = 1.0 / (errors**2 + interaction**2 + 1e-12)
    covariance = np.linalg.pinv(basis.T @ (weights[:, None] * basis))
    theta = covariance @ (basis.T @ (weights * logs))
    rows_at = design(targets)
    spread = np.sqrt(np.einsum("ij,jk,ik->i", rows_at, covariance, rows_at) + interaction**2)
    values = np.exp(rows_at @ theta)
    return {
        key: Estimate(float(value), float(value * np.expm1(s)))
        for key, value, s in zip(targets, values, spread, strict=True)
    }


def _interaction(basis: FloatMatrix, logs: FloatVector, errors: FloatVector) -> float:
    """Spread of what work and speed leave unexplained, beyond the errors of measurement."""
    spare = len(logs) - np.linalg.matrix_rank(basis)
    if spare < _FEWEST_SPARE:
        return ASSUMED_INTERACTION
    theta, *_ = np.linalg.lstsq(basis, logs, rcond=None)
    residual = logs - basis @ theta
    # Method of moments; few spare entries know their spread badly, hence the wider half.
    variance = float(residual @ residual) / spare - float(np.mean(errors**2))
    widened = max(variance, 0.0) * (1 + 2 / spare)
    # A few entries that agree by chance do not prove that there is none.
    doubt = _DOUBT * ASSUMED_INTERACTION**2
    return float(np.sqrt((spare * widened + doubt) / (spare + _DOUBT)))
