"""How rows are divided among the instances of a component: runs inside Spark's Python workers.

Shuffle cuts a batch into runs of rows as long as the shares say. Fields deals keys by a hash, held
against the shares; the same hash finds what is remembered of a key after the shares have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

from penstock.model.topology import Grouping

#: Keys are dealt to this many equal parts, and parts to instances.
_PARTS = 1 << 14
#: Rounding in sums of shares must not move a row.
_SLACK = 1e-9


def dealt(shares: Sequence[float]) -> np.ndarray:
    """The instance of each part of the keys, by largest remainder: ``[_PARTS]``."""
    wanted = np.asarray(shares, dtype=float) / np.sum(shares) * _PARTS
    counts = np.floor(wanted + _SLACK).astype(int)
    most_missing = np.argsort(counts - wanted, kind="stable")
    counts[most_missing[: _PARTS - counts.sum()]] += 1
    return np.repeat(np.arange(len(counts)), counts)


def by_key(keys: pa.RecordBatch | pd.DataFrame, parts: np.ndarray) -> np.ndarray:
    """The instance of each row, by the hash of all columns given."""
    frame = keys.to_pandas() if isinstance(keys, pa.RecordBatch) else keys
    # Text of either kind of pandas' must hash alike.
    texts = {name: object for name in frame if isinstance(frame[name].dtype, pd.StringDtype)}
    hashed = pd.util.hash_pandas_object(frame.astype(texts), index=False).to_numpy()
    found: np.ndarray = parts[(hashed % _PARTS).astype(np.int64)]
    return found


@dataclass
class Division:
    """One stream on its way to one subscriber."""

    grouping: Grouping
    #: Columns that decide, for ``fields``.
    keys: tuple[str, ...]
    shares: tuple[float, ...]
    #: Rows sent to each instance so far, for shuffle.
    _sent: np.ndarray | None = field(default=None, repr=False)
    _parts: np.ndarray | None = field(default=None, repr=False)

    def divided(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows for each instance that gets any, by its number."""
        if self.grouping is Grouping.ALL:
            yield from ((number, rows) for number in range(len(self.shares)))
        elif self.grouping is Grouping.GLOBAL or len(self.shares) == 1:
            yield 0, rows
        elif self.grouping is Grouping.FIELDS:
            yield from self._by_key(rows)
        else:
            yield from self._cut(rows)

    def _by_key(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        if self._parts is None:
            self._parts = dealt(self.shares)
        to = by_key(rows.select(list(self.keys)), self._parts)
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
        counts = np.floor(due * (rows.num_rows / due.sum()) + _SLACK).astype(np.int64)
        most_due = np.argsort(counts - due, kind="stable")
        counts[most_due[: rows.num_rows - counts.sum()]] += 1
        self._sent = sent + counts
        start = 0
        for number, count in enumerate(counts.tolist()):
            if count:
                yield number, rows.slice(start, count)
            start += count
