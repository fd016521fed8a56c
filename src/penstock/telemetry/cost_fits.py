"""Costs fitted on Spark: robustly to samples of windows, then one step over all windows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from penstock.model.arrays import FloatVector
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.costs import refined
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.schemas import RATES
from penstock.telemetry.slots.fit_points import LOTS
from penstock.telemetry.slots.fit_task import (
    FIT_SCHEMA,
    SQUARES,
    STEP_SCHEMA,
    SUMS,
    FitTask,
    StepTask,
)
from penstock.telemetry.slots.hour_files import hour_files, hour_samples
from penstock.telemetry.slots.rates_task import HourSamples, RatesTask
from penstock.telemetry.slots.sums import MOST_SAMPLED, SampleSizes
from penstock.telemetry.tables import POINTS, Tables
from penstock.telemetry.timings import Timings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_Key = tuple[str, str, str]


@dataclass
class CostFits:
    """Fits of a store's costs, brought up to date as records come in.

    Live, what was computed of hours that did not change is used again: a group is fitted anew when
    it has grown by a tenth, and sums over all its windows are made anew only where that moves its
    fit by more than its error.
    """

    spark: SparkSession
    timings: Timings
    #: Fits to samples, from which the step over all windows starts.
    _starts: dict[_Key, CostFit] = field(default_factory=dict)
    #: Sums of each hour, with the files they are of.
    _sums: dict[str, tuple[tuple[str, ...], dict[_Key, FloatVector]]] = field(default_factory=dict)

    def update(self, tables: Tables, manifest: Manifest, sizes: SampleSizes) -> list[CostFit]:
        """One fit for each component on each machine type with a usable window."""
        self._fit_samples(tables.store.root, manifest, sizes)
        fits = [
            replace(start, samples=sizes.groups[key])
            for key, start in sorted(self._starts.items())
            if sizes.groups.get(key)
        ]
        large = {_key(f): f for f in fits if f.samples > MOST_SAMPLED and not f.not_ready}
        if not large:
            return fits
        with self.timings.step("step over all windows") as step:
            sums, step.rows = self._all_sums(tables, manifest, large)
        return [refined(f, sums[_key(f)]) if _key(f) in large else f for f in fits]

    def _fit_samples(self, root: str, manifest: Manifest, sizes: SampleSizes) -> None:
        due = {
            key
            for key, number in sizes.groups.items()
            if number and (key not in self._starts or _is_due(self._starts[key], number))
        }
        if not due:
            return
        paths = [path for _, path in sorted(manifest.parts.get(POINTS, {}).items())]
        with self.timings.step("fits to samples"):
            task = FitTask(root, paths, sizes, frozenset(due))
            windows = sum(min(sizes.groups[key], MOST_SAMPLED) for key in due)
            tasks = min(LOTS, max(self.spark.sparkContext.defaultParallelism, windows // _OF_TASK))
            rows = _rows(self.spark, task.run, FIT_SCHEMA, LOTS, tasks)
            fits = [_fit_of(row) for row in rows]
        for fit in fits:
            key = _key(fit)
            known = self._starts.get(key)
            # Without a step over all windows to come, only the newest fit is that of all windows.
            if known is not None and fit.samples > MOST_SAMPLED and _is_close(known, fit):
                self._starts[key] = replace(fit, **{n: getattr(known, n) for n in _START})
                continue
            self._starts[key] = fit
            for _, by_group in self._sums.values():
                by_group.pop(key, None)

    def _all_sums(
        self, tables: Tables, manifest: Manifest, large: Mapping[_Key, CostFit]
    ) -> tuple[dict[_Key, dict[str, float]], int]:
        """Sums over all windows, and how many records were read for them."""
        settings, hours = tables.window_settings(manifest), hour_files(manifest)
        warm_up = str(settings.warm_up_s)
        files = {hour: (warm_up, *own, *before) for hour, own, before in hours}
        stale = {h for h, paths in files.items() if self._sums.get(h, ((), {}))[0] != paths}
        for hour in set(self._sums) - set(files):
            del self._sums[hour]
        for hour in stale:
            self._sums[hour] = files[hour], {}
        lacking = {
            key
            for hour, (_, by_group) in self._sums.items()
            if hour not in stale
            for key in large
            if key not in by_group
        }
        for chosen, fits in (
            ([hour for hour in hours if hour[0] in stale], dict(large)),
            ([hour for hour in hours if hour[0] not in stale], {k: large[k] for k in lacking}),
        ):
            if chosen and fits:
                self._add_up(hour_samples(settings, manifest, chosen), fits)
        total = {key: np.zeros(len((*SUMS, *SQUARES))) for key in large}
        for _, (_, by_group) in sorted(self._sums.items()):
            for key, sums in by_group.items():
                if key in total:
                    total[key] += sums
        names = (*SUMS, *SQUARES)
        counted = tables.records_in(manifest)
        share = 1.0 if lacking else len(stale) / max(len(files), 1)
        return (
            {key: dict(zip(names, sums.tolist(), strict=True)) for key, sums in total.items()},
            round(counted * share),
        )

    def _add_up(self, samples: HourSamples, fits: Mapping[_Key, CostFit]) -> None:
        task = StepTask(samples, fits)
        names = (*SUMS, *SQUARES)
        hours = len(samples.hours)
        for row in _rows(self.spark, task.run, STEP_SCHEMA, hours, hours):
            key = (row["topology"], row["component"], row["machine_type"])
            self._sums[row["hour"]][1][key] = np.array([row[name] for name in names])


#: Fits to fewer windows take less time than a task of their own.
_OF_TASK = 20_000
#: A group that has grown by so much is fitted anew.
_GROWTH = 1.1
#: What the step over all windows starts from.
_START = ("e", "met", "form", "shape", "spin", "scatter_floor", "scatter_slope")


def _is_due(known: CostFit, number: int) -> bool:
    return number >= _GROWTH * known.samples or known.samples != number <= MOST_SAMPLED


def _is_close(known: CostFit, fit: CostFit) -> bool:
    """Whether a step from the one ends where a step from the other does."""
    if known.not_ready or fit.not_ready or known.form != fit.form:
        return False
    return abs(fit.e - known.e) <= known.e_error and abs(fit.met - known.met) <= known.met_error


def rates_view(tables: Tables, manifest: Manifest) -> DataFrame:
    """The table of rates, made of the samples as a commit has them."""
    hours, spark = hour_files(manifest), tables.store.spark
    if not hours:
        return spark.createDataFrame([], RATES)
    task = RatesTask(
        hour_samples(tables.window_settings(manifest), manifest, hours), to_arrow_schema(RATES)
    )
    number = len(hours)
    return spark.range(0, number, 1, number).mapInArrow(task.run, RATES)


def _rows(
    spark: SparkSession, run: Any, schema: pa.Schema, number: int, tasks: int
) -> Iterable[Mapping[str, Any]]:
    """What tasks make of so many numbers, in their order."""
    frame = spark.range(0, number, 1, tasks).mapInArrow(run, from_arrow_schema(schema))
    return [row.asDict() for row in frame.collect()]


def _key(fit: CostFit) -> _Key:
    return fit.topology, fit.component, fit.machine_type


def _fit_of(row: Mapping[str, Any]) -> CostFit:
    """Of a row that came back; Spark gives back a missing number as None."""
    values: dict[str, Any] = {n: math.nan if v is None else v for n, v in row.items()}
    return CostFit(**values)
