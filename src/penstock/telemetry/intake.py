"""Batches of raw records into samples: what is surely sound at once, the rest by the checks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

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
        small = files.where(F.col("length") <= WHOLE_FILE_BYTES).select("content", "path", "file")
        paths = _paths(files.where(F.col("length") > WHOLE_FILE_BYTES))
        with _Held(small.mapInArrow(self.taking.parquet_files, _spark(DOUBTFUL_RECORDS))) as quick:
            report = added_up(_reports(quick))
            parts = [(report, Counter[str]())]
            if report.odd_files:
                paths += _paths(quick.where("odd is not null").withColumnRenamed("odd", "path"))
            if report.doubtful:
                doubtful = quick.where("report is null and odd is null").drop("report", "odd")
                parts.append(self.judged(self.judge_columns(doubtful)))
        if paths:
            parts.append(self.judged(self.judge_columns(_columns(files, sorted(paths)))))
        return _sum(parts)

    def lines(self, lines: DataFrame) -> tuple[TaskReport, Counter[str]]:
        """JSON lines as (value, file)."""
        with _Held(lines.mapInArrow(self.taking.json_lines, _spark(DOUBTFUL_LINES))) as quick:
            report = added_up(_reports(quick))
            parts = [(report, Counter[str]())]
            if report.doubtful:
                doubtful = quick.where("report is null").select("value", "file")
                parts.append(self.judged(self.judge_lines(doubtful)))
        return _sum(parts)

    def judged(self, judged: DataFrame) -> tuple[TaskReport, Counter[str]]:
        """Records that the checks have judged, with the reason to set them aside, if any."""
        with _Held(judged) as known:
            accepted = known.where("reason is null").select(*RECORD_COLUMNS, "file")
            written = accepted.mapInArrow(self.taking.accepted, "report string").collect()
            report = added_up(json.loads(row["report"]) for row in written)
            return report, Counter(self.write_aside(known.where("reason is not null")))

    def unreadable(self, spark: SparkSession, names: Sequence[str]) -> Counter[str]:
        """One record in quarantine for each file that cannot be read."""
        if not names:
            return Counter()
        rows = [(b"", name, Reason.UNREADABLE_FILE.value, "") for name in names]
        schema = "raw binary, file string, reason string, field string"
        return Counter(self.write_aside(spark.createDataFrame(rows, schema)))


def _paths(files: DataFrame) -> list[str]:
    return [row["path"] for row in files.select("path").collect()]


def _sum(parts: list[tuple[TaskReport, Counter[str]]]) -> tuple[TaskReport, Counter[str]]:
    aside = Counter[str]()
    for _, own in parts:
        aside.update(own)
    return added_up(asdict(report) for report, _ in parts), aside


def _reports(quick: DataFrame) -> list[dict[str, Any]]:
    rows = quick.where("report is not null").select("report").collect()
    return [json.loads(row["report"]) for row in rows]


def _spark(schema: Any) -> StructType:
    return from_arrow_schema(schema)


def _columns(files: DataFrame, paths: list[str]) -> DataFrame:
    """Files read by Spark itself, column by column."""
    # In a path that is given, some characters stand for others.
    literal = ["".join(f"\\{c}" if c in "\\*?[]{}" else c for c in path) for path in paths]
    frame = files.sparkSession.read.option("mergeSchema", "true").parquet(*literal)
    return frame.select("*", F.col("_metadata.file_name").alias("file"))


class _Held:
    """A frame kept while it is used several times."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame.persist(StorageLevel.MEMORY_AND_DISK)

    def __enter__(self) -> DataFrame:
        return self._frame

    def __exit__(self, *_: object) -> None:
        self._frame.unpersist()
