"""Saturated throughput against the number of instances.

- *universal*: ``X(N) = λN / (1 + σ(N−1) + κN(N−1))``, Gunther's Universal Scalability Law, with
  contention σ and coherency κ at least zero
- *ceiling*: ``min(k·N, X_max)``, its older rival
- *constant execute time*: what the papers take for granted, ``N / execute time``

Fits are in logarithms (errors are relative) and robust; nothing is random.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import optimize

from penstock.errors import NotMeasuredError
from penstock.model.arrays import FloatVector

#: Relative error beyond which a measurement is taken for an outlier.
_OUTLIER = 0.05
#: Contention and coherency tried as starts beside the linearised one.
_STARTS = ((0.02, 1e-5), (0.2, 1e-5), (0.9, 1e-5), (0.2, 1e-3), (3.0, 1e-5))
_USL_PARAMETERS = 3


class Scaling(Protocol):
    """Anything that says how much N instances carry."""

    def predict(self, instances: FloatVector) -> FloatVector: ...


@dataclass(frozen=True)
class UniversalScalability:
    """``λN / (1 + σ(N−1) + κN(N−1))``; standard errors are NaN where the data cannot tell."""

    rate_of_one_per_s: float
    contention: float
    coherency: float
    #: Of the logarithm of the rate of one, of contention and of coherency.
    standard_errors: tuple[float, float, float]

    def predict(self, instances: FloatVector) -> FloatVector:
        parameters = np.array([np.log(self.rate_of_one_per_s), self.contention, self.coherency])
        return np.asarray(np.exp(_log_usl(parameters, np.asarray(instances, dtype=np.float64))))

    @property
    def best_instances(self) -> float:
        """Where more instances begin to carry less; infinite where they never do."""
        if self.coherency == 0.0:
            return float("inf")
        return float(np.sqrt(max(1.0 - self.contention, 0.0) / self.coherency))


@dataclass(frozen=True)
class Ceiling:
    """``min(k·N, X_max)``."""

    rate_of_one_per_s: float
    most_per_s: float

    def predict(self, instances: FloatVector) -> FloatVector:
        return np.minimum(self.rate_of_one_per_s * np.asarray(instances), self.most_per_s)


def fit_universal(instances: FloatVector, rate_per_s: FloatVector) -> UniversalScalability:
    """Linearised start and a few others, then robust least squares of logarithms."""
    count, log_rate = _checked(instances, rate_per_s, _USL_PARAMETERS)

    def errors(parameters: FloatVector) -> FloatVector:
        return _log_usl(parameters, count) - log_rate

    starts = [_linearised(count, log_rate)]
    for contention, coherency in _STARTS:
        start = np.array([0.0, contention, coherency])
        start[0] = float(np.median(log_rate - _log_usl(start, count)))
        starts.append(start)
    best = min(
        (
            optimize.least_squares(
                errors,
                start,
                bounds=([-np.inf, 0.0, 0.0], np.inf),
                loss="soft_l1",
                f_scale=_OUTLIER,
                x_scale=(1.0, 0.1, 1e-3),
            )
            for start in starts
        ),
        key=lambda candidate: float(candidate.cost),
    )
    rate, contention, coherency = (float(value) for value in best.x)
    return UniversalScalability(
        float(np.exp(rate)), contention, coherency, _standard_errors(best, len(count))
    )


def fit_ceiling(instances: FloatVector, rate_per_s: FloatVector) -> Ceiling:
    """Least absolute errors of logarithms; the optimum passes through measured points."""
    count, log_rate = _checked(instances, rate_per_s, 2)
    slopes = np.unique(log_rate - np.log(count))
    tops = np.unique(log_rate)
    predicted = np.minimum(slopes[:, None, None] + np.log(count), tops[None, :, None])
    cost = np.abs(predicted - log_rate).sum(axis=2)
    i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return Ceiling(float(np.exp(slopes[i])), float(np.exp(tops[j])))


def constant_execute_limit(
    instances: Mapping[str, float], busy_s_per_tuple: Mapping[str, float]
) -> float:
    """Source tuples/s at which the first component's threads are all busy executing."""
    limits = [
        instances[component] / busy
        for component, busy in busy_s_per_tuple.items()
        if busy > 0 and component in instances
    ]
    return min(limits, default=float("inf"))


def fit_best(instances: FloatVector, rate_per_s: FloatVector) -> Scaling:
    """The law or the ceiling, whichever predicts left-out numbers of instances better."""
    count = np.asarray(instances, dtype=np.float64)
    rate = np.asarray(rate_per_s, dtype=np.float64)
    if len(np.unique(count)) <= _USL_PARAMETERS:
        return fit_ceiling(count, rate)
    law, ceiling = [], []
    for left_out in np.unique(count):
        rest, held = count != left_out, count == left_out
        law.append(_worst(fit_universal(count[rest], rate[rest]), count[held], rate[held]))
        ceiling.append(_worst(fit_ceiling(count[rest], rate[rest]), count[held], rate[held]))
    if np.mean(law) <= np.mean(ceiling):
        return fit_universal(count, rate)
    return fit_ceiling(count, rate)


def _worst(model: Scaling, instances: FloatVector, rate_per_s: FloatVector) -> float:
    return float(np.max(np.abs(np.log(model.predict(instances) / rate_per_s))))


def _checked(
    instances: FloatVector, rate_per_s: FloatVector, least: int
) -> tuple[FloatVector, FloatVector]:
    count = np.asarray(instances, dtype=np.float64)
    rate = np.asarray(rate_per_s, dtype=np.float64)
    used = (rate > 0) & (count > 0)
    distinct = len(np.unique(count[used]))
    if distinct < least:
        raise NotMeasuredError(
            f"throughput was measured at {distinct} instance counts; at least {least} are needed"
        )
    return count[used], np.log(rate[used])


def _log_usl(parameters: FloatVector, count: FloatVector) -> FloatVector:
    log_rate, contention, coherency = parameters
    return np.asarray(
        log_rate
        + np.log(count)
        - np.log1p(contention * (count - 1.0) + coherency * count * (count - 1.0))
    )


def _linearised(count: FloatVector, log_rate: FloatVector) -> FloatVector:
    """``N/X`` is linear in 1/λ, σ/λ and κ/λ: a start that is right where there is no noise."""
    rate = np.exp(log_rate)
    columns = np.stack([np.ones_like(count), count - 1.0, count * (count - 1.0)], axis=1)
    relative = columns * (rate / count)[:, None]
    inverse, contention, coherency = optimize.nnls(relative, np.ones(len(count)))[0]
    inverse = max(float(inverse), 1e-6 * float(np.min(count / rate)))
    return np.array([-np.log(inverse), contention / inverse, coherency / inverse])


def _standard_errors(best: optimize.OptimizeResult, count: int) -> tuple[float, float, float]:
    errors = np.full(_USL_PARAMETERS, np.nan)
    # At a limit a parameter is known by the limit, not by the slope there.
    free = np.array([True, best.x[1] > 1e-12, best.x[2] > 1e-12])
    spare = count - int(free.sum())
    if spare > 0:
        slopes = best.jac[:, free]
        inner = slopes.T @ slopes
        variance = float(np.sum(np.minimum(np.abs(best.fun), 3 * _OUTLIER) ** 2)) / spare
        scale = np.sqrt(np.diag(inner))
        # Scaled before it is inverted: coherency is a thousand times smaller than the rest.
        inverse = np.linalg.pinv(inner / np.outer(scale, scale))
        errors[free] = np.sqrt(np.diag(inverse) * variance) / scale
    return (float(errors[0]), float(errors[1]), float(errors[2]))
