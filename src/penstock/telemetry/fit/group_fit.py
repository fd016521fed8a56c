"""Groups fitted in bulk, or refused in words that help. No Spark here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.model.cpu_form import FormKind
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.forms import BentForms, bent_forms
from penstock.telemetry.fit.points import GroupedPoints, Points
from penstock.telemetry.fit.regression import GroupFits, fit_lines
from penstock.telemetry.fit.segments import Segments, stable_order

FEWEST_SAMPLES = 12
#: A cost known worse than this is no cost: it is refused, with what would help.
WORST_RELATIVE_ERROR = 0.25
#: What CPU, over all rates seen, is too little to be asked for: an acker's tuples cost next to
#: nothing, and no measurement will ever say how much.
NEGLIGIBLE_POINTS = 1.0
#: Points that are fitted at once: their columns stay in the processor's cache.
_BATCH_POINTS = 32_768

#: Topology, component and machine type.
GroupKey = tuple[str, str, str]


def fit_groups(
    points: Points, group: IntVector, keys: Sequence[GroupKey], samples: Sequence[int]
) -> list[CostFit]:
    """The fit of every group. Points come in any order, ``group`` says whose each is."""
    if not keys:
        return []
    fits: list[CostFit | None] = [None] * len(keys)
    for numbers, chosen in _batches(group, len(keys)):
        local = np.searchsorted(numbers, group[chosen])
        data = GroupedPoints.of(points.where(chosen), local, len(numbers))
        batch = _fit_batch(data, [keys[n] for n in numbers], [samples[n] for n in numbers])
        for number, fit in zip(numbers, batch, strict=True):
            fits[number] = fit
    return [fit for fit in fits if fit is not None]


def _batches(group: IntVector, number: int) -> Iterator[tuple[IntVector, IntVector]]:
    """Groups of about the same size, and the places of their points."""
    order = stable_order(group)
    groups = Segments(np.bincount(group, minlength=number))
    by_size = np.argsort(groups.counts, kind="stable")
    batch = np.cumsum(groups.counts[by_size]) // _BATCH_POINTS
    for some in np.split(by_size, np.flatnonzero(np.diff(batch)) + 1):
        numbers = np.sort(some)
        parts = [order[groups.starts[n] : groups.starts[n] + groups.counts[n]] for n in numbers]
        yield numbers, np.concatenate(parts)


def _fit_batch(
    data: GroupedPoints, keys: Sequence[GroupKey], samples: Sequence[int]
) -> list[CostFit]:
    refused = refused_points(data)
    usable = np.array([not why for why in refused])
    fits = [
        CostFit(*key, count, not_ready=why)
        for key, count, why in zip(keys, samples, refused, strict=True)
    ]
    if not usable.any():
        return fits
    part = data.only(usable)
    for number, figures in zip(np.flatnonzero(usable).tolist(), _figures(part), strict=True):
        fits[number] = CostFit(*keys[number], samples[number], **figures)
    return fits


# -- refusals ----------------------------------------------------------------------------------


def refused_points(data: GroupedPoints) -> list[str]:
    """What is wrong with each group before any fit, in words with a remedy; empty if nothing."""
    groups, rate = data.groups, data.points.rate
    low, high = groups.sorted_quantiles(rate, 0.05), groups.sorted_quantiles(rate, 0.95)
    noise = np.sqrt(groups.means(data.points.rate_variance))
    one_rate = high - low <= np.maximum(0.05 * high, 3 * noise)
    return [
        _few(count) if count < FEWEST_SAMPLES else _one_rate(*ends) if one else ""
        for count, one, *ends in zip(groups.counts, one_rate, low, high, strict=True)
    ]


def _few(count: int) -> str:
    extent = f"only {count} windows with rate and CPU"
    return f"{extent}, {FEWEST_SAMPLES} are needed; run longer"


def _one_rate(low: float, high: float) -> str:
    return (
        f"only one rate seen ({low:.4g} to {high:.4g} tuples/s): the cost of a tuple cannot be "
        "told from the fixed cost; run it at other rates too (penstock run: --levels)"
    )


def refused_line(e: float, error: float, least: float, most: float) -> str:
    """What is wrong with the cost of a tuple, for rates seen from ``least`` to ``most``."""
    reach = most - least
    if e < 0 and -e * reach > NEGLIGIBLE_POINTS:
        return "CPU falls as the rate rises; is it this component's CPU?"
    if error > WORST_RELATIVE_ERROR * e and 1.96 * error * reach > NEGLIGIBLE_POINTS:
        return (
            f"too uncertain: e = {e:.3g} ± {1.96 * error:.2g}; measure longer, or at rates further "
            f"apart than {least:.4g} to {most:.4g} tuples/s"
        )
    return ""


# -- the figures of a fit ----------------------------------------------------------------------


def _figures(data: GroupedPoints) -> list[dict[str, Any]]:
    """Fields of a :class:`CostFit`, for groups that can be fitted."""
    groups, points = data.groups, data.points
    lines = fit_lines(data)
    columns = _plain(lines)
    for bent in bent_forms(data, lines):
        _put(columns, bent)
    flat = columns["e"] <= 0
    columns["not_ready"] = _refusals(columns, data)
    _put_flat(columns, flat, groups.medians(points.cpu))
    columns["rate_least"] = groups.sorted_quantiles(points.rate, 0.01)
    columns["rate_most"] = groups.sorted_quantiles(points.rate, 0.99)
    ends = groups.maxima(points.time_ms) - groups.maxima(-points.time_ms)
    middle = np.asarray(ends // 2)
    first = points.time_ms <= groups.spread(middle)
    columns["e_first"], columns["e_first_error"] = _slope_alone(data.where(first))
    columns["e_last"], columns["e_last_error"] = _slope_alone(data.where(~first))
    values = {name: column.tolist() for name, column in columns.items()}
    return [{name: column[g] for name, column in values.items()} for g in range(len(data))]


def _plain(lines: GroupFits) -> dict[str, Any]:
    zeros = np.zeros(len(lines.r_squared))
    return _line_columns(lines) | {
        "form": np.full(len(zeros), FormKind.LINEAR.value, dtype=object),
        "shape": zeros.copy(),
        "spin": zeros.copy(),
        "form_e": lines.coefficients[:, 0].copy(),
        "form_met": lines.coefficients[:, 1].copy(),
        "form_instances": zeros + 1.0,
        "linear_error": zeros.copy(),
    }


def _line_columns(lines: GroupFits) -> dict[str, FloatVector]:
    return {
        "e": lines.coefficients[:, 0].copy(),
        "e_error": lines.errors[:, 0].copy(),
        "met": np.maximum(lines.coefficients[:, 1], 0.0),
        "met_error": lines.errors[:, 1].copy(),
        "r_squared": lines.r_squared.copy(),
        "scatter_floor": lines.scatter.floor.copy(),
        "scatter_slope": lines.scatter.slope.copy(),
    }


def _put(columns: dict[str, Any], bent: BentForms) -> None:
    forms = bent.forms
    own = _line_columns(bent.lines) | {
        "form": forms.kind.value,
        "shape": forms.shape,
        "spin": forms.spin,
        "form_e": forms.e,
        "form_met": forms.met,
        "linear_error": bent.linear_error,
    }
    if forms.kind is FormKind.CROWDING:
        own["form_instances"] = forms.reference
    for name, values in own.items():
        columns[name][bent.groups] = values


def _put_flat(columns: dict[str, Any], flat: BoolVector, level: FloatVector) -> None:
    """The same CPU at all rates."""
    own = {"e": 0.0, "met": level[flat], "form": FormKind.LINEAR.value, "form_e": 0.0,
           "form_met": level[flat], "spin": 0.0}  # fmt: skip
    for name, values in own.items():
        columns[name][flat] = values


def _refusals(columns: dict[str, Any], data: GroupedPoints) -> Any:
    rate, groups = data.points.rate, data.groups
    ends = zip(columns["e"], columns["e_error"], rate[groups.starts],
               rate[groups.starts + groups.counts - 1], strict=True)  # fmt: skip
    return np.array([refused_line(*figures) for figures in ends], dtype=object)


def _slope_alone(data: GroupedPoints) -> tuple[FloatVector, FloatVector]:
    """e and its error of a part of the time; NaN where it cannot be told."""
    usable = np.array([not why for why in refused_points(data)])
    slope, error = np.full(len(data), np.nan), np.full(len(data), np.nan)
    if usable.any():
        lines = fit_lines(data.only(usable))
        slope[usable], error[usable] = lines.coefficients[:, 0], lines.errors[:, 0]
    return slope, error
