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
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.arrays import FloatVector
from penstock.model.cpu_form import FormKind
from penstock.model.profile import WorkerCost
from penstock.telemetry import usage
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit import costs
from penstock.telemetry.fit.extrapolate import Estimate, estimate_missing
from penstock.telemetry.fit.group_fit import refused_points
from penstock.telemetry.fit.points import GroupedPoints, Points, point_order
from penstock.telemetry.fit.regression import fit
from penstock.telemetry.fit.rounding import rounded
from penstock.telemetry.traffic import worker_crossings

if TYPE_CHECKING:
    import pandas as pd

_FEWEST_MINUTES = 3
#: A cost per tuple counts when it is surely there.
_SURE_SIGMAS = 3.0
#: The interquartile range of a normal distribution, in standard deviations.
_IQR_SIGMAS = 1.349
#: A median is this much less precise than a mean.
_MEDIAN_FACTOR = 1.2533
#: Part of the spread of crossings that the rate must leave unexplained.
_FEWEST_CONTRAST = 0.1


def worker_costs(
    rates: DataFrame, traffic: DataFrame, workers: DataFrame, components: Sequence[CostFit]
) -> list[WorkerCost]:
    """By machine type, if enough was seen of one: a line if tuples cost workers anything."""
    overheads = usage.worker_overheads(workers).collect()
    # One type seen for long enough is enough: the others' then say how sure they are, and with none
    # at all they would look cheaper.
    if max((row["minutes"] for row in overheads), default=0) < _FEWEST_MINUTES:
        return []
    costs_of = {
        row["machine_type"]: _usual(row["machine_type"], row["quartiles"], row["minutes"])
        for row in overheads
    }
    usage_windows = usage.worker_windows(rates, worker_crossings(traffic))
    windows = usage_windows.where(F.col("machine_type").isin(sorted(costs_of)))
    remote = _filled_in(_sure_crossings(windows), components, costs_of)
    windows = _without(windows, remote, "crossing")
    lines = _sure_lines(windows)
    costs_of |= {kind: _line(fit) for kind, fit in lines.items()}
    sure = {kind: Estimate(f.e, f.e_error) for kind, f in lines.items()}
    slopes = dict.fromkeys(remote, Estimate(0.0, 0.0)) | _filled_in(sure, components, costs_of)
    costs_of |= _supposed(windows, {k: slope for k, slope in slopes.items() if k not in lines})
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
    known |= {(usage.WORKER, kind): (cost.value, cost.error) for kind, cost in sure.items()}
    missing = [(usage.WORKER, kind) for kind in sorted(kinds) if kind not in sure]
    supposed = estimate_missing(known, missing)
    return dict(sure) | {kind: cost for (_, kind), cost in supposed.items()}


# -- tuples that enter or leave ------------------------------------------------------------------


def _sure_crossings(windows: DataFrame) -> dict[str, Estimate]:
    """What a tuple costs that enters or leaves, on the types where that shows."""
    known = windows.where("crossing is not null")
    rows = (
        costs.sampled(known, _counted(known))
        .groupBy("machine_type")
        .applyInPandas(_fit_crossings, "machine_type string, value double, error double")
        .collect()
    )
    return {
        row["machine_type"]: Estimate(row["value"], row["error"])
        for row in rows
        if row["value"] > _SURE_SIGMAS * row["error"]
    }


def _fit_crossings(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    estimate = crossing_cost(costs.points_of(frame), frame["crossing"].to_numpy(np.float64))
    kind = str(frame["machine_type"].iloc[0])
    return pd.DataFrame([{"machine_type": kind, "value": estimate.value, "error": estimate.error}])


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


def _without(windows: DataFrame, cost: Mapping[str, Estimate], per: str) -> DataFrame:
    """The windows less what so many of a thing cost on each machine type."""
    if not cost:
        return windows
    known_costs = windows.sparkSession.createDataFrame(
        [(kind, estimate.value) for kind, estimate in sorted(cost.items())],
        "machine_type string, cost double",
    )
    rest = F.col("cpu_points") - F.coalesce(F.col("cost") * F.col(per), F.lit(0.0))
    joined = windows.join(F.broadcast(known_costs), "machine_type", "left")
    return joined.withColumn("cpu_points", rest).drop("cost")


def _with_crossings(cost: WorkerCost, remote: Estimate | None) -> WorkerCost:
    if remote is None:
        return cost
    return replace(cost, e_remote=rounded(remote.value), e_remote_error=rounded(remote.error))


# -- every tuple ---------------------------------------------------------------------------------


def _sure_lines(windows: DataFrame) -> dict[str, CostFit]:
    fitted = costs.fits(costs.sampled(windows, _counted(windows))).collect()
    fits = (costs.fit_of(row.asDict()) for row in fitted)
    return {
        f.machine_type: f
        for f in fits
        if not f.not_ready and f.e > _SURE_SIGMAS * f.e_error and f.form == FormKind.LINEAR.value
    }


def _counted(windows: DataFrame) -> DataFrame:
    return windows.groupBy(*costs.GROUP).agg(F.count("*").alias("samples"))


def _supposed(windows: DataFrame, slopes: Mapping[str, Estimate]) -> dict[str, WorkerCost]:
    """Workers with a given slope; the rest of what they used is their fixed cost."""
    if not slopes:
        return {}
    rows = (
        _without(windows, slopes, "rate")
        .where(F.col("machine_type").isin(sorted(slopes)))
        .groupBy("machine_type")
        .agg(usage.quartiles(F.col("cpu_points")).alias("quartiles"), F.count("*").alias("windows"))
        .collect()
    )
    return {
        row["machine_type"]: _usual(
            row["machine_type"], row["quartiles"], row["windows"], slopes[row["machine_type"]]
        )
        for row in rows
    }


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
