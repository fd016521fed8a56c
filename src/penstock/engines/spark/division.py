"""How rows are divided among the instances of a component: runs inside Spark's Python workers.

Shuffle cuts a batch into runs of rows as long as the shares say. Fields deals keys, as
:mod:`penstock.engines.spark.keys` has it, and counts which of them are frequent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.engines.spark.keys import PARTS, Hot, dealt, hot_parts, largest_remainder, parts_of
from penstock.model.topology import Grouping


@dataclass
class Division:
    """One stream on its way to one subscriber."""

    grouping: Grouping
    #: Columns that decide, for ``fields``.
    keys: tuple[str, ...]
    shares: tuple[float, ...]
    #: Parts of the keys that were frequent before, for ``fields``.
    hot: Hot = ()
    #: Rows sent to each instance so far, for shuffle.
    _sent: np.ndarray | None = field(default=None, repr=False)
    #: The instance of each part of the keys, and the rows it had, for ``fields``.
    _table: np.ndarray | None = field(default=None, repr=False)
    _rows: np.ndarray | None = field(default=None, repr=False)

    def divided(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows for each instance that gets any, by its number."""
        if self.grouping.is_copied:
            yield from ((number, rows) for number in range(len(self.shares)))
        elif self.grouping.is_single or len(self.shares) == 1:
            yield 0, rows
        elif self.grouping.is_keyed:
            yield from self._by_key(rows)
        else:
            yield from self._cut(rows)

    def counted(self) -> tuple[int, list[tuple[int, int]]]:
        """Rows that were dealt by key, and how many of them in parts with many."""
        if self._rows is None:
            return 0, []
        return int(self._rows.sum()), hot_parts(self._rows)

    def _by_key(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        if self._table is None or self._rows is None:
            self._table, self._rows = dealt(self.shares, self.hot), np.zeros(PARTS, np.int64)
        parts = parts_of(rows.select(list(self.keys)))
        self._rows += np.bincount(parts, minlength=PARTS)
        to = self._table[parts]
        order = np.argsort(to, kind="stable")
        sorted_rows = rows.take(pa.array(order))
        ends = np.searchsorted(to[order], np.arange(len(self.shares)), side="right")
        start = 0
        for number, end in enumerate(ends.tolist()):
            if end > start:
                yield number, sorted_rows.slice(start, end - start)
            start = end

    def _cut(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Runs of rows, such that what each instance got so far stays close to its share."""
        sent = np.zeros(len(self.shares), dtype=np.int64) if self._sent is None else self._sent
        shares = np.asarray(self.shares) / np.sum(self.shares)
        due = np.maximum(shares * (sent.sum() + rows.num_rows) - sent, 0.0)
        # Rows that come are fewer than what is due where some got more than their share before.
        counts = largest_remainder(due * (rows.num_rows / due.sum()))
        self._sent = sent + counts
        start = 0
        for number, count in enumerate(counts.tolist()):
            if count:
                yield number, rows.slice(start, count)
            start += count
