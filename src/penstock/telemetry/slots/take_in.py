"""Raw records into files of samples by slot: what a task of Spark does with its part of them.

What is surely sound is written at once. The rest is put aside in files of its own, to be judged
with care by the checks on Spark, which take far longer.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.arrays import BoolVector
from penstock.model.telemetry import SAMPLE_FIELDS, Counters
from penstock.telemetry.arrow_record import record_schema
from penstock.telemetry.slots.columns import Groups, Vocabulary, from_arrow
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.keys import slot_name, slot_numbers
from penstock.telemetry.slots.lines import read_lines
from penstock.telemetry.slots.records import REPEATING_COLUMNS, as_records, filled, read_records
from penstock.telemetry.slots.soundness import sound_records

#: So many records are written into one file of a slot at a time.
_CHUNK_ROWS = 1_000_000
#: Doubtful records are kept in memory up to this.
_DOUBTFUL_BYTES = 64 * 2**20
_GROUP = ("topology", "component", "machine_type")
_MOMENT = ("run", "host", "worker", "time_ms")


RecordsSeen = Callable[[int], None]


def count_nothing(_: int) -> None:
    """Where nobody looks on."""


@dataclass
class TaskReport:
    """What one task has written; added up by the driver."""

    #: Slot and path of each file of samples.
    files: list[tuple[str, str]] = field(default_factory=list)
    records: int = 0
    #: Time of the newest record, or 0.
    newest_ms: int = 0
    #: Files of records that have to be judged with care, below the store.
    doubtful: list[str] = field(default_factory=list)
    #: Paths of files that Spark has to read itself: large ones, and those of odd columns.
    odd_files: list[str] = field(default_factory=list)
    #: Names of files that cannot be read.
    unreadable: list[str] = field(default_factory=list)
    totals: int = 0
    #: Least and most uptime seen.
    uptimes_s: list[float] = field(default_factory=list)
    #: Records with CPU by topology, component and machine type.
    groups: list[tuple[str, str, str, int]] = field(default_factory=list)
    #: Moments of workers by machine type.
    workers: list[tuple[str, int]] = field(default_factory=list)

    def to_batch(self) -> pa.RecordBatch:
        """As a task gives it back: one row of text."""
        return pa.record_batch([pa.array([json.dumps(vars(self))])], names=["report"])


@dataclass(frozen=True)
class TakeIn:
    """Where samples go, and what is sound."""

    root: str
    #: Folder of the batch below the store.
    folder: str
    now_ms: int
    machine_types: Mapping[str, str] = field(default_factory=dict)
    types_win: bool = False
    #: Records before this are older than the store keeps any.
    horizon_ms: int | None = None
    #: Told how many records were read, while they are.
    seen: RecordsSeen = count_nothing

    # -- what Spark calls -----------------------------------------------------------------------

    def parquet_files(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From whole files (content, path, file) to a report; a large one has no content."""
        writer = SampleWriter(StoreFiles(self.root), self.folder)
        for batch in batches:
            names = zip(
                batch.column("path").to_pylist(), batch.column("file").to_pylist(), strict=True
            )
            for content, (path, file) in zip(batch.column("content"), names, strict=True):
                if not content.is_valid:
                    writer.report.odd_files.append(path)
                    continue
                try:
                    records = read_records(content.as_buffer())
                except (pa.ArrowException, OSError):
                    writer.report.unreadable.append(file)
                    continue
                if records is None:
                    writer.report.odd_files.append(path)
                    continue
                self.seen(len(records))
                self._take(records, file, writer)
        yield writer.finish().to_batch()

    def json_lines(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From lines (value, file) to a report."""
        writer = SampleWriter(StoreFiles(self.root), self.folder)
        for batch in batches:
            values = batch.column("value").cast(pa.binary())
            records, numbers = read_lines(values)
            self.seen(len(values))
            sound = self._sound(records)
            taken = numbers[sound]
            files = batch.column("file").take(pa.array(taken))
            writer.add(filled_records(self, records.filter(pa.array(sound))), files)
            rest = np.setdiff1d(np.arange(len(values)), taken)
            if len(rest):
                lines = pa.Table.from_batches([batch]).select(DOUBTFUL_LINES.names)
                writer.add_doubtful(lines.take(pa.array(rest)).cast(DOUBTFUL_LINES))
        yield writer.finish().to_batch()

    def accepted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From records that passed every check (the record's columns, file) to a report."""
        writer = SampleWriter(StoreFiles(self.root), self.folder)
        for batch in batches:
            table = pa.Table.from_batches([batch])
            writer.add(as_records(table), batch.column("file"))
        yield writer.finish().to_batch()

    # -- what is sound --------------------------------------------------------------------------

    def _sound(self, records: pa.Table) -> BoolVector:
        return sound_records(records, self.machine_types, self.now_ms, self.horizon_ms)

    def _take(self, records: pa.Table, file: str, writer: SampleWriter) -> None:
        """Write what is sound, and apart from it what is doubtful."""
        sound = self._sound(records)
        if sound.all():
            writer.add(filled_records(self, records), _repeated(file, len(records)))
            return
        writer.add(
            filled_records(self, records.filter(pa.array(sound))),
            _repeated(file, int(sound.sum())),
        )
        doubtful = records.filter(pa.array(~sound)).cast(record_schema())
        names = _repeated(file, len(doubtful)).cast(pa.string())
        writer.add_doubtful(doubtful.append_column("file", names).cast(DOUBTFUL_RECORDS))


def filled_records(taking: TakeIn, records: pa.Table) -> pa.Table:
    return filled(records, taking.machine_types, types_win=taking.types_win)


def _repeated(word: str, times: int) -> pa.Array:
    indices = pa.repeat(pa.scalar(0, pa.int32()), times)
    return pa.DictionaryArray.from_arrays(indices, pa.array([word], pa.string()))


#: What is judged with care: of columns, and of lines.
DOUBTFUL_RECORDS = pa.schema([*record_schema(), pa.field("file", pa.string())])
DOUBTFUL_LINES = pa.schema([pa.field(name, pa.string()) for name in ("value", "file")])


# -- files of samples -----------------------------------------------------------------------------


def doubtful_folder(folder: str) -> str:
    """Where tasks put what has to be judged with care, until it is."""
    return f"{folder}-doubtful"


class SampleWriter:
    """Collects records and writes them by slot."""

    def __init__(self, files: StoreFiles, folder: str) -> None:
        self._files = files
        self._folder = folder
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self.report = TaskReport()
        self._groups: Counter[tuple[str, str, str]] = Counter()
        self._workers: Counter[str] = Counter()
        self._doubtful: list[pa.Table] = []

    def add(self, records: pa.Table, file: pa.Array) -> None:
        if not len(records):
            return
        encoded = file if pa.types.is_dictionary(file.type) else file.dictionary_encode()
        self._waiting.append(records.append_column("file", encoded))
        self._rows += len(records)
        if self._rows >= _CHUNK_ROWS:
            self._write()

    def add_doubtful(self, records: pa.Table) -> None:
        self._doubtful.append(records)
        if sum(table.nbytes for table in self._doubtful) >= _DOUBTFUL_BYTES:
            self._write_doubtful()

    def _write_doubtful(self) -> None:
        if self._doubtful:
            folder, table = doubtful_folder(self._folder), pa.concat_tables(self._doubtful)
            self.report.doubtful.append(self._files.write(folder, "task", table, ["file"]))
            self._doubtful = []

    def finish(self) -> TaskReport:
        self._write()
        self._write_doubtful()
        self.report.groups = [(*group, n) for group, n in sorted(self._groups.items())]
        self.report.workers = sorted(self._workers.items())
        return self.report

    def _write(self) -> None:
        if not self._waiting:
            return
        table = pa.concat_tables(self._waiting).unify_dictionaries().combine_chunks()
        self._waiting, self._rows = [], 0
        self._note(table)
        slots = slot_numbers(np.asarray(table["time_ms"].to_numpy()))
        if np.any(slots[1:] < slots[:-1]):
            order = np.argsort(slots, kind="stable")
            table, slots = table.take(pa.array(order)), slots[order]
        edges = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]
        for begin, end in itertools.pairwise(edges):
            name = slot_name(int(slots[begin]))
            part = table.slice(begin, end - begin)
            path = self._files.write(self._folder, name, part, REPEATING_COLUMNS)
            self.report.files.append((name, path))

    def _note(self, table: pa.Table) -> None:
        """What the driver wants to know before it plans the sums."""
        report, vocabulary = self.report, Vocabulary()
        report.records += len(table)
        report.newest_ms = max(report.newest_ms, int(table["time_ms"].to_numpy().max()))
        columns = from_arrow(table.select({*_GROUP, *_MOMENT, "counters"}), vocabulary)
        total = vocabulary.number(Counters.TOTAL.value)
        report.totals += int(np.sum(columns["counters"] == total))
        uptimes = table["uptime_s"].drop_null().to_numpy()
        if len(uptimes):
            every = [*report.uptimes_s, float(uptimes.min()), float(uptimes.max())]
            report.uptimes_s = [min(every), max(every)]
        words = vocabulary.words
        with_cpu = table["cpu_points"].is_valid().to_numpy()
        group = Groups.of(*(columns[name] for name in _GROUP))
        for row, number in zip(group.first, group.counts(with_cpu), strict=True):
            key = tuple(words[columns[name][row]] for name in _GROUP)
            self._groups[key] += int(number)  # type: ignore[index]
        moment = Groups.of(*(columns[name] for name in _MOMENT))
        kinds, numbers = np.unique(columns["machine_type"][moment.first], return_counts=True)
        for kind, number in zip(kinds, numbers, strict=True):
            self._workers[words[kind]] += int(number)


def added_up(reports: Iterable[Mapping[str, Any]]) -> TaskReport:
    """The reports of all tasks of a batch."""
    total = TaskReport()
    groups: Counter[tuple[str, str, str]] = Counter()
    workers: Counter[str] = Counter()
    for report in reports:
        total.files += [(slot, path) for slot, path in report["files"]]
        total.records += report["records"]
        total.newest_ms = max(total.newest_ms, report["newest_ms"])
        total.doubtful += report["doubtful"]
        total.odd_files += report["odd_files"]
        total.unreadable += report["unreadable"]
        total.totals += report["totals"]
        total.uptimes_s += report["uptimes_s"]
        for topology, component, kind, number in report["groups"]:
            groups[topology, component, kind] += number
        for kind, number in report["workers"]:
            workers[kind] += number
    if total.uptimes_s:
        total.uptimes_s = [min(total.uptimes_s), max(total.uptimes_s)]
    total.files.sort()
    total.doubtful.sort()
    total.odd_files.sort()
    total.unreadable.sort()
    total.groups = [(*group, n) for group, n in sorted(groups.items())]
    total.workers = sorted(workers.items())
    return total


#: The record's own columns, in order.
RECORD_COLUMNS = tuple(f.name for f in SAMPLE_FIELDS)
