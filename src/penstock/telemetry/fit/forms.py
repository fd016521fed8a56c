"""Richer forms than a straight line, chosen by the data.

A straight line is tried first and kept unless its residuals show a bend. Then the other forms are
fitted, and the one that predicts left-out stretches of time clearly better is taken. Plans use
straight lines only (docs/concepts.md), so each form says which line stands for it and how far that
is off.

- *spinning*: an idle executor burns CPU while it waits and gives it back under load (Storm's
  default wait strategy: up to 20 points). The line is the loaded one: spinning never stands in the
  way of work.
- *saturating*: near full load the reading bends towards a ceiling.
- *crowding*: a tuple costs more the more executors there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, stats

from penstock.model.arrays import FloatVector, IntVector
from penstock.model.cpu_form import CpuForm, FormKind
from penstock.telemetry.fit.regression import Fitted, Points, bisquare, fit, fit_line

_FOLDS = 5
#: Stretches of time per fold: neighbours stay together, or they would tell on each other.
_STRETCHES = 8
_MOST_CROSS_VALIDATED = 1000
#: A richer form must predict this much better, and by twice the standard error of the difference.
_CLEARLY_BETTER = 0.97
_BEND_PROBABILITY = 1e-4
_BEND_SIZE = 0.02
_BINS = 12


@dataclass(frozen=True)
class Choice:
    """The form the data chose, and the line that stands for it in plans."""

    form: CpuForm
    line: Fitted
    #: Largest relative difference between form and line over the rates seen.
    linear_error: float
    #: Mean error of predictions left out, in units of the scatter, by form.
    left_out_error: dict[FormKind, float]


def choose(points: Points) -> Choice:
    """The straight line, or the form that predicts clearly better."""
    line = fit_line(points)
    plain = CpuForm(FormKind.LINEAR, *_two(line))
    if not shows_bend(points, line):
        return Choice(plain, line, 0.0, {})
    errors = {name: _left_out(points, line, fitter) for name, fitter in _fitters(points).items()}
    best = min(errors, key=lambda name: float(errors[name].mean()))
    means = {name: float(error.mean()) for name, error in errors.items()}
    gain = errors[FormKind.LINEAR] - errors[best]
    sure = gain.mean() > 2 * gain.std() / np.sqrt(max(len(gain), 1))
    if (
        best == FormKind.LINEAR
        or means[best] > _CLEARLY_BETTER * means[FormKind.LINEAR]
        or not sure
    ):
        return Choice(plain, line, 0.0, means)
    form, fitted = _fitters(points)[best](points)
    # The loaded line is part of the spinning form itself; the others stand beside the plain line.
    stands_for = fitted if best == FormKind.SPINNING else line
    return Choice(form, stands_for, _linear_error(points, form, stands_for), means)


def shows_bend(points: Points, line: Fitted) -> bool:
    """Whether residuals, averaged in slices, stray from zero by more than chance.

    Slices of the rate show a bend, slices by the number of executors show crowding.
    """
    by_rate = np.argsort(points.rate, kind="stable")
    slices = np.array_split(by_rate, min(_BINS, len(points) // 10 or 1))
    if len(slices) < 4:
        return False
    if _strays(points, line, slices):
        return True
    by_instances = np.argsort(points.instances, kind="stable")
    return _varies(points) and _strays(points, line, np.array_split(by_instances, len(slices)))


def _varies(points: Points) -> bool:
    return bool(points.instances.max() > 1.5 * points.instances.min())


def _strays(points: Points, line: Fitted, slices: list[IntVector]) -> bool:
    sigma = line.scatter.at(points.cpu - line.residuals)
    total, largest = 0.0, 0.0
    for s in slices:
        weight = bisquare(line.residuals[s] / sigma[s]) / sigma[s] ** 2
        if weight.sum() <= 0:
            continue
        mean = float(np.average(line.residuals[s], weights=weight))
        error = float(1.05 / np.sqrt(np.sum(1 / sigma[s] ** 2)))
        total += (mean / error) ** 2
        level = float(np.mean(points.cpu[s]))
        largest = max(largest, abs(mean) / max(level, 1e-9))
    chance = float(stats.chi2.sf(total, len(slices) - 2))
    return chance < _BEND_PROBABILITY and largest > _BEND_SIZE


_Fitter = Callable[[Points], tuple[CpuForm, Fitted]]


def _fitters(points: Points) -> dict[FormKind, _Fitter]:
    fitters: dict[FormKind, _Fitter] = {
        FormKind.LINEAR: _fit_plain,
        FormKind.SPINNING: _fit_spinning,
    }
    if float(np.quantile(points.cpu, 0.99)) > 0:
        fitters[FormKind.SATURATING] = _fit_saturating
    if _varies(points):
        fitters[FormKind.CROWDING] = _fit_crowding
    return fitters


def _fit_plain(points: Points) -> tuple[CpuForm, Fitted]:
    line = fit_line(points)
    return CpuForm(FormKind.LINEAR, *_two(line)), line


def _fit_spinning(points: Points) -> tuple[CpuForm, Fitted]:
    highest = float(np.quantile(points.rate, 0.98))

    def at(ends: float) -> tuple[CpuForm, Fitted]:
        idle = np.maximum(0.0, 1 - points.rate / ends)
        fitted = fit(np.column_stack([points.rate, np.ones(len(points)), idle]), points)
        e, met, spin = (float(c) for c in fitted.coefficients)
        if e < 0 or spin < 0:
            return _fit_plain(points)
        return CpuForm(FormKind.SPINNING, e, max(met, 0.0), spin, ends), fitted

    return _best_shape(points, at, highest * np.linspace(0.1, 1.5, 9))


def _fit_saturating(points: Points) -> tuple[CpuForm, Fitted]:
    believed = points.cpu[fit_line(points).weights > 0]
    highest = float(believed.max()) if len(believed) else float(np.quantile(points.cpu, 0.9))

    def at(ceiling: float) -> tuple[CpuForm, Fitted]:
        # Undo the bend: -C log(1 - cpu/C) is the load, and the load is a line.
        inside = np.minimum(points.cpu, 0.999 * ceiling)
        fitted = fit_line(replace(points, cpu=-ceiling * np.log1p(-inside / ceiling)))
        return CpuForm(FormKind.SATURATING, *_two(fitted), shape=ceiling), fitted

    return _best_shape(points, at, highest * np.geomspace(0.95, 6.0, 9))


def _fit_crowding(points: Points) -> tuple[CpuForm, Fitted]:
    reference = float(np.median(points.instances))

    def at(exponent: float) -> tuple[CpuForm, Fitted]:
        crowd = (points.instances / reference) ** exponent
        fitted = fit_line(replace(points, rate=points.rate * crowd))
        return CpuForm(
            FormKind.CROWDING, *_two(fitted), shape=exponent, instances=reference
        ), fitted

    return _best_shape(points, at, np.linspace(0.0, 1.0, 6))


def _two(fitted: Fitted) -> tuple[float, float]:
    return float(fitted.coefficients[0]), float(fitted.coefficients[1])


def _best_shape(
    points: Points, at: Callable[[float], tuple[CpuForm, Fitted]], grid: FloatVector
) -> tuple[CpuForm, Fitted]:
    """The shape with the least error: the best of a grid, then refined between its neighbours."""

    def loss(shape: float) -> float:
        form, _ = at(float(shape))
        return _loss(points.cpu - form.cpu_points(points.rate, points.instances))

    losses = [loss(shape) for shape in grid]
    best = int(np.argmin(losses))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    minimum = optimize.minimize_scalar(
        loss, bounds=(low, high), method="bounded", options={"maxiter": 12}
    )
    return at(float(minimum.x) if minimum.fun < losses[best] else float(grid[best]))


def _loss(residual: FloatVector) -> float:
    """Mean absolute error with the wild tenth left out."""
    size = np.sort(np.abs(residual))
    return float(size[: max(1, int(0.9 * len(size)))].mean())


def _left_out(points: Points, line: Fitted, fitter: _Fitter) -> FloatVector:
    """Errors on stretches of time left out of the fit, in units of the scatter, capped."""
    sigma = line.scatter.at(points.cpu - line.residuals)
    errors = np.empty(0)
    for train, test in _folds(points):
        form, _ = fitter(points.where(train))
        predicted = form.cpu_points(points.rate[test], points.instances[test])
        errors = np.append(
            errors, np.minimum(np.abs(points.cpu[test] - predicted) / sigma[test], 3)
        )
    return errors


def _folds(points: Points) -> Iterator[tuple[IntVector, IntVector]]:
    order = np.argsort(points.time_ms, kind="stable")
    if len(order) > _MOST_CROSS_VALIDATED:
        order = order[:: -(-len(order) // _MOST_CROSS_VALIDATED)]
    stretch = np.arange(len(order)) * _FOLDS * _STRETCHES // len(order)
    for fold in range(_FOLDS):
        out = stretch % _FOLDS == fold
        yield order[~out], order[out]


def _linear_error(points: Points, form: CpuForm, line: Fitted) -> float:
    low, high = np.quantile(points.rate, [0.02, 0.98])
    rates = np.linspace(low, high, 25)
    exact = form.cpu_points(rates, form.instances)
    straight = line.coefficients[0] * rates + line.coefficients[1]
    return float(np.max(np.abs(straight - exact) / np.maximum(exact, 1e-9)))
