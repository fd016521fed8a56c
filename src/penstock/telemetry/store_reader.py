"""The tables of a store for pandas, DuckDB and Arrow: exactly the files of one commit, no Spark.

When records come in late their hour is computed again into a new folder, and the old one stays for
a while. Which files count is what the newest manifest says; whoever reads a table's folder as a
whole counts twice.

>>> with penstock.open_store("tables") as store:
...     store.read("traffic").to_pandas()
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib.util import find_spec
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import Finding, InputError, UnknownNameError
from penstock.telemetry.commit_pins import pin
from penstock.telemetry.local_store import newest_commit, store_folder
from penstock.telemetry.manifest import (
    Manifest,
    content_of_file,
    manifest_name,
    manifest_of,
    unreadable,
)
from penstock.telemetry.part_files import PartFile, files_of_parts

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

#: A writer deletes a commit in less; what takes longer is no writer of ours.
_PINNED_WITHIN_S, _LOOKS_EVERY_S = 5.0, 0.02
#: Made of the samples when it is asked for: no file holds it.
RATES_VIEW = "rates"


class StoreReader:
    """One commit of a store; whole for as long as the block of :func:`open_store` lasts."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest

    @property
    def tables(self) -> list[str]:
        """Tables that have anything, by name."""
        from penstock.telemetry.schemas import INTERNAL_TABLES

        parts = self.manifest.parts
        hidden = (*INTERNAL_TABLES, RATES_VIEW)
        return sorted(name for name in parts if parts[name] and name not in hidden)

    def files(self, table: str) -> list[Path]:
        """The Parquet files that are the table."""
        return [file.path for file in self.part_files(table)]

    def part_files(self, table: str) -> list[PartFile]:
        if table == RATES_VIEW:
            message = "is made of the samples when it is read, so it has no files; export it"
            raise InputError(Finding(message, field=table))
        require_table(table, self.tables)
        return list(files_of_parts(self.root, self.manifest.parts.get(table, {}).values()))

    def dataset(self, table: str) -> pads.Dataset:
        """The table as Arrow's dataset, to be filtered or scanned in batches."""
        require_pyarrow()
        import pyarrow.compute as pc
        import pyarrow.dataset as pads
        from pyarrow.fs import LocalFileSystem

        schema = arrow_schema(table)
        kind, here = pads.ParquetFileFormat(), LocalFileSystem()

        def fragment(file: PartFile) -> Any:
            said = [
                pc.field(name).is_null() if value is None else pc.field(name) == value
                for name, value in file.columns.items()
                if name in schema.names
            ]
            return kind.make_fragment(str(file.path), here, reduce(and_, said) if said else None)

        fragments = [fragment(file) for file in self.part_files(table)]
        return pads.FileSystemDataset(fragments, schema, kind, here)

    def read(self, table: str, columns: Sequence[str] | None = None, where: Any = None) -> pa.Table:
        """The table, or some of its columns and rows; ``where`` is an expression of Arrow's."""
        if table == RATES_VIEW:
            import pyarrow as pa
            import pyarrow.dataset as pads

            rates = pa.Table.from_batches(self.batches(table), arrow_schema(table))
            return pads.dataset(rates).to_table(columns=columns and list(columns), filter=where)
        return self.dataset(table).to_table(columns=columns and list(columns), filter=where)

    def rows(self, table: str) -> int:
        """How many rows the table has; of rates, at most."""
        return int(self.dataset("samples" if table == RATES_VIEW else table).count_rows())

    def batches(self, table: str, most_rows: int = 65_536) -> Iterator[pa.RecordBatch]:
        """The table bit by bit, without holding all of it."""
        if table == RATES_VIEW:
            from penstock.telemetry.slots.hour_files import rates_of

            yield from rates_of(str(self.root), self.manifest, arrow_schema(table))
            return
        dataset = self.dataset(table)
        # File by file: a scan of all of them reads far ahead of what is used.
        for file in dataset.get_fragments():
            yield from file.to_batches(dataset.schema, batch_size=most_rows, batch_readahead=1)


@contextmanager
def open_store(store: str | Path) -> Iterator[StoreReader]:
    """The newest commit of a store in a local folder; it stays until the block ends.

    Commits made meanwhile are not seen, and their writers do not delete what this one names.
    """
    root = store_folder(store)
    handle, reader = _pinned(root)
    try:
        yield reader
    finally:
        os.close(handle)


def read_table(
    store: str | Path, table: str, columns: Sequence[str] | None = None, where: Any = None
) -> pa.Table:
    """A table of a store's newest commit: ``read_table("tables", "traffic").to_pandas()``."""
    with open_store(store) as reader:
        return reader.read(table, columns, where)


def table_files(store: str | Path, table: str) -> list[str]:
    """The Parquet files that are a table in the newest commit, for DuckDB, polars and others.

    They stay until the third commit from then; under :func:`open_store`, until its block ends.
    """
    with open_store(store) as reader:
        return [str(path) for path in reader.files(table)]


def require_table(table: str, parts: Collection[str]) -> None:
    """Refuse a table that no store has."""
    if table not in parts:
        from penstock.telemetry.schemas import HISTORY, TABLES

        known = {name for name in TABLES if name not in HISTORY} | set(parts)
        if table not in TABLES:
            raise UnknownNameError("table in the store", table, sorted(known))


def arrow_schema(table: str) -> pa.Schema:
    """The written schema of a table, in Arrow's words."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from penstock.telemetry.schemas import RATES, TABLES

    if table == RATES_VIEW:
        return to_arrow_schema(RATES)
    if table not in TABLES:
        raise UnknownNameError("table in the store", table, sorted(TABLES))
    return to_arrow_schema(TABLES[table])


def require_pyarrow() -> None:
    missing = [name for name in ("pyarrow", "pyspark") if find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"{' and '.join(missing)} {are} not installed: pip install 'penstock[spark]'"
        )


def _pinned(root: Path) -> tuple[int, StoreReader]:
    """The newest commit, held; of one that goes while it is opened, the one that came instead."""
    deadline = time.monotonic() + _PINNED_WITHIN_S
    while True:
        path = root / manifest_name(newest_commit(root))
        try:
            handle = pin(path)
        except OSError as error:
            raise unreadable(path, error) from None
        if handle is None:
            if time.monotonic() > deadline:
                message = "is locked by another process, or a link to nothing"
                raise InputError(Finding(message, str(path)))
            time.sleep(_LOOKS_EVERY_S)
            continue
        try:
            return handle, StoreReader(root, manifest_of(content_of_file(handle, path), str(path)))
        except BaseException:
            os.close(handle)
            raise
