"""Tables on disk: Parquet folders that no reader ever sees half-written.

Every write goes into a new folder. What counts is the *manifest*: one small JSON file per commit
that names the folders of each table. A commit is the one atomic step of renaming it to the next
number, which fails if that number exists, so a crash leaves folders nobody refers to, a second
writer is refused, and running a batch again replaces it instead of adding to it.

Works wherever Spark can write: in a folder of this computer by itself (:mod:`local_store`), on HDFS
and in object stores through Hadoop's file systems.

    STORE/manifest/00000007.json      the newest commit
    STORE/samples/part=<batch>/<slot>-….parquet
    STORE/traffic/part=<commit>/<hour>-….parquet
    STORE/checkpoint/…                Spark's own memory of which files it has read
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.telemetry.local_store import KEPT_COMMITS, LocalStore
from penstock.telemetry.manifest import (
    FOLDER,
    Manifest,
    broken,
    folders_named,
    manifest_name,
    manifest_of,
    numbers,
)
from penstock.telemetry.schemas import INTERNAL_TABLES, TABLES
from penstock.telemetry.writer_lock import StoreBusyError


def literal_path(path: str) -> str:
    """For Spark, to which some characters in a path stand for others."""
    return "".join(f"\\{c}" if c in "\\*?[]{}" else c for c in path)


class Store:
    """The tables below one folder. One writer at a time, any number of readers."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.root = root.rstrip("/")
        jvm: Any = spark._jvm
        self._jvm: Any = jvm
        configuration = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
        path = self._path(self.root)
        self._configuration = configuration
        self._fs = path.getFileSystem(configuration)
        uri = self._fs.makeQualified(path).toUri()
        self._local = LocalStore(Path(uri.getPath())) if uri.getScheme() == "file" else None

    # -- manifest -----------------------------------------------------------------------------

    def manifest(self) -> Manifest:
        """The newest commit; an empty one for a new store."""
        if self._local is not None:
            return self._local.manifest()
        numbers = self._manifest_numbers()
        return self._read_manifest(numbers[-1]) if numbers else Manifest()

    def _read_manifest(self, number: int) -> Manifest:
        name = self._manifest_name(number)
        return manifest_of(self._bytes(name), name)

    def _bytes(self, name: str) -> bytes:
        stream = self._fs.open(self._path(name))
        try:
            return bytes(stream.readAllBytes())
        except Exception as error:
            if "ChecksumException" in str(error):
                raise broken(name) from None
            raise
        finally:
            stream.close()

    def commit(self, manifest: Manifest) -> Manifest:
        """Make ``manifest`` the newest; refused when another writer was faster."""
        if self._local is not None:
            # Hadoop runs programs to set modes and to look at links, a dozen for each commit.
            return self._local.commit(manifest)
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
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
                self._fs.getUri(), self._configuration
            )
            context.rename(draft, target, options)
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
        # A reader may still be at work on a commit before: its folders stay two commits longer.
        live = manifest.folders | self._folders_of(numbers[-KEPT_COMMITS:-1])
        for number in numbers[:-KEPT_COMMITS]:
            self._delete(self._manifest_name(number))
        for table in (*TABLES, *INTERNAL_TABLES):
            for part in self._children(f"{self.root}/{table}"):
                folder = f"{table}/{part}"
                if folder in live:
                    continue
                inner = {path for path in live if path.startswith(f"{folder}/")}
                if not inner:
                    self._delete(f"{self.root}/{folder}")
                    continue
                for child in self._children(f"{self.root}/{folder}"):
                    if f"{folder}/{child}" not in inner:
                        self._delete(f"{self.root}/{folder}/{child}")

    def _folders_of(self, numbers: list[int]) -> set[str]:
        names = [self._manifest_name(number) for number in numbers]
        return {folder for name in names for folder in folders_named(self._bytes(name))}

    # -- tables -------------------------------------------------------------------------------

    def write(self, table: str, frame: DataFrame, part: str) -> dict[str, str]:
        """Write a frame with exactly its table's schema; the folder written, by part."""
        folder = f"{table}/part={part}"
        self._selected(table, frame).write.mode("overwrite").parquet(f"{self.root}/{folder}")
        return {part: folder}

    def write_by(
        self, column: str, table: str, frame: DataFrame, part: str, *, mode: str = "overwrite"
    ) -> dict[str, str]:
        """The same with a folder for each value of a column, which need not be the table's."""
        folder = f"{table}/part={part}"
        writer = self._selected(table, frame, column).write.mode(mode).partitionBy(column)
        writer.parquet(f"{self.root}/{folder}")
        names = self._children(f"{self.root}/{folder}")
        return {
            name.removeprefix(f"{column}="): f"{folder}/{name}"
            for name in names
            if name.startswith(f"{column}=")
        }

    @staticmethod
    def _selected(table: str, frame: DataFrame, column: str | None = None) -> DataFrame:
        schema = TABLES[table]
        more = [] if column is None or column in schema.names else [column]
        return frame.select(
            *[F.col(f.name).cast(f.dataType).alias(f.name) for f in schema.fields], *more
        )

    def read(self, manifest: Manifest, table: str, keys: Iterable[str] | None = None) -> DataFrame:
        """A table as a commit has it, or some of its parts; empty where there are none."""
        schema = TABLES[table]
        parts = manifest.parts.get(table, {})
        chosen = sorted(parts) if keys is None else [key for key in sorted(keys) if key in parts]
        if not chosen:
            return self.spark.createDataFrame([], schema)
        # Files have all columns in them; where folders' own names say part and hour, Spark would
        # not look there without the base.
        files = [f"{self.root}/{parts[key]}" for key in chosen if parts[key].endswith(".parquet")]
        folders = [f"{self.root}/{parts[key]}" for key in chosen]
        folders = [folder for folder in folders if not folder.endswith(".parquet")]
        reader = self.spark.read.schema(schema)
        frames = []
        if files:
            frames.append(reader.parquet(*files))
        if folders:
            based = reader.option("basePath", f"{self.root}/{table}").parquet(*folders)
            frames.append(based.select(*schema.names))
        return reduce(DataFrame.unionByName, frames)

    def discard(self, folder: str) -> None:
        """Remove what a run that was cut off has left in a folder."""
        self._delete(f"{self.root}/{folder}")

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
