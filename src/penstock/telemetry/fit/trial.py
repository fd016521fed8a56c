"""Forms tried on bins: for each group the shape that lies closest to its points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.model.cpu_form import FormKind, form_cpu_points
from penstock.telemetry.fit.bins import BinnedPoints
from penstock.telemetry.fit.equations import solved
from penstock.telemetry.fit.points import GroupedPoints

_GOLDEN = (np.sqrt(5) - 1) / 2
_REFINEMENTS = 12
#: Of the errors, the wild tenth is left out.
BELIEVED = 0.9


@dataclass(frozen=True)
class TrialForms:
    """A form of one kind for every group; all arrays of shape (groups,)."""

    kind: FormKind
    e: FloatVector
    met: FloatVector
    spin: FloatVector
    shape: FloatVector
    #: The number of executors at which ``e`` holds.
    reference: FloatVector

    def cpu_points(
        self,
        rate: FloatVector,
        instances: FloatVector,
        spread: Callable[[FloatVector], FloatVector],
    ) -> FloatVector:
        """Of points to which ``spread`` gives the figures of their group."""
        return form_cpu_points(
            self.kind, rate, instances, e=spread(self.e), met=spread(self.met),
            spin=spread(self.spin), shape=spread(self.shape), reference=spread(self.reference),
        )  # fmt: skip


def trial_forms(kind: FormKind, data: GroupedPoints, bins: BinnedPoints) -> TrialForms:
    """The best form of this kind for every group."""
    reference = data.groups.medians(data.points.instances)

    def form(shape: FloatVector) -> TrialForms:
        return _FITS[kind](bins, shape, reference)

    def loss(shape: FloatVector) -> FloatVector:
        points, groups = data.points, data.groups
        # A line that falls makes a ceiling overflow: an infinite error, never the least.
        with np.errstate(over="ignore"):
            predicted = form(shape).cpu_points(points.rate, points.instances, groups.spread)
        return groups.trimmed_means(np.abs(points.cpu - predicted), BELIEVED)

    if kind is FormKind.LINEAR:
        return form(np.zeros(len(data)))
    return form(best_shapes(loss, _grid(kind, data, bins)))


def _grid(kind: FormKind, data: GroupedPoints, bins: BinnedPoints) -> FloatMatrix:
    match kind:
        case FormKind.SPINNING:
            highest = data.groups.sorted_quantiles(data.points.rate, 0.98)
            return np.outer(highest, np.linspace(0.1, 1.5, 9))
        case FormKind.SATURATING:
            return np.outer(np.maximum(bins.highest, 1e-9), np.geomspace(0.95, 6.0, 9))
        case _:
            return np.outer(np.ones(len(data)), np.linspace(0.0, 1.0, 6))


def best_shapes(loss: Callable[[FloatVector], FloatVector], grid: FloatMatrix) -> FloatVector:
    """The shape with the least loss: the best of a grid, refined by golden sections around it."""
    row = np.arange(len(grid))
    losses = np.column_stack([loss(grid[:, k]) for k in range(grid.shape[1])])
    best = np.argmin(losses, axis=1)
    low = grid[row, np.maximum(best - 1, 0)]
    high = grid[row, np.minimum(best + 1, grid.shape[1] - 1)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(_REFINEMENTS - 2):
        down = at_left < at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        probe = np.where(down, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_probe = loss(probe)
        left, right = np.where(down, probe, right), np.where(down, left, probe)
        at_left, at_right = np.where(down, at_probe, at_right), np.where(down, at_left, at_probe)
    refined = np.where(at_left < at_right, left, right)
    least = np.minimum(at_left, at_right)
    return np.where(least < losses[row, best], refined, grid[row, best])


# -- each kind on bins, given its shape --------------------------------------------------------


def _line(
    bins: BinnedPoints, rate: FloatVector, cpu: FloatVector, weight: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Slope and level of each group, neither below zero where the data leave a choice."""
    groups = bins.groups
    xx = groups.sums(weight * rate**2 - bins.rate_error * weight / bins.weight)
    x, y, one = groups.sums(weight * rate), groups.sums(weight * cpu), groups.sums(weight)
    xy = groups.sums(weight * rate * cpu)
    moments = np.stack([xx, x, x, one], axis=1).reshape(-1, 2, 2)
    e, met = solved(moments, np.column_stack([xy, y])).T
    below = met < 0
    through = xy / np.where(xx != 0, xx, np.inf)
    return np.where(below, through, e), np.where(below, 0.0, met)


def _linear(bins: BinnedPoints, shape: FloatVector, reference: FloatVector) -> TrialForms:
    e, met = _line(bins, bins.rate, bins.cpu, bins.weight)
    return TrialForms(FormKind.LINEAR, e, met, np.zeros_like(e), shape, reference)


def _spinning(bins: BinnedPoints, shape: FloatVector, reference: FloatVector) -> TrialForms:
    groups, weight = bins.groups, bins.weight
    idle = np.maximum(0.0, 1 - bins.rate / groups.spread(shape))
    columns = [bins.rate, np.ones(len(idle)), idle]
    moments = np.empty((len(groups), 3, 3))
    for a in range(3):
        for b in range(a, 3):
            sums = groups.sums(weight * columns[a] * columns[b])
            moments[:, a, b] = moments[:, b, a] = sums
    moments[:, 0, 0] -= groups.sums(bins.rate_error)
    right = np.column_stack([groups.sums(weight * bins.cpu * column) for column in columns])
    e, met, spin = solved(moments, right).T
    plain = _linear(bins, shape, reference)
    sound = (e >= 0) & (spin >= 0)
    return TrialForms(
        FormKind.SPINNING,
        np.where(sound, e, plain.e),
        np.where(sound, np.maximum(met, 0.0), plain.met),
        np.where(sound, spin, 0.0),
        shape,
        reference,
    )


def _saturating(bins: BinnedPoints, shape: FloatVector, reference: FloatVector) -> TrialForms:
    ceiling = bins.groups.spread(shape)
    load, slope = unbent(bins.cpu, ceiling)
    e, met = _line(bins, bins.rate, load, bins.weight / slope**2)
    return TrialForms(FormKind.SATURATING, e, met, np.zeros_like(e), shape, reference)


def unbent(cpu: FloatVector, ceiling: FloatVector) -> tuple[FloatVector, FloatVector]:
    """-C log(1 - cpu/C) is the load, and the load is a line; with its slope against the reading."""
    left = 1 - np.minimum(cpu, 0.999 * ceiling) / ceiling
    return -ceiling * np.log(left), 1 / left


def _crowding(bins: BinnedPoints, shape: FloatVector, reference: FloatVector) -> TrialForms:
    groups = bins.groups
    crowd = (bins.instances / groups.spread(reference)) ** groups.spread(shape)
    e, met = _line(bins, bins.rate * crowd, bins.cpu, bins.weight)
    return TrialForms(FormKind.CROWDING, e, met, np.zeros_like(e), shape, reference)


_FITS: dict[FormKind, Callable[[BinnedPoints, FloatVector, FloatVector], TrialForms]] = {
    FormKind.LINEAR: _linear,
    FormKind.SPINNING: _spinning,
    FormKind.SATURATING: _saturating,
    FormKind.CROWDING: _crowding,
}
