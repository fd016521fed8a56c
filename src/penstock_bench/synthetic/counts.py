"""Tuple counters as a worker keeps them: cumulative, perhaps sampled, gone when it restarts."""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector

#: Sums of fractional counts may fall short of a whole number by this much.
_ROUNDING = 1e-6


class TupleCounters:
    """Counters of a recording, read window after window; shape (windows, counters)."""

    def __init__(self, start: FloatVector, *, sample_rate: float, totals: bool, salt: int) -> None:
        self._every = round(1.0 / sample_rate)
        self._totals = totals
        self._salt = salt
        self._total = np.floor(start) if self._every > 1 else start
        self._epoch = np.zeros(len(start), dtype=np.int64)
        self._shown = self._seen(self._total[None, :], self._epoch[None, :])[0]

    def read(self, counts: FloatMatrix, restarted: BoolVector | None) -> FloatMatrix:
        """What the counters show at the end of each window, or how much they rose in it.

        ``counts`` is what truly passed in each window; ``restarted`` marks windows at whose start
        a counter was set back, None where there are none.
        """
        if self._every == 1 and not self._totals:
            return counts
        total, epoch = self._accumulate(counts, restarted)
        shown = self._seen(total, epoch)
        before = np.concatenate([self._shown[None, :], shown[:-1]])
        self._total, self._epoch, self._shown = total[-1], epoch[-1], shown[-1]
        if self._totals:
            return shown
        if restarted is not None:
            before[restarted] = 0.0
        return shown - before

    def _accumulate(
        self, counts: FloatMatrix, restarted: BoolVector | None
    ) -> tuple[FloatMatrix, IntMatrix]:
        risen = np.cumsum(counts, axis=0)
        if restarted is None:
            return self._total + risen, np.broadcast_to(self._epoch, risen.shape)
        # What had risen before the last restart no longer counts; it never falls, so the
        # largest so far is the last.
        gone = np.where(restarted, risen - counts, -np.inf)
        gone[0] = np.maximum(gone[0], -self._total)
        epoch = self._epoch + np.cumsum(restarted, axis=0)
        return risen - np.maximum.accumulate(gone, axis=0), epoch

    def _seen(self, total: FloatMatrix, epoch: IntMatrix) -> FloatMatrix:
        if self._every == 1:
            return total
        whole = np.floor(total + _ROUNDING).astype(np.int64)
        block = whole // self._every
        within = whole - block * self._every
        counted = block + (within > self._hidden(block, epoch))
        return (counted * self._every).astype(np.float64)

    def _hidden(self, block: IntMatrix, epoch: IntMatrix) -> IntVector:
        """Position in each block of the tuple that counts for all of it, always the same one."""
        counter = np.arange(block.shape[1])
        key = _mix(counter + self._salt) + _mix(epoch) + block.astype(np.uint64)
        return (_mix(key) % np.uint64(self._every)).astype(np.int64)


def _mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: neighbouring numbers give unrelated ones."""
    z = (values.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
