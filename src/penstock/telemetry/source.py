"""Where telemetry comes from: topics, and folders of files that grow, in formats we read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.errors import InputError
from penstock.telemetry.columns import require_columns
from penstock.telemetry.kafka import PREFIX as KAFKA_PREFIX
from penstock.telemetry.kafka import KafkaTopic
from penstock.telemetry.slots.records import holds_records
from penstock.telemetry.unreadable_files import unreadable_file


class SourceFormat(StrEnum):
    JSON_LINES = "jsonl"
    PARQUET = "parquet"
    #: Lines of Storm's LoggingMetricsConsumer.
    STORM_LOG = "storm-log"
    KAFKA = "kafka"


_BY_ENDING = {
    ".parquet": SourceFormat.PARQUET,
    ".jsonl": SourceFormat.JSON_LINES,
    ".ndjson": SourceFormat.JSON_LINES,
    ".json": SourceFormat.JSON_LINES,
    ".metrics": SourceFormat.STORM_LOG,
    ".log": SourceFormat.STORM_LOG,
}
#: What Spark gives of whole files.
_WHOLE_FILES = "path string, modificationTime timestamp, length bigint, content binary"
_COMPRESSED = (".gz", ".bz2", ".zst")


@dataclass(frozen=True)
class RecordSource:
    """One source, as the user named it, and what is in it."""

    location: str
    format: SourceFormat
    #: Names of the files in a folder that are meant; all of them if empty.
    pattern: str = ""
    #: The writer deletes its oldest files, perhaps while they are read.
    rotated: bool = False
    #: How clients log in to a broker; may hold passwords, so it is in no message.
    kafka_client: Mapping[str, str] = field(default_factory=dict, repr=False)

    def stream(self, spark: SparkSession, *, lenient: bool = False) -> DataFrame:
        """An endless frame of raw records: lines (value, file), or whole Parquet files (path,
        length, content, file).

        A ``lenient`` one has what can be read of files that are damaged or gone.
        """
        if self.format is SourceFormat.KAFKA:
            records = KafkaTopic.at(self.location, self.kafka_client).stream(spark)
            place = F.concat_ws("-", F.col("topic"), F.col("partition"))
            return records.select(F.col("value").cast("string").alias("value"), place.alias("file"))
        reader = spark.readStream.option("recursiveFileLookup", "true")
        if self.rotated or lenient:
            reader = reader.option("ignoreMissingFiles", "true")
        if lenient:
            reader = reader.option("ignoreCorruptFiles", "true")
        folder, name = _folder_and_pattern(spark, self.location)
        if pattern := name or self.pattern:
            reader = reader.option("pathGlobFilter", pattern)
        # A Storm log says nowhere inside whose it is: its path does.
        whose = "file_path" if self.format is SourceFormat.STORM_LOG else "file_name"
        file = F.col(f"_metadata.{whose}").alias("file")
        if self.format is SourceFormat.PARQUET:
            if not _has_plain_records(self.location):
                self._columns(spark)  # refuses what can never hold a record
            whole = reader.format("binaryFile").schema(_WHOLE_FILES).load(folder)
            return whole.select("path", "length", "content", file)
        return reader.text(folder).select("value", file)

    def of_files(self, spark: SparkSession, paths: Sequence[str]) -> DataFrame:
        """The raw content of some of its files."""
        if self.format is SourceFormat.PARQUET:
            return spark.read.schema(self._columns(spark)).parquet(*paths)
        return spark.read.text([*paths])

    def _columns(self, spark: SparkSession) -> StructType:
        """What Parquet files have: as the first one says, or all others if that is none."""
        reader = spark.read.option("recursiveFileLookup", "true")
        try:
            schema = reader.parquet(self.location).schema
        except (PySparkException, Py4JJavaError) as error:
            if not unreadable_file(error):
                raise
            lenient = reader.option("ignoreCorruptFiles", "true").option("mergeSchema", "true")
            schema = lenient.parquet(self.location).schema
        require_columns(schema)
        return schema


def _has_plain_records(location: str) -> bool:
    """Whether a first look shows the record's own columns; Spark takes a job to find that out."""
    root = Path(location)
    try:
        files = [root] if root.is_file() else (p for p in root.rglob("*.parquet") if p.is_file())
        first = next((p for p in files if not p.name.startswith((".", "_"))), None)
        return first is not None and holds_records(pq.read_schema(first))
    except (OSError, ValueError, pa.ArrowException):
        return False


def open_source(
    spark: SparkSession,
    location: str,
    named: SourceFormat | None = None,
    kafka_client: Mapping[str, str] | None = None,
) -> RecordSource:
    """The source at a location; its format by name, or by the ending of its first file."""
    if location.startswith(KAFKA_PREFIX):
        return RecordSource(location, SourceFormat.KAFKA, kafka_client=kafka_client or {})
    if named is SourceFormat.KAFKA:
        KafkaTopic.at(location)  # refuses another spelling
    first = _first_file(spark, location)
    if named is not None:
        return RecordSource(location, named)
    if first is None:
        raise InputError(f"{location} has no files yet; say what will come: --format jsonl")
    stem = first
    for ending in _COMPRESSED:
        stem = stem.removesuffix(ending)
    for ending, kind in _BY_ENDING.items():
        if stem.endswith(ending):
            return RecordSource(location, kind)
    known = ", ".join(kind.value for kind in SourceFormat if kind is not SourceFormat.KAFKA)
    raise InputError(f"cannot tell what {first} holds by its name; say --format ({known})")


def _file_system(spark: SparkSession, location: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(location)
    configuration = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    return path.getFileSystem(configuration), path


def _first_file(spark: SparkSession, location: str) -> str | None:
    """Name of the first file below a location that Spark would read."""
    system, path = _file_system(spark, location)
    if not system.exists(path):
        raise InputError(f"no such file or folder: {location}")
    if not system.getFileStatus(path).isDirectory():
        return str(path.getName())
    listing = system.listFiles(path, True)
    names = []
    while listing.hasNext():
        name = str(listing.next().getPath().getName())
        # Spark leaves these alone: files still being written, and its own notes.
        if not name.startswith((".", "_")):
            names.append(name)
    return min(names) if names else None


def _folder_and_pattern(spark: SparkSession, location: str) -> tuple[str, str]:
    """Spark watches folders only: a single file is its folder and its name."""
    system, path = _file_system(spark, location)
    if system.getFileStatus(path).isDirectory():
        return location, ""
    return str(path.getParent().toString()), str(path.getName())
