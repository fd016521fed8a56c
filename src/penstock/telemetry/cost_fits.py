"""Costs fitted on Spark: robustly to samples of windows, then one step over all windows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from penstock.model.arrays import IntVector
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.costs import refined
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.schemas import RATES
from penstock.telemetry.slots.bundles import read_bundle
from penstock.telemetry.slots.columns import Vocabulary, from_arrow
from penstock.telemetry.slots.fit_points import LOTS
from penstock.telemetry.slots.fit_task import (
    FIT_SCHEMA,
    SQUARES,
    STEP_SCHEMA,
    SUMS,
    FitTask,
    StepTask,
)
from penstock.telemetry.slots.keys import hour_of, shifted
from penstock.telemetry.slots.rates_task import HourSamples, RatesTask
from penstock.telemetry.slots.sums import MOST_SAMPLED, SampleSizes
from penstock.telemetry.tables import POINTS, SLOTS, Tables, paths_of_hour
from penstock.telemetry.timings import Timings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_Key = tuple[str, str, str]


def fit_costs(
    spark: SparkSession,
    tables: Tables,
    manifest: Manifest,
    sizes: SampleSizes,
    timings: Timings,
) -> list[CostFit]:
    """One fit for each component on each machine type with a usable window."""
    paths = [path for _, path in sorted(manifest.parts.get(POINTS, {}).items())]
    if not paths:
        return []
    with timings.step("fits to samples"):
        task = FitTask(tables.store.root, paths, sizes)
        fits = [_fit_of(row) for row in _rows(spark, task.run, FIT_SCHEMA, LOTS)]
    large = {_key(f): f for f in fits if f.samples > MOST_SAMPLED and not f.not_ready}
    if not large:
        return fits
    with timings.step("step over all windows") as step:
        sums = _step_sums(spark, hour_samples(tables, manifest), large)
        step.rows = tables.records_in(manifest)
    return [refined(f, sums[_key(f)]) if _key(f) in large else f for f in fits]


def _step_sums(
    spark: SparkSession, samples: HourSamples, large: Mapping[_Key, CostFit]
) -> dict[_Key, dict[str, float]]:
    sums = {key: dict.fromkeys((*SUMS, *SQUARES), 0.0) for key in large}
    rows = _rows(spark, StepTask(samples, large).run, STEP_SCHEMA, len(samples.hours))
    for row in sorted(rows, key=lambda row: row["hour"]):
        own = sums[row["topology"], row["component"], row["machine_type"]]
        for name in own:
            own[name] += row[name]
    return sums


def rates_view(tables: Tables, manifest: Manifest) -> DataFrame:
    """The table of rates, made of the samples as a commit has them."""
    samples = hour_samples(tables, manifest)
    spark = tables.store.spark
    if not samples.hours:
        return spark.createDataFrame([], RATES)
    task = RatesTask(samples, to_arrow_schema(RATES))
    number = len(samples.hours)
    return spark.range(0, number, 1, number).mapInArrow(task.run, RATES)


def hour_samples(tables: Tables, manifest: Manifest) -> HourSamples:
    """Files of samples by hour, with the records in them that do not count."""
    settings, by_slot = tables.window_settings(manifest), tables.samples_by_slot(manifest)
    hours = sorted({hour_of(slot) for slot in by_slot})
    return HourSamples(
        settings=settings,
        hours=[
            (
                hour,
                paths_of_hour(by_slot, hour),
                paths_of_hour(by_slot, shifted(hour, -1)) if settings.totals else [],
            )
            for hour in hours
        ],
        dropped={} if settings.needs_hours else _dropped(tables.store.root, manifest),
    )


def _dropped(root: str, manifest: Manifest) -> dict[str, IntVector]:
    by_path: dict[str, set[str]] = {}
    for slot, path in manifest.parts.get(SLOTS, {}).items():
        by_path.setdefault(path, set()).add(slot)
    rows: dict[str, list[IntVector]] = {}
    for path, slots in sorted(by_path.items()):
        vocabulary = Vocabulary()
        table = from_arrow(read_bundle(root, path, {"dropped"})["dropped"], vocabulary)
        wanted = np.isin(table["slot"], [vocabulary.number(slot) for slot in slots])
        for number in np.unique(table["path"][wanted]):
            own = table["row"][wanted & (table["path"] == number)]
            rows.setdefault(vocabulary.words[number], []).append(own)
    return {path: np.sort(np.concatenate(parts)) for path, parts in rows.items()}


def _rows(
    spark: SparkSession, run: Any, schema: pa.Schema, number: int
) -> Iterable[Mapping[str, Any]]:
    frame = spark.range(0, number, 1, number).mapInArrow(run, from_arrow_schema(schema))
    return [row.asDict() for row in frame.collect()]


def _key(fit: CostFit) -> _Key:
    return fit.topology, fit.component, fit.machine_type


def _fit_of(row: Mapping[str, Any]) -> CostFit:
    """Of a row that came back; Spark gives back a missing number as None."""
    values: dict[str, Any] = {n: math.nan if v is None else v for n, v in row.items()}
    return CostFit(**values)
