"""CPU of a whole node against rate and executors, for one application plan on one machine type.

Five forms, from the papers' straight line to what Storm's nodes do:

- *plain*: ``e·rate + met·executors``, eq. 5 of Nasiri et al. summed over a node
- *constant*: the same and a constant: the operating system, Kafka, the producers
- *saturating*: ``C·(1 − exp(−load/C))`` of that, because nodes near full load measure less
- *spinning*: executors burn ``met`` only while the node is idle: ``met·executors·exp(−work/C)``
- *growing*: a tuple costs more the more executors there are, ``e·rate·executors^gamma``

All parameters but gamma are at least zero. Errors are relative, and beyond 10 % an error counts
by its size and no longer by its square (Huber). ``fit_best`` lets left-out vectors choose the form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import optimize

from penstock.errors import NotMeasuredError
from penstock.model.arrays import FloatVector

#: Relative error beyond which a measurement is taken for an outlier.
_OUTLIER = 0.1
#: Units that bring all parameters to the order of one.
_RATE_UNIT_PER_S = 1e5
_EXECUTOR_UNIT = 10.0
_CPU_UNIT_PERCENT = 100.0
#: Ceilings tried as starts, in hundreds of per cent; the last is as good as none.
_CEILINGS = (0.7, 1.5, 10.0)


class NodeForm(StrEnum):
    PLAIN = "plain"
    CONSTANT = "constant"
    SATURATING = "saturating"
    SPINNING = "spinning"
    GROWING = "growing"


_LINEAR = (NodeForm.PLAIN, NodeForm.CONSTANT)
#: Lowest and highest value of the shape, the last parameter of the forms that have one.
_SHAPE_LIMITS = {
    NodeForm.SATURATING: (0.3, 20.0),
    NodeForm.SPINNING: (0.05, 20.0),
    NodeForm.GROWING: (-0.5, 1.0),
}


@dataclass(frozen=True)
class NodeRuns:
    """Measured runs of one plan on one machine type; arrays of one length."""

    rate_per_s: FloatVector
    executors: FloatVector
    cpu_percent: FloatVector

    def where(self, chosen: np.ndarray) -> NodeRuns:
        return NodeRuns(self.rate_per_s[chosen], self.executors[chosen], self.cpu_percent[chosen])


@dataclass(frozen=True)
class NodeModel:
    """A fitted form."""

    form: NodeForm
    #: CPU per 100,000 tuples/s, per ten executors, constant, and shape, in the order of the form.
    parameters: FloatVector
    #: Not known (NaN) where the fit hangs on fewer runs than parameters or at a limit.
    standard_errors: FloatVector

    def predict(self, rate_per_s: FloatVector, executors: FloatVector) -> FloatVector:
        """Node CPU in per cent."""
        return _cpu(self.form, self.parameters, rate_per_s, executors)


def fit_node(form: NodeForm, runs: NodeRuns) -> NodeModel:
    """Fit one form; the same runs always give the same answer."""
    if len(runs.cpu_percent) < 2:
        raise NotMeasuredError("node CPU needs at least two runs to fit")
    line = _fit_line(form is not NodeForm.PLAIN, runs)
    if form in _LINEAR:
        return NodeModel(form, line, _standard_errors(form, line, runs))
    best = min(
        (_fit_curve(form, line, shape, runs) for shape in _first_shapes(form)),
        key=lambda candidate: float(candidate.cost),
    )
    return NodeModel(form, best.x, _standard_errors(form, best.x, runs))


def fit_best(
    runs: NodeRuns, vectors: Sequence[str], forms: Sequence[NodeForm] = tuple(NodeForm)
) -> NodeModel:
    """The form that predicts left-out parallelism vectors best; ties go to the simpler one."""
    names = np.asarray(vectors)
    kinds = sorted(set(vectors))
    if len(kinds) < 3:
        return fit_node(NodeForm.CONSTANT, runs)
    errors = {}
    for form in forms:
        left_out = []
        for kind in kinds:
            model = fit_node(form, runs.where(names != kind))
            held = runs.where(names == kind)
            left_out.append(
                np.abs(model.predict(held.rate_per_s, held.executors) / held.cpu_percent - 1.0)
            )
        # Not the median alone: a form that is far off now and then is no good either.
        residuals = np.concatenate(left_out)
        errors[form] = float(np.mean(np.minimum(residuals, 3 * _OUTLIER)))
    return fit_node(min(forms, key=lambda form: errors[form]), runs)


def _cpu(
    form: NodeForm, parameters: FloatVector, rate_per_s: FloatVector, executors: FloatVector
) -> FloatVector:
    rate = np.asarray(rate_per_s, dtype=np.float64) / _RATE_UNIT_PER_S
    count = np.asarray(executors, dtype=np.float64) / _EXECUTOR_UNIT
    e, met = parameters[0], parameters[1]
    constant = 0.0 if form is NodeForm.PLAIN else parameters[2]
    if form in _LINEAR:
        return np.asarray(e * rate + met * count + constant)  # eq. (5)
    shape = parameters[3]
    if form is NodeForm.GROWING:
        return np.asarray(e * rate * count**shape + met * count + constant)
    ceiling = shape * _CPU_UNIT_PERCENT
    if form is NodeForm.SPINNING:
        work = e * rate + constant
        return np.asarray(work + met * count * np.exp(-work / ceiling))
    return np.asarray(-ceiling * np.expm1(-(e * rate + met * count + constant) / ceiling))


def _fit_line(with_constant: bool, runs: NodeRuns) -> FloatVector:
    """Non-negative least squares of relative errors, weighted again until outliers are tame."""
    columns = [runs.rate_per_s / _RATE_UNIT_PER_S, runs.executors / _EXECUTOR_UNIT]
    if with_constant:
        columns.append(np.ones(len(runs.cpu_percent)))
    relative = np.stack(columns, axis=1) / runs.cpu_percent[:, None]
    parameters = optimize.nnls(relative, np.ones(len(relative)))[0]
    for _ in range(20):
        error = np.abs(relative @ parameters - 1.0)
        weight = np.sqrt(_OUTLIER / np.maximum(error, _OUTLIER))
        parameters = optimize.nnls(relative * weight[:, None], weight)[0]
    return np.asarray(parameters)


def _first_shapes(form: NodeForm) -> tuple[float, ...]:
    return (0.0, 0.3) if form is NodeForm.GROWING else _CEILINGS


def _fit_curve(
    form: NodeForm, line: FloatVector, shape: float, runs: NodeRuns
) -> optimize.OptimizeResult:
    lowest, highest = _SHAPE_LIMITS[form]

    def errors(parameters: FloatVector) -> FloatVector:
        return _cpu(form, parameters, runs.rate_per_s, runs.executors) / runs.cpu_percent - 1.0

    return optimize.least_squares(
        errors,
        np.append(1.2 * line + 0.01, shape),
        bounds=([0.0, 0.0, 0.0, lowest], [np.inf, np.inf, np.inf, highest]),
        loss="huber",
        f_scale=_OUTLIER,
    )


def _standard_errors(form: NodeForm, parameters: FloatVector, runs: NodeRuns) -> FloatVector:
    """From the slopes at the optimum, as in linear regression of the relative errors."""
    count, size = len(runs.cpu_percent), len(parameters)
    unknown = np.full(size, np.nan)
    if count <= size:
        return unknown

    def relative(at: FloatVector) -> FloatVector:
        return _cpu(form, at, runs.rate_per_s, runs.executors) / runs.cpu_percent

    slopes = optimize.approx_fprime(parameters, relative, 1e-6)
    error = np.minimum(np.abs(relative(parameters) - 1.0), 3 * _OUTLIER)
    free = parameters > 1e-9 if form is not NodeForm.GROWING else np.ones(size, dtype=bool)
    inner = slopes[:, free].T @ slopes[:, free]
    if np.linalg.cond(inner) > 1e12:
        return unknown
    variance = float(np.sum(error**2)) / (count - size)
    unknown[free] = np.sqrt(np.diag(np.linalg.inv(inner)) * variance)
    return unknown
