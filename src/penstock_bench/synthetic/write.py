"""Recordings as files, with the faults that happen to records on their way there.

A file appears whole or not at all: it is written under a hidden name and then renamed, so that a
reader that follows the folder never sees half of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.model.telemetry import SAMPLE_FIELDS, FieldType
from penstock.telemetry.arrow_record import ENTRY_FIELDS, json_lines, record_schema
from penstock_bench.synthetic.batches import record_batches
from penstock_bench.synthetic.settings import InjectedFaults, Recording

#: Rows turned into text at a time: Arrow's text columns hold 2 GB at most.
_TEXT_ROWS = 32_768

Sink = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True)
class Written:
    """What was written."""

    paths: tuple[Path, ...]
    #: Different records, and copies of some of them on top.
    records: int
    duplicates: int
    #: Of the records: not written in the file of their time, and not written at all.
    late: int
    lost: int


def write_json_lines(
    recording: Recording,
    folder: Path,
    rng: np.random.Generator,
    *,
    files: int = 1,
    prefix: str = "part",
) -> Written:
    """Write a recording as ``part-00000.jsonl`` and so on, one file after another in time."""
    return _write(recording, folder, rng, files, f"{prefix}-{{:05d}}.jsonl", _json_file)


def write_parquet(
    recording: Recording,
    folder: Path,
    rng: np.random.Generator,
    *,
    files: int = 1,
    prefix: str = "part",
) -> Written:
    """Write a recording as ``part-00000.parquet`` and so on, one file after another in time."""
    return _write(recording, folder, rng, files, f"{prefix}-{{:05d}}.parquet", _parquet_file)


def _write(
    recording: Recording,
    folder: Path,
    rng: np.random.Generator,
    files: int,
    name: str,
    opened: Callable[[Path], AbstractContextManager[Sink]],
) -> Written:
    if not 1 <= files <= recording.windows:
        raise ValueError(f"{files} files for {recording.windows} windows: each needs at least one")
    folder.mkdir(parents=True, exist_ok=True)
    mail = _Mail(recording.faults, rng)
    batches = _Slices(record_batches(recording, rng))
    edges = [recording.windows * number // files for number in range(files + 1)]
    paths = []
    for number in range(files):
        windows = edges[number + 1] - edges[number]
        path = folder / name.format(number)
        hidden = folder / f".{path.name}.tmp"
        block = batches.next(windows * len(recording.placement))
        with opened(hidden) as sink:
            for batch in mail.delivered(block, last=number == files - 1):
                sink(batch)
        hidden.rename(path)
        paths.append(path)
    return Written(
        tuple(paths), recording.records - mail.lost, mail.duplicates, mail.late, mail.lost
    )


class _Slices:
    """Batches cut so that each file gets its number of rows."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rest: pa.RecordBatch | None = None

    def next(self, rows: int) -> Iterator[pa.RecordBatch]:
        while rows > 0:
            batch = next(self._batches) if self._rest is None else self._rest
            self._rest = batch.slice(rows) if batch.num_rows > rows else None
            yield batch.slice(0, rows)
            rows -= batch.num_rows


class _Mail:
    """Loses, doubles, mixes up and holds back records."""

    def __init__(self, faults: InjectedFaults, rng: np.random.Generator) -> None:
        self._faults = faults
        self._rng = rng.spawn(1)[0]
        self._held: list[pa.RecordBatch] = []
        self.lost = self.duplicates = self.late = 0

    def delivered(
        self, batches: Iterator[pa.RecordBatch], *, last: bool
    ) -> Iterator[pa.RecordBatch]:
        """The records of one file; what the file before held back comes first."""
        if self._held:
            yield pa.concat_batches(self._held)
            self._held = []
        faults = self._faults
        if not (faults.lost or faults.duplicates or faults.out_of_order or faults.late):
            yield from batches
            return
        for batch in batches:
            yield batch.take(pa.array(self._sort(batch, hold=not last)))

    def _sort(self, batch: pa.RecordBatch, *, hold: bool) -> np.ndarray:
        """Which rows of a batch are written now, in which order; the late ones are put aside."""
        faults, rows = self._faults, np.arange(batch.num_rows)
        on_time = rows[~self._chosen(rows, faults.lost)]
        self.lost += len(rows) - len(on_time)
        copies = on_time[self._chosen(on_time, faults.duplicates)]
        self.duplicates += len(copies)
        late = self._chosen(on_time, faults.late)
        if hold and late.any():
            self._held.append(batch.take(pa.array(on_time[late])))
            self.late += int(late.sum())
            on_time = on_time[~late]
        written = np.concatenate([on_time, copies])
        moved = np.flatnonzero(self._chosen(written, faults.out_of_order))
        written[moved] = written[self._rng.permutation(moved)]
        return written

    def _chosen(self, rows: np.ndarray, share: float) -> np.ndarray:
        if not share:
            return np.zeros(len(rows), dtype=bool)
        return self._rng.random(len(rows)) < share


@contextmanager
def _json_file(path: Path) -> Iterator[Sink]:
    with path.open("wb") as file:

        def sink(batch: pa.RecordBatch) -> None:
            for start in range(0, batch.num_rows, _TEXT_ROWS):
                lines = json_lines(batch.slice(start, _TEXT_ROWS))
                file.write(b"\n".join(lines.cast(pa.binary()).to_pylist()))
                file.write(b"\n")

        yield sink


@contextmanager
def _parquet_file(path: Path) -> Iterator[Sink]:
    # Arrow's own schema would bring the dictionaries back on reading; the file's says just text.
    with pq.ParquetWriter(
        path, record_schema(encoded=True), use_dictionary=_text_columns(), store_schema=False
    ) as writer:
        yield writer.write_batch


def _text_columns() -> list[str]:
    """Columns in which few values repeat; numbers would only be slowed down by a dictionary."""
    names = [f.name for f in SAMPLE_FIELDS if f.type is not FieldType.NUMBER]
    nested = [
        f"{f.name}.list.element.{entry.name}"
        for f in SAMPLE_FIELDS
        if f.type in ENTRY_FIELDS
        for entry in ENTRY_FIELDS[f.type]
        if entry.type is not FieldType.NUMBER
    ]
    return names + nested
