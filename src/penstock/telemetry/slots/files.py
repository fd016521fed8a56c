"""Files of a store, as tasks in Python write and read them: Parquet, whole or not at all.

A task that is tried again writes other files; what counts is what the manifest names.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from penstock.errors import Finding, InputError

#: Address schemes of Hadoop's that Arrow knows by another name.
_ARROW_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_GROUP_ROWS = 1_000_000


@dataclass(frozen=True)
class StoreFiles:
    """The files below a store's address."""

    root: str

    def write(self, folder: str, name: str, table: pa.Table, encoded: Sequence[str]) -> str:
        """Write a table below a folder of the store; its path below the store.

        ``encoded`` are columns in which few values repeat; numbers would only be slowed down by
        a dictionary.
        """
        system, root = open_file_system(self.root)
        path = f"{folder}/{name}-{uuid.uuid4().hex[:12]}.parquet"
        system.create_dir(f"{root}/{folder}", recursive=True)
        with (
            system.open_output_stream(f"{root}/{path}") as sink,
            pq.ParquetWriter(
                sink, table.schema, use_dictionary=list(encoded), store_schema=False,
                write_statistics=False, compression="snappy",
            ) as writer,
        ):  # fmt: skip
            writer.write_table(table, row_group_size=_GROUP_ROWS)
        return path

    def read(
        self, path: str, columns: Collection[str] | None, encoded: Collection[str]
    ) -> pa.Table:
        """Some columns of a file, text as dictionaries."""
        system, root = open_file_system(self.root)
        with system.open_input_file(f"{root}/{path}") as source:
            return read_parquet(source, columns, encoded)


def read_parquet(source: Any, columns: Collection[str] | None, encoded: Iterable[str]) -> pa.Table:
    """A table of one chunk; Arrow reads dictionaries in lists one group of rows at a time only."""
    metadata = pq.read_metadata(source)
    paths = {metadata.schema.column(n).path for n in range(metadata.num_columns)}
    there = [path for path in encoded if path in paths]
    file = pq.ParquetFile(source, metadata=metadata, read_dictionary=there, pre_buffer=False)
    names = None if columns is None else list(columns)
    groups = [
        file.read_row_group(n, columns=names, use_threads=False) for n in range(file.num_row_groups)
    ] or [file.read(columns=names)]
    return pa.concat_tables(groups).combine_chunks()


def require_reachable(root: str) -> None:
    """Refuse an address that Arrow cannot open, before Spark has done anything."""
    try:
        open_file_system(root)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = (
            f"no store can be kept there ({said}); give a folder, or an address that Arrow opens: "
            "s3://, gs://, or hdfs:// with Hadoop's native library"
        )
        raise InputError(Finding(message, root)) from None


def open_file_system(root: str) -> tuple[pafs.FileSystem, str]:
    scheme, separator, rest = root.partition("://")
    if not separator:
        return pafs.LocalFileSystem(), root.removeprefix("file:")
    if scheme == "file":
        return pafs.LocalFileSystem(), rest
    system, path = pafs.FileSystem.from_uri(f"{_ARROW_SCHEMES.get(scheme, scheme)}://{rest}")
    return system, path
