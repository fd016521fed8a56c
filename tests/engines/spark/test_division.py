"""Rows divided among instances: by shares, by key, to all, to one."""

import numpy as np
import pyarrow as pa
import pytest

from penstock.engines.spark.division import Division
from penstock.model.topology import Grouping


def rows(number, first=0):
    return pa.RecordBatch.from_pydict({"n": list(range(first, first + number))})


def divided(division, batch):
    return {number: part.column("n").to_pylist() for number, part in division.divided(batch)}


def test_shuffle_cuts_runs_of_rows_as_long_as_the_shares():
    # 0.5, 0.3, 0.2 of ten.
    found = divided(Division(Grouping.SHUFFLE, (), (0.5, 0.3, 0.2)), rows(10))
    assert found == {0: [0, 1, 2, 3, 4], 1: [5, 6, 7], 2: [8, 9]}


def test_shuffle_makes_up_for_rounding_in_later_batches():
    division = Division(Grouping.SHUFFLE, (), (0.6, 0.3, 0.1))
    sent = np.zeros(3)
    for turn in range(1, 200):
        for number, part in division.divided(rows(turn % 4 + 1)):
            sent[number] += part.num_rows
        assert np.abs(sent - sent.sum() * np.array([0.6, 0.3, 0.1])).max() <= 2
    assert np.abs(sent - sent.sum() * np.array([0.6, 0.3, 0.1])).max() <= 1.01


def test_every_row_goes_somewhere_once():
    rng = np.random.default_rng(3)
    for grouping in (Grouping.SHUFFLE, Grouping.FIELDS):
        for _ in range(30):
            shares = tuple(rng.random(int(rng.integers(1, 9))) + 1e-3)
            number = int(rng.integers(1, 200))
            found = divided(Division(grouping, ("n",), shares), rows(number))
            assert sorted(n for part in found.values() for n in part) == list(range(number))


def test_all_and_global():
    assert divided(Division(Grouping.ALL, (), (0.5, 0.5)), rows(2)) == {0: [0, 1], 1: [0, 1]}
    assert divided(Division(Grouping.GLOBAL, (), (0.5, 0.5)), rows(2)) == {0: [0, 1]}


def test_a_key_is_always_dealt_to_the_same_instance():
    division = Division(Grouping.FIELDS, ("n",), (0.2, 0.5, 0.3))
    first = divided(division, rows(500))
    backwards = rows(500).take(pa.array(range(499, -1, -1)))
    again = {number: sorted(part) for number, part in divided(division, backwards).items()}
    assert again == first


def test_keys_are_dealt_in_proportion_to_the_shares():
    found = divided(Division(Grouping.FIELDS, ("n",), (0.7, 0.2, 0.1)), rows(20_000))
    # Binomial: four standard deviations of 20,000 draws at 0.7 are 259.
    assert len(found[0]) == pytest.approx(14_000, abs=260)
    assert len(found[2]) == pytest.approx(2_000, abs=170)


def test_what_was_dealt_by_key_is_counted_part_by_part():
    division = Division(Grouping.FIELDS, ("n",), (0.5, 0.5))
    for _ in range(3):
        list(division.divided(rows(2)))
    total, hot = division.counted()
    assert total == 6
    # Two keys, three times each; they are in different parts.
    assert [number for _part, number in hot] == [3, 3]
    assert Division(Grouping.FIELDS, ("n",), (0.5, 0.5)).counted() == (0, [])
