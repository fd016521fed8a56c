"""From the windows of a slot to its partial sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.telemetry.slots.columns import Columns, Groups, Vocabulary, rows_of
from penstock.telemetry.slots.counts import (
    BASELINE,
    PLACE,
    UNKNOWN,
    USED,
    WARM_UP,
    StreamCounts,
)
from penstock.telemetry.slots.hashes import Hashes, hash_text, hash_whole, places
from penstock.telemetry.slots.windows import SlotWindows

#: Counts of neighbouring windows are off by the same tuples with opposite signs (one is in flight,
#: or falls between two samples), so errors are judged on blocks of about so many windows, where
#: they cancel as in the sum.
BLOCK_WINDOWS = 20
#: Windows per group that the robust fit looks at.
MOST_SAMPLED = 4000
_BUCKETS = 1_000_000
_MINUTE_MS = 60_000
_TASK = ("topology", "run", "component", "task")
_RECEIVER = ("topology", "run", "component", "task", "host", "worker", "rack")
_WORKER = ("run", "host", "worker", "machine_type")


@dataclass(frozen=True)
class SampleSizes:
    """How many windows there are at least of each component and worker on each machine type.

    So few of a slot's windows as this leaves go into the sample that costs are fitted to.
    """

    groups: Mapping[tuple[str, str, str], int]
    workers: Mapping[str, int]


def partial_sums(
    windows: SlotWindows, vocabulary: Vocabulary, sizes: SampleSizes
) -> dict[str, Columns]:
    """All partial tables of one slot but those of repeats, without the slot's own name."""
    counted = windows.counts
    streaming = counted & ~np.isnan(windows.rate)
    moments = _Moments(windows)
    return {
        "tasks": _tasks(windows, counted),
        **_stream_blocks(windows, streaming),
        "received": _received(windows, counted),
        "sent": _sent(windows, counted),
        "workers": moments.minutes(),
        "memory": _memory(windows),
        "points": _points(windows, vocabulary, sizes),
        **moments.points(vocabulary, sizes),
    }


# -- tasks -------------------------------------------------------------------------------------


def _tasks(windows: SlotWindows, counted: BoolVector) -> Columns:
    place = Groups(windows.place, np.zeros(len(windows.places["task"]), dtype=np.int64))
    seconds, rate = windows.window_s, windows.rate
    known_rate, known_cpu = ~np.isnan(rate), ~np.isnan(windows.figures["cpu_points"])
    used = windows.status == USED
    first_ms = place.least(windows.time_ms)
    is_first = windows.time_ms == first_ms[windows.place]
    first_window = np.full(len(first_ms), np.nan)
    first_window[windows.place[is_first]] = seconds[is_first]
    table = {
        **{name: windows.places[name] for name in PLACE},
        "counted_s": place.sums(np.where(counted, seconds, 0.0)),
        "watched_s": place.sums(np.where(counted & windows.inputs.present, seconds, 0.0)),
        "seen_s": place.sums(np.nan_to_num(seconds)),
        "worked": place.sums(np.where(counted & known_rate, rate * seconds, 0.0)),
        "used": place.counts(used),
        "warm_up": place.counts(windows.status == WARM_UP),
        "baseline": place.counts(windows.status == BASELINE),
        "unknown": place.counts(windows.status == UNKNOWN),
        "with_cpu": place.counts(known_cpu),
        "with_rate": place.counts(known_rate),
        "usable": place.counts(windows.usable),
        "first_ms": first_ms,
        "last_ms": place.most(windows.time_ms),
        "first_window_s": first_window,
        "longest_window_s": place.most(seconds),
    }
    # Of places in other slots only, nothing is said.
    return rows_of(table, place.counts() > 0)


# -- streams -----------------------------------------------------------------------------------


def _blocks(windows: SlotWindows) -> IntVector:
    """Windows of about the same length share their blocks, although no two may be equally long.

    By its beginning, so that blocks of all lengths are in order.
    """
    # Of unknown length is only what counts for nothing.
    seconds = np.nan_to_num(windows.window_s, nan=1.0)
    length_ms = 1000.0 * BLOCK_WINDOWS * 2.0 ** np.floor(np.log2(seconds) + 0.5)
    return (np.floor(windows.time_ms / length_ms) * length_ms).astype(np.int64)


def _stream_blocks(windows: SlotWindows, streaming: BoolVector) -> dict[str, Columns]:
    task = _number_of_place(windows, _TASK)
    block = _blocks(windows)
    rows = np.flatnonzero(streaming)
    groups = Groups.of(task[rows], block[rows])
    whole = rows[groups.first]
    intake = {
        **_keys(windows, whole, _TASK),
        "block": block[whole],
        "tuples_in": groups.sums((windows.rate * windows.window_s)[rows]),
        "seconds": groups.sums(windows.window_s[rows]),
    }
    chosen, of = _entries(windows.outputs, streaming)
    groups = Groups.of(task[chosen], block[chosen], of["stream"])
    whole = chosen[groups.first]
    tuples, size = of["tuples"], of["bytes"]
    outputs = {
        **_keys(windows, whole, _TASK),
        "block": block[whole],
        "stream": of["stream"][groups.first],
        "tuples_out": groups.sums(tuples),
        "bytes": groups.known_sums(size),
        "sized_tuples": groups.known_sums(np.where(np.isnan(size), np.nan, tuples)),
    }
    return {"intake": intake, "outputs": outputs}


def _entries(counts: StreamCounts, chosen: BoolVector) -> tuple[IntVector, Columns]:
    """Entries of the chosen windows: the window of each, and its columns."""
    if chosen.all():
        return counts.row, counts.of
    inside = chosen[counts.row]
    return counts.row[inside], rows_of(counts.of, inside)


# -- traffic -----------------------------------------------------------------------------------


def _received(windows: SlotWindows, counted: BoolVector) -> Columns:
    row, of = _entries(windows.inputs, counted)
    place = _number_of_place(windows, _RECEIVER)
    groups = Groups.of(place[row], of["component"], of["stream"], of["task"])
    first = groups.first
    return {
        **_keys(windows, row[first], _RECEIVER),
        "source": of["component"][first],
        "stream": of["stream"][first],
        "source_task": of["task"][first],
        "tuples": groups.sums(of["tuples"]),
        "bytes": groups.known_sums(of["bytes"]),
    }


def _sent(windows: SlotWindows, counted: BoolVector) -> Columns:
    row, of = _entries(windows.outputs, counted)
    place = _number_of_place(windows, _RECEIVER)
    groups = Groups.of(place[row], of["stream"])
    return {
        **_keys(windows, row[groups.first], _RECEIVER),
        "stream": of["stream"][groups.first],
        "sent": groups.sums(of["tuples"]),
    }


def _number_of_place(windows: SlotWindows, names: tuple[str, ...]) -> IntVector:
    """For each window a number, equal where these columns of its place are."""
    return Groups.of(*(windows.places[name] for name in names)).of_row[windows.place]


def _keys(windows: SlotWindows, rows: IntVector, names: tuple[str, ...]) -> Columns:
    return {name: windows.places[name][windows.place[rows]] for name in names}


# -- workers -----------------------------------------------------------------------------------


class _Moments:
    """All tasks of a worker report at the same moment, each with the worker's own figure."""

    def __init__(self, windows: SlotWindows) -> None:
        self.windows = windows
        self.rows = np.flatnonzero(windows.status == USED)
        self.figures = rows_of(windows.figures, self.rows)
        self.time_ms = windows.time_ms[self.rows]

    def minutes(self) -> Columns:
        """CPU of each process by minute: of the whole process, and of its tasks together."""
        names = ("topology", *_WORKER)
        moment, keys = self._moments(names)
        whole = moment.most(self.figures["worker_cpu_points"])
        # Unknown for one task is unknown for the sum.
        tasks = moment.whole_sums(self.figures["cpu_points"])
        memory, number = moment.most(self.figures["worker_memory_mb"]), moment.counts()
        minute = self.time_ms[moment.first] // _MINUTE_MS
        groups = Groups.of(*keys.values(), minute)
        return {
            **groups.keys(keys, names),
            "minute": minute[groups.first],
            "worker_cpu_points": _means(groups, whole),
            "tasks_cpu_points": _means(groups, tasks),
            # The median of the minute: one wild reading of one task would spoil the mean.
            "own_cpu_points": _medians(groups, whole - tasks),
            "worker_memory_mb": groups.most(memory),
            "tasks": groups.most(number),
        }

    def points(self, vocabulary: Vocabulary, sizes: SampleSizes) -> dict[str, Columns]:
        """What a process used as a whole and for its tasks, moment by moment."""
        moment, keys = self._moments(_WORKER)
        table = {
            **keys,
            "time_ms": self.time_ms[moment.first],
            "rate": moment.whole_sums(self.windows.rate[self.rows]),
            "rate_variance": moment.sums(self.windows.rate_variance[self.rows]),
            "whole_cpu_points": moment.most(self.figures["worker_cpu_points"]),
            "tasks_cpu_points": moment.whole_sums(self.figures["cpu_points"]),
        }
        known = ~np.isnan(table["rate"] + table["whole_cpu_points"] + table["tasks_cpu_points"])
        table = rows_of(table, known)
        worker = Groups.of(*(table[name] for name in _WORKER))
        number = _of_words(vocabulary, table["machine_type"], sizes.workers)
        task = worker_numbers(vocabulary, table["host"], table["worker"])
        chosen = in_sample(vocabulary, table["run"], task, table["time_ms"], number)
        return {
            "worker_points": rows_of(table, chosen),
            "worker_rates": {
                **worker.keys(table, _WORKER),
                "rate": worker.sums(table["rate"]),
                "moments": worker.counts(),
            },
        }

    def _moments(self, names: tuple[str, ...]) -> tuple[Groups, Columns]:
        worker = _number_of_place(self.windows, names)[self.rows]
        moment = Groups.of(worker, self.time_ms)
        return moment, _keys(self.windows, self.rows[moment.first], names)


def _means(groups: Groups, values: FloatVector) -> FloatVector:
    number = groups.counts(~np.isnan(values))
    return np.where(number > 0, groups.known_sums(values) / np.maximum(number, 1), np.nan)


def _medians(groups: Groups, values: FloatVector) -> FloatVector:
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.lexsort((values[known], groups.of_row[known]))]
    number = np.bincount(groups.of_row[known], minlength=len(groups))
    start = np.cumsum(number) - number
    medians = np.full(len(groups), np.nan)
    some = number > 0
    low, high = (start + (number - 1) // 2)[some], (start + number // 2)[some]
    medians[some] = (values[order[low]] + values[order[high]]) / 2
    return medians


# -- what costs are fitted to ------------------------------------------------------------------


def _memory(windows: SlotWindows) -> Columns:
    memory = windows.figures["memory_mb"]
    rows = np.flatnonzero(~np.isnan(memory))
    names = ("topology", "component", "machine_type")
    rounded = three_figures(memory[rows])
    groups = Groups.of(_number_of_place(windows, names)[rows], rounded.view(np.int64))
    return {
        **_keys(windows, rows[groups.first], names),
        "memory_mb": rounded[groups.first],
        "windows": groups.counts(),
    }


def three_figures(values: FloatVector) -> FloatVector:
    """Rounded to three figures: as good as exact for memory, and few different values."""
    size = 10.0 ** (np.floor(np.log10(np.maximum(values, 1e-300))) - 2)
    return np.where(values > 0, np.round(np.round(values / size) * size, 6), 0.0)


def _points(windows: SlotWindows, vocabulary: Vocabulary, sizes: SampleSizes) -> Columns:
    rows = np.flatnonzero(windows.usable)
    place = windows.place[rows]
    names = ("topology", "component", "machine_type", "run", "task")
    table: dict[str, Any] = {
        **{name: windows.places[name][place] for name in names},
        "time_ms": windows.time_ms[rows],
        "rate": windows.rate[rows],
        "cpu_points": windows.figures["cpu_points"][rows],
        "rate_variance": windows.rate_variance[rows],
    }
    words = vocabulary.words
    of_place = np.array(
        [sizes.groups.get((words[t], words[c], words[m]), 0) for t, c, m in zip(
            *(windows.places[name] for name in names[:3]), strict=True)],
        dtype=np.int64,
    )  # fmt: skip
    chosen = in_sample(vocabulary, table["run"], table["task"], table["time_ms"], of_place[place])
    return rows_of(table, chosen)


def in_sample(
    vocabulary: Vocabulary, run: IntVector, task: IntVector, time_ms: IntVector, number: IntVector
) -> BoolVector:
    """About ``MOST_SAMPLED`` of each group of so many windows, the same ones in every run."""
    chosen = number <= MOST_SAMPLED
    some = np.flatnonzero(~chosen)
    if len(some):
        bucket = places(window_hashes(vocabulary, run[some], task[some], time_ms[some]), _BUCKETS)
        chosen[some] = bucket * number[some] < MOST_SAMPLED * _BUCKETS
    return np.asarray(chosen)


def window_hashes(
    vocabulary: Vocabulary, run: IntVector, task: IntVector, last: IntVector
) -> Hashes:
    return hash_whole(last, hash_whole(task, _hashed_words(vocabulary, run)))


def worker_numbers(vocabulary: Vocabulary, host: IntVector, worker: IntVector) -> IntVector:
    """A worker process as a number, the same in every run."""
    pairs = Groups.of(host, worker)
    words = vocabulary.words
    numbers = [
        hash_text(words[w], hash_text(words[h]))
        for h, w in zip(host[pairs.first], worker[pairs.first], strict=True)
    ]
    return np.array(numbers, dtype=np.uint64).view(np.int64)[pairs.of_row]


def _hashed_words(vocabulary: Vocabulary, numbers: IntVector) -> Hashes:
    distinct, of_row = np.unique(numbers, return_inverse=True)
    words = vocabulary.words
    return np.array([hash_text(words[n]) for n in distinct], dtype=np.uint64)[of_row]


def _of_words(vocabulary: Vocabulary, numbers: IntVector, values: Mapping[str, int]) -> IntVector:
    words = vocabulary.words
    distinct, of_row = np.unique(numbers, return_inverse=True)
    return np.array([values.get(words[n], 0) for n in distinct], dtype=np.int64)[of_row]
