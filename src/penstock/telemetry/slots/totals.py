"""Totals since a worker's start become counts of windows, by the record before of the same series.

A total that falls is a restart and starts a new series. The rules do not depend on the order in
which records arrived.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.telemetry.slots.columns import Columns, Groups, combine
from penstock.telemetry.slots.counts import BASELINE, StreamCounts, TaskCounts
from penstock.telemetry.slots.keys import HOUR_MS

#: A series of totals belongs to one task in one worker process.
_SERIES = ("topology", "run", "task", "host", "worker")
_KEYS = {"inputs": ("component", "stream", "task"), "outputs": ("stream",)}


def differences(counts: TaskCounts) -> TaskCounts:
    """Totals as counts of their own windows; other records as they are."""
    if not counts.is_total.any():
        return counts
    before = _records_before(counts)
    known, total = before >= 0, counts.is_total
    begins = np.zeros(len(counts), dtype=bool)
    fell = np.zeros(len(counts), dtype=bool)
    lists: dict[str, StreamCounts] = {}
    for name, key in _KEYS.items():
        entries: StreamCounts = getattr(counts, name)
        # Not counted the time before: the first of its series, not what came since the start.
        begins |= entries.present & ~(known & entries.present[before])
        lists[name] = _since(entries, before, total, key)
        negative = lists[name].of["tuples"] < 0
        fell[lists[name].row[negative]] = True
    produced = counts.produced - _at(counts.produced, before)
    fell |= produced < 0
    fell |= counts.uptime_s < _at(counts.uptime_s, before)
    is_baseline = total & (~known | begins | fell)
    window_ms = counts.time_ms - _at(counts.time_ms.astype(np.float64), before)
    return replace(
        counts,
        window_ms=np.where(total, window_ms, counts.window_ms),
        produced=np.where(total, produced, counts.produced),
        status=np.where(is_baseline, BASELINE, counts.status),
        is_total=np.zeros(len(counts), dtype=bool),
        inputs=lists["inputs"],
        outputs=lists["outputs"],
    )


def _at(values: FloatVector, rows: IntVector) -> FloatVector:
    return np.where(rows >= 0, values[rows], np.nan)


def _records_before(counts: TaskCounts) -> IntVector:
    """The record before of the same series; -1 where there is none, or too long ago."""
    series = Groups.of(*(counts.places[name] for name in _SERIES)).of_row[counts.place]
    rows = np.flatnonzero(counts.is_total)
    order = rows[np.lexsort((counts.time_ms[rows], series[rows]))]
    hours = counts.time_ms[order] // HOUR_MS
    # Live, only the hour before is at hand: history must not look further back.
    follows = (series[order][1:] == series[order][:-1]) & (hours[1:] - hours[:-1] <= 1)
    before = np.full(len(counts), -1)
    before[order[1:][follows]] = order[:-1][follows]
    return before


def _since(
    entries: StreamCounts, before: IntVector, total: BoolVector, key: tuple[str, ...]
) -> StreamCounts:
    """Entries of totals minus the same entries of the record before."""
    of: Columns = dict(entries.of)
    own_row = np.where(total, before, -1)[entries.row]
    both = combine([
        np.concatenate([own_row, entries.row]),
        *(np.concatenate([of[name], of[name]]) for name in key),
    ])  # fmt: skip
    groups = Groups.of(both)
    number = len(entries.row)
    mine, earlier = groups.of_row[:number], groups.of_row[number:]
    for counter in ("tuples", "bytes"):
        # A stream that was not there before counted from zero.
        known = np.nan_to_num(of[counter], nan=0.0)
        sums = np.bincount(earlier, weights=known, minlength=len(groups))
        of[counter] = of[counter] - np.where(own_row >= 0, sums[mine], 0.0)
    return StreamCounts(entries.row, of, entries.present)
