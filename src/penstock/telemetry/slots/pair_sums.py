"""Tuples between tasks over some hours, whatever stream and place: what plans group instances by.

Sums of hours add up, so that an hour is read once however often a profile is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.telemetry.slots.columns import (
    NO_NUMBER,
    Columns,
    Groups,
    Vocabulary,
    from_arrow,
    joined,
    rows_of,
)
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.traffic import of_system

_RUN = ("topology", "run")
PAIR = (*_RUN, "source_task", "target_task")
TARGET = (*_RUN, "target_task")
TASK = (*_RUN, "component", "task")
_PLACE = ("target_host", "target_worker", "target_rack")
_TRAFFIC_COLUMNS = (*PAIR, *_PLACE, "source", "target", "tuples", "seconds", "estimated")
_STREAM_COLUMNS = (*TASK, "block")
_TEXT = {*_RUN, *_PLACE, "source", "target", "component"}

#: A moment of a run: hour, and block of it; 0 where only traffic was seen.
Moment = tuple[str, int]


@dataclass(frozen=True)
class PairSums:
    """Of some hours."""

    #: Tuples by pair of tasks, and whether any of them were dealt out. A sender may be unknown.
    pairs: Columns
    #: Seconds in which each target was watched.
    watched: Columns
    #: Tasks that sent or received anything, or said that they did not.
    tasks: Columns
    #: When each run was last seen, by topology and run.
    last: Mapping[tuple[str, str], Moment] = field(default_factory=dict)


def added_up(sums: Iterable[PairSums]) -> PairSums:
    parts = list(sums)
    last: dict[tuple[str, str], Moment] = {}
    for part in parts:
        for run, moment in part.last.items():
            last[run] = max(moment, last.get(run, moment))
    return PairSums(
        pairs=_pairs(joined([part.pairs for part in parts])),
        watched=_watched(joined([part.watched for part in parts])),
        tasks=_distinct(joined([part.tasks for part in parts])),
        last=last,
    )


def pair_sums(traffic: Columns, streams: Columns, hour: str, vocabulary: Vocabulary) -> PairSums:
    """Of one hour's tables.

    Acknowledgements back to spouts are left out, as in the model, where ackers send nothing.
    """
    own = rows_of(traffic, ~of_system(traffic["source"], vocabulary))
    # All rows of a target at one place have the time it was watched there in that hour.
    stays = Groups.of(*(own[name] for name in (*TARGET, *_PLACE)))
    seconds = stays.keys(own, TARGET) | {"seconds": stays.most(own["seconds"])}
    ends = [
        {name: traffic[name] for name in _RUN}
        | {"component": traffic[end], "task": traffic[f"{end}_task"]}
        for end in ("source", "target")
    ]
    tasks = joined([{name: streams[name] for name in TASK}, *ends])
    known = rows_of(tasks, tasks["task"] != NO_NUMBER)
    return PairSums(
        _pairs(own), _watched(seconds), _distinct(known), _last(known, streams, hour, vocabulary)
    )


def _pairs(table: Columns) -> Columns:
    groups = Groups.of(*(table[name] for name in PAIR))
    return groups.keys(table, PAIR) | {
        "tuples": groups.sums(table["tuples"]),
        "estimated": groups.counts(table["estimated"]) > 0,
    }


def _watched(table: Columns) -> Columns:
    groups = Groups.of(*(table[name] for name in TARGET))
    return groups.keys(table, TARGET) | {"seconds": groups.sums(table["seconds"])}


def _distinct(tasks: Columns) -> Columns:
    return Groups.of(*(tasks[name] for name in TASK)).keys(tasks, TASK)


def _last(
    tasks: Columns, streams: Columns, hour: str, vocabulary: Vocabulary
) -> dict[tuple[str, str], Moment]:
    """Every run with a task, and the last block that any of them reported on."""
    words = vocabulary.words
    seen = rows_of(streams, streams["task"] != NO_NUMBER)
    last: dict[tuple[str, str], Moment] = {}
    for table, blocks in ((tasks, None), (seen, seen["block"])):
        runs = Groups.of(*(table[name] for name in _RUN))
        newest = np.zeros(len(runs), dtype=np.int64) if blocks is None else runs.most(blocks)
        for row, block in zip(runs.first, newest, strict=True):
            run = words[table["topology"][row]], words[table["run"][row]]
            last[run] = max((hour, int(block)), last.get(run, (hour, 0)))
    return last


@dataclass
class PairSumsReader:
    """Reads sums of hours from a store's tables; hours that did not change no second time."""

    root: str
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    #: Sums of all hours but the newest, with the files they are of.
    _closed: tuple[Sequence[tuple[str, str, str]], PairSums] | None = None

    def read(self, hours: Sequence[tuple[str, str, str]]) -> PairSums:
        """Of these hours, each with the files of its traffic and its streams; the oldest first."""
        closed, newest = hours[:-1], hours[-1:]
        if self._closed is None or self._closed[0] != closed:
            known = self._closed[0] if self._closed else []
            begins = len(known) if closed[: len(known)] == known else 0
            before = [self._closed[1]] if self._closed and begins else []
            sums = [*before, *(self._hour(*hour) for hour in closed[begins:])]
            self._closed = (closed, added_up(sums)) if sums else None
        before = [self._closed[1]] if self._closed else []
        return added_up([*before, *(self._hour(*hour) for hour in newest)])

    def _hour(self, hour: str, traffic: str, streams: str) -> PairSums:
        files = StoreFiles(self.root)
        tables = [
            from_arrow(files.read(path, columns, _TEXT & {*columns}), self.vocabulary)
            for path, columns in ((traffic, _TRAFFIC_COLUMNS), (streams, _STREAM_COLUMNS))
        ]
        return pair_sums(tables[0], tables[1], hour, self.vocabulary)
