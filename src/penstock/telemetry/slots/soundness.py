"""Which records of a table surely fail no check, column by column.

The rules of :func:`penstock.telemetry.checks.is_sound`, said once more for Arrow's columns; a
property test holds the two against each other. What is not sure is judged by those checks.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.arrays import BoolVector
from penstock.model.telemetry import SAMPLE_FIELDS, SAMPLE_VERSION, Counters, FieldType, SampleField
from penstock.telemetry.arrow_record import ENTRY_FIELDS
from penstock.telemetry.reasons import (
    AHEAD_MS,
    EARLIEST_MS,
    LARGEST,
    LATEST_MS,
    LONGEST_WINDOW_MS,
    MOST_TASKS,
    TOO_LARGE,
)


def sound_records(
    records: pa.Table, types: Mapping[str, str], now_ms: int, horizon_ms: int | None = None
) -> BoolVector:
    """``records`` has the record's own columns and types; one flag a row."""
    column = {name: records[name].combine_chunks() for name in records.column_names}
    latest = min(LATEST_MS, now_ms + AHEAD_MS)
    earliest = EARLIEST_MS if horizon_ms is None else max(EARLIEST_MS, horizon_ms)
    sound = np.ones(len(records), dtype=bool)
    sound &= _holds(pc.equal(column["version"], SAMPLE_VERSION), absent=False)
    sound &= _within(column["time_ms"], earliest, latest)
    sound &= _within(column["window_ms"], 1, LONGEST_WINDOW_MS)
    sound &= _present(column["task"])
    sound &= _few_tasks(column["task"], column["last_task"])
    sound &= _holds(pc.greater(column["sample_rate"], 0.0), absent=True)
    for f in SAMPLE_FIELDS:
        if f.type is FieldType.TEXT:
            needed = f.required and f.name != "machine_type"
            sound &= _named(column[f.name], absent=not needed)
        elif f.type is FieldType.NUMBER:
            sound &= _holds(_in_range(column[f.name], LARGEST.get(f.name)), absent=True)
        elif f.type in ENTRY_FIELDS:
            sound &= _entries_sound(column[f.name], f)
    kinds = [kind.value for kind in Counters]
    sound &= _word_holds(column["counters"], lambda word: word in kinds, absent=True)
    known = _present(column["machine_type"])
    if types:
        known |= _word_holds(column["host"], types.__contains__, absent=False)
    return sound & known


def _holds(flags: pa.Array, *, absent: bool) -> BoolVector:
    return np.asarray(pc.fill_null(flags, absent).to_numpy(zero_copy_only=False))


def _present(column: pa.Array) -> BoolVector:
    if not column.null_count:
        return np.ones(len(column), dtype=bool)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))


def _within(column: pa.Array, least: int, most: int) -> BoolVector:
    inside = pc.and_(pc.greater_equal(column, least), pc.less_equal(column, most))
    return _holds(inside, absent=False)


def _in_range(column: pa.Array, most: float | None) -> pa.Array:
    # As Spark compares them: safely, Arrow refuses whole numbers beyond 53 bits.
    column = column.cast(pa.float64(), safe=False)
    # NaN is in no range.
    below = pc.less(column, TOO_LARGE) if most is None else pc.less_equal(column, most)
    return pc.and_(pc.greater_equal(column, 0), below)


def _few_tasks(first: pa.Array, last: pa.Array) -> BoolVector:
    if last.null_count == len(last):
        return np.ones(len(last), dtype=bool)
    # Of whole numbers of 64 bits the difference may have more.
    tasks = pc.subtract(last.cast(pa.float64(), safe=False), first.cast(pa.float64(), safe=False))
    inside = pc.and_(pc.greater_equal(tasks, 0), pc.less_equal(tasks, MOST_TASKS))
    return _holds(inside, absent=True)


def _named(column: pa.DictionaryArray, *, absent: bool) -> BoolVector:
    return _word_holds(column, lambda word: bool(word.strip(" ")), absent=absent)


def _word_holds(column: pa.DictionaryArray, holds: object, *, absent: bool) -> BoolVector:
    """Each word is looked at once."""
    if column.null_count == len(column):
        return np.full(len(column), absent)
    flags = [holds(word) for word in column.dictionary.to_pylist()]  # type: ignore[operator]
    if all(flags) and (absent or not column.null_count):
        return np.ones(len(column), dtype=bool)
    indices = column.indices.fill_null(len(flags)) if column.null_count else column.indices
    return np.array([*flags, absent])[indices.to_numpy()]


def _entries_sound(column: pa.ListArray, f: SampleField) -> BoolVector:
    entries = column.flatten()
    sound = _present(entries)
    for entry, values in zip(ENTRY_FIELDS[f.type], entries.flatten(), strict=True):
        if entry.type is FieldType.TEXT:
            sound &= _named(values, absent=not entry.required)
            continue
        if values.null_count == len(values) and not entry.required:
            continue
        sound &= _holds(_in_range(values, None), absent=not entry.required)
    if sound.all():
        return np.ones(len(column), dtype=bool)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    row = np.repeat(np.arange(len(column)), lengths)
    of_row = np.ones(len(column), dtype=bool)
    of_row[row[~sound]] = False
    return of_row
