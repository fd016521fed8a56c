"""All of an hour that has new records: partial sums of its new slots, and its tables anew.

One task of Spark computes one hour. It reads each new slot's samples once, adds what earlier
commits know of the other slots, writes files and says which they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from penstock.model.arrays import IntVector
from penstock.telemetry.arrow_record import json_lines, record_schema
from penstock.telemetry.reasons import Reason
from penstock.telemetry.slots.bundles import read_bundle, write_bundle
from penstock.telemetry.slots.columns import (
    Columns,
    Vocabulary,
    from_arrow,
    joined,
    length,
    rows_of,
    to_arrow,
)
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.fit_points import write_points
from penstock.telemetry.slots.hours import SUMMARIES, hour_summaries, hour_tables, instances
from penstock.telemetry.slots.keys import SLOT_MS, hour_of, hour_start, slot_name, slot_numbers
from penstock.telemetry.slots.partial_tables import PARTIAL_TABLES
from penstock.telemetry.slots.samples import (
    SlotSamples,
    WindowSettings,
    read_samples,
    unique_records,
    windows_of_records,
)
from penstock.telemetry.slots.sums import SampleSizes, partial_sums
from penstock.telemetry.slots.take_in import RecordsSeen, count_nothing
from penstock.telemetry.slots.windows import SlotWindows

#: Partial tables that a file of their own has, laid out for the fit.
_POINTS = "points"
_TABLES = ("streams", "traffic", "places", "workers", "utilisation")
QUARANTINE = "quarantine"
#: Columns of the quarantine in which few values repeat.
_REPEATING = ("reason", "field", "file", "hour")
#: Tables that one hour's task writes.
HOUR_TABLES = (*_TABLES, QUARANTINE)


@dataclass(frozen=True)
class HourWork:
    """An hour and the files it is computed from."""

    hour: str
    #: Samples of the slots that are computed.
    slots: dict[str, list[str]]
    #: Samples of the hour before, where totals need them.
    earlier: list[str] = field(default_factory=list)
    #: Partial sums of the other slots, and points of the fit: as they are in the store.
    stored: dict[str, str] = field(default_factory=dict)
    points: str = ""


@dataclass(frozen=True)
class HourReport:
    """Files that one hour's task has written."""

    hour: str
    slots: list[str]
    partials: str
    summaries: str
    points: str
    tables: dict[str, str]
    records: int
    #: Repeated records by slot and reason, and the files of the quarantine that have them by slot.
    repeats: dict[str, dict[str, int]]
    quarantine: dict[str, str]


@dataclass(frozen=True)
class HourTask:
    """Computes hours, on an executor."""

    settings: WindowSettings
    #: Folder below each table's for what this commit writes.
    part: str
    sizes: SampleSizes
    #: Schemas of the tables.
    schemas: Mapping[str, pa.Schema]
    #: Told how many records were read, while they are.
    seen: RecordsSeen = count_nothing

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From hours' work (as JSON, column work) to reports."""
        for batch in batches:
            for text in batch.column("work").to_pylist():
                report = json.dumps(asdict(self._hour(HourWork(**json.loads(text)))))
                yield pa.record_batch([pa.array([report])], names=["report"])

    def _hour(self, work: HourWork) -> HourReport:
        vocabulary = Vocabulary()
        parts: list[dict[str, Columns]] = []
        records, repeats = 0, list[_Repeats]()
        for samples, windows in self._windows(work, vocabulary):
            records += len(samples.records)
            self.seen(len(samples.records))
            repeats += _repeats(samples)
            parts += self._partials(samples, windows, vocabulary)
        return self._write(work, parts, vocabulary, records, repeats)

    def _windows(
        self, work: HourWork, vocabulary: Vocabulary
    ) -> Iterator[tuple[SlotSamples, SlotWindows]]:
        """Of one slot after the other; of the hour as a whole where slots hang together."""
        settings, start = self.settings, hour_start(work.hour)
        if not settings.needs_hours:
            for paths in work.slots.values():
                samples = read_samples(settings, paths, vocabulary)
                records = unique_records(samples)
                yield samples, windows_of_records(settings, records, vocabulary, start)
            return
        own = read_samples(
            settings, [p for paths in work.slots.values() for p in paths], vocabulary
        )
        records = unique_records(own)
        if work.earlier:
            before = unique_records(read_samples(settings, work.earlier, vocabulary))
            records = pa.concat_tables([before, records]).unify_dictionaries().combine_chunks()
        yield own, windows_of_records(settings, records, vocabulary, start)

    def _partials(
        self, samples: SlotSamples, windows: SlotWindows, vocabulary: Vocabulary
    ) -> Iterator[dict[str, Columns]]:
        slots = slot_numbers(windows.time_ms)
        # Of a slot in which all records contradict each other it must be known that none counts.
        of_records = slot_numbers(np.asarray(samples.records["time_ms"].to_numpy()))
        for slot in np.union1d(slots, of_records):
            own = windows if np.all(slots == slot) else windows.where(slots == slot)
            partial = partial_sums(own, vocabulary, self.sizes)
            partial["dropped"] = _dropped_in(samples, int(slot))
            name = vocabulary.number(slot_name(int(slot)))
            for table in partial.values():
                table["slot"] = np.full(length(table), name)
            yield partial

    def _write(
        self,
        work: HourWork,
        computed: Sequence[dict[str, Columns]],
        vocabulary: Vocabulary,
        records: int,
        repeats: Sequence[_Repeats],
    ) -> HourReport:
        root, hour = self.settings.root, work.hour
        fresh = _joined(computed)
        partials = {
            name: to_arrow(fresh[name], schema, vocabulary)
            for name, schema in PARTIAL_TABLES.items()
            if name != _POINTS
        }
        every = _joined([fresh, *self._stored(work, vocabulary)])
        tables = hour_tables(every, vocabulary, hour)
        summaries = hour_summaries(every, tables, vocabulary)
        files = StoreFiles(root)
        paths = {}
        for name in _TABLES:
            arrow = to_arrow(tables[name], self.schemas[name], vocabulary)
            text = [f.name for f in arrow.schema if pa.types.is_dictionary(f.type)]
            paths[name] = files.write(f"{name}/part={self.part}", hour, arrow, text)
        return HourReport(
            hour=hour,
            slots=sorted(work.slots),
            partials=write_bundle(root, f"slots/part={self.part}", hour, partials),
            summaries=write_bundle(
                root,
                f"hours/part={self.part}",
                hour,
                {n: to_arrow(summaries[n], s, vocabulary) for n, s in SUMMARIES.items()},
            ),
            points=write_points(
                root, f"points/part={self.part}", work.hour, fresh[_POINTS],
                instances(every["tasks"]), vocabulary, self.sizes,
                stored=work.points, replaced=work.slots,
            ),
            tables=paths,
            records=records,
            repeats=_counted(repeats),
            quarantine=self._write_quarantine(repeats),
        )  # fmt: skip

    def _write_quarantine(self, repeats: Sequence[_Repeats]) -> dict[str, str]:
        """Repeated records by slot, as records that were set aside."""
        if not repeats:
            return {}
        table, slots = _set_aside(repeats, self.schemas[QUARANTINE])
        files, folder = StoreFiles(self.settings.root), f"{QUARANTINE}/part={self.part}"
        names = {slot_name(int(slot)): table.filter(slots == slot) for slot in np.unique(slots)}
        return {name: files.write(folder, name, own, _REPEATING) for name, own in names.items()}

    def _stored(self, work: HourWork, vocabulary: Vocabulary) -> Iterator[dict[str, Columns]]:
        """Partial sums of the slots that are not computed now."""
        by_path: dict[str, list[str]] = {}
        for slot, path in sorted(work.stored.items()):
            by_path.setdefault(path, []).append(slot)
        for path, slots in by_path.items():
            wanted = np.array([vocabulary.number(slot) for slot in slots])
            tables = read_bundle(self.settings.root, path)
            known = {name: from_arrow(table, vocabulary) for name, table in tables.items()}
            yield {
                name: rows_of(table, np.isin(table["slot"], wanted))
                for name, table in known.items()
            }


def _joined(parts: Sequence[dict[str, Columns]]) -> dict[str, Columns]:
    tables = {}
    for name, schema in PARTIAL_TABLES.items():
        own = [part[name] for part in parts if name in part]
        tables[name] = joined(own) if own else empty(schema)
    return tables


def empty(schema: pa.Schema) -> Columns:
    return from_arrow(schema.empty_table(), Vocabulary())


def _dropped_in(samples: SlotSamples, slot: int) -> Columns:
    rows = samples.repeats.rows
    time_ms = np.asarray(samples.records["time_ms"].to_numpy())[rows]
    return rows_of(samples.dropped, time_ms // SLOT_MS == slot)


# -- repeated records -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Repeats:
    """Records that do not count for one reason, with the file they came in, and their slots."""

    reason: str
    records: pa.Table
    slots: IntVector


def _counted(repeats: Iterable[_Repeats]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for repeated in repeats:
        for slot, number in zip(*np.unique(repeated.slots, return_counts=True), strict=True):
            of_slot = counts.setdefault(slot_name(int(slot)), {})
            of_slot[repeated.reason] = of_slot.get(repeated.reason, 0) + int(number)
    return counts


def _repeats(samples: SlotSamples) -> Iterator[_Repeats]:
    time_ms = np.asarray(samples.records["time_ms"].to_numpy())
    for reason, rows in (
        (Reason.DUPLICATE, samples.repeats.duplicates),
        (Reason.CONFLICT, samples.repeats.conflicts),
    ):
        if len(rows):
            records = samples.records.take(pa.array(rows))
            yield _Repeats(reason.value, records, slot_numbers(time_ms[rows]))


def _set_aside(repeats: Sequence[_Repeats], schema: pa.Schema) -> tuple[pa.Table, IntVector]:
    """As rows of the quarantine: the record as text, and why; and the slot of each."""
    names = [*record_schema().names, "file"]
    plain = pa.schema([*record_schema(), pa.field("file", pa.string())])
    whole = pa.concat_tables([one.records.select(names).cast(plain) for one in repeats])
    (batch,) = whole.combine_chunks().to_batches()
    slots = np.concatenate([one.slots for one in repeats])
    hours = [hour_of(slot_name(int(slot))) for slot in slots]
    reasons = [pa.repeat(pa.scalar(one.reason), len(one.slots)) for one in repeats]
    columns = {
        "raw": json_lines(batch).cast(pa.binary()),
        "reason": pa.concat_arrays(reasons),
        "field": pa.repeat(pa.scalar(""), len(slots)),
        "file": batch.column("file"),
        "hour": pa.array(hours, pa.string()),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema), slots
