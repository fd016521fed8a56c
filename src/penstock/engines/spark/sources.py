"""Where a topology's input comes from: numbers at a rate, lines of files, values of a topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engines.spark.instance import ID
from penstock.errors import Finding, InputError
from penstock.telemetry.source import kafka_stream

VALUE = "value"
#: Offsets of one partition of a topic fit into so many bits.
_OFFSET_BITS = 44


@dataclass(frozen=True)
class RateSource:
    """Numbers from 0 on, so many in each batch; a batch that is run again has the same.

    With ``levels``, batches in turn leave out all but that part of them: at several loads, what a
    tuple costs can be told from what a batch costs.
    """

    rows_per_batch: int
    levels: tuple[float, ...] = (1.0,)

    def stream(self, spark: SparkSession) -> DataFrame:
        return (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", self.rows_per_batch)
            .option("numPartitions", max(1, spark.sparkContext.defaultParallelism))
            .load()
            .select(VALUE)
        )

    def numbered(self, batch: DataFrame) -> DataFrame:
        """The rows of a batch, told apart."""
        if len(set(self.levels)) > 1:
            rows = F.lit(self.rows_per_batch)
            counts = F.array(*[F.lit(round(level * self.rows_per_batch)) for level in self.levels])
            turn = F.pmod(F.floor(F.col(VALUE) / rows), F.lit(len(self.levels))) + 1
            batch = batch.where(F.pmod(VALUE, rows) < F.element_at(counts, turn.cast("int")))
        return batch.withColumn(ID, F.col(VALUE))

    @property
    def about(self) -> str:
        if len(set(self.levels)) == 1:
            return f"{self.rows_per_batch:,} numbers a batch"
        levels = " / ".join(f"{round(level * self.rows_per_batch):,}" for level in self.levels)
        return f"{levels} numbers in a batch, in turn"


@dataclass(frozen=True)
class FileSource:
    """Lines of the text files of a folder, so many files in each batch."""

    folder: Path
    files_per_batch: int

    def stream(self, spark: SparkSession) -> DataFrame:
        if not self.folder.is_dir():
            raise InputError(Finding("is no folder of text files", str(self.folder)))
        return (
            spark.readStream.format("text")
            .option("maxFilesPerTrigger", self.files_per_batch)
            .load(str(self.folder.absolute()))
            .select(VALUE)
        )

    def numbered(self, batch: DataFrame) -> DataFrame:
        """The rows of a batch, told apart; a batch that is run again has the same files."""
        return batch.withColumn(ID, F.monotonically_increasing_id())

    @property
    def about(self) -> str:
        return f"lines of {self.folder}, {self.files_per_batch} files a batch"


@dataclass(frozen=True)
class KafkaSource:
    """Values of a topic as text, so many in each batch."""

    #: ``kafka://broker:port/topic``
    location: str
    rows_per_batch: int

    def stream(self, spark: SparkSession) -> DataFrame:
        return kafka_stream(spark, self.location, self.rows_per_batch).select(
            F.col("value").cast("string").alias(VALUE), "partition", "offset"
        )

    def numbered(self, batch: DataFrame) -> DataFrame:
        """The rows of a batch, told apart by where the topic has them."""
        place = F.shiftleft(F.col("partition").cast("long"), _OFFSET_BITS) + F.col("offset")
        return batch.select(VALUE, place.alias(ID))

    @property
    def about(self) -> str:
        return f"{self.location}, up to {self.rows_per_batch:,} values a batch"


Source = RateSource | FileSource | KafkaSource
