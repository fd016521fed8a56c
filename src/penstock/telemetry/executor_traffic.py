"""Traffic between instances as a profile carries it: of one run of each topology, heaviest first.

The newest run is the one that was seen last; tasks of an earlier one are other tasks. The rate of a
pair is a mean over the time in which its target was watched. At most ``MOST_PAIRS`` pairs are
listed, an equal part of them for each topology, the heaviest of each; what is left out is counted.
Cost: a look at the newest hour's tables of streams and traffic, which have a row per pair and not
per record; the hours before it are added up once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.model.arrays import FloatVector, IntVector
from penstock.model.instance_traffic import InstanceTraffic
from penstock.telemetry.fit.rounding import rounded
from penstock.telemetry.slots.columns import (
    NO_NUMBER,
    Columns,
    Vocabulary,
    length,
    matches,
    rows_of,
)
from penstock.telemetry.slots.pair_sums import TARGET, Moment, PairSums

#: Pairs of instances in one profile: half a megabyte of JSON.
MOST_PAIRS = 10_000


def executor_traffic(
    sums: PairSums, vocabulary: Vocabulary, most_pairs: int = MOST_PAIRS
) -> tuple[InstanceTraffic, ...]:
    """Of every topology that was seen, by name."""
    runs = newest_runs(sums.last)
    if not runs:
        return ()
    most = max(1, most_pairs // len(runs))
    rates = _rates(sums)
    return tuple(
        _traffic_of(
            name if len(runs) > 1 else "",
            runs[name],
            _of_run(sums.tasks, name, runs[name], vocabulary),
            _of_run(rates, name, runs[name], vocabulary),
            vocabulary,
            most,
        )
        for name in sorted(runs)
    )


def newest_runs(last: Mapping[tuple[str, str], Moment]) -> dict[str, str]:
    """The run of each topology that was seen last; of equals the one whose name comes last."""
    newest: dict[str, tuple[Moment, str]] = {}
    for (topology, run), moment in last.items():
        newest[topology] = max((moment, run), newest.get(topology, (moment, run)))
    return {topology: run for topology, (_, run) in newest.items()}


def _rates(sums: PairSums) -> Columns:
    """Pairs with their tuples per second in which the target was watched."""
    mine, theirs = matches(
        [sums.pairs[name] for name in TARGET], [sums.watched[name] for name in TARGET]
    )
    pairs = rows_of(sums.pairs, mine)
    return pairs | {"tuples_per_s": pairs["tuples"] / sums.watched["seconds"][theirs]}


def _of_run(table: Columns, topology: str, run: str, vocabulary: Vocabulary) -> Columns:
    wanted = vocabulary.number(topology), vocabulary.number(run)
    return rows_of(table, (table["topology"] == wanted[0]) & (table["run"] == wanted[1]))


def _traffic_of(
    topology: str, run: str, tasks: Columns, pairs: Columns, vocabulary: Vocabulary, most: int
) -> InstanceTraffic:
    """Of one run; pairs whose source task is not known are among those left out."""
    per_s: FloatVector = pairs["tuples_per_s"]
    source: IntVector = pairs["source_task"]
    target: IntVector = pairs["target_task"]
    known = np.flatnonzero(source != NO_NUMBER)
    order = known[np.lexsort((target[known], source[known], -per_s[known]))]
    is_listed = np.zeros(length(pairs), dtype=bool)
    is_listed[order[:most]] = True
    listed = sorted(
        (
            (int(source[row]), int(target[row]), rounded(per_s[row]))
            for row in np.flatnonzero(is_listed)
        ),
        key=lambda pair: (-pair[2], pair[0], pair[1]),
    )
    return InstanceTraffic(
        tasks=_members(tasks, vocabulary),
        pairs=tuple(listed),
        topology=topology,
        run=run,
        estimated=bool(pairs["estimated"][is_listed].any()),
        pairs_left_out=int(np.sum(~is_listed)),
        left_out_per_s=rounded(float(per_s[~is_listed].sum())),
    )


def _members(tasks: Columns, vocabulary: Vocabulary) -> tuple[tuple[str, tuple[int, ...]], ...]:
    words = vocabulary.words
    by_component: dict[str, list[int]] = {}
    for component, task in zip(tasks["component"], tasks["task"], strict=True):
        by_component.setdefault(words[component], []).append(int(task))
    return tuple((name, tuple(sorted(own))) for name, own in sorted(by_component.items()))
