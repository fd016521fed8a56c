"""Richer forms than a straight line, chosen by the data.

A straight line is tried first and kept unless its residuals show a bend. Then the other forms are
tried, and the one that predicts left-out stretches of time clearly better is taken. Plans use
straight lines only (docs/concepts.md), so each form says which line stands for it and how far that
is off.

- *spinning*: an idle executor burns CPU while it waits and gives it back under load (Storm's
  default wait strategy: up to 20 points). The line is the loaded one: spinning never stands in the
  way of work.
- *saturating*: near full load the reading bends towards a ceiling.
- *crowding*: a tuple costs more the more executors there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.model.cpu_form import FormKind
from penstock.telemetry.fit.bins import binned
from penstock.telemetry.fit.equations import Basis, levels
from penstock.telemetry.fit.points import GroupedPoints
from penstock.telemetry.fit.regression import GroupFits, fit, fit_lines
from penstock.telemetry.fit.scatter import bisquare
from penstock.telemetry.fit.segments import Segments
from penstock.telemetry.fit.trial import BELIEVED, TrialForms, best_shapes, trial_forms, unbent

_FOLDS = 5
#: Stretches of time per fold: neighbours stay together, or they would tell on each other.
_STRETCHES = 8
_MOST_CROSS_VALIDATED = 1000
#: A richer form must predict this much better, and by twice the standard error of the difference.
_CLEARLY_BETTER = 0.97
_BEND_PROBABILITY = 1e-4
_BEND_SIZE = 0.02
_SLICES = 12
_FEWEST_SLICES = 4
#: Executors that vary by more than this can show crowding.
_INSTANCES_VARY = 1.5
#: About the end of spinning that bins show.
_NEAR = np.array([0.9, 0.95, 1.0, 1.05, 1.1])


@dataclass(frozen=True)
class BentForms:
    """Forms of one kind that groups chose, and the lines that stand for them in plans."""

    #: Numbers of the groups.
    groups: IntVector
    forms: TrialForms
    #: Coefficients and errors of slope and level, shape (groups, 2).
    lines: GroupFits
    #: Largest relative difference between form and line over the rates seen.
    linear_error: FloatVector


def bent_forms(data: GroupedPoints, lines: GroupFits) -> list[BentForms]:
    """The groups whose form is not their straight line."""
    bent = shows_bend(data, lines)
    if not bent.any():
        return []
    part = data.only(bent)
    part_lines = lines.only(bent, data.groups)
    kinds = _chosen(left_out_errors(part, part_lines))
    number = np.flatnonzero(bent)
    return [
        _fitted(kind, part.only(kinds == kind), part_lines.only(kinds == kind, part.groups),
                number[kinds == kind])
        for kind in FormKind if kind is not FormKind.LINEAR and np.any(kinds == kind)
    ]  # fmt: skip


# -- is there a bend? --------------------------------------------------------------------------


def shows_bend(data: GroupedPoints, lines: GroupFits) -> BoolVector:
    """Whether residuals, averaged in slices, stray from zero by more than chance.

    Slices of the rate show a bend, slices by the number of executors show crowding.
    """
    groups = data.groups
    number = np.minimum(_SLICES, groups.counts // 10)
    enough = number >= _FEWEST_SLICES
    bent = enough & _strays(data, lines, np.maximum(number, 1))
    crowded = enough & ~bent & varies(data)
    if crowded.any():
        part = data.only(crowded)
        points = part.points
        order = part.groups.order(points.instances, points.time_ms, points.task, points.cluster)
        by_instances = replace(part, points=part.points.where(order))
        own = lines.only(crowded, groups)
        own = replace(own, residuals=own.residuals[order])
        bent[crowded] = _strays(by_instances, own, number[crowded])
    return bent


def varies(data: GroupedPoints) -> BoolVector:
    instances = data.points.instances
    return data.groups.maxima(instances) > -_INSTANCES_VARY * data.groups.maxima(-instances)


def _strays(data: GroupedPoints, lines: GroupFits, number: IntVector) -> BoolVector:
    pieces, members = Segments(number), data.groups.split(number)
    residuals, cpu = lines.residuals, data.points.cpu
    sigma = lines.scatter.at(cpu - residuals, data.groups)
    weight = bisquare(residuals / sigma) / sigma**2
    total = members.sums(weight)
    known = total > 0
    mean = members.sums(weight * residuals) / np.where(known, total, 1.0)
    error = 1.05 / np.sqrt(np.maximum(members.sums(1 / sigma**2), 1e-300))
    squares = pieces.sums((mean / error) ** 2)
    level = np.maximum(members.means(cpu), 1e-9)
    largest = pieces.maxima(np.where(known, np.abs(mean) / level, 0.0))
    chance = special.chdtrc(np.maximum(number - 2, 1), squares)
    return np.asarray((chance < _BEND_PROBABILITY) & (largest > _BEND_SIZE))


# -- which form predicts best? -----------------------------------------------------------------


def left_out_errors(data: GroupedPoints, lines: GroupFits) -> Mapping[FormKind, LeftOutErrors]:
    """Errors on stretches of time left out of the fit, in units of the scatter, capped at three."""
    sigma = lines.scatter.at(data.points.cpu - lines.residuals, data.groups)
    taken, fold = _folds(data)
    tests = data.where(taken)
    sigma, fold = sigma[taken], fold[taken]
    training = tests.selections([fold != number for number in range(_FOLDS)])
    left_out = fold * len(data) + tests.groups.owner
    errors = {}
    for kind in FormKind:
        able = _able(kind, data)
        if not able.any():
            continue
        chosen = np.tile(able, _FOLDS)
        sets = training.only(chosen)
        forms = trial_forms(kind, sets, binned(sets))
        able_set = partial(np.take, indices=(np.cumsum(chosen) - 1)[left_out])
        predicted = forms.cpu_points(tests.points.rate, tests.points.instances, able_set)
        error = np.minimum(np.abs(tests.points.cpu - predicted) / sigma, 3)
        errors[kind] = LeftOutErrors(able, tests.groups, error)
    return errors


@dataclass(frozen=True)
class LeftOutErrors:
    """Of one form, for all points that were left out once."""

    #: Groups that can have this form.
    able: BoolVector
    groups: Segments
    errors: FloatVector

    @property
    def means(self) -> FloatVector:
        return np.where(self.able, self.groups.means(self.errors), np.inf)


def _able(kind: FormKind, data: GroupedPoints) -> BoolVector:
    match kind:
        case FormKind.CROWDING:
            return varies(data)
        case FormKind.SATURATING:
            return data.groups.quantiles(data.points.cpu, 0.99) > 0
        case _:
            return np.ones(len(data), dtype=bool)


def _folds(data: GroupedPoints) -> tuple[BoolVector, IntVector]:
    """Which points take part, and the fold of each; neighbours in time in one fold."""
    groups = data.groups
    order = groups.order(data.points.time_ms, data.points.task, data.points.cluster)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = groups.rank
    step = -(-groups.counts // _MOST_CROSS_VALIDATED)
    number = -(-groups.counts // step)
    taken = place % groups.spread(step) == 0
    stretch = place // groups.spread(step) * (_FOLDS * _STRETCHES) // groups.spread(number)
    return taken, stretch % _FOLDS


def _chosen(errors: Mapping[FormKind, LeftOutErrors]) -> NDArray[np.object_]:
    """The kind of each group."""
    kinds = list(errors)
    means = np.stack([errors[kind].means for kind in kinds])
    best = np.argmin(means, axis=0)
    plain = errors[FormKind.LINEAR]
    owner = plain.groups.owner
    best_errors = np.stack([errors[kind].errors for kind in kinds])[
        best[owner], np.arange(len(owner))
    ]
    gain = plain.errors - best_errors
    mean = plain.groups.means(gain)
    spread = np.sqrt(plain.groups.means((gain - plain.groups.spread(mean)) ** 2))
    sure = mean > 2 * spread / np.sqrt(plain.groups.counts)
    better = means.min(axis=0) <= _CLEARLY_BETTER * plain.means
    names = np.array(kinds, dtype=object)[best]
    return np.where(sure & better, names, FormKind.LINEAR)


# -- the form over all points ------------------------------------------------------------------


def _fitted(kind: FormKind, data: GroupedPoints, lines: GroupFits, number: IntVector) -> BentForms:
    trial = trial_forms(kind, data, binned(data))
    groups, points = data.groups, data.points
    shape = groups.spread(trial.shape)
    match kind:
        case FormKind.SPINNING:
            trial = replace(trial, shape=_refined_ends(trial, data))
            loaded = fit(_spinning_basis(trial.shape, data), data, by_rate=False)
            forms = _with_coefficients(trial, loaded)
            # The loaded line is part of the spinning form itself.
            lines = loaded
        case FormKind.SATURATING:
            load, _ = unbent(points.cpu, shape)
            forms = _with_coefficients(trial, fit_lines(data.with_cpu(load)))
        case _:
            crowd = (points.instances / groups.spread(trial.reference)) ** shape
            forms = _with_coefficients(trial, fit_lines(data.with_rate(points.rate * crowd)))
    return BentForms(number, forms, lines, _linear_error(data, forms, lines))


def _spinning_basis(ends: FloatVector, data: GroupedPoints) -> Basis:
    rate = data.points.rate
    return [rate, np.ones(len(rate)), np.maximum(0.0, 1 - rate / data.groups.spread(ends))]


def _refined_ends(trial: TrialForms, data: GroupedPoints) -> FloatVector:
    """The end of spinning once more, over all points: the slope of the loaded line hangs on it."""
    start = fit(_spinning_basis(trial.shape, data), data, by_rate=False)

    def loss(ends: FloatVector) -> FloatVector:
        basis = _spinning_basis(ends, data)
        theta = fit(basis, data, by_rate=False, start=start.coefficients).coefficients
        off = data.points.cpu - levels(basis, np.maximum(theta, 0.0), data)
        return data.groups.trimmed_means(np.abs(off), BELIEVED)

    return best_shapes(loss, np.outer(trial.shape, _NEAR))


def _with_coefficients(trial: TrialForms, fits: GroupFits) -> TrialForms:
    e, met = fits.coefficients[:, 0], np.maximum(fits.coefficients[:, 1], 0.0)
    if fits.coefficients.shape[1] < 3:
        return replace(trial, e=e, met=met)
    return replace(trial, e=e, met=met, spin=fits.coefficients[:, 2])


def _linear_error(data: GroupedPoints, forms: TrialForms, lines: GroupFits) -> FloatVector:
    low, high = (data.groups.sorted_quantiles(data.points.rate, q) for q in (0.02, 0.98))
    rates = np.linspace(low, high, 25, axis=1)
    exact = forms.cpu_points(rates, forms.reference[:, None], lambda values: values[:, None])
    straight = lines.coefficients[:, :1] * rates + lines.coefficients[:, 1:2]
    return np.asarray(np.max(np.abs(straight - exact) / np.maximum(exact, 1e-9), axis=1))
