"""DuckDB doing the pipeline's whole job: the same tables row by row, and the same fits."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.errors import InputError
from penstock.evaluate.capacity import capacity
from penstock.telemetry.arrow_record import record_schema
from penstock.telemetry.findings import CostFit, Measurement
from penstock.telemetry.pipeline import build_profile
from penstock.telemetry.source import open_source
from penstock_bench.benchmarks.duckdb_job import WholeJob, do_whole_job
from penstock_bench.benchmarks.pipeline import rows, rows_of
from penstock_bench.benchmarks.recordings import everywhere, random_problem
from penstock_bench.synthetic import (
    Behaviour,
    InjectedDrift,
    InjectedFaults,
    Noise,
    Recording,
    levels,
    write_parquet,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RECORDS = 200_000
START_MS = 1_767_225_600_000
TABLES = ("rates", "streams", "traffic", "places", "workers", "utilisation", "quarantine")
#: Of what was set aside; its text, and the name of its file, are the engine's own.
COMPARED_OF_QUARANTINE = ("reason", "field")


def record(task: int, second: int, **changes: Any) -> dict[str, Any]:
    """One of a topology of its own, in a quarter of an hour."""
    return {
        "version": 1, "topology": "broken", "run": "r", "component": "a", "task": task,
        "host": "h1", "machine_type": "M1", "worker": "6700", "uptime_s": 900.0,
        "time_ms": START_MS + 1000 * second, "window_ms": 10_000, "cpu_points": 5.0,
        "inputs": [{"component": "s", "stream": "default", "tuples": 50.0, "task": 9}],
        "outputs": [], **changes,
    }  # fmt: skip


def entry(**changes: Any) -> dict[str, Any]:
    return {"component": "s", "stream": "default", "tuples": 50.0, **changes}


#: One of each way in which a record of these types can be wrong, and some that are only odd.
ODD: tuple[dict[str, Any], ...] = (
    {"version": None}, {"version": 7}, {"topology": None}, {"task": None}, {"machine_type": None},
    {"cpu_points": math.nan}, {"memory_mb": math.inf}, {"component": "{}"}, {"host": " "},
    {"rack": ""}, {"time_ms": START_MS // 1000}, {"time_ms": None}, {"time_ms": 946_684_700_000},
    {"time_ms": 4_102_444_800_000}, {"time_ms": START_MS * 1000}, {"window_ms": 0},
    {"window_ms": 10**9}, {"cpu_points": -1.0}, {"produced": -2.0}, {"queue_fill": 1.5},
    {"held_back": 1.01}, {"last_task": 0}, {"last_task": 90_000}, {"sample_rate": 0.0},
    {"sample_rate": 1.2}, {"counters": "sum"}, {"cpu_points": 2e6}, {"latency_ms": 1e19},
    {"inputs": [None]}, {"inputs": [entry(), entry(tuples=None)]},
    {"inputs": [entry(tuples=-1.0)]}, {"inputs": [entry(tuples=math.nan)]},
    {"inputs": [entry(bytes=1e19)]}, {"inputs": [entry(component="")]},
    {"inputs": [entry(stream="[x")]}, {"inputs": [entry(task=-3)]},
    {"outputs": [{"stream": None, "tuples": 1.0}]}, {"outputs": [{"stream": "x", "tuples": -1.0}]},
    # Odd, and sound.
    {"inputs": None, "outputs": None}, {"inputs": []}, {"inputs": None, "produced": 30.0},
    {"inputs": None, "outputs": [{"stream": "x", "tuples": 3.0, "bytes": 9.0}]},
    {"last_task": 500}, {"uptime_s": 20.0}, {"uptime_s": None}, {"run": None}, {"rack": "r1"},
    {"sample_rate": 0.05}, {"inputs": [entry(), entry(task=9), entry()], "sample_rate": 0.5},
    {"inputs": [entry(component="ghost")]}, {"cpu_points": None}, {"worker_cpu_points": 30.0},
    {"window_ms": 700}, {"window_ms": 61_000},
)  # fmt: skip


def write_odd(folder: Path) -> None:
    lines = [{**record(i + 1, 10 * i), **changes} for i, changes in enumerate(ODD)]
    # Three times the same: two are set aside. Two that contradict each other: both.
    lines += [record(700, 700)] * 3
    lines += [record(701, 700), record(701, 700, cpu_points=6.0), record(701, 700)]
    lines += [record(9, 10 * i, component="s", outputs=[]) for i in range(40)]
    pq.write_table(pa.Table.from_pylist(lines, schema=record_schema()), folder / "odd.parquet")


def recording(name: str, *, by_task: bool, seed: int) -> Recording:
    problem = random_problem(name, 4, 3, seed)
    placement = everywhere(problem)
    rng = np.random.default_rng(seed)
    windows = RECORDS // 2 // len(placement)
    return Recording(
        problem=problem,
        placement=placement,
        scale=levels(capacity(problem, placement).scale, windows, rng, hold=5),
        by_task=by_task,
        worker_cpu_points=4.0,
        # What knows no tasks is counted as Storm counts: one tuple in twenty.
        noise=Noise(cpu_relative=0.05, cpu_points=0.1, sample_rate=1.0 if by_task else 0.05),
        faults=InjectedFaults(
            outliers=0.01, restarts=0.002, duplicates=0.01, out_of_order=0.02, late=0.02, lost=0.01
        ),
        behaviour=Behaviour(
            drifts=(InjectedDrift(component=problem.components[1].name, factor=1.5,
                                  from_ms=START_MS + 5_000 * windows),),
        ),
    )  # fmt: skip


@dataclass(frozen=True)
class Both:
    """What each found in the same files."""

    ours: Measurement
    peer: WholeJob
    store: Path
    tables: Path


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Both:
    place = tmp_path_factory.mktemp("whole-job")
    folder = place / "telemetry"
    folder.mkdir()
    rng = np.random.default_rng(3)
    for name, by_task in (("by-task", True), ("by-stream", False)):
        write_parquet(recording(name, by_task=by_task, seed=4), folder, rng, files=4, prefix=name)
    write_odd(folder)
    ours = build_profile(spark, open_source(spark, str(folder)), store=str(place / "store"))
    return Both(ours, do_whole_job(folder, place / "tables"), place / "store", place / "tables")


def compared(found: Counter[str]) -> Counter[str]:
    """Rows without their hour, which our store has in the names of folders."""
    kept: Counter[str] = Counter()
    for line, count in found.items():
        row = json.loads(line)
        row.pop("hour", None)
        if "reason" in row:
            row = {name: row[name] for name in COMPARED_OF_QUARANTINE}
        kept[json.dumps(row, sort_keys=True)] += count
    return kept


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_the_same_rows_to_nine_digits(both: Both, table: str):
    ours = compared(rows(both.store, table))
    peer = compared(rows_of((both.tables / table).glob("*.parquet")))
    assert ours.total() > 0
    assert list((ours - peer).items())[:3] == list((peer - ours).items())[:3] == []


def test_every_way_to_be_wrong_was_seen(both: Both):
    wrong = {
        (row["reason"], row["field"]) for row in map(json.loads, rows(both.store, "quarantine"))
    }
    assert len(wrong) >= 30


def test_the_fits_are_the_same_where_all_windows_were_looked_at(both: Both):
    peer = {(f.topology, f.component, f.machine_type): f for f in both.peer.fits}
    compared = 0
    for fit in both.ours.findings.fits:
        if fit.samples == 0:
            continue  # nothing to fit; said by counts alone
        other = peer[fit.topology, fit.component, fit.machine_type]
        assert (fit.samples, bool(fit.not_ready)) == (other.samples, bool(other.not_ready))
        if not fit.not_ready:
            compare(fit, other)
            compared += 1
    assert compared >= 15


def compare(fit: CostFit, other: CostFit) -> None:
    assert fit.form == other.form
    # Samples of larger groups are drawn by other hashes; then one step over all follows.
    part = 1e-6 if fit.samples <= 4000 else 0.3
    assert abs(fit.e - other.e) <= part * fit.e_error
    assert abs(fit.met - other.met) <= part * max(fit.met_error, 1e-9)


def test_totals_are_refused(tmp_path: Path):
    totals = replace(recording("totals", by_task=True, seed=1), scale=np.ones(20), counters="total")
    write_parquet(totals, tmp_path, np.random.default_rng(0))
    with pytest.raises(InputError, match="not totals"):
        do_whole_job(tmp_path, tmp_path / "tables")


def test_nothing_to_read_is_said(tmp_path: Path):
    with pytest.raises(InputError, match="no Parquet files"):
        do_whole_job(tmp_path, tmp_path / "tables")
