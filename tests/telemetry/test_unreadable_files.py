"""A file that cannot be read to its end is set aside, and those after it are read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.telemetry.frames import START_MS

from penstock.model.telemetry import Input, Sample
from penstock.telemetry.cost_fits import rates_view
from penstock.telemetry.pipeline import Pipeline
from penstock.telemetry.source import open_source
from penstock.telemetry.store import Store
from penstock.telemetry.unreadable_files import unreadable_file

NOW_MS = START_MS + 3_600_000
WINDOWS = 30


def lines(task: int) -> bytes:
    """A task's records, one for each window."""
    samples = (
        Sample(
            time_ms=START_MS + 10_000 * n, window_ms=10_000, topology="t", component="b",
            task=task, host="m1", machine_type="M1", worker="6700",
            inputs=(Input("a", "default", 100.0),), cpu_points=3.5,
        )
        for n in range(1, WINDOWS + 1)
    )  # fmt: skip
    return b"".join(json.dumps(sample.to_dict()).encode() + b"\n" for sample in samples)


def junk(_: bytes) -> bytes:
    return b"junk" * 50


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "telemetry"
    folder.mkdir()
    return folder


def pipeline_at(spark: SparkSession, tmp_path: Path, said: list[str]) -> Pipeline:
    store = Store(spark, str(tmp_path / "store"))
    return Pipeline(spark, store, clock=lambda: NOW_MS / 1e3, progress=said.append)


def windows_of(pipeline: Pipeline) -> dict[int, int]:
    """How many windows of each task count."""
    rates = rates_view(pipeline.tables, pipeline.store.manifest())
    return {row["task"]: row["count"] for row in rates.groupBy("task").count().collect()}


def set_aside(pipeline: Pipeline) -> list[tuple[str, str]]:
    quarantine = pipeline.store.read(pipeline.store.manifest(), "quarantine")
    return sorted((row["reason"], row["file"]) for row in quarantine.collect())


@pytest.mark.spark
@pytest.mark.parametrize("way", ["once", "followed"])
def test_archives_that_are_cut_or_none_do_not_stop_the_files_beside_and_after_them(
    spark: SparkSession, tmp_path: Path, folder: Path, way: str
) -> None:
    (folder / "1.jsonl").write_bytes(lines(1))
    (folder / "2.jsonl.gz").write_bytes(junk(b""))
    (folder / "3.jsonl.gz").write_bytes(half(gzip.compress(lines(3), mtime=0)))
    (folder / "4.jsonl.gz").write_bytes(gzip.compress(lines(4)))
    said: list[str] = []
    pipeline = pipeline_at(spark, tmp_path, said)
    source = open_source(spark, str(folder))
    if way == "once":
        pipeline.take_in_history(source)
        found = pipeline.measure()
        (folder / "5.jsonl").write_bytes(lines(5))
        pipeline.take_in_history(source)
        found = pipeline.measure()
    else:
        seen: list[Any] = []

        def refreshed(measured: Any) -> None:
            seen.append(measured)
            (folder / "5.jsonl").write_bytes(lines(5))

        pipeline.follow(source, refreshed, every_s=0.1, stop=lambda: len(seen) == 2)
        found = seen[-1]
    kept = windows_of(pipeline)
    assert {task: kept[task] for task in (1, 4, 5)} == dict.fromkeys((1, 4, 5), WINDOWS)
    # What came before the damage counts, but for its last line, which is cut as well.
    assert kept.get(3, 0) < WINDOWS
    damaged = [entry for entry in set_aside(pipeline) if entry[0] == "file cannot be read"]
    assert [name for _, name in damaged] == ["2.jsonl.gz", "3.jsonl.gz"]
    assert found.quality.set_aside["file cannot be read"] == 2
    told = "set aside, because they cannot be read to their end: "
    assert {text for text in said if text.startswith(told)} == {f"{told}2.jsonl.gz, 3.jsonl.gz"}


@pytest.mark.spark
@pytest.mark.parametrize("damage", [junk, half])
@pytest.mark.parametrize("name", ["0.parquet", "2.parquet"])
def test_a_parquet_file_that_is_none_does_not_stop_the_others(
    spark: SparkSession, tmp_path: Path, folder: Path, damage: Callable[[bytes], bytes], name: str
) -> None:
    (tmp_path / "lines.jsonl").write_bytes(lines(1))
    frame = spark.read.json(str(tmp_path / "lines.jsonl"))
    frame.coalesce(1).write.parquet(str(tmp_path / "written"))
    whole = next((tmp_path / "written").glob("*.parquet")).read_bytes()
    (folder / "1.parquet").write_bytes(whole)
    (folder / name).write_bytes(damage(whole))
    pipeline = pipeline_at(spark, tmp_path, [])
    for _ in range(2):  # and not again, either
        pipeline.take_in_history(open_source(spark, str(folder)))
        pipeline.measure()
    assert windows_of(pipeline) == {1: WINDOWS}
    assert set_aside(pipeline) == [("file cannot be read", name)]


def test_only_a_file_that_could_not_be_read_is_one() -> None:
    told = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a/b%20c.gz. SQL"
    assert unreadable_file(RuntimeError(told)) == "file:///a/b c.gz"
    assert unreadable_file(RuntimeError("No space left on device")) == ""
    assert unreadable_file(None) == ""
