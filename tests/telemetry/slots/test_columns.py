"""Groups, joins and words, against the same with plain dictionaries."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.telemetry.slots.columns import (
    NO_NUMBER,
    NO_WORD,
    Groups,
    Vocabulary,
    combine,
    from_arrow,
    joined,
    length,
    matches,
    rows_of,
    to_arrow,
)

LARGEST = 2**63 - 1
#: Near each other, far apart, unknown, and at both ends of 64 bits.
KEYS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([NO_NUMBER, NO_NUMBER + 1, -(2**62), 2**40, 2**41, 2**62, LARGEST]),
    st.integers(NO_NUMBER, LARGEST),
)


def tables(widest: int = 5, longest: int = 30) -> st.SearchStrategy[list[tuple[int, ...]]]:
    return st.integers(1, widest).flatmap(
        lambda width: st.lists(st.tuples(*[KEYS] * width), max_size=longest)
    )


def columns(rows: list[tuple[int, ...]], width: int = 1) -> list[np.ndarray]:
    width = len(rows[0]) if rows else width
    return [np.array([row[n] for row in rows], dtype=np.int64) for n in range(width)]


@given(tables())
def test_rows_are_in_one_group_exactly_if_their_keys_are_equal(rows: list[tuple[int, ...]]) -> None:
    groups = Groups.of(*columns(rows))
    numbers: dict[tuple[int, ...], int] = {}
    expected = [numbers.setdefault(row, len(numbers)) for row in rows]
    # Numbered in the order in which they come first.
    assert groups.of_row.tolist() == expected
    assert groups.first.tolist() == [rows.index(key) for key in numbers]
    assert len(groups) == len(numbers)
    keys = groups.keys(dict(enumerate(columns(rows))), range(len(rows[0]) if rows else 1))  # type: ignore[arg-type]
    assert list(zip(*(keys[n].tolist() for n in keys), strict=True)) == list(numbers)  # type: ignore[index]


@given(tables())
def test_combined_keys_are_equal_exactly_if_all_of_them_are(rows: list[tuple[int, ...]]) -> None:
    combined = combine(columns(rows)).tolist()
    assert len(combined) == len(rows)
    assert len(set(zip(rows, combined, strict=True))) == len(set(rows)) == len(set(combined))


@pytest.mark.parametrize("spread", [2, 2**20, 2**39, 2**41, 2**62])
def test_many_keys_far_apart_do_not_overflow(spread: int) -> None:
    """Eight keys of 2**39 values each would need 312 bits."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, spread, (50, 8))
    rows = values[rng.integers(0, 50, 400)]
    rows[::7, 5] += 1
    groups = Groups.of(*rows.T)
    assert len(groups) == len({tuple(row) for row in rows.tolist()})
    assert (rows == rows[groups.first[groups.of_row]]).all()


def test_flags_and_signed_zeros_are_keys_too() -> None:
    flags = Groups.of(np.array([True, False, True]), np.array([1, 1, 1]))
    assert flags.of_row.tolist() == [0, 1, 0]


FIGURES = st.one_of(st.just(math.nan), st.integers(-1000, 1000).map(float))


@given(st.lists(st.tuples(st.integers(0, 4), FIGURES), max_size=30))
def test_sums_counts_and_extremes_are_those_of_each_group(rows: list[tuple[int, float]]) -> None:
    key = np.array([k for k, _ in rows], dtype=np.int64)
    values = np.array([v for _, v in rows], dtype=np.float64)
    groups = Groups.of(key)
    members: dict[int, list[float]] = defaultdict(list)
    for k, v in rows:
        members[k].append(v)
    every = list(members.values())
    known = [[v for v in vs if not math.isnan(v)] for vs in every]
    unknown = math.nan

    def same(found: np.ndarray, expected: list[float]) -> None:
        np.testing.assert_array_equal(found, np.array(expected, dtype=np.float64))

    same(groups.known_sums(values), [sum(vs) if vs else unknown for vs in known])
    same(groups.whole_sums(values), [sum(vs) for vs in every])
    same(groups.most(values), [max(vs, default=unknown) for vs in known])
    same(groups.least(values), [min(vs, default=math.inf) for vs in known])
    assert groups.counts().tolist() == [len(vs) for vs in every]
    assert groups.counts(~np.isnan(values)).tolist() == [len(vs) for vs in known]


@given(st.lists(st.tuples(st.integers(0, 4), KEYS), max_size=30))
def test_extremes_of_whole_numbers_are_exact(rows: list[tuple[int, int]]) -> None:
    groups = Groups.of(np.array([k for k, _ in rows], dtype=np.int64))
    values = np.array([v for _, v in rows], dtype=np.int64)
    members: dict[int, list[int]] = defaultdict(list)
    for k, v in rows:
        members[k].append(v)
    assert groups.most(values).tolist() == [max(vs) for vs in members.values()]
    assert groups.least(values).tolist() == [min(vs) for vs in members.values()]


@given(tables(widest=3, longest=15), st.data())
def test_matches_are_all_pairs_with_equal_keys(left: list[tuple[int, ...]], data: Any) -> None:
    width = len(left[0]) if left else 1
    one = st.tuples(*[KEYS] * width)
    right = data.draw(st.lists(one if not left else one | st.sampled_from(left), max_size=15))
    mine, theirs = matches(columns(left, width), columns(right, width))
    expected = [
        (i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b
    ]  # fmt: skip
    # In the order of the left rows, and of the right ones within.
    assert list(zip(mine.tolist(), theirs.tolist(), strict=True)) == expected


# -- words and tables --------------------------------------------------------------------------


def test_words_are_numbered_once_across_columns_and_chunks() -> None:
    vocabulary = Vocabulary()
    plain = pa.chunked_array([["a", None, "b"], [], ["b", "c"]], pa.string())
    encoded = pa.chunked_array([pa.array(["c", "a"]).dictionary_encode(),
                                pa.array([None, "d"]).dictionary_encode()])  # fmt: skip
    assert vocabulary.numbers(plain).tolist() == [0, NO_WORD, 1, 1, 2]
    assert vocabulary.numbers(encoded).tolist() == [2, 0, NO_WORD, 3]
    assert vocabulary.words == ["a", "b", "c", "d"]
    assert vocabulary.text(np.array([3, NO_WORD, 0])).to_pylist() == ["d", None, "a"]
    assert vocabulary.numbers(pa.chunked_array([], pa.string())).tolist() == []


SCHEMA = pa.schema([("word", pa.string()), ("whole", pa.int64()), ("number", pa.float64())])
ROWS = st.fixed_dictionaries({
    "word": st.none() | st.text(max_size=3),
    "whole": st.none() | st.integers(NO_NUMBER + 1, LARGEST),
    "number": st.none() | st.floats(allow_nan=False),
})  # fmt: skip


@given(st.lists(ROWS, max_size=10), st.booleans())
def test_a_table_comes_back_as_it_was(rows: list[dict[str, Any]], sliced: bool) -> None:
    table, vocabulary = pa.Table.from_pylist(rows, schema=SCHEMA), Vocabulary()
    if sliced:
        table, rows = table.slice(1), rows[1:]
    found = from_arrow(table, vocabulary)
    assert length(found) == len(rows)
    assert to_arrow(found, SCHEMA, vocabulary).to_pylist() == rows
    both = joined([found, rows_of(found, np.arange(len(rows))[::-1])])
    assert to_arrow(both, SCHEMA, vocabulary).to_pylist() == rows + rows[::-1]


def test_flags_come_back_as_they_were() -> None:
    schema = pa.schema([("flag", pa.bool_())])
    table = pa.Table.from_pydict({"flag": [True, False]}, schema=schema)
    assert to_arrow(from_arrow(table, Vocabulary()), schema, Vocabulary()).equals(table)
