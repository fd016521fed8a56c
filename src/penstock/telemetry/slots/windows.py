"""The windows of a slot: how fast each task worked in each, and what came and went by stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.telemetry.slots.columns import Columns, Groups, rows_of
from penstock.telemetry.slots.counts import USED, WARM_UP, StreamCounts, TaskCounts


@dataclass(frozen=True)
class SlotWindows:
    """Arrays of one value a window; ``place`` points into ``places``. NaN is unknown, not zero."""

    place: IntVector
    places: Columns
    time_ms: IntVector
    window_s: FloatVector
    status: IntVector
    rate: FloatVector
    rate_variance: FloatVector
    out_rate: FloatVector
    bytes_per_s: FloatVector
    figures: Columns
    inputs: StreamCounts
    outputs: StreamCounts

    def __len__(self) -> int:
        return len(self.time_ms)

    @property
    def counts(self) -> BoolVector:
        """Windows whose tuples count for streams and traffic."""
        return (self.status == USED) | (self.status == WARM_UP)

    @property
    def usable(self) -> BoolVector:
        """Windows that costs can be fitted to."""
        known = ~np.isnan(self.rate) & ~np.isnan(self.figures["cpu_points"])
        return np.asarray((self.status == USED) & known)

    def of_place(self, name: str) -> IntVector:
        return self.places[name][self.place]

    def where(self, chosen: BoolVector) -> SlotWindows:
        rows = np.flatnonzero(chosen)
        return SlotWindows(
            place=self.place[rows],
            places=self.places,
            figures=rows_of(self.figures, rows),
            inputs=self.inputs.where(rows),
            outputs=self.outputs.where(rows),
            **{name: getattr(self, name)[rows] for name in _PLAIN},
        )


#: Fields of one plain array each.
_PLAIN = (
    "time_ms", "window_s", "status", "rate", "rate_variance", "out_rate", "bytes_per_s",
)  # fmt: skip


def windows_of(counts: TaskCounts) -> SlotWindows:
    """Of counts of windows, not totals."""
    seconds = counts.window_ms / 1000.0
    # A spout takes in what it makes; where its writer does not say, the fullest of its streams.
    output = np.where(np.isnan(counts.produced), _largest(counts.outputs), counts.produced)
    # It takes nothing in, and says so or says nothing.
    is_spout = counts.inputs.lengths == 0
    taken_in = counts.inputs.sums("tuples")
    return SlotWindows(
        place=counts.place,
        places=counts.places,
        time_ms=counts.time_ms,
        window_s=seconds,
        status=counts.status,
        rate=np.where(is_spout & ~np.isnan(output), output, taken_in) / seconds,
        rate_variance=_rate_variance(counts, is_spout, seconds),
        out_rate=counts.outputs.sums("tuples") / seconds,
        bytes_per_s=counts.outputs.sums("bytes") / seconds,
        figures=counts.figures,
        inputs=counts.inputs,
        outputs=counts.outputs,
    )


def _largest(outputs: StreamCounts) -> FloatVector:
    largest = np.full(len(outputs.present), np.nan)
    np.fmax.at(largest, outputs.row, outputs.of["tuples"])
    return largest


def _rate_variance(counts: TaskCounts, is_spout: BoolVector, seconds: FloatVector) -> FloatVector:
    """Storm counts one tuple of every 1/p at a random place: at each end of a window the count is
    off by a variance of (1/p)²/6, for each counter."""
    share, inputs = counts.sample_rate, counts.inputs
    sampled = share < 1
    if not sampled.any():
        return np.zeros(len(counts))
    # In merged windows a counter stands once for each of them; only both ends of the whole count.
    first = np.zeros(len(inputs.row), dtype=bool)
    keys = [inputs.of[name] for name in ("component", "stream", "task")]
    first[Groups.of(inputs.row, *keys).first] = True
    own = np.bincount(inputs.row, weights=first, minlength=len(counts))
    counters = np.where(is_spout, 1.0, own)
    return np.where(sampled, counters / (3.0 * share**2 * seconds**2), 0.0)
