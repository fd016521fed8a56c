"""How a stream is divided among instances: task ranges as Storm deals them, keys by hash."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import cluster, place, profile, topology

from penstock.evaluate.division import divide_evenly, divide_stream, key_division, task_ranges
from penstock.evaluate.rates import instance_rates
from penstock.model.problem import build
from penstock.model.topology import Component
from penstock_bench.contract.pairs import split_mix

NO_SHARES = np.full(4, np.nan)


def stream(grouping: str, **options):
    graph = topology("a>b", streams={"a>b": {"grouping": grouping, **options}})
    return build(graph, cluster(M1=1), profile(a=1.0, b=1.0)).streams[0]


def test_tasks_are_dealt_in_ranges_the_longer_ones_first():
    # 10 tasks on 4 executors: 10 = 4 * 2 + 2, so the first two hold one more.
    assert task_ranges(10, 4).tolist() == [3, 3, 2, 2]
    assert task_ranges(8, 4).tolist() == [2, 2, 2, 2]
    assert task_ranges(3, 3).tolist() == [1, 1, 1]


@given(st.integers(1, 200), st.integers(1, 50))
def test_every_task_is_dealt_once_and_ranges_differ_by_one_at_most(tasks: int, executors: int):
    ranges = task_ranges(tasks, executors)
    assert ranges.sum() == tasks
    assert ranges.max() - ranges.min() <= 1
    assert sorted(ranges, reverse=True) == ranges.tolist()


def test_an_even_division_goes_over_tasks():
    assert divide_evenly(Component("b", tasks=10), 4).tolist() == [0.3, 0.3, 0.2, 0.2]
    assert divide_evenly(Component("b"), 4).tolist() == [0.25] * 4


@pytest.mark.parametrize("grouping", ["shuffle", "weighted", "direct", "custom", "fields"])
def test_without_shares_and_keys_the_division_is_even(grouping):
    assert divide_stream(stream(grouping), Component("b"), NO_SHARES).tolist() == [0.25] * 4


def test_all_copies_and_global_concentrates():
    assert divide_stream(stream("all"), Component("b"), NO_SHARES).tolist() == [1, 1, 1, 1]
    # 6 tasks on 4 executors: 2, 2, 1, 1, and a copy for every task.
    two = Component("b", tasks=6)
    assert divide_stream(stream("all"), two, NO_SHARES).tolist() == [2, 2, 1, 1]
    assert divide_stream(stream("global"), Component("b"), NO_SHARES).tolist() == [1, 0, 0, 0]


@given(st.integers(1, 60), st.floats(0, 3), st.integers(1, 20))
def test_a_division_by_keys_sums_to_one(keys: int, skew: float, buckets: int):
    division = key_division(keys, skew, buckets)
    assert len(division) == buckets
    assert (division >= 0).all()
    assert division.sum() == pytest.approx(1.0, rel=1e-12)


@given(st.integers(1, 60), st.integers(1, 20))
def test_keys_alike_weigh_by_their_number(keys: int, buckets: int):
    # With skew 0 a bucket's part is the number of keys hashed to it.
    expected = [0] * buckets
    for rank in range(1, keys + 1):
        expected[split_mix(rank) % buckets] += 1
    assert key_division(keys, 0.0, buckets) * keys == pytest.approx(expected)


def test_one_key_goes_to_one_instance():
    division = divide_stream(stream("fields", keys=1), Component("b"), NO_SHARES)
    assert sorted(division.tolist()) == [0, 0, 0, 1]


def test_zipf_keys_weigh_by_rank():
    # Two keys at exponent 1 weigh 1 and 1/2: 2/3 and 1/3, in one bucket or in two.
    division = key_division(2, 1.0, 1000)
    assert sorted(division[division > 0].tolist()) == pytest.approx([1 / 3, 2 / 3])


def test_very_many_keys_are_like_shuffle():
    division = key_division(100_000, 0.0, 4)
    assert division.tolist() == pytest.approx([0.25] * 4, abs=0.01)


def test_keys_go_to_tasks_and_tasks_to_executors():
    # 7 tasks on 4 executors: ranges of 2, 2, 2, 1.
    by_task = key_division(50, 1.0, 7)
    target = Component("b", tasks=7)
    division = divide_stream(stream("fields", keys=50, key_skew=1.0), target, NO_SHARES)
    expected = [by_task[0:2].sum(), by_task[2:4].sum(), by_task[4:6].sum(), by_task[6]]
    assert division.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("grouping", ["shuffle", "fields"])
def test_an_instance_without_a_task_gets_nothing(grouping):
    # Three instances of two tasks: the plan breaks a limit, which is reported as a violation;
    # its rates are still defined, and the third instance has none.
    graph = topology("a>b", streams={"a>b": {"grouping": grouping, "keys": 40}}, b={"tasks": 2})
    problem = build(graph, cluster(M1=1), profile(a=1.0, b=1.0))
    placement = place(problem, "a M1-1", "b M1-1", "b M1-1", "b M1-1")
    got = instance_rates(problem, placement).per_instance
    assert got[1:].sum() == pytest.approx(1.0)
    assert got[3] == 0.0
