"""Where a topology's input comes from: numbers at a rate, lines of files, values of a topic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engines.rate_steps import read_rate_steps
from penstock.engines.spark.packets import ROWS
from penstock.errors import Finding, InputError
from penstock.telemetry.kafka import KafkaTopic

VALUE = "value"
#: Tasks that unfold tickets: it is little work, and each task costs some.
_READERS = 2
#: Of a batch whose rows are counted when it begins.
_TICKETS = 8
_TEXT = pa.schema([(VALUE, pa.string())])


@dataclass(frozen=True)
class RateSource:
    """Numbers from 0 on, so many in each batch; a batch that is run again has the same.

    With ``levels``, batches in turn leave out all but that part of them: at several loads, what a
    tuple costs can be told from what a batch costs. Spark itself makes only tickets, each for ten
    thousand numbers: making those one by one takes it as long as some topologies work on them.
    """

    rows_per_batch: int
    levels: tuple[float, ...] = (1.0,)

    schema = pa.schema([(VALUE, pa.int64())])

    @property
    def _tickets(self) -> int:
        """In a batch."""
        return -(-self.rows_per_batch // ROWS)

    def stream(self, spark: SparkSession) -> DataFrame:
        return (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", self._tickets)
            .option("numPartitions", _READERS)
            .load()
            .select(VALUE)
        )

    def unfolded(self, read: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The numbers that tickets stand for."""
        for ticket in read.column(VALUE).to_pylist():
            batch, turn = divmod(ticket, self._tickets)
            count = round(self.levels[batch % len(self.levels)] * self.rows_per_batch)
            first, last = turn * ROWS, min((turn + 1) * ROWS, count)
            if first < last:
                numbers = batch * self.rows_per_batch + np.arange(first, last, dtype=np.int64)
                yield pa.RecordBatch.from_arrays([pa.array(numbers)], schema=self.schema)

    @property
    def about(self) -> str:
        if len(set(self.levels)) == 1:
            return f"{self.rows_per_batch:,} numbers a batch"
        levels = " / ".join(f"{round(level * self.rows_per_batch):,}" for level in self.levels)
        return f"{levels} numbers in a batch, in turn"


@dataclass(frozen=True)
class Arrived:
    """What has come to a source that others fill, and what was taken of it so far."""

    offered: float
    taken: int
    #: When the first row that was not taken yet had come, by the time of day.
    waits_since_s: float

    @property
    def backlog(self) -> float:
        return max(0.0, self.offered - self.taken)


@dataclass(frozen=True)
class OfferedSource:
    """Numbers from 0 on, as many as a file of steps says have been offered, taken in or not.

    A batch takes what waits, up to a limit. How much that is, is decided when it begins; what
    counts is what the batch before it, the last that is whole, had taken.
    """

    #: See :mod:`penstock.engines.rate_steps`.
    rates: Path
    most_rows: int
    first: int = 0
    count: int = 0

    schema = pa.schema([(VALUE, pa.int64())])

    def stream(self, spark: SparkSession) -> DataFrame:
        return (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", _TICKETS)
            .option("numPartitions", _READERS)
            .load()
            .select(VALUE)
        )

    def arrived(self, taken: int, now_s: float) -> Arrived:
        load = read_rate_steps(self.rates)
        return Arrived(load.until(now_s), taken, min(load.reached(taken + 1), now_s))

    def taking(self, arrived: Arrived) -> OfferedSource:
        """For one batch: what waits."""
        count = min(int(arrived.backlog), self.most_rows)
        return replace(self, first=arrived.taken, count=count)

    def unfolded(self, read: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Each ticket is an equal part of the batch's numbers."""
        for ticket in read.column(VALUE).to_pylist():
            turn = ticket % _TICKETS
            begin, end = (self.count * part // _TICKETS for part in (turn, turn + 1))
            for at in range(begin, end, ROWS):
                numbers = np.arange(at, min(at + ROWS, end), dtype=np.int64) + self.first
                yield pa.RecordBatch.from_arrays([pa.array(numbers)], schema=self.schema)

    @property
    def about(self) -> str:
        return f"numbers at the rates of {self.rates}, up to {self.most_rows:,} a batch"


@dataclass(frozen=True)
class FileSource:
    """Lines of the text files of a folder, so many files in each batch."""

    folder: Path
    files_per_batch: int

    schema = _TEXT

    def stream(self, spark: SparkSession) -> DataFrame:
        if not self.folder.is_dir():
            raise InputError(Finding("is not a folder of text files", str(self.folder)))
        return (
            spark.readStream.format("text")
            .option("maxFilesPerTrigger", self.files_per_batch)
            .load(str(self.folder.absolute()))
            .select(VALUE)
        )

    def unfolded(self, read: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Lines as they are; a batch that is run again has the same files."""
        yield read

    @property
    def about(self) -> str:
        return f"lines of {self.folder}, {self.files_per_batch} files a batch"


def topic_lag(latest: str | None, end: str | None) -> tuple[float, float] | None:
    """Records that a topic has had, and those of them that were not taken, by its offsets.

    As Spark tells them of a batch, ``{"topic": {"0": 7}}``; nothing where it does not.
    """
    try:
        had, taken = (
            sum(sum(partitions.values()) for partitions in json.loads(offsets or "").values())
            for offsets in (latest, end)
        )
        return float(had), float(had - taken)
    except (ValueError, TypeError, AttributeError):
        return None


@dataclass(frozen=True)
class KafkaSource:
    """Values of a topic as text, so many in each batch."""

    #: ``kafka://broker:port/topic``
    location: str
    rows_per_batch: int
    #: How clients log in; may hold passwords, so it is in no message.
    client: Mapping[str, str] = field(default_factory=dict, repr=False)

    schema = _TEXT

    def stream(self, spark: SparkSession) -> DataFrame:
        topic = KafkaTopic.at(self.location, self.client)
        records = topic.stream(spark, self.rows_per_batch)
        return records.select(F.col("value").cast("string").alias(VALUE))

    def unfolded(self, read: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Values as they are; a batch that is run again has the same offsets."""
        yield read

    @property
    def about(self) -> str:
        return f"{self.location}, up to {self.rows_per_batch:,} values a batch"


Source = RateSource | OfferedSource | FileSource | KafkaSource
