"""Which instance a key belongs to: its hash says to which of many parts, a table to whom parts go.

Parts are dealt by the shares. A part with a very frequent key is worth more than others, so parts
that were seen to be **hot** are dealt by what they weigh, the heaviest first, and the rest makes up
for what that cannot do exactly. Without any, instances get as many parts as their shares say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

#: Keys are dealt to this many equal parts, and parts to instances.
PARTS = 1 << 14
#: Of all rows, at least, in a hot part. A sender tells of parts with fewer: what it leaves out is
#: missing in the sum over all senders.
_HOT, _TOLD = 0.0005, 0.0001
#: Rows that say something about how frequent keys are.
_ENOUGH_ROWS = 10_000
#: Moving keys, and what is known of them, must better the largest excess over a share by this.
_WORTH_MOVING = 0.02
#: Rounding in sums of shares must not move a part, or a row.
_SLACK = 1e-9

#: Numbers of hot parts and which fraction of the rows each has.
Hot = tuple[tuple[int, float], ...]


def parts_of(keys: pa.RecordBatch) -> np.ndarray:
    """The part of each row, by the hash of all its columns."""
    columns = [_without_holes(column) for column in keys.columns]
    if len(columns) == 1 and pa.types.is_string(columns[0].type):
        # Each text is hashed once.
        coded = pc.dictionary_encode(columns[0], null_encoding="encode")
        parts: np.ndarray = _hashed([coded.dictionary])[coded.indices.to_numpy()]
        return parts
    return _hashed(columns)


def dealt(shares: Sequence[float], hot: Hot = ()) -> np.ndarray:
    """The instance of each part: ``[PARTS]``."""
    wanted = _fractions(shares)
    # Each gets its share of the frequent keys too: many rare ones are more work than one frequent.
    due = np.where(wanted > 0, wanted * sum(weight for _part, weight in hot), -np.inf)
    left = wanted.copy()
    table = np.full(PARTS, -1)
    for part, weight in sorted(hot, key=lambda one: (-one[1], one[0])):
        to = table[part] = int(np.argmax(due))
        due[to] -= weight
        left[to] -= weight
    rest = np.flatnonzero(table < 0)
    room = np.maximum(left, 0.0) if left.max() > 0 else wanted
    counts = largest_remainder(room / room.sum() * len(rest))
    table[rest] = np.repeat(np.arange(len(left)), counts)
    return table


def excess(shares: Sequence[float], table: np.ndarray, hot: Hot) -> float:
    """By which part of its share an instance gets too much, at most, if parts weigh so much."""
    weight = np.zeros(PARTS)
    for part, fraction in hot:
        weight[part] = fraction
    cold = weight == 0
    weight[cold] = (1.0 - weight.sum()) / max(int(cold.sum()), 1)
    wanted, got = _fractions(shares), np.bincount(table, weight, len(shares))
    return float(np.max(got[wanted > 0] / wanted[wanted > 0])) - 1.0


def hot_parts(rows: np.ndarray) -> list[tuple[int, int]]:
    """Of the rows in each part, those of the parts that may be hot."""
    hot = np.flatnonzero(rows >= max(_TOLD * rows.sum(), 1))
    return [(int(part), int(rows[part])) for part in hot]


def hot_now(
    shares: Sequence[float], before: Hot, rows: int, counted: Iterable[tuple[int, int]]
) -> Hot:
    """What keys are to be dealt by from now on, after so many rows with so many in hot parts."""
    if rows < _ENOUGH_ROWS:
        return before
    total: dict[int, int] = {}
    for part, number in counted:
        total[part] = total.get(part, 0) + number
    seen = tuple(
        (part, number / rows) for part, number in sorted(total.items()) if number >= _HOT * rows
    )
    gain = excess(shares, dealt(shares, before), seen) - excess(shares, dealt(shares, seen), seen)
    return seen if gain > _WORTH_MOVING else before


def largest_remainder(wanted: np.ndarray) -> np.ndarray:
    """Whole numbers with the same sum."""
    counts = np.floor(wanted + _SLACK).astype(int)
    most_missing = np.argsort(counts - wanted, kind="stable")
    counts[most_missing[: round(wanted.sum()) - counts.sum()]] += 1
    return counts


def _fractions(shares: Sequence[float]) -> np.ndarray:
    fractions: np.ndarray = np.asarray(shares, dtype=float) / np.sum(shares)
    return fractions


def _without_holes(column: pa.Array) -> pa.Array:
    """Whole numbers with a null among them must not become others, as pandas would make them."""
    return column.fill_null(0) if pa.types.is_integer(column.type) else column


def _hashed(columns: Sequence[pa.Array]) -> np.ndarray:
    frame = pd.DataFrame({str(i): column.to_pandas() for i, column in enumerate(columns)})
    # Text of either kind of pandas' must hash alike.
    texts = {name: object for name in frame if isinstance(frame[name].dtype, pd.StringDtype)}
    hashes = pd.util.hash_pandas_object(frame.astype(texts), index=False).to_numpy()
    return (hashes % PARTS).astype(np.int64)
