"""What a worker process costs beside its tasks: always, for every tuple, for every tuple it moves.

The worker is fitted like a component. Tuples that enter or leave it cost more than those that stay
(they are packed, sent and unpacked), and that shows where workers, or the same worker at different
times, exchange different parts of their tuples with others; where all do alike, it is part of the
cost of every tuple. A machine type on which a cost is not sure gets the one that its speed in
everything else suggests: with none at all it would look cheaper than the others and be given more
work than it can do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.cpu_form import FormKind
from penstock.model.profile import WorkerCost
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.extrapolate import Estimate, estimate_missing
from penstock.telemetry.fit.group_fit import fit_groups, refused_points
from penstock.telemetry.fit.points import GroupedPoints, Points, point_order
from penstock.telemetry.fit.regression import fit
from penstock.telemetry.fit.rounding import rounded

#: What a worker is called among the components.
WORKER = "(worker)"
_FEWEST_MINUTES = 3
#: A cost per tuple counts when it is surely there.
_SURE_SIGMAS = 3.0
#: The interquartile range of a normal distribution, in standard deviations.
_IQR_SIGMAS = 1.349
#: A median is this much less precise than a mean.
_MEDIAN_FACTOR = 1.2533
#: Part of the spread of crossings that the rate must leave unexplained.
_FEWEST_CONTRAST = 0.1


@dataclass(frozen=True)
class WorkerWindows:
    """A sample of windows of worker processes: what they used beside their tasks."""

    points: Points
    #: Machine type of each window.
    kind: Sequence[str]
    #: Tuples/s that entered or left; NaN where it is not known.
    crossing: FloatVector

    def where(self, chosen: BoolVector) -> WorkerWindows:
        kinds = [kind for kind, is_chosen in zip(self.kind, chosen, strict=True) if is_chosen]
        return WorkerWindows(self.points.where(chosen), kinds, self.crossing[chosen])

    def of(self, kind: str) -> WorkerWindows:
        return self.where(np.array([one == kind for one in self.kind], dtype=bool))

    def without(self, cost: Mapping[str, Estimate], per: FloatVector) -> WorkerWindows:
        """Less what so many of a thing cost on each machine type."""
        each = np.array([cost[k].value if k in cost else 0.0 for k in self.kind])
        spent = np.where(np.isnan(per), 0.0, each * per)
        return replace(self, points=replace(self.points, cpu=self.points.cpu - spent))


def worker_costs(
    windows: WorkerWindows,
    moments: Mapping[str, int],
    own_cpu: Mapping[str, tuple[Sequence[float], int]],
    components: Sequence[CostFit],
) -> list[WorkerCost]:
    """By machine type, if enough was seen of one: a line if tuples cost workers anything.

    ``moments`` says of how many the windows are a sample; ``own_cpu`` has quartiles of what
    processes used beside their tasks in a minute, and of how many minutes.
    """
    # One type seen for long enough is enough: the others' then say how sure they are, and with none
    # at all they would look cheaper.
    if max((minutes for _, minutes in own_cpu.values()), default=0) < _FEWEST_MINUTES:
        return []
    costs_of = {kind: _usual(kind, *known) for kind, known in own_cpu.items()}
    windows = windows.where(np.array([kind in costs_of for kind in windows.kind], dtype=bool))
    remote = _filled_in(_sure_crossings(windows), components, costs_of)
    windows = windows.without(remote, windows.crossing)
    lines = _sure_lines(windows, moments)
    costs_of |= {kind: _line(fit) for kind, fit in lines.items()}
    sure = {kind: Estimate(f.e, f.e_error) for kind, f in lines.items()}
    slopes = dict.fromkeys(remote, Estimate(0.0, 0.0)) | _filled_in(sure, components, costs_of)
    supposed = {kind: slope for kind, slope in slopes.items() if kind not in lines}
    costs_of |= _supposed(windows, moments, supposed)
    return [_with_crossings(costs_of[kind], remote.get(kind)) for kind in sorted(costs_of)]


def _filled_in(
    sure: Mapping[str, Estimate], components: Sequence[CostFit], kinds: Iterable[str]
) -> dict[str, Estimate]:
    """A worker's cost on all machine types, where one has it; the others' by their speed."""
    known = {
        (f"{f.topology}/{f.component}", f.machine_type): (f.e, f.e_error)
        for f in components
        if not f.not_ready
    }
    known |= {(WORKER, kind): (cost.value, cost.error) for kind, cost in sure.items()}
    missing = [(WORKER, kind) for kind in sorted(kinds) if kind not in sure]
    supposed = estimate_missing(known, missing)
    return dict(sure) | {kind: cost for (_, kind), cost in supposed.items()}


# -- tuples that enter or leave ------------------------------------------------------------------


def _sure_crossings(windows: WorkerWindows) -> dict[str, Estimate]:
    """What a tuple costs that enters or leaves, on the types where that shows."""
    known = windows.where(~np.isnan(windows.crossing))
    estimates = {
        kind: crossing_cost(own.points, own.crossing)
        for kind in sorted(set(known.kind))
        for own in [known.of(kind)]
    }
    return {kind: e for kind, e in estimates.items() if e.value > _SURE_SIGMAS * e.error}


def crossing_cost(points: Points, crossing: FloatVector) -> Estimate:
    """Points per tuple/s that enters or leaves, told from those of every tuple; 0 if it cannot."""
    unknown = Estimate(0.0, 0.0)
    group = np.zeros(len(points), dtype=np.int64)
    order = point_order(points, group)
    crossing = crossing[order]
    data = GroupedPoints.of(points.where(order), group, 1)
    if refused_points(data)[0]:
        return unknown
    rate, ones = data.points.rate, np.ones(len(points))
    line = np.column_stack([rate, ones])
    explained, *_ = np.linalg.lstsq(line, crossing, rcond=None)
    if np.std(crossing - line @ explained) <= _FEWEST_CONTRAST * np.std(crossing):
        return unknown
    both = fit([rate, ones, crossing], data, by_rate=False)
    remote, remote_error = float(both.coefficients[0, 2]), float(both.errors[0, 2])
    if both.coefficients[0, 0] >= 0:
        return Estimate(remote, remote_error)
    # A tuple that stays does not give CPU back: then it costs nothing.
    sure = replace(data.points, rate=crossing, rate_variance=np.zeros(len(points)))
    moved = GroupedPoints.of(sure, group, 1)
    alone = fit([moved.points.rate, ones], moved)
    return Estimate(float(alone.coefficients[0, 0]), max(float(alone.errors[0, 0]), remote_error))


def _with_crossings(cost: WorkerCost, remote: Estimate | None) -> WorkerCost:
    if remote is None:
        return cost
    return replace(cost, e_remote=rounded(remote.value), e_remote_error=rounded(remote.error))


# -- every tuple ---------------------------------------------------------------------------------


def _sure_lines(windows: WorkerWindows, moments: Mapping[str, int]) -> dict[str, CostFit]:
    kinds = sorted(set(windows.kind))
    if not kinds:
        return {}
    group = np.searchsorted(kinds, list(windows.kind))
    keys = [("", WORKER, kind) for kind in kinds]
    fits = fit_groups(windows.points, group, keys, [moments[kind] for kind in kinds])
    return {
        f.machine_type: f
        for f in fits
        if not f.not_ready and f.e > _SURE_SIGMAS * f.e_error and f.form == FormKind.LINEAR.value
    }


def _supposed(
    windows: WorkerWindows, moments: Mapping[str, int], slopes: Mapping[str, Estimate]
) -> dict[str, WorkerCost]:
    """Workers with a given slope; the rest of what they used is their fixed cost."""
    rest = windows.without(slopes, windows.points.rate)
    costs = {}
    for kind, slope in sorted(slopes.items()):
        cpu = np.sort(rest.of(kind).points.cpu)
        if len(cpu):
            ranks = [int(np.ceil(share * len(cpu))) - 1 for share in (0.25, 0.5, 0.75)]
            costs[kind] = _usual(kind, cpu[ranks].tolist(), moments[kind], slope)
    return costs


def _usual(
    kind: str, quartiles: Sequence[float], minutes: int, slope: Estimate | None = None
) -> WorkerCost:
    low, middle, high = quartiles
    error = _MEDIAN_FACTOR * (high - low) / _IQR_SIGMAS / np.sqrt(minutes)
    if minutes < _FEWEST_MINUTES:  # too few to tell how much they differ
        error = max(error, middle)
    moving: dict[str, Any] = {}
    if slope is not None and slope.value > 0:
        moving = {"e": rounded(slope.value), "e_error": rounded(slope.error)}
    return WorkerCost(kind, rounded(max(middle, 0.0)), rounded(error), **moving)


def _line(fit: CostFit) -> WorkerCost:
    return WorkerCost(
        fit.machine_type, rounded(fit.met), rounded(fit.met_error), rounded(fit.e),
        rounded(fit.e_error),
    )  # fmt: skip
