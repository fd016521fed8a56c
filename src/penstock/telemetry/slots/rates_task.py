"""The table of rates: a view, made of the samples of the hours that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.model.arrays import IntVector
from penstock.telemetry.slots.columns import Columns, Vocabulary, to_arrow
from penstock.telemetry.slots.counts import PLACE, STATUSES
from penstock.telemetry.slots.keys import hour_start
from penstock.telemetry.slots.samples import (
    WINDOW_COLUMNS,
    WindowSettings,
    read_samples,
    read_unique,
    unique_records,
    windows_of_records,
)
from penstock.telemetry.slots.windows import SlotWindows


@dataclass(frozen=True)
class HourSamples:
    """Hours of samples, as windows one by one; numbers of hours are what tasks are given."""

    settings: WindowSettings
    #: Hours with the files of their samples, and of the hour before where totals need them.
    hours: Sequence[tuple[str, Sequence[str], Sequence[str]]]
    #: By file of samples, the rows that do not count.
    dropped: Mapping[str, IntVector]

    def windows(self, number: int, vocabulary: Vocabulary) -> SlotWindows:
        hour, own, before = self.hours[number]
        if self.settings.needs_hours:
            paths = [*before, *own]
            records = unique_records(read_samples(self.settings, paths, vocabulary))
        else:
            records = read_unique(self.settings, own, self.dropped, WINDOW_COLUMNS)
        return windows_of_records(self.settings, records, vocabulary, hour_start(hour))


@dataclass(frozen=True)
class RatesTask:
    """Rows of rates, by hour."""

    samples: HourSamples
    schema: pa.Schema

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                vocabulary = Vocabulary()
                windows = self.samples.windows(number, vocabulary)
                hour = self.samples.hours[number][0]
                table = to_arrow(_rows(windows, vocabulary, hour), self.schema, vocabulary)
                yield from table.cast(self.schema).to_batches(max_chunksize=65_536)


def _rows(windows: SlotWindows, vocabulary: Vocabulary, hour: str) -> Columns:
    statuses = np.array([vocabulary.number(status) for status in STATUSES])
    plain = ("time_ms", "window_s", "rate", "rate_variance", "out_rate", "bytes_per_s")
    return {
        **{name: windows.of_place(name) for name in PLACE},
        **{name: getattr(windows, name) for name in plain},
        **windows.figures,
        "status": statuses[windows.status],
        "hour": np.full(len(windows), vocabulary.number(hour)),
    }
