"""What a worker process costs beside its tasks: always, and for every tuple that it moves.

The worker is fitted like a component. A machine type on which the line is not sure gets the slope
that its speed in everything else suggests: with none at all it would look cheaper than the others
and be given more work than it can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.cpu_form import FormKind
from penstock.model.profile import WorkerCost
from penstock.telemetry import costs, usage
from penstock.telemetry.extrapolate import Estimate, estimate_missing
from penstock.telemetry.findings import CostFit
from penstock.telemetry.rounding import rounded

_FEWEST_MINUTES = 3
#: A cost per tuple counts when it is surely there.
_SURE_SIGMAS = 3.0
#: The interquartile range of a normal distribution, in standard deviations.
_IQR_SIGMAS = 1.349
#: A median is this much less precise than a mean.
_MEDIAN_FACTOR = 1.2533


def worker_costs(
    rates: DataFrame, workers: DataFrame, components: Sequence[CostFit]
) -> list[WorkerCost]:
    """By machine type, where enough was seen: a line if tuples cost workers anything."""
    found = {
        row["machine_type"]: _usual(row["machine_type"], row["quartiles"], row["minutes"])
        for row in usage.worker_overheads(workers).collect()
        if row["minutes"] >= _FEWEST_MINUTES
    }
    if not found:
        return []
    windows = usage.worker_windows(rates).where(F.col("machine_type").isin(sorted(found)))
    lines = _sure_lines(windows)
    found |= {kind: _line(fit) for kind, fit in lines.items()}
    found |= _supposed(windows, _slopes(lines, components, found))
    return [found[kind] for kind in sorted(found)]


def _sure_lines(windows: DataFrame) -> dict[str, CostFit]:
    counts = windows.groupBy(*costs.GROUP).agg(F.count("*").alias("samples"))
    fitted = costs.fits(costs.sampled(windows, counts)).collect()
    fits = (costs.fit_of(row.asDict()) for row in fitted)
    return {
        f.machine_type: f
        for f in fits
        if not f.not_ready and f.e > _SURE_SIGMAS * f.e_error and f.form == FormKind.LINEAR.value
    }


def _slopes(
    lines: Mapping[str, CostFit], components: Sequence[CostFit], kinds: Mapping[str, object]
) -> dict[str, Estimate]:
    """The cost of a tuple on types without a line of their own, where another has one."""
    known = {
        (f"{f.topology}/{f.component}", f.machine_type): (f.e, f.e_error)
        for f in components
        if not f.not_ready
    }
    known |= {(usage.WORKER, kind): (f.e, f.e_error) for kind, f in lines.items()}
    wanted = [(usage.WORKER, kind) for kind in sorted(kinds) if kind not in lines]
    return {kind: slope for (_, kind), slope in estimate_missing(known, wanted).items()}


def _supposed(windows: DataFrame, slopes: Mapping[str, Estimate]) -> dict[str, WorkerCost]:
    """Workers with a given slope; the rest of what they used is their fixed cost."""
    if not slopes:
        return {}
    spark = windows.sparkSession
    given = spark.createDataFrame(
        [(kind, slope.value) for kind, slope in sorted(slopes.items())],
        "machine_type string, slope double",
    )
    rest = F.col("cpu_points") - F.col("slope") * F.col("rate")
    rows = (
        windows.join(F.broadcast(given), "machine_type")
        .groupBy("machine_type")
        .agg(usage.quartiles(rest).alias("quartiles"), F.count("*").alias("windows"))
        .collect()
    )
    return {
        row["machine_type"]: _usual(
            row["machine_type"], row["quartiles"], row["windows"], slopes[row["machine_type"]]
        )
        for row in rows
    }


def _usual(
    kind: str, quartiles: Sequence[float], seen: int, slope: Estimate | None = None
) -> WorkerCost:
    low, middle, high = quartiles
    error = _MEDIAN_FACTOR * (high - low) / _IQR_SIGMAS / np.sqrt(seen)
    moving: dict[str, Any] = {}
    if slope is not None:
        moving = {"e": rounded(slope.value), "e_error": rounded(slope.error)}
    return WorkerCost(kind, rounded(max(middle, 0.0)), rounded(error), **moving)


def _line(fit: CostFit) -> WorkerCost:
    return WorkerCost(
        fit.machine_type, rounded(fit.met), rounded(fit.met_error), rounded(fit.e),
        rounded(fit.e_error),
    )  # fmt: skip
