"""Sums and medians of many groups at once.

The values of all groups lie one after another in flat arrays. One numpy call then does for all
groups what a loop would do in a call for each, and a group costs what its values cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True)
class Segments:
    """How many values each group has, in the order in which they lie in the flat arrays."""

    #: Shape (groups,).
    counts: IntVector

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def starts(self) -> IntVector:
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @cached_property
    def owner(self) -> IntVector:
        """The group of each value."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def rank(self) -> IntVector:
        """The place of each value in its group."""
        return np.arange(int(self.counts.sum())) - np.repeat(self.starts, self.counts)

    @cached_property
    def _occupied(self) -> BoolVector:
        widest = int(self.counts.max(initial=0))
        return np.asarray(np.arange(widest) < self.counts[:, None])

    def spread(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """A value per group, given to each of its members."""
        return np.repeat(values, self.counts)

    def sums(self, values: FloatVector) -> FloatVector:
        totals = np.zeros(len(self.counts))
        some = self.counts > 0
        if some.any():
            totals[some] = np.add.reduceat(values, self.starts[some])
        return totals

    def maxima(self, values: FloatVector | IntVector) -> FloatVector:
        """Of each group; minus infinity of an empty one."""
        most = np.full(len(self.counts), -np.inf)
        some = self.counts > 0
        if some.any():
            most[some] = np.maximum.reduceat(values, self.starts[some])
        return most

    def means(self, values: FloatVector) -> FloatVector:
        return self.sums(values) / np.maximum(self.counts, 1)

    def padded(self, values: FloatVector) -> FloatMatrix:
        """One row per group, filled up with infinity, which sorts behind every value."""
        matrix = np.full(self._occupied.shape, np.inf)
        matrix[self._occupied] = values
        return matrix

    def medians(self, values: FloatVector) -> FloatVector:
        """Of each group; NaN of an empty one."""
        if not len(values):
            return np.full(len(self.counts), np.nan)
        rows = np.sort(self.padded(values), axis=1)
        last = np.maximum(self.counts - 1, 0)
        line = np.arange(len(self.counts))
        middle = 0.5 * (rows[line, last // 2] + rows[line, (last + 1) // 2])
        return np.where(self.counts > 0, middle, np.nan)

    def trimmed_means(self, values: FloatVector, part: float) -> FloatVector:
        """Means of the smallest ``part`` of each group, of one value at least."""
        rows = np.sort(self.padded(values), axis=1)
        chosen = np.maximum((part * self.counts).astype(np.int64), 1)
        inside = np.arange(rows.shape[1]) < chosen[:, None]
        return np.asarray(np.where(inside, rows, 0.0).sum(axis=1) / chosen)

    def sorted_quantiles(self, values: FloatVector, share: float) -> FloatVector:
        """``numpy.quantile`` of each group, of values that rise within it; NaN of an empty one."""
        if not len(values):
            return np.full(len(self.counts), np.nan)
        place = share * np.maximum(self.counts - 1, 0)
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, np.maximum(self.counts - 1, 0))
        start = np.minimum(self.starts, len(values) - 1)
        below, above = values[start + low], values[start + high]
        return np.where(self.counts > 0, below + (above - below) * (place - low), np.nan)

    def quantiles(self, values: FloatVector, share: float) -> FloatVector:
        rows = np.sort(self.padded(values), axis=1)
        return self.sorted_quantiles(rows[self._occupied], share)

    def split(self, parts: IntVector) -> Segments:
        """Each group in ``parts`` slices as alike in number as can be, as ``numpy.array_split``."""
        pieces = Segments(parts)
        size, longer = np.divmod(self.counts, parts)
        more = (pieces.rank < pieces.spread(longer)).astype(np.int64)
        return Segments(pieces.spread(size) + more)

    def order(self, *keys: NDArray[Any]) -> IntVector:
        """Places of the values sorted within each group, the first key first; stable."""
        return stable_order(self.owner, *keys)

    def where(self, chosen: BoolVector) -> Segments:
        """All groups, with only the chosen values."""
        return Segments(np.bincount(self.owner[chosen], minlength=len(self.counts)))


def stable_order(*keys: NDArray[Any]) -> IntVector:
    """Places of the values by the first key, then by the second and so on.

    As ``numpy.lexsort``, by counting: numpy sorts 16 bits thus, and six times as fast in all as it
    compares and merges numbers.
    """
    order = np.arange(len(keys[0]))
    for key in reversed(keys):
        for digits in _digits(key):
            order = order[np.argsort(digits[order], kind="stable")]
    return order


def _digits(key: NDArray[Any]) -> Iterator[NDArray[np.uint16]]:
    """Sixteen bits at a time, the lowest first, of numbers that are in the order of the key."""
    if not len(key):
        return
    if key.dtype.kind == "f":
        # Bits of floats rise with them, where the sign is turned and those below zero are reversed.
        bits = (key.astype(np.float64) + 0.0).view(np.int64)  # and -0.0 is 0.0
        raised = (bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.uint64)
        raised = raised ^ np.uint64(1 << 63)
    else:
        raised = key.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    raised = raised - raised.min()
    for shift in range(0, int(raised.max()).bit_length(), 16):
        yield (raised >> np.uint64(shift)).astype(np.uint16)
