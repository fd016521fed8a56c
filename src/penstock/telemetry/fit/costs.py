"""Costs on Spark: a robust fit per component and machine type, and a last step over all windows.

A component on a machine type may have millions of windows. The robust fit and the choice of form
run on a fixed sample of them, one group per Python worker. From that start one step over *all*
windows, in SQL, gives the estimate: one Newton step from a good start is as precise as the full
search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock.model.arrays import FloatVector
from penstock.model.cpu_form import FormKind
from penstock.telemetry.clean import USED
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.forms import Choice, choose
from penstock.telemetry.fit.regression import (
    BISQUARE,
    Fitted,
    Points,
    fit_line,
    small_sample_factor,
)

if TYPE_CHECKING:
    import pandas as pd

GROUP = ("topology", "component", "machine_type")
#: Windows per group that the robust fit looks at.
MOST_SAMPLED = 4000
FEWEST_SAMPLES = 12
#: A cost known worse than this is no cost: it is refused, with what would help.
WORST_RELATIVE_ERROR = 0.25
#: What CPU, over all rates seen, is too little to be asked for: an acker's tuples cost next to
#: nothing, and no measurement will ever say how much.
NEGLIGIBLE_POINTS = 1.0
_CLUSTER_MS = 600_000
_BUCKETS = 1_000_000


def _schema() -> T.StructType:
    kinds = {"str": T.StringType(), "int": T.LongType(), "float": T.DoubleType()}
    return T.StructType(
        [T.StructField(n, kinds[str(f.type)]) for n, f in CostFit.__dataclass_fields__.items()]
    )


def group_counts(rates: DataFrame) -> DataFrame:
    """Windows of every group, how many can be fitted, and its memory."""
    usable = _usable()
    return rates.groupBy(*GROUP).agg(
        F.count("*").alias("windows"),
        F.count_if(usable).alias("samples"),
        F.count_if(F.col("cpu_points").isNotNull()).alias("with_cpu"),
        F.count_if(F.col("rate").isNotNull()).alias("with_rate"),
        F.percentile_approx("memory_mb", 0.95, 1000).alias("memory_mb"),
    )


def points(rates: DataFrame, instances: DataFrame) -> DataFrame:
    """The measurements a fit uses."""
    return (
        rates.where(_usable())
        .join(F.broadcast(instances), ["topology", "run", "component", "hour"])
        .select(
            *GROUP, "run", "task", "time_ms", "rate", "cpu_points", "rate_variance", "instances",
            F.xxhash64("run", "task", F.floor(F.col("time_ms") / _CLUSTER_MS)).alias("cluster"),
        )
    )  # fmt: skip


def instances(rates: DataFrame) -> DataFrame:
    """Executors of each component by hour."""
    return rates.groupBy("topology", "run", "component", "hour").agg(
        F.count_distinct("task").cast("double").alias("instances")
    )


def _usable() -> Column:
    return (F.col("status") == USED) & F.col("rate").isNotNull() & F.col("cpu_points").isNotNull()


def sampled(measurements: DataFrame, counts: DataFrame) -> DataFrame:
    """About ``MOST_SAMPLED`` windows of every group, the same ones in every run."""
    place = F.pmod(F.xxhash64("run", "task", "time_ms"), F.lit(_BUCKETS))
    return (
        measurements.join(F.broadcast(counts.select(*GROUP, "samples")), [*GROUP])
        .where(place * F.col("samples") < MOST_SAMPLED * _BUCKETS)
        .withColumnRenamed("samples", "group_samples")
    )


def fits(sample: DataFrame) -> DataFrame:
    """One :class:`CostFit` per group, from its sample."""
    return sample.groupBy(*GROUP).applyInPandas(_fit_frame, _schema())


def fit_of(row: Mapping[str, Any]) -> CostFit:
    """Of a row that came back; Spark gives back a missing number as None."""
    values: dict[str, Any] = {n: np.nan if value is None else value for n, value in row.items()}
    return CostFit(**values)


def _fit_frame(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    frame = in_order(frame)
    names = dict(zip(GROUP, (str(frame[name].iloc[0]) for name in GROUP), strict=True))
    fit = fit_group(points_of(frame), samples=int(frame["group_samples"].iloc[0]), **names)
    return pd.DataFrame([asdict(fit)])


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows arrive in any order; sums of floats depend on it."""
    return frame.sort_values(["time_ms", "task", "run"], kind="stable")


def points_of(frame: pd.DataFrame) -> Points:
    """Of one group, in the order they come."""
    return Points(
        rate=frame["rate"].to_numpy(np.float64),
        cpu=frame["cpu_points"].to_numpy(np.float64),
        rate_variance=frame["rate_variance"].to_numpy(np.float64),
        time_ms=frame["time_ms"].to_numpy(np.int64),
        task=frame["task"].to_numpy(np.int64),
        cluster=frame["cluster"].to_numpy(np.int64),
        instances=frame["instances"].to_numpy(np.float64),
    )


def fit_group(
    measured: Points, *, topology: str, component: str, machine_type: str, samples: int
) -> CostFit:
    """Fit one group, or say why it cannot be done."""
    head = CostFit(topology, component, machine_type, samples)
    refusal = refuse_points(measured)
    if refusal:
        return _with(head, not_ready=refusal)
    choice = choose(measured)
    refusal = refuse_line(measured, choice.line)
    least, most = (float(q) for q in np.quantile(measured.rate, [0.01, 0.99]))
    first, last = _halves(measured)
    flat = _flat(measured) if choice.line.coefficients[0] <= 0 else {}
    return _with(
        head,
        **(_of_choice(choice) | flat),
        rate_least=least,
        rate_most=most,
        e_first=first[0],
        e_first_error=first[1],
        e_last=last[0],
        e_last_error=last[1],
        not_ready=refusal,
    )


def _with(fit: CostFit, **changes: Any) -> CostFit:
    return CostFit(**{**asdict(fit), **changes})


def _of_choice(choice: Choice) -> dict[str, Any]:
    line, form = choice.line, choice.form
    return {
        "e": float(line.coefficients[0]),
        "e_error": float(line.errors[0]),
        "met": max(float(line.coefficients[1]), 0.0),
        "met_error": float(line.errors[1]),
        "form": form.kind.value,
        "shape": form.shape,
        "spin": form.spin,
        "form_e": form.e,
        "form_met": form.met,
        "form_instances": form.instances,
        "r_squared": line.r_squared,
        "scatter_floor": line.scatter.floor,
        "scatter_slope": line.scatter.slope,
        "linear_error": choice.linear_error,
    }


def _flat(measured: Points) -> dict[str, Any]:
    """The same CPU at all rates."""
    level = float(np.median(measured.cpu))
    linear = FormKind.LINEAR.value
    return {"e": 0.0, "met": level, "form": linear, "form_e": 0.0, "form_met": level, "spin": 0.0}


def refuse_points(measured: Points) -> str:
    """What is wrong with the measurements before any fit, in words with a remedy."""
    if len(measured) < FEWEST_SAMPLES:
        extent = f"only {len(measured)} windows with rate and CPU"
        return f"{extent}, {FEWEST_SAMPLES} are needed; run longer"
    low, high = np.quantile(measured.rate, [0.05, 0.95])
    noise = float(np.sqrt(measured.rate_variance.mean()))
    if high - low <= max(0.05 * high, 3 * noise):
        return (
            f"only one rate seen ({low:.4g} to {high:.4g} tuples/s): the cost of a tuple cannot be "
            "told from the fixed cost; run it at other rates too (penstock run: --levels)"
        )
    return ""


def refuse_line(measured: Points, line: Fitted) -> str:
    e, error = float(line.coefficients[0]), float(line.errors[0])
    reach = float(np.ptp(measured.rate))
    if e < 0 and -e * reach > NEGLIGIBLE_POINTS:
        return "CPU falls as the rate rises; is it this component's CPU?"
    if error > WORST_RELATIVE_ERROR * e and 1.96 * error * reach > NEGLIGIBLE_POINTS:
        return (
            f"too uncertain: e = {e:.3g} ± {1.96 * error:.2g}; measure longer, or at rates further "
            f"apart than {measured.rate.min():.4g} to {measured.rate.max():.4g} tuples/s"
        )
    return ""


def _halves(measured: Points) -> tuple[tuple[float, float], tuple[float, float]]:
    """e and its error before and after the middle of the time seen."""
    middle = (int(measured.time_ms.min()) + int(measured.time_ms.max())) // 2
    answers = []
    for half in (measured.time_ms <= middle, measured.time_ms > middle):
        part = measured.where(half)
        if refuse_points(part):
            answers.append((np.nan, np.nan))
            continue
        line = fit_line(part)
        answers.append((float(line.coefficients[0]), float(line.errors[0])))
    return answers[0], answers[1]


# -- the step over all windows -----------------------------------------------------------------

_SUMS = ("axx", "bx", "jxx", "jx", "j1", "g1", "g2")


def all_window_sums(measurements: DataFrame, fitted: DataFrame) -> DataFrame:
    """Weighted sums over every window of the groups that were only sampled, for :func:`refined`."""
    large = fitted.where((F.col("samples") > MOST_SAMPLED) & (F.col("not_ready") == "")).select(
        *GROUP, "e", "met", "form", "shape", "spin", "scatter_floor", "scatter_slope"
    )
    x, v = F.col("rate"), F.col("rate_variance")
    idle = F.when(
        F.col("form") == FormKind.SPINNING.value,
        F.col("spin") * F.greatest(F.lit(0.0), 1 - x / F.col("shape")),
    ).otherwise(0.0)
    joined = measurements.join(F.broadcast(large), [*GROUP]).withColumns(
        {"y": F.col("cpu_points") - idle, "level": F.col("e") * x + F.col("met") + idle}
    )
    sigma = F.greatest(
        F.col("scatter_floor") + F.col("scatter_slope") * F.col("level"), F.lit(1e-9)
    )
    residual = F.col("cpu_points") - F.col("level")
    t = F.pow(residual / sigma / BISQUARE, F.lit(2.0))
    inside = t < 1
    w = F.when(inside, F.pow(1 - t, F.lit(2.0))).otherwise(0.0) / (sigma * sigma)
    j = F.when(inside, (1 - t) * (1 - 5 * t)).otherwise(0.0) / (sigma * sigma)
    joined = joined.withColumns({"w": w, "j": j, "residual": residual})
    w, j, r = F.col("w"), F.col("j"), F.col("residual")
    terms = {
        "axx": w * x * x - j * v, "bx": w * x * F.col("y"),
        "jxx": j * (x * x - v), "jx": j * x, "j1": j,
        "g1": w * x * r + j * F.col("e") * v, "g2": w * r,
    }  # fmt: skip
    by_cluster = joined.groupBy(*GROUP, "cluster").agg(
        *[F.sum(terms[name]).alias(name) for name in _SUMS]
    )
    g1, g2 = F.col("g1"), F.col("g2")
    return by_cluster.groupBy(*GROUP).agg(
        *[F.sum(name).alias(name) for name in _SUMS],
        F.sum(g1 * g1).alias("g11"),
        F.sum(g1 * g2).alias("g12"),
        F.sum(g2 * g2).alias("g22"),
        F.count("*").alias("clusters"),
    )


def refined(fit: CostFit, sums: dict[str, float]) -> CostFit:
    """The fit after one step over all windows, with error bars from all of them."""
    bread = np.linalg.inv(np.array([[sums["jxx"], sums["jx"]], [sums["jx"], sums["j1"]]]))
    # Newton's step. Solving with the weights held would leave a sixth of the start's error.
    step = bread @ np.array([sums["g1"], sums["g2"]])
    theta: FloatVector = np.array([fit.e, fit.met]) + step
    if theta[1] < 0:
        theta = np.array([sums["bx"] / sums["axx"], 0.0])
    theta = np.maximum(theta, 0.0)
    meat = np.array([[sums["g11"], sums["g12"]], [sums["g12"], sums["g22"]]])
    variance = np.diag(bread @ meat @ bread.T)
    errors = np.sqrt(variance) * small_sample_factor(fit.samples, 2, int(sums["clusters"]))
    return _with(
        fit,
        e=float(theta[0]),
        met=float(theta[1]),
        e_error=float(errors[0]),
        met_error=float(errors[1]),
    )
