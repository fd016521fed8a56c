"""Where a topology's input comes from: numbers at a rate, or lines of files as they appear."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.engines.spark.instance import ID
from penstock.errors import Finding, InputError

VALUE = "value"


@dataclass(frozen=True)
class RateSource:
    """Numbers from 0 on, so many in each batch; a batch that is run again has the same."""

    rows_per_batch: int

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
        return batch.withColumn(ID, F.col(VALUE))

    @property
    def about(self) -> str:
        return f"{self.rows_per_batch:,} numbers a batch"


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


Source = RateSource | FileSource
