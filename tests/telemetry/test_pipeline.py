"""From files to a profile: the truth comes back, whatever the format, the files and the order."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.builders import cluster, place, profile, topology

from penstock.errors import InputError
from penstock.model.problem import build
from penstock.model.telemetry import Counters, Input, Sample
from penstock.telemetry.arrow_record import record_schema
from penstock.telemetry.cost_fits import rates_view
from penstock.telemetry.findings import Measurement
from penstock.telemetry.pipeline import Pipeline
from penstock.telemetry.source import SourceFormat, open_source
from penstock.telemetry.store import Store
from penstock_bench.synthetic import (
    InjectedFaults,
    Noise,
    Recording,
    Written,
    levels,
    truth,
    write_json_lines,
)

pytestmark = pytest.mark.spark

#: 2026-01-01, ten minutes before one: the recording goes on into the next hour.
START_MS = 1_767_225_600_000 + 50 * 60_000
FILES = 4


def recording() -> Recording:
    """a -> b -> c on two types of machines; a never ran on M2. Totals, with everything wrong."""
    problem = build(
        topology(
            "a>b>c",
            streams={
                "a>b": {"selectivity": 2.0, "tuple_bytes": 100.0},
                "b>c": {"selectivity": 0.5, "tuple_bytes": 40.0},
            },
        ),
        cluster(M1=2, M2=1),
        profile(
            met=2.0,
            memory_mb={"a": 64.0, "b": 128.0, "c": 96.0},
            a={"M1": 0.10, "M2": 0.21},
            b={"M1": 0.20, "M2": 0.40},
            c={"M1": 0.30, "M2": 0.60},
        ),
    )
    placement = place(problem, "a M1-1", "b M1-2", "b M2-1", "c M1-1/1", "c M2-1/1")
    return Recording(
        problem=problem,
        placement=placement,
        scale=levels(60.0, 200, np.random.default_rng(5), hold=3),
        start_ms=START_MS,
        counters=Counters.TOTAL,
        by_task=True,
        worker_cpu_points=4.0,
        noise=Noise(cpu_relative=0.05, cpu_points=0.1, poisson=True),
        faults=InjectedFaults(
            outliers=0.02, restarts=0.005, duplicates=0.05, out_of_order=0.2, late=0.05, lost=0.01
        ),
    )


@dataclass(frozen=True)
class Result:
    measured: Measurement
    #: Rows by table, as values in a stable order.
    tables: dict[str, list[tuple[Any, ...]]]


#: What tells the rows of a table apart, and its figures.
COLUMNS = {
    "rates": (("task", "time_ms", "status"), ("window_s", "rate", "out_rate", "cpu_points")),
    "traffic": (
        ("source_task", "target_task", "stream", "distance"), ("tuples", "seconds", "bytes"),
    ),
    "streams": (("task", "stream", "block"), ("tuples_in", "tuples_out", "seconds")),
    "workers": (("host", "worker", "minute", "tasks"), ("worker_cpu_points", "own_cpu_points")),
    "utilisation": (("host", "minutes", "workers"), ("cpu_points_mean", "cpu_points_p95")),
    "quarantine": (("raw", "reason"), ()),
}  # fmt: skip


def result(pipeline: Pipeline, measured: Measurement) -> Result:
    """Most tables are read without Spark: it takes a second for each of them."""
    store = pipeline.store
    manifest = store.manifest()
    tables = {}
    for table, (names, figures) in COLUMNS.items():
        columns = [*names, *figures]
        if table == "rates":
            rates = rates_view(pipeline.tables, manifest).select("hour", *columns).collect()
            found = [tuple(row) for row in rates]
        else:
            found = [
                (key, *(row[n] for n in columns))
                for key, path in manifest.parts[table].items()
                for row in pq.ParquetDataset(f"{store.root}/{path}", partitioning=None)
                .read(columns)
                .to_pylist()
            ]
        tables[table] = sorted(found, key=lambda row, n=len(names): str(row[: n + 1]))
    return Result(measured, tables)


def same(one: Result, other: Result) -> None:
    for table, (names, _) in COLUMNS.items():
        figures_from = len(names) + 1
        mine, theirs = one.tables[table], other.tables[table]
        assert [r[:figures_from] for r in mine] == [r[:figures_from] for r in theirs], table
        assert _numbers(mine, figures_from) == pytest.approx(
            _numbers(theirs, figures_from), rel=1e-9, nan_ok=True
        ), table
    mine, theirs = one.measured, other.measured
    assert mine.profile is not None
    assert theirs.profile is not None
    for left, right in zip(mine.profile.costs, theirs.profile.costs, strict=True):
        assert _rounded(asdict(left)) == _rounded(asdict(right))
    for old, new in zip(mine.profile.streams, theirs.profile.streams, strict=True):
        assert _rounded(asdict(old)) == _rounded(asdict(new))
    assert _rounded(mine.quality.to_dict()) == _rounded(theirs.quality.to_dict())
    assert mine.profile.memory_mb == theirs.profile.memory_mb


def _rounded(report: dict[str, object]) -> dict[str, object]:
    """Figures to eight digits: in which order they were added up shows in the sixteenth."""
    return {k: f"{v:.8g}" if isinstance(v, float) else v for k, v in report.items()}


def _numbers(rows: list[tuple[Any, ...]], start: int) -> np.ndarray:
    """Figures of all rows; unknown is NaN, on both sides."""
    return np.array([row[start:] for row in rows], dtype=float)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("telemetry")
    return write_json_lines(recording(), folder, np.random.default_rng(6), files=FILES)


@pytest.fixture(scope="module")
def history(
    spark: SparkSession, written: Written, tmp_path_factory: pytest.TempPathFactory
) -> Result:
    """JSON lines in several files, read at once."""
    pipeline = Pipeline(spark, Store(spark, str(tmp_path_factory.mktemp("history"))))
    pipeline.take_in_history(open_source(spark, str(written.paths[0].parent)))
    return result(pipeline, pipeline.measure())


# -- the truth ---------------------------------------------------------------------------------


def test_the_profile_is_the_truth_within_three_errors(history: Result) -> None:
    made, found = recording(), history.measured.profile
    assert found is not None
    real = truth(made.problem, made.placement, float(made.scale.mean()))
    measured = {(c.row, c.machine_type): c for c in found.costs if not c.extrapolated}
    assert set(measured) == set(real.costs)
    for key, cost in measured.items():
        assert cost.e == pytest.approx(real.costs[key].e, abs=3 * (cost.e_error or 0)), key
        assert cost.met == pytest.approx(real.costs[key].met, abs=3 * (cost.met_error or 0)), key
        # 200 windows with noise of 5 %: known to a few percent.
        assert 0 < (cost.e_error or 0) < 0.03 * cost.e
    assert dict(found.memory_mb) == pytest.approx(real.memory_mb)
    by_stream = {(s.source, s.target): s for s in found.streams}
    for stream in real.streams:
        seen = by_stream[stream.source, stream.target]
        assert seen.tuple_bytes == pytest.approx(stream.tuple_bytes, rel=1e-6)
        assert seen.selectivity == pytest.approx(
            stream.selectivity, abs=3 * (seen.selectivity_error or 0)
        )
        assert seen.tuples_per_s == pytest.approx(stream.tuples_per_s, rel=0.1)
    # Worker processes cost 4 points beside their tasks on both types.
    assert {w.machine_type for w in found.workers} == {"M1", "M2"}
    for worker in found.workers:
        assert worker.cpu_points == pytest.approx(4.0, abs=3 * (worker.error or 0) + 0.2)


def test_a_type_never_measured_is_estimated_and_says_so(history: Result) -> None:
    found = history.measured.profile
    assert found is not None
    (cost,) = [c for c in found.costs if c.extrapolated]
    assert (cost.row, cost.machine_type, cost.samples) == ("a", "M2", None)
    # b and c cost twice as much on M2, and a 2.1 times: 0.21 lies within the error.
    assert cost.e == pytest.approx(0.2, rel=0.05)
    assert cost.e_error is not None
    assert abs(cost.e - 0.21) < 2 * cost.e_error
    assert cost.e_error > 5 * max(c.e_error or 0 for c in found.costs if c.row == "a" and c != cost)


def test_every_record_is_accounted_for(history: Result, written: Written) -> None:
    quality = history.measured.quality
    assert quality.records_in == written.records + written.duplicates
    assert quality.set_aside == {"duplicate": written.duplicates}
    assert quality.kept == written.records == sum(quality.windows.values())
    assert set(quality.windows) == {"used", "warm-up", "baseline"}
    assert quality.costs_known == quality.costs_seen == 5
    # What was lost with totals is in the next difference; only restarts leave gaps.
    assert quality.time_covered > 0.9
    assert quality.traffic_estimated == 0.0
    assert quality.clocks_ahead_s == {}
    assert not any(d.drifted for d in history.measured.drift)


def test_the_second_hour_goes_on_where_the_first_ended(history: Result) -> None:
    """Rows are hour, task, time, status, ..."""
    rates = history.tables["rates"]
    assert {row[0] for row in rates} == {"2026-01-01-00", "2026-01-01-01"}
    second = [row for row in rates if row[0] == "2026-01-01-01"]
    first_of = {task: min((r for r in second if r[1] == task), key=lambda r: r[2])
                for task in range(1, 6)}  # fmt: skip
    # A total needs one before it, and finds it in the hour before.
    assert "baseline" not in {row[3] for row in first_of.values()}
    # One beginning for each task, and for each restart: 200 windows of 4 workers at 0.5 %, each
    # with one or two tasks, make 5 give or take 2.2.
    beginnings = sum(row[3] == "baseline" for row in rates)
    assert 5 < beginnings < 5 + 2 * 14


# -- the same records, otherwise ---------------------------------------------------------------


def test_one_shuffled_parquet_file_gives_the_same_tables(
    spark: SparkSession, written: Written, history: Result, tmp_path: Path
) -> None:
    records = [json.loads(line) for p in written.paths for line in p.read_bytes().splitlines()]
    order = np.random.default_rng(1).permutation(len(records))
    file = tmp_path / "all.parquet"
    pq.write_table(pa.Table.from_pylist([records[i] for i in order], schema=record_schema()), file)
    pipeline = Pipeline(spark, Store(spark, str(tmp_path / "store")))
    pipeline.take_in_history(open_source(spark, str(file)))
    same(history, result(pipeline, pipeline.measure()))


def test_following_the_files_as_they_come_ends_with_the_same_tables(
    spark: SparkSession, written: Written, history: Result, tmp_path: Path
) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    waiting = list(written.paths[::-1])  # the last first: late by as much as can be
    for path in waiting[:1]:
        shutil.copy(path, folder)
    pipeline = Pipeline(spark, Store(spark, str(tmp_path / "store")))
    seen: list[Measurement] = []

    def refreshed(measured: Measurement) -> None:
        seen.append(measured)
        if len(seen) == 1:
            for path in waiting[1:]:
                shutil.copy(path, folder)

    def done() -> bool:
        return bool(seen) and seen[-1].quality.records_in == written.records + written.duplicates

    pipeline.follow(open_source(spark, str(folder)), refreshed, every_s=0.1, stop=done)
    assert len(seen) >= 2
    assert seen[0].quality.records_in < seen[-1].quality.records_in
    same(history, result(pipeline, seen[-1]))
    # Started again it has nothing to do: the store knows what it has.
    number = pipeline.store.manifest().number
    pipeline.take_in_history(open_source(spark, str(folder)))
    assert pipeline.store.manifest().number == number


# -- what is missing ---------------------------------------------------------------------------


def test_without_cpu_there_is_no_profile_but_what_is_missing(
    spark: SparkSession, tmp_path: Path
) -> None:
    samples = [
        Sample(START_MS + 10_000 * n, 10_000, "t", "b", 1, "h1", "M1", "6700",
               inputs=(Input("a", "default", 10 * n),), execute_ms=2)
        for n in range(1, 31)
    ]  # fmt: skip
    pipeline = Pipeline(spark, Store(spark, str(tmp_path)))
    pipeline.take_in_samples(samples, "by hand")
    pipeline.take_in_samples(samples, "by hand")  # known by its name: not taken in twice
    found = pipeline.measure()
    assert found.profile is None
    assert [(n.row, n.machine_type, n.why) for n in found.not_ready] == [
        ("b", "M1", "no CPU measured; execute times are wall clock and say nothing about it")
    ]
    assert (found.quality.records_in, found.quality.windows) == (30, {"used": 30})
    (row,) = pipeline.store.read(pipeline.store.manifest(), "profile").collect()
    assert (row["e"], row["met"], row["not_ready"]) == (None, None, found.not_ready[0].why)


def test_sources_that_are_not_there_or_not_known_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no such file or folder: /no/such/place"):
        open_source(spark, "/no/such/place")
    with pytest.raises(InputError, match="has no files yet; say what will come"):
        open_source(spark, str(tmp_path))
    assert open_source(spark, str(tmp_path), SourceFormat.PARQUET).format is SourceFormat.PARQUET
    (tmp_path / ".hidden.jsonl").touch()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match=r"cannot tell what notes.txt holds .* --format \(jsonl"):
        open_source(spark, str(tmp_path))
    (tmp_path / "a.jsonl.gz").touch()
    assert open_source(spark, str(tmp_path)).format is SourceFormat.JSON_LINES
    with pytest.raises(InputError, match="write kafka://broker:port/topic"):
        open_source(spark, "kafka://broker:9092").stream(spark)
