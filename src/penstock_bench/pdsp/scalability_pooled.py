"""Saturated throughput of many application plans on several machine types, fitted together.

The Universal Scalability Law with one exponent more,
``X = λ N^(1+growth) / (1 + σ(N−1) + κN(N−1))``: a plan's shape (σ, κ, growth) is the same on all
machine types, its λ is a plan's part, a machine type's and a small one of both (``shrinkage``).
What the law leaves over is smoothed over the number of instances, most of it shared between machine
types: a dip that every type shows is the plan's. How smooth is chosen by leaving vectors out of the
training rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from penstock.errors import NotMeasuredError
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector
from penstock_bench.pdsp.shrinkage import (
    Formula,
    SharedFit,
    Term,
    TextVector,
    fit_shared,
    left_out_residuals,
    pairs,
)

_TERMS = (
    Term("rate_of_one", 11.0, 1.5, ("machine", "plan", "pair")),
    Term("contention", -2.0, 1.5, ("all", "plan")),
    Term("coherency", -8.0, 1.5, ("all", "plan")),
    Term("growth", 0.0, 0.2, ("all", "plan")),
)
_FREEDOM = 3.0
#: How much of the rest may be the plan's, the machine type's and the pair's (standard deviations
#: of the logarithm), and over which ratio of instance counts it is alike (in logarithms).
_SMOOTHINGS = tuple(product((0.0, 0.1, 0.2, 0.3), (0.0, 0.1), (0.1,), (1.0,)))


@dataclass(frozen=True)
class SaturatedRuns:
    """Where throughput was (or would be) measured; one entry per run."""

    plan: TextVector
    machine_type: TextVector
    instances: FloatVector

    def __len__(self) -> int:
        return len(self.instances)

    def where(self, chosen: BoolVector) -> SaturatedRuns:
        return SaturatedRuns(self.plan[chosen], self.machine_type[chosen], self.instances[chosen])

    @property
    def labels(self) -> dict[str, TextVector]:
        return {
            "plan": self.plan,
            "machine": self.machine_type,
            "pair": pairs(self.plan, self.machine_type),
        }

    @property
    def held_together(self) -> TextVector:
        """Runs of one vector of one pair: left out together."""
        counts = np.array([f"{count:g}" for count in self.instances], dtype=np.str_)
        return pairs(self.labels["pair"], counts)


@dataclass(frozen=True)
class PooledScaling:
    law: SharedFit
    training: SaturatedRuns
    smoothing: tuple[float, ...]
    #: What each training row adds to its surroundings.
    pull: FloatVector

    def predict(self, runs: SaturatedRuns) -> FloatVector:
        """Tuples/s."""
        law = _formula(runs.instances)(self.law.parameters(runs.labels, len(runs)))
        return np.asarray(np.exp(law + _alike(runs, self.training, self.smoothing) @ self.pull))


def fit_pooled(runs: SaturatedRuns, rate_per_s: FloatVector) -> PooledScaling:
    if len(runs) < 2 or np.any(rate_per_s <= 0):
        raise NotMeasuredError("saturated throughput needs at least two runs, all above zero")
    formula = _formula(runs.instances)
    law = fit_shared(_TERMS, runs.labels, formula, np.log(rate_per_s), freedom=_FREEDOM)
    groups = runs.held_together
    best: tuple[float, tuple[float, ...], FloatVector] | None = None
    for smoothing in _SMOOTHINGS:
        precision = law.precision(_alike(runs, runs, smoothing))
        errors = np.abs(left_out_residuals(precision, law.linear_target, groups))
        # A collapsed run is off by any amount and must not choose.
        error = float(np.mean(np.minimum(errors, 0.3)))
        if best is None or error < best[0]:
            best = (error, smoothing, precision @ law.linear_target)
    assert best is not None
    _, chosen, pull = best
    # Law and smoothing explain the targets together: the law gives way where the rest does.
    law = law.moved(law.spreads**2 * (law.jacobian.T @ pull))
    return PooledScaling(law, runs, chosen, pull)


def _formula(instances: FloatVector) -> Formula:
    count = np.asarray(instances, dtype=np.float64)

    def log_rate(parameters: Mapping[str, FloatVector]) -> FloatVector:
        contention = np.exp(parameters["contention"]) * (count - 1.0)
        coherency = np.exp(parameters["coherency"]) * count * (count - 1.0)
        gain = (1.0 + parameters["growth"]) * np.log(count)
        return np.asarray(parameters["rate_of_one"] + gain - np.log1p(contention + coherency))

    return log_rate


def _alike(one: SaturatedRuns, other: SaturatedRuns, smoothing: tuple[float, ...]) -> FloatMatrix:
    """Covariance of what the law leaves over (Matérn 3/2 in the logarithm of instances)."""
    of_plan, of_machine, of_pair, reach = smoothing
    same_plan = one.plan[:, None] == other.plan[None, :]
    same_machine = one.machine_type[:, None] == other.machine_type[None, :]
    apart = np.abs(np.log(one.instances)[:, None] - np.log(other.instances)[None, :])
    apart = np.sqrt(3.0) * apart / reach
    shared = (
        of_plan**2 * same_plan
        + of_machine**2 * same_machine
        + of_pair**2 * (same_plan & same_machine)
    )
    return np.asarray(shared * (1.0 + apart) * np.exp(-apart))
