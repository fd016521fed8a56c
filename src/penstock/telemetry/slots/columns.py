"""Tables as columns of numbers, with text as numbers of words, and how they are grouped and joined.

Sums over groups are what the pipeline does most. On arrays of numbers they take nanoseconds a row;
texts are looked at once a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from penstock.model.arrays import BoolVector, FloatVector, IntVector

#: A table: text as numbers of words, unknown numbers as NaN, one array per column.
Columns = dict[str, Any]

#: Stands for an unknown whole number, and for an unknown text.
NO_NUMBER, NO_WORD = np.iinfo(np.int64).min, -1
#: Keys are joined into one number as long as it stays below this.
_MOST_COMBINED = 2**62
#: Keys further apart than this are numbered first.
_MOST_RANGE = 2**40


class Vocabulary:
    """The words of all texts of a piece of work, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        return self._numbers.setdefault(word, len(self._numbers))

    def numbers(self, column: pa.ChunkedArray | pa.Array) -> IntVector:
        """A column of text as numbers."""
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts = [self._of_chunk(chunk) for chunk in chunks]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _of_chunk(self, chunk: pa.Array) -> IntVector:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_encode()
        known = [NO_WORD if w is None else self.number(w) for w in chunk.dictionary.to_pylist()]
        words = np.array([*known, NO_WORD], dtype=np.int64)
        indices = chunk.indices.fill_null(len(known)) if chunk.null_count else chunk.indices
        return words[indices.to_numpy()]

    def text(self, numbers: IntVector) -> pa.Array:
        """Numbers as a column of text."""
        indices = pa.array(numbers.astype(np.int32), mask=numbers < 0)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(self._numbers), pa.string()))

    @property
    def words(self) -> list[str]:
        return list(self._numbers)


@dataclass(frozen=True)
class Groups:
    """Rows with equal keys, numbered in the order in which they come first."""

    #: Group of each row.
    of_row: IntVector
    #: The first row of each group.
    first: IntVector

    @staticmethod
    def of(*keys: NDArray[Any]) -> Groups:
        combined = combine(keys)
        # Rows of a table often come in order of their keys already: that is far cheaper to tell.
        of_row, distinct = pd.factorize(combined)
        first = np.empty(len(distinct), dtype=np.int64)
        first[of_row[::-1]] = np.arange(len(of_row) - 1, -1, -1)
        return Groups(of_row, first)

    def __len__(self) -> int:
        return len(self.first)

    def sums(self, values: FloatVector) -> FloatVector:
        sums = np.bincount(self.of_row, weights=values, minlength=len(self))
        return sums.astype(np.float64, copy=False)

    def counts(self, chosen: BoolVector | None = None) -> IntVector:
        weights = None if chosen is None else chosen.astype(np.float64)
        counted = np.bincount(self.of_row, weights=weights, minlength=len(self))
        return counted.astype(np.int64)

    def known_sums(self, values: FloatVector) -> FloatVector:
        """Sums of what is known; unknown where nothing is."""
        known = ~np.isnan(values)
        total = self.sums(np.where(known, values, 0.0))
        return np.where(self.counts(known) > 0, total, np.nan)

    def whole_sums(self, values: FloatVector) -> FloatVector:
        """Sums; unknown where anything is."""
        return self.sums(values)  # NaN spreads

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        least = np.full(len(self), np.inf if values.dtype.kind == "f" else np.iinfo(np.int64).max,
                        dtype=values.dtype)  # fmt: skip
        np.fmin.at(least, self.of_row, values)
        return least

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        """The largest known value; NaN where none is."""
        most = np.full(len(self), np.nan if values.dtype.kind == "f" else NO_NUMBER, values.dtype)
        np.fmax.at(most, self.of_row, values)
        return most

    def keys(self, table: Mapping[str, Any], names: Iterable[str]) -> Columns:
        return {name: table[name][self.first] for name in names}


def combine(keys: Sequence[NDArray[Any]]) -> IntVector:
    """Several keys as one number each row; equal where all of them are."""
    combined, size = np.zeros(len(keys[0]), dtype=np.int64), 1
    for key in keys:
        if not len(key):
            break
        low = int(key.min())
        is_narrow = low > -_MOST_COMBINED and int(key.max()) - low < _MOST_RANGE
        own = (key - low if is_narrow else pd.factorize(key)[0]).astype(np.int64, copy=False)
        spread = int(own.max()) + 1
        if size * spread >= _MOST_COMBINED:
            combined, distinct = pd.factorize(combined)
            combined, size = combined.astype(np.int64), len(distinct)
        combined = combined * spread + own
        size *= spread
    return combined


def matches(left: Sequence[Any], right: Sequence[Any]) -> tuple[IntVector, IntVector]:
    """Pairs of rows with equal keys: an inner join."""
    rows = len(left[0])
    both = combine([np.concatenate([a, b]) for a, b in zip(left, right, strict=True)])
    mine, theirs = both[:rows], both[rows:]
    order = np.argsort(theirs, kind="stable")
    ordered = theirs[order]
    begins = np.searchsorted(ordered, mine, "left")
    number = np.searchsorted(ordered, mine, "right") - begins
    of_left = np.repeat(np.arange(rows), number)
    offset = np.arange(len(of_left)) - np.repeat(np.cumsum(number) - number, number)
    return of_left, order[np.repeat(begins, number) + offset]


def rows_of(table: Columns, chosen: Any) -> Columns:
    return {name: values[chosen] for name, values in table.items()}


def length(table: Columns) -> int:
    return len(next(iter(table.values()))) if table else 0


def joined(tables: Sequence[Columns]) -> Columns:
    """Tables below each other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def from_arrow(table: pa.Table, vocabulary: Vocabulary) -> Columns:
    columns: Columns = {}
    for field in table.schema:
        column = table[field.name]
        kind = field.type
        if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
            columns[field.name] = vocabulary.numbers(column)
        elif pa.types.is_integer(kind):
            filled = column.fill_null(NO_NUMBER) if column.null_count else column
            columns[field.name] = filled.to_numpy().astype(np.int64, copy=False)
        elif pa.types.is_boolean(kind):
            columns[field.name] = column.to_numpy(zero_copy_only=False).astype(bool)
        else:
            columns[field.name] = column.to_numpy().astype(np.float64, copy=False)
    return columns


def to_arrow(table: Columns, schema: pa.Schema, vocabulary: Vocabulary) -> pa.Table:
    """With the columns and types of a schema; unknown becomes null."""
    arrays = []
    for field in schema:
        values = table[field.name]
        if pa.types.is_string(field.type):
            arrays.append(vocabulary.text(values))
        elif pa.types.is_integer(field.type):
            arrays.append(pa.array(values, mask=values == NO_NUMBER))
        elif pa.types.is_boolean(field.type):
            arrays.append(pa.array(values))
        else:
            arrays.append(pa.array(values, mask=np.isnan(values)))
    return pa.Table.from_arrays(arrays, names=schema.names)
