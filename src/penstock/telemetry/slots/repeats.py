"""Records with the same key: of equal ones one stays, those that contradict each other all go.

A record's key holds its time, so that repeats never lie in two slots. Taking the first to arrive
would depend on the order of arrival, and nothing says which of two contradicting ones is true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.arrays import BoolVector, IntVector
from penstock.model.telemetry import SAMPLE_FIELDS
from penstock.telemetry.slots.columns import Groups, Vocabulary

KEY = ("topology", "run", "task", "time_ms")


@dataclass(frozen=True)
class Repeats:
    """Rows of a table that do not count, in order."""

    #: Repeated, and an equal one stays.
    duplicates: IntVector
    #: Contradicted by another record of the same key.
    conflicts: IntVector

    @property
    def rows(self) -> IntVector:
        return np.sort(np.concatenate([self.duplicates, self.conflicts]))


def find_repeats(records: pa.Table, key: Groups) -> Repeats:
    """``key`` groups the rows by their keys."""
    none = np.zeros(0, dtype=np.int64)
    if len(key) == len(records):
        return Repeats(none, none)
    repeated = np.flatnonzero(key.counts()[key.of_row] > 1)
    # Of equal records the one of the first file stays, whatever came first.
    own = records.take(pa.array(repeated))
    order = np.lexsort((repeated, _ranks(own["file"]), key.of_row[repeated]))
    rows, group = repeated[order], key.of_row[repeated[order]]
    same_group = group[1:] == group[:-1]
    equal = _equals_before(records.take(pa.array(rows)))
    numbers = np.unique(group, return_inverse=True)[1]
    contradicted = np.zeros(numbers.max() + 1, dtype=bool)
    contradicted[numbers[1:][same_group & ~equal]] = True
    is_conflict = contradicted[numbers]
    is_first = np.concatenate([[True], ~same_group])
    return Repeats(rows[~is_conflict & ~is_first], rows[is_conflict])


def _ranks(file: pa.ChunkedArray) -> IntVector:
    """Place of each file's name in the alphabet."""
    vocabulary = Vocabulary()
    numbers = vocabulary.numbers(file)
    return np.argsort(np.argsort(np.array(vocabulary.words, dtype=object)))[numbers]


def _equals_before(records: pa.Table) -> BoolVector:
    """Whether each row but the first says the same as the one before it."""
    equal = np.ones(max(len(records) - 1, 0), dtype=bool)
    for f in SAMPLE_FIELDS:
        column = records[f.name].combine_chunks()
        same = _equal_lists if pa.types.is_list(column.type) else _equal_cells
        equal &= same(column)
    return equal


def _equal_cells(column: pa.Array) -> BoolVector:
    if pa.types.is_dictionary(column.type):
        column = pa.array(Vocabulary().numbers(column))
    before, after = column.slice(0, len(column) - 1), column.slice(1)
    both_absent = pc.and_(before.is_null(), after.is_null())
    same = pc.or_(pc.fill_null(pc.equal(before, after), False), both_absent)
    return np.asarray(same.to_numpy(zero_copy_only=False))


def _equal_lists(column: pa.ListArray) -> BoolVector:
    """Lists are equal when they are as long, and all their entries equal one by one."""
    equal = _equal_cells(pc.list_value_length(column))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    pairs = np.flatnonzero(equal & (lengths[1:] > 0))
    number = lengths[1:][pairs]
    of_pair = np.repeat(np.arange(len(pairs)), number)
    offset = np.arange(len(of_pair)) - np.repeat(np.cumsum(number) - number, number)
    entries = column.flatten()
    for cells in entries.flatten():
        is_text = pa.types.is_dictionary(cells.type)
        values = pa.array(Vocabulary().numbers(cells)) if is_text else cells
        one = values.take(pa.array(starts[pairs][of_pair] + offset))
        other = values.take(pa.array(starts[pairs + 1][of_pair] + offset))
        both_absent = pc.and_(one.is_null(), other.is_null())
        same = pc.or_(pc.fill_null(pc.equal(one, other), False), both_absent)
        wrong = of_pair[~np.asarray(same.to_numpy(zero_copy_only=False))]
        equal[pairs[wrong]] = False
    return equal
