"""Costs on Spark: a robust fit per component and machine type, and a last step over all windows.

A component on a machine type may have millions of windows. The robust fit and the choice of form
run on a fixed sample of them, all groups of a worker at once. From that start one step over *all*
windows, in SQL, gives the estimate: one Newton step from a good start is as precise as the full
search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock.model.arrays import FloatVector, IntVector
from penstock.model.cpu_form import FormKind
from penstock.telemetry.clean import USED
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.group_fit import GroupKey, fit_groups
from penstock.telemetry.fit.points import Points
from penstock.telemetry.fit.sandwich import small_sample_factors
from penstock.telemetry.fit.scatter import BISQUARE

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = ("topology", "component", "machine_type")
#: Windows per group that the robust fit looks at.
MOST_SAMPLED = 4000
#: Groups are dealt to as many calls of the fit: enough for a hundred cores, and few enough that
#: each has several groups to work on at once.
_FIT_LOTS = 512
_COLUMNS = ("rate", "cpu_points", "rate_variance", "time_ms", "task", "cluster", "instances")
_CLUSTER_MS = 600_000
_BUCKETS = 1_000_000


def _schema() -> T.StructType:
    kinds = {"str": T.StringType(), "int": T.LongType(), "float": T.DoubleType()}
    return T.StructType(
        [T.StructField(n, kinds[str(f.type)]) for n, f in CostFit.__dataclass_fields__.items()]
    )


def _arrow_schema() -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(_schema())


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
    """One :class:`CostFit` per group, from its sample; many groups in one call of Python."""
    lot = F.pmod(F.xxhash64(*GROUP), F.lit(_FIT_LOTS)).alias("lot")
    needed = sample.select(*GROUP, *_COLUMNS, "group_samples", lot)
    return needed.groupBy("lot").applyInArrow(_fit_table, _schema())


def fit_of(row: Mapping[str, Any]) -> CostFit:
    """Of a row that came back; Spark gives back a missing number as None."""
    values: dict[str, Any] = {n: np.nan if value is None else value for n, value in row.items()}
    return CostFit(**values)


def _fit_table(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    keys, group = _keys_of(table)
    samples = np.zeros(len(keys), dtype=np.int64)
    samples[group] = table["group_samples"].to_numpy()
    points = points_of({name: table[name].to_numpy() for name in _COLUMNS})
    rows = [asdict(fit) for fit in fit_groups(points, group, keys, samples.tolist())]
    return pa.Table.from_pylist(rows, schema=_arrow_schema())


def _keys_of(table: pa.Table) -> tuple[list[GroupKey], IntVector]:
    """The groups of a table in order, and whose each row is."""
    columns = [table[name].combine_chunks().dictionary_encode() for name in GROUP]
    code = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        code = code * len(column.dictionary) + column.indices.to_numpy()
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    names = [[column[row].as_py() for row in first.tolist()] for column in columns]
    keys = list(zip(*names, strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [keys[n] for n in order], np.argsort(order)[group]


def points_of(columns: Mapping[str, Any]) -> Points:
    """Of columns by the names of the tables."""
    whole = {name: np.asarray(columns[name]) for name in _COLUMNS}
    return Points(
        rate=whole["rate"].astype(np.float64),
        cpu=whole["cpu_points"].astype(np.float64),
        rate_variance=whole["rate_variance"].astype(np.float64),
        time_ms=whole["time_ms"].astype(np.int64),
        task=whole["task"].astype(np.int64),
        cluster=whole["cluster"].astype(np.int64),
        instances=whole["instances"].astype(np.float64),
    )


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
    errors = np.sqrt(variance) * small_sample_factors(
        np.array([fit.samples]), 2, np.array([int(sums["clusters"])])
    )
    return replace(
        fit,
        e=float(theta[0]),
        met=float(theta[1]),
        e_error=float(errors[0]),
        met_error=float(errors[1]),
    )
