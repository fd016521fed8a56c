"""A table of a store as one file for others: Parquet, CSV or JSON lines, in constant memory."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from penstock.errors import Finding, InputError, UsageError
from penstock.files.replacement import remove_leftovers, replacing
from penstock.telemetry.broken_parquet import naming_broken_files
from penstock.telemetry.store_reader import StoreReader, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

#: Told the rows written so far, and of how many.
RowProgress = Callable[[int, int], None]
_Write = Callable[["pa.RecordBatch"], None]

#: Rows that are held at a time, and that become one row group of a Parquet file.
_BATCH_ROWS = 65_536


def export_table(reader: StoreReader, table: str, target: Path, progress: RowProgress) -> int:
    """Write all rows of a table to a file, whole or not at all; how many they were.

    What a cell of CSV cannot hold, a list of inputs for one, stands in it as JSON. Bytes that are
    no UTF-8 are escaped (``\\xff``) in CSV and JSON lines, and are as they came in Parquet.
    """
    begin = _WRITERS.get(target.suffix)
    if begin is None:
        raise UsageError(
            f"cannot tell by its name what {target} shall be; end it in {', '.join(_WRITERS)}"
        )
    with naming_broken_files(reader.root):
        total, done = reader.rows(table), 0
    with (
        _whole(target) as sink,
        naming_broken_files(reader.root),
        begin(sink, arrow_schema(table)) as write,
    ):
        for batch in reader.batches(table, _BATCH_ROWS):
            write(batch)
            done += batch.num_rows
            progress(done, total)
    return done


@contextmanager
def _whole(target: Path) -> Iterator[IO[bytes]]:
    """What the target holds at the end; whatever fails leaves what was there."""
    remove_leftovers(Path(os.path.realpath(target)).parent)
    try:
        with replacing(target) as sink:
            yield sink
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise InputError(Finding(message, str(target))) from None


@contextmanager
def _parquet(sink: IO[bytes], schema: pa.Schema) -> Iterator[_Write]:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        yield lambda batch: writer.write_batch(batch) if batch.num_rows else None


@contextmanager
def _json_lines(sink: IO[bytes], _schema: pa.Schema) -> Iterator[_Write]:
    def write(batch: pa.RecordBatch) -> None:
        lines = [_json(row) + "\n" for row in batch.to_pylist()]
        sink.write("".join(lines).encode())

    yield write


@contextmanager
def _csv(sink: IO[bytes], schema: pa.Schema) -> Iterator[_Write]:
    import pyarrow as pa
    import pyarrow.csv

    flat = pa.schema([f.with_type(pa.string()) if _needs_text(f.type) else f for f in schema])

    def write(batch: pa.RecordBatch) -> None:
        columns = [
            pa.array([_text(v) for v in column.to_pylist()], pa.string())
            if _needs_text(field.type)
            else column
            for field, column in zip(schema, batch.columns, strict=True)
        ]
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=flat))

    with pa.csv.CSVWriter(sink, flat) as writer:
        yield write


def _needs_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return _of_bytes(value) if isinstance(value, bytes) else _json(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_of_bytes)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=_of_bytes)


def _finite(value: Any) -> Any:
    """Null in place of what JSON has no word for."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _of_bytes(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


_WRITERS: dict[str, Callable[[IO[bytes], Any], Any]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}
