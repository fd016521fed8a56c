"""A stream ends between two batches: nothing is cut off, and nothing is lost or read twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InputError
from penstock.telemetry.batch_stream import BatchStream
from penstock.telemetry.spark_errors import SparkFailed

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of one line each."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"line {number}\n")
    return folder


def writer(spark: SparkSession, folder: Path) -> Any:
    """A stream of the folder, a file for each batch."""
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder))
    stream_writer = stream.writeStream.trigger(processingTime="0 seconds")
    return stream_writer.option("checkpointLocation", str(folder.parent / "checkpoint"))


def test_the_batch_in_hand_is_finished_and_the_next_run_goes_on_after_it(
    spark: SparkSession, folder: Path
) -> None:
    seen: list[str] = []
    began, told = threading.Event(), threading.Event()

    def handle(rows: DataFrame, _number: int) -> None:
        began.set()
        assert told.wait(60)
        # A job of Spark's that begins when the stream is already told to end.
        seen.extend(row["value"] for row in rows.collect())

    def stop() -> bool:
        if began.is_set():
            told.set()
        return told.is_set()

    BatchStream(handle).run(writer(spark, folder), stop)
    assert len(seen) == 1
    BatchStream(handle).run(writer(spark, folder), lambda: len(seen) == 3)
    assert sorted(seen) == ["line 0", "line 1", "line 2"]


def test_a_stream_that_is_told_to_stop_at_once_has_its_first_batch_in_hand(
    spark: SparkSession, folder: Path
) -> None:
    seen: list[int] = []
    BatchStream(lambda rows, _number: seen.append(rows.count())).run(
        writer(spark, folder), lambda: True
    )
    assert seen == [1]


def test_after_the_batch_that_is_the_last_no_other_is_handled(
    spark: SparkSession, folder: Path
) -> None:
    seen: list[int] = []
    BatchStream(lambda rows, _number: seen.append(rows.count())).run(
        writer(spark, folder), lambda: len(seen) == 2
    )
    assert seen == [1, 1]


def test_without_input_it_ends_without_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    seen: list[int] = []
    BatchStream(lambda _rows, number: seen.append(number)).run(
        writer(spark, tmp_path / "in"), lambda: True
    )
    assert seen == []


def test_an_error_of_ours_comes_out_as_itself(spark: SparkSession, folder: Path) -> None:
    def handle(_rows: DataFrame, _number: int) -> None:
        raise InputError("a line that cannot be read")

    with pytest.raises(InputError, match=r"^a line that cannot be read$"):
        BatchStream(handle).run(writer(spark, folder), lambda: False)


def test_any_other_error_is_told_in_one_line(spark: SparkSession, folder: Path) -> None:
    def handle(rows: DataFrame, _number: int) -> None:
        rows.selectExpr("assert_true(false, 'no room on the disk')").collect()

    with pytest.raises(SparkFailed, match="Spark ended the run: ") as told:
        BatchStream(handle).run(writer(spark, folder), lambda: False)
    assert "no room on the disk" in str(told.value)
    assert "\n" not in str(told.value)
