"""Batches of raw records into samples: what is surely sound at once, the rest by the checks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.telemetry.reasons import Reason
from penstock.telemetry.slots.take_in import (
    DOUBTFUL_LINES,
    DOUBTFUL_RECORDS,
    RECORD_COLUMNS,
    TakeIn,
    TaskReport,
    added_up,
)
from penstock.telemetry.store import literal_path

#: What a task that takes records in comes back with.
_REPORT = "report string"
#: Larger files are split between tasks, which only Spark's own reader can do.
WHOLE_FILE_BYTES = 128 * 2**20
#: Writes the frame of records that were set aside, and says how many by reason.
WriteAside = Callable[[DataFrame], dict[str, int]]
#: Judges frames of doubtful records, columns or lines, as :mod:`penstock.telemetry.ingest` does.
Judge = Callable[[DataFrame], DataFrame]


@dataclass
class Intake:
    """Takes one batch into the samples of a store."""

    taking: TakeIn
    judge_columns: Judge
    judge_lines: Judge
    write_aside: WriteAside

    def files(
        self, files: DataFrame, unreadable: Sequence[str] = ()
    ) -> tuple[TaskReport, Counter[str]]:
        """Parquet files as (path, length, content, file); what was taken, how many set aside.

        ``unreadable`` are left out.
        """
        if unreadable:
            names = [name.replace("file:///", "file:/") for name in unreadable]
            files = files.where(~F.col("path").isin(names))
        is_small, nothing = F.col("length") <= WHOLE_FILE_BYTES, F.lit(None).cast("binary")
        # Two scans in one job: what Spark need not hand over it does not read.
        small = files.where(is_small).select("content", "path", "file")
        large = files.where(~is_small).select(nothing.alias("content"), "path", "file")
        report = _report(small.unionByName(large).mapInArrow(self.taking.parquet_files, _REPORT))
        parts = [(report, Counter[str]())]
        if report.doubtful:
            doubtful = self._doubtful(files.sparkSession, report, DOUBTFUL_RECORDS)
            parts.append(self.judged(self.judge_columns(doubtful)))
        if report.odd_files:
            parts.append(self.judged(self.judge_columns(_columns(files, report.odd_files))))
        return _sum(parts)

    def lines(self, lines: DataFrame) -> tuple[TaskReport, Counter[str]]:
        """JSON lines as (value, file)."""
        report = _report(lines.mapInArrow(self.taking.json_lines, _REPORT))
        parts = [(report, Counter[str]())]
        if report.doubtful:
            doubtful = self._doubtful(lines.sparkSession, report, DOUBTFUL_LINES)
            parts.append(self.judged(self.judge_lines(doubtful)))
        return _sum(parts)

    def _doubtful(self, spark: SparkSession, report: TaskReport, schema: pa.Schema) -> DataFrame:
        """What tasks have put aside to be judged with care."""
        paths = [literal_path(f"{self.taking.root}/{path}") for path in report.doubtful]
        return spark.read.schema(from_arrow_schema(schema)).parquet(*paths)

    def judged(self, judged: DataFrame) -> tuple[TaskReport, Counter[str]]:
        """Records that the checks have judged, with the reason to set them aside, if any."""
        with _Held(judged) as known:
            accepted = known.where("reason is null").select(*RECORD_COLUMNS, "file")
            report = _report(accepted.mapInArrow(self.taking.accepted, _REPORT))
            return report, Counter(self.write_aside(known.where("reason is not null")))

    def unreadable(self, spark: SparkSession, names: Sequence[str]) -> Counter[str]:
        """One record in quarantine for each file that cannot be read."""
        if not names:
            return Counter()
        rows = [(b"", name, Reason.UNREADABLE_FILE.value, "") for name in names]
        schema = "raw binary, file string, reason string, field string"
        return Counter(self.write_aside(spark.createDataFrame(rows, schema)))


def _sum(parts: list[tuple[TaskReport, Counter[str]]]) -> tuple[TaskReport, Counter[str]]:
    aside = Counter[str]()
    for _, own in parts:
        aside.update(own)
    return added_up(vars(report) for report, _ in parts), aside


def _report(reports: DataFrame) -> TaskReport:
    return added_up(json.loads(row["report"]) for row in reports.collect())


def _columns(files: DataFrame, paths: list[str]) -> DataFrame:
    """Files read by Spark itself, column by column."""
    reader = files.sparkSession.read.option("mergeSchema", "true")
    frame = reader.parquet(*(literal_path(path) for path in paths))
    return frame.select("*", F.col("_metadata.file_name").alias("file"))


class _Held:
    """A frame kept while it is used several times."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame.persist(StorageLevel.MEMORY_AND_DISK)

    def __enter__(self) -> DataFrame:
        return self._frame

    def __exit__(self, *_: object) -> None:
        self._frame.unpersist()
