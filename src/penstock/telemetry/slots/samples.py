"""Samples of slots read back, each record once, as windows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.model.arrays import BoolVector, IntVector
from penstock.telemetry.slots.columns import Columns, Groups, Vocabulary, from_arrow
from penstock.telemetry.slots.counts import COUNTED_COLUMNS, TaskCounts, counts_of
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.keys import HOUR_MS
from penstock.telemetry.slots.merging import merged
from penstock.telemetry.slots.records import TEXT_COLUMNS
from penstock.telemetry.slots.repeats import KEY, Repeats, find_repeats
from penstock.telemetry.slots.totals import differences
from penstock.telemetry.slots.windows import SlotWindows, windows_of

_TEXT = (*TEXT_COLUMNS, "file")


@dataclass(frozen=True)
class ChosenRecords:
    """Records of these topologies on these hosts, since then."""

    topologies: frozenset[str]
    hosts: frozenset[str]
    since_ms: int | None = None

    def of(self, records: pa.Table) -> BoolVector:
        vocabulary = Vocabulary()
        columns = from_arrow(records.select(("topology", "host", "time_ms")), vocabulary)
        words = vocabulary.words
        topology = np.array([word in self.topologies for word in words] or [False])
        host = np.array([word in self.hosts for word in words] or [False])
        chosen = topology[columns["topology"]] & host[columns["host"]]
        if self.since_ms is not None:
            chosen &= columns["time_ms"] > self.since_ms
        return np.asarray(chosen)


@dataclass(frozen=True)
class WindowSettings:
    """How records become windows."""

    root: str
    warm_up_s: float
    #: Windows shorter than this are merged up to it; 0 leaves them as they came.
    window_s: float = 0.0
    #: Some records have totals, which take the records of the hour before.
    totals: bool = False
    only: ChosenRecords | None = None

    @property
    def needs_hours(self) -> bool:
        """Whether a window may hang on records of another slot."""
        return self.totals or self.window_s > 0


@dataclass(frozen=True)
class SlotSamples:
    """Records of some slots, and what was set aside among them."""

    records: pa.Table
    repeats: Repeats
    #: Records that do not count, by file and row.
    dropped: Columns


def read_samples(
    settings: WindowSettings, paths: Sequence[str], vocabulary: Vocabulary
) -> SlotSamples:
    """Every record of the files, with those that do not count."""
    files = StoreFiles(settings.root)
    tables = [files.read(path, None, _TEXT) for path in paths]
    records = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    keys = from_arrow(records.select(KEY), vocabulary)
    chosen = np.arange(len(records))
    if settings.only is not None:
        chosen = np.flatnonzero(settings.only.of(records))
        records = records.take(pa.array(chosen))
        keys = {name: column[chosen] for name, column in keys.items()}
    repeats = find_repeats(records, Groups.of(*keys.values()))
    number = np.repeat(np.arange(len(paths)), [len(table) for table in tables])
    row = np.concatenate([np.arange(len(table)) for table in tables])
    gone = chosen[repeats.rows]
    words = np.array([vocabulary.number(path) for path in paths])
    return SlotSamples(records, repeats, {"path": words[number[gone]], "row": row[gone]})


def unique_records(samples: SlotSamples) -> pa.Table:
    if not len(samples.repeats.rows):
        return samples.records
    counts = np.ones(len(samples.records), dtype=bool)
    counts[samples.repeats.rows] = False
    return samples.records.filter(pa.array(counts))


def read_unique(
    settings: WindowSettings, paths: Sequence[str], dropped: Mapping[str, IntVector],
    columns: Collection[str],
) -> pa.Table:  # fmt: skip
    """Some columns of the records that count, when it is known which do not."""
    files = StoreFiles(settings.root)
    names = {*columns, *(("host",) if settings.only is not None else ())}
    tables = []
    for path in paths:
        table = files.read(path, names, [n for n in _TEXT if n.split(".")[0] in names])
        gone = dropped.get(path)
        if gone is not None and len(gone):
            counts = np.ones(len(table), dtype=bool)
            counts[gone] = False
            table = table.filter(pa.array(counts))
        tables.append(table)
    records = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    return records if settings.only is None else records.filter(settings.only.of(records))


def windows_of_records(
    settings: WindowSettings, records: pa.Table, vocabulary: Vocabulary, hour_ms: int
) -> SlotWindows:
    """Windows of the hour that begins then, from its records and those of the hour before."""
    counts = counts_of(records, vocabulary, settings.warm_up_s)
    if settings.needs_hours:
        counts = merged(_of_hour(differences(counts), hour_ms), settings.window_s)
    return windows_of(counts)


def _of_hour(counts: TaskCounts, hour_ms: int) -> TaskCounts:
    own = counts.time_ms // HOUR_MS == hour_ms // HOUR_MS
    return counts if own.all() else counts.where(own)


#: What windows are made of, and what tells which count.
WINDOW_COLUMNS = tuple(dict.fromkeys((*COUNTED_COLUMNS, "topology")))
