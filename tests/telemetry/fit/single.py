"""One group fitted alone, as tests like to look at it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.model.cpu_form import CpuForm, FormKind
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit import forms, regression
from penstock.telemetry.fit.forms import left_out_errors
from penstock.telemetry.fit.group_fit import fit_groups
from penstock.telemetry.fit.points import GroupedPoints, Points
from penstock.telemetry.fit.sandwich import serial_correlations, small_sample_factors
from penstock.telemetry.fit.scatter import Scatter, Slices
from penstock.telemetry.fit.segments import Segments


def one_group(points: Points) -> GroupedPoints:
    return GroupedPoints.of(points, np.zeros(len(points), dtype=np.int64), 1)


@dataclass(frozen=True)
class Line:
    coefficients: FloatVector
    errors: FloatVector
    scatter: Scatter
    r_squared: float
    #: In the order of the rates.
    residuals: FloatVector


def fit_line(points: Points) -> Line:
    fits = regression.fit_lines(one_group(points))
    return Line(
        fits.coefficients[0], fits.errors[0], fits.scatter, float(fits.r_squared[0]), fits.residuals
    )


def median_line(rate: FloatVector, cpu: FloatVector) -> FloatVector:
    n = len(rate)
    zeros, places = np.zeros(n), np.arange(n)
    points = Points(np.asarray(rate, float), np.asarray(cpu, float), zeros, places, places, places,
                    zeros)  # fmt: skip
    return np.asarray(regression.median_lines(one_group(points))[0])


def scatter_of(level: FloatVector, residual: FloatVector) -> Scatter:
    order = np.argsort(level)
    return Slices.of(Segments(np.array([len(level)]))).scatter(level[order], residual[order])


def serial_correlation(u: FloatVector, points: Points) -> float:
    """Of points of one rate, which lie in the order of time."""
    return float(serial_correlations(u, one_group(points))[0])


def small_sample_factor(samples: int, parameters: int, clusters: int) -> float:
    sizes = np.array([samples]), parameters, np.array([clusters])
    return float(small_sample_factors(*sizes)[0])


@dataclass(frozen=True)
class Choice:
    form: CpuForm
    #: Slope and level of the line that stands for the form.
    line: FloatVector
    linear_error: float


def choose(points: Points) -> Choice:
    data = one_group(points)
    lines = regression.fit_lines(data)
    bent = forms.bent_forms(data, lines)
    if not bent:
        e, met = lines.coefficients[0]
        return Choice(CpuForm(FormKind.LINEAR, float(e), float(met)), lines.coefficients[0], 0.0)
    (chosen,) = bent
    form = chosen.forms
    figures = (form.e, form.met, form.spin, form.shape, form.reference)
    return Choice(
        CpuForm(form.kind, *(float(figure[0]) for figure in figures)),
        chosen.lines.coefficients[0],
        float(chosen.linear_error[0]),
    )


def mean_left_out_errors(points: Points) -> dict[FormKind, float]:
    data = one_group(points)
    errors = left_out_errors(data, regression.fit_lines(data))
    return {kind: float(error.means[0]) for kind, error in errors.items()}


def shows_bend(points: Points) -> bool:
    data = one_group(points)
    return bool(forms.shows_bend(data, regression.fit_lines(data))[0])


def fit_group(points: Points, samples: int | None = None) -> CostFit:
    group = np.zeros(len(points), dtype=np.int64)
    (fit,) = fit_groups(points, group, [("t", "b", "M1")], [samples or len(points)])
    return fit
