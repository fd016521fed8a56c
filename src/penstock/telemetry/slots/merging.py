"""Short windows added up: less noise, fewer rows. Event time decides."""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.telemetry.slots.columns import Columns, Groups, joined, rows_of
from penstock.telemetry.slots.counts import PLACE, USED, StreamCounts, TaskCounts
from penstock.telemetry.slots.keys import HOUR_MS

_TASK = tuple(name for name in PLACE if name != "last_task")


def merged(counts: TaskCounts, window_s: float) -> TaskCounts:
    """Windows shorter than ``window_s`` merged up to it; 0 leaves all as they came."""
    length_ms = int(1000 * window_s)
    is_short = (counts.status == USED) & (counts.window_ms < length_ms)
    if length_ms <= 0 or not is_short.any():
        return counts
    return _below(counts.where(~is_short), _merged(counts.where(is_short), length_ms))


def _merged(short: TaskCounts, length_ms: int) -> TaskCounts:
    task = Groups.of(*(short.places[name] for name in _TASK)).of_row[short.place]
    # A window belongs where its middle lies.
    slot = np.floor((short.time_ms - short.window_ms / 2) / length_ms).astype(np.int64)
    groups = Groups.of(task, slot, short.time_ms // HOUR_MS)
    places = {name: short.of_place(name)[groups.first] for name in _TASK}
    places["last_task"] = groups.most(short.of_place("last_task"))

    def mean(values: FloatVector) -> FloatVector:
        seconds = np.where(np.isnan(values), 0.0, short.window_ms)
        total, weight = groups.known_sums(values * short.window_ms), groups.sums(seconds)
        return np.where(weight > 0, total / np.maximum(weight, 1e-300), np.nan)

    return TaskCounts(
        place=np.arange(len(groups)),
        places={name: places[name] for name in PLACE},
        time_ms=groups.most(short.time_ms),
        window_ms=groups.sums(short.window_ms),
        status=np.full(len(groups), USED),
        produced=groups.known_sums(short.produced),
        sample_rate=groups.least(short.sample_rate),
        uptime_s=groups.most(short.uptime_s),
        is_total=np.zeros(len(groups), dtype=bool),
        figures={name: mean(values) for name, values in short.figures.items()},
        inputs=_regrouped(short.inputs, groups),
        outputs=_regrouped(short.outputs, groups),
    )


def _regrouped(entries: StreamCounts, groups: Groups) -> StreamCounts:
    """Entries of one stream may stand in a list several times: whoever reads them adds up."""
    row = groups.of_row[entries.row]
    order = np.argsort(row, kind="stable")
    present = groups.counts(entries.present) > 0
    return StreamCounts(row[order], rows_of(entries.of, order), present)


def _below(upper: TaskCounts, lower: TaskCounts) -> TaskCounts:
    """One table below the other."""

    def columns(name: str) -> Columns:
        return joined([getattr(upper, name), getattr(lower, name)])

    def entries(name: str) -> StreamCounts:
        one, other = getattr(upper, name), getattr(lower, name)
        return StreamCounts(
            np.concatenate([one.row, other.row + len(upper)]),
            joined([one.of, other.of]),
            np.concatenate([one.present, other.present]),
        )

    plain = ("time_ms", "window_ms", "status", "produced", "sample_rate", "uptime_s", "is_total")
    return TaskCounts(
        place=np.concatenate([upper.place, lower.place + len(upper.places["task"])]),
        places=columns("places"),
        figures=columns("figures"),
        inputs=entries("inputs"),
        outputs=entries("outputs"),
        **{n: np.concatenate([getattr(upper, n), getattr(lower, n)]) for n in plain},
    )
