"""Records as arrays: who counted what, in which window, before rates are made of it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.model.telemetry import Counters
from penstock.telemetry.slots.columns import (
    NO_NUMBER,
    Columns,
    Groups,
    Vocabulary,
    from_arrow,
    rows_of,
)

#: Where a task ran, as one thing.
PLACE = (
    "topology", "run", "component", "task", "last_task", "host", "machine_type", "worker", "rack",
)  # fmt: skip
#: What the status says, and its number.
STATUSES = ("used", "warm-up", "baseline", "unknown")
USED, WARM_UP, BASELINE, UNKNOWN = range(len(STATUSES))
#: Read from a record as it is; NaN is unknown.
FIGURES = (
    "cpu_points", "worker_cpu_points", "execute_ms", "process_ms", "memory_mb",
    "worker_memory_mb", "queue_fill", "latency_ms", "held_back",
)  # fmt: skip
#: Columns of the samples that windows are made of.
COUNTED_COLUMNS = (
    *PLACE, *FIGURES, "time_ms", "window_ms", "inputs", "outputs", "produced", "counters",
    "sample_rate", "uptime_s",
)  # fmt: skip


@dataclass(frozen=True)
class StreamCounts:
    """Entries of a list of all windows: so many tuples on a stream."""

    #: Window of each entry, rising.
    row: IntVector
    #: Columns of the entry: stream, tuples, bytes, and of inputs component and task.
    of: Columns
    #: Windows that have a list at all, be it empty.
    present: BoolVector

    def sums(self, name: str) -> FloatVector:
        """By window; NaN where there is no list. What an entry does not know counts as nothing."""
        values = np.nan_to_num(self.of[name], nan=0.0)
        total = np.bincount(self.row, weights=values, minlength=len(self.present))
        return np.where(self.present, total, np.nan)

    @property
    def lengths(self) -> IntVector:
        return np.bincount(self.row, minlength=len(self.present))

    def where(self, rows: IntVector) -> StreamCounts:
        """Of these windows, in this order."""
        lengths = self.lengths
        starts, number = (np.cumsum(lengths) - lengths)[rows], lengths[rows]
        row = np.repeat(np.arange(len(rows)), number)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number)
        entries = starts[row] + offset
        return StreamCounts(row, rows_of(self.of, entries), self.present[rows])


@dataclass(frozen=True)
class TaskCounts:
    """Arrays of one value a record; ``place`` points into ``places``."""

    place: IntVector
    places: Columns
    time_ms: IntVector
    #: NaN where it is not known when the window began.
    window_ms: FloatVector
    status: IntVector
    produced: FloatVector
    sample_rate: FloatVector
    uptime_s: FloatVector
    is_total: BoolVector
    figures: Columns
    inputs: StreamCounts
    outputs: StreamCounts

    def __len__(self) -> int:
        return len(self.time_ms)

    def of_place(self, name: str) -> IntVector:
        return self.places[name][self.place]

    def where(self, chosen: BoolVector | IntVector) -> TaskCounts:
        """Some of the records, in the order given."""
        rows: IntVector = np.arange(len(self))[chosen]
        changed: dict[str, Any] = {}
        for column in fields(self):
            value = getattr(self, column.name)
            if column.name == "figures":
                changed[column.name] = rows_of(value, rows)
            elif isinstance(value, StreamCounts):
                changed[column.name] = value.where(rows)
            elif column.name != "places":
                changed[column.name] = value[rows]
        return replace(self, **changed)


def counts_of(records: pa.Table, vocabulary: Vocabulary, warm_up_s: float) -> TaskCounts:
    """Records whose keys occur once, with the status of their own windows."""
    place, places = _places(records, vocabulary)
    inputs, outputs = (stream_counts(records[n], vocabulary) for n in ("inputs", "outputs"))
    kinds = Vocabulary()
    counters = kinds.numbers(records["counters"])
    produced, uptime_s = _numbers(records, "produced"), _numbers(records, "uptime_s")
    return TaskCounts(
        place=place,
        places=places,
        time_ms=np.asarray(records["time_ms"].to_numpy(), dtype=np.int64),
        window_ms=_numbers(records, "window_ms"),
        status=statuses(inputs, outputs, produced, uptime_s, warm_up_s),
        produced=produced,
        sample_rate=_numbers(records, "sample_rate"),
        uptime_s=uptime_s,
        is_total=counters == kinds.number(Counters.TOTAL.value),
        figures={name: _numbers(records, name) for name in FIGURES},
        inputs=inputs,
        outputs=outputs,
    )


def statuses(
    inputs: StreamCounts,
    outputs: StreamCounts,
    produced: FloatVector,
    uptime_s: FloatVector,
    warm_up_s: float,
) -> IntVector:
    uncounted = ~inputs.present & ~outputs.present & np.isnan(produced)
    # An age that is not known is no warm-up.
    return np.where(uncounted, UNKNOWN, np.where(uptime_s < warm_up_s, WARM_UP, USED))


def _places(records: pa.Table, vocabulary: Vocabulary) -> tuple[IntVector, Columns]:
    columns = from_arrow(records.select(PLACE), vocabulary)
    task, last = columns["task"], columns["last_task"]
    columns["last_task"] = np.where(last == NO_NUMBER, task, last)
    groups = Groups.of(*columns.values())
    return groups.of_row, groups.keys(columns, PLACE)


def stream_counts(column: pa.ChunkedArray, vocabulary: Vocabulary) -> StreamCounts:
    lists = _one_chunk(column)
    present = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    entries = lists.flatten()
    names = [entries.type.field(n).name for n in range(entries.type.num_fields)]
    table = pa.Table.from_arrays(entries.flatten(), names=names)
    row = np.repeat(np.arange(len(lists)), lengths)
    return StreamCounts(row, from_arrow(table, vocabulary), present)


def _numbers(records: pa.Table, name: str) -> FloatVector:
    column = records[name]
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _one_chunk(column: pa.ChunkedArray) -> pa.ListArray:
    chunk = column.combine_chunks()
    if isinstance(chunk, pa.ChunkedArray):
        return chunk.chunk(0) if chunk.num_chunks else pa.array([], chunk.type)
    return chunk
