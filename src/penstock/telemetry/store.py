"""Tables on disk: Parquet folders that no reader ever sees half-written.

Every write goes into a new folder. What counts is the *manifest*: one small JSON file per commit
that names the folders of each table. A commit is the one atomic step of renaming it to the next
number, which fails if that number exists, so a crash leaves folders nobody refers to, a second
writer is refused, and running a batch again replaces it instead of adding to it.

Works wherever Spark can write (a local folder, HDFS, an object store), because all file work goes
through Hadoop's own file systems.

    STORE/manifest/00000007.json      the newest commit
    STORE/samples/part=<batch>/hour=…/….parquet
    STORE/rates/part=<commit>/hour=…/….parquet
    STORE/checkpoint/…                Spark's own memory of which files it has read
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.telemetry.manifest import (
    FOLDER,
    Manifest,
    broken,
    manifest_name,
    manifest_of,
    numbers,
)
from penstock.telemetry.schemas import TABLES
from penstock.telemetry.writer_lock import StoreBusyError

_KEPT_MANIFESTS = 3


class Store:
    """The tables below one folder. One writer at a time, any number of readers."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.root = root.rstrip("/")
        jvm: Any = spark._jvm
        self._jvm: Any = jvm
        configuration = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
        path = self._path(self.root)
        self._fs = path.getFileSystem(configuration)
        self._context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._fs.getUri(), configuration
        )

    # -- manifest -----------------------------------------------------------------------------

    def manifest(self) -> Manifest:
        """The newest commit; an empty one for a new store."""
        numbers = self._manifest_numbers()
        return self._read_manifest(numbers[-1]) if numbers else Manifest()

    def _read_manifest(self, number: int) -> Manifest:
        name = self._manifest_name(number)
        stream = self._fs.open(self._path(name))
        try:
            data = bytes(stream.readAllBytes())
        except Exception as error:
            if "ChecksumException" in str(error):
                raise broken(name) from None
            raise
        finally:
            stream.close()
        return manifest_of(data, name)

    def commit(self, manifest: Manifest) -> Manifest:
        """Make ``manifest`` the newest; refused when another writer was faster."""
        following = replace(manifest, number=manifest.number + 1)
        draft = self._path(f"{self.root}/{FOLDER}/.draft-{following.number}")
        stream = self._fs.create(draft, True)
        try:
            stream.write(following.to_bytes())
        finally:
            stream.close()
        target = self._path(self._manifest_name(following.number))
        self._remove_checksum_alone(following.number)
        none = self._jvm.org.apache.hadoop.fs.Options.Rename.NONE
        options = self.spark.sparkContext._gateway.new_array(  # type: ignore[attr-defined,union-attr]
            self._jvm.org.apache.hadoop.fs.Options.Rename, 1
        )
        options[0] = none
        try:
            self._context.rename(draft, target, options)
        except Exception as error:
            if "FileAlreadyExists" in str(error):
                raise StoreBusyError(
                    f"another run wrote to {self.root} at the same time; run this one again when "
                    "it has ended"
                ) from error
            raise
        self._clean_up(following)
        return following

    def _remove_checksum_alone(self, number: int) -> None:
        """Whoever deletes a broken manifest by hand leaves the checksum that Hadoop put beside it.

        It would stand in the way of the next commit of that number.
        """
        name = self._manifest_name(number)
        folder, _, file = name.rpartition("/")
        if not self._fs.exists(self._path(name)):
            self._delete(f"{folder}/.{file}.crc")

    def _clean_up(self, manifest: Manifest) -> None:
        """Remove old manifests, and folders that only they or a crashed run knew of."""
        numbers = self._manifest_numbers()
        for number in numbers[:-_KEPT_MANIFESTS]:
            self._delete(self._manifest_name(number))
        # A reader may still be at work on the commit before: its folders stay one commit longer.
        live_folders = manifest.folders | self._folders_of(numbers[-_KEPT_MANIFESTS:-1])
        for table in TABLES:
            for part in self._children(f"{self.root}/{table}"):
                folder = f"{table}/{part}"
                if folder in live_folders:
                    continue
                inner = {k for k in live_folders if k.startswith(f"{folder}/")}
                if not inner:
                    self._delete(f"{self.root}/{folder}")
                    continue
                for child in self._children(f"{self.root}/{folder}"):
                    if f"{folder}/{child}" not in inner:
                        self._delete(f"{self.root}/{folder}/{child}")

    def _folders_of(self, numbers: list[int]) -> set[str]:
        return {folder for number in numbers for folder in self._read_manifest(number).folders}

    # -- tables -------------------------------------------------------------------------------

    def write(self, table: str, frame: DataFrame, part: str, *, by_hour: bool) -> dict[str, str]:
        """Write a frame with exactly its table's schema; the folders written, by hour or part."""
        if by_hour:
            return self.write_by("hour", table, frame, part)
        folder = f"{table}/part={part}"
        self._selected(table, frame).write.mode("overwrite").parquet(f"{self.root}/{folder}")
        return {part: folder}

    def write_by(self, column: str, table: str, frame: DataFrame, part: str) -> dict[str, str]:
        """The same with a folder for each value of a column; the folders by that value."""
        folder = f"{table}/part={part}"
        writer = self._selected(table, frame).write.mode("overwrite").partitionBy(column)
        writer.parquet(f"{self.root}/{folder}")
        names = self._children(f"{self.root}/{folder}")
        return {
            name.removeprefix(f"{column}="): f"{folder}/{name}"
            for name in names
            if name.startswith(f"{column}=")
        }

    @staticmethod
    def _selected(table: str, frame: DataFrame) -> DataFrame:
        return frame.select(
            *[F.col(f.name).cast(f.dataType).alias(f.name) for f in TABLES[table].fields]
        )

    def read(self, manifest: Manifest, table: str, keys: Iterable[str] | None = None) -> DataFrame:
        """A table as a commit has it, or some of its parts; empty where there are none."""
        schema = TABLES[table]
        parts = manifest.parts.get(table, {})
        chosen = sorted(parts) if keys is None else [key for key in sorted(keys) if key in parts]
        if not chosen:
            return self.spark.createDataFrame([], schema)
        # What was set aside on the way in lies beside the samples: a table may have two homes.
        homes: dict[str, list[str]] = {}
        for key in chosen:
            homes.setdefault(parts[key].partition("/")[0], []).append(f"{self.root}/{parts[key]}")
        # The folders' own names say part and hour; without the base Spark would not look there.
        frames = [
            self.spark.read.schema(schema)
            .option("basePath", f"{self.root}/{home}")
            .parquet(*folders)
            .select(*schema.names)
            for home, folders in sorted(homes.items())
        ]
        return reduce(DataFrame.unionByName, frames)

    def read_part(self, table: str, part: str) -> DataFrame:
        """What was written under a part's name, committed or not."""
        return self.spark.read.schema(TABLES[table]).parquet(f"{self.root}/{table}/part={part}")

    # -- files --------------------------------------------------------------------------------

    def _delete(self, name: str) -> None:
        self._fs.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(name)

    def _manifest_name(self, number: int) -> str:
        return f"{self.root}/{manifest_name(number)}"

    def _manifest_numbers(self) -> list[int]:
        return numbers(self._children(f"{self.root}/{FOLDER}"))

    def _children(self, folder: str) -> list[str]:
        path = self._path(folder)
        if not self._fs.exists(path):
            return []
        return sorted(status.getPath().getName() for status in self._fs.listStatus(path))
