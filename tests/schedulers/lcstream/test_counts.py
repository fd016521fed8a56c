"""Lc-Stream: free executors of the pool, and how many each component gets."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from tests.builders import cluster, profile, topology
from tests.model.strategies import problems
from tests.schedulers.lcstream.problems import (
    FOUR_CORES,
    counts,
    lcstream,
    papers_experiment,
    pipeline,
    with_demand,
)

from penstock.model.problem import Problem, build
from penstock.schedulers.lcstream.counts import (
    LatenessLimits,
    Stations,
    first_counts,
    service_rates,
)
from penstock.schedulers.lcstream.pool import ExecutorPool, PoolExecutor


@pytest.fixture(scope="module")
def both() -> Problem:
    return papers_experiment()


# -- the pool -------------------------------------------------------------------------------------


def test_figure_3_free_executors():
    # A has 111, 120, 130 and B has 210, 221, 231, 240; the last digit says taken.
    pool = ExecutorPool([3, 4])
    pool.take(0)
    for _ in range(3):
        pool.take(1)
    pool.release(PoolExecutor(1, 0))
    assert [pool.label(executor) for executor in pool.free()] == ["120", "130", "210", "240"]
    assert pool.label(PoolExecutor(0, 0)) == "111"
    assert pool.label(PoolExecutor(1, 2)) == "231"


def test_a_machine_without_a_free_executor_is_not_chosen():
    pool = ExecutorPool([1, 1])
    everywhere, alike = np.ones(2, dtype=bool), np.zeros(2)
    assert pool.choose(everywhere, alike) == 0
    pool.take(0)
    assert pool.choose(everywhere, alike) == 1
    pool.take(1)
    assert pool.choose(everywhere, alike) is None
    pool.release_all(0)
    pool.release(PoolExecutor(0, 0))  # it is free already
    assert pool.has_free().tolist() == [True, False]


def test_a_later_wish_counts_only_where_the_earlier_ones_are_equal():
    pool = ExecutorPool([1, 1, 1])
    related, room = np.array([2.0, 5.0, 5.0]), np.array([9.0, 1.0, 3.0])
    assert pool.choose(np.ones(3, dtype=bool), related, room) == 2
    assert pool.choose(np.array([True, False, False]), related, room) == 0


# -- counts ---------------------------------------------------------------------------------------


def test_service_rate_is_the_mean_over_the_machines():
    # M1: (100 - 10) / 1 = 90, M2: (100 - 10) / 3 = 30; three of M1, one of M2: (270 + 30) / 4 = 75.
    costs = profile(met=10.0, a={"M1": 1.0, "M2": 3.0})
    problem = build(topology("a"), cluster(M1=3, M2=1), costs)
    assert service_rates(problem).tolist() == pytest.approx([75.0])


def test_a_tuple_that_crosses_a_process_costs_more():
    # a: 1 + 0.5 for each of the 2 it sends; b: 1 + 0.5 for the one it gets. 100/2 and 100/1.5.
    graph = topology("a>b", streams={"a>b": {"selectivity": 2.0}})
    problem = build(graph, cluster(M1=1), profile(a=1.0, b=1.0, e_remote=0.5))
    assert service_rates(problem).tolist() == pytest.approx([50.0, 100 / 1.5])


def test_work_that_costs_nothing_is_served_at_once():
    problem = build(topology("a"), cluster(M1=1), profile(a=0.0))
    assert service_rates(problem).tolist() == [np.inf]


def test_executors_are_added_until_the_queue_is_short_enough():
    # Load 2.5: k* is 3 (2.5/12 <= 1/4), whose L = 0.83 is over 0.8; with 4 it is 0.625.
    assert counts(pipeline(250.0)) == [4, 4]
    # Load 2.4: L = 2.4/3 = 0.8 is not over it.
    assert counts(pipeline(240.0)) == [3, 3]


def test_a_wait_that_is_short_excuses_the_queue_but_not_overload():
    # W <= 1.58 service times = 15.8 ms: 20 ms is never exceeded, and 3 executors do at load 2.5.
    assert counts(pipeline(250.0), wait_ms=20.0) == [3, 3]
    # 2 executors would have a load of 1.25; asked for 2, it still gets 3.
    asked = {"a": {"instances": 2}, "b": {"instances": 3}}
    assert counts(pipeline(250.0, **asked), wait_ms=20.0) == [3, 3]


def test_counts_given_are_where_it_starts():
    assert counts(pipeline(250.0, a={"instances": 7}, b={"instances": 2})) == [7, 4]


def test_a_full_pool_takes_from_components_with_enough():
    # 2 machines of 4 executors. a has 7 at a load of 1, b needs 3 for 2: one more than its 1 from
    # nobody at first (8 are out), so a gives two.
    graph = topology(
        "a>b",
        streams={"a>b": {"selectivity": 2.0}},
        demand_per_s=100.0,
        a={"instances": 7},
        b={"instances": 1},
    )
    problem = build(graph, cluster(M1=2, every=FOUR_CORES), profile(a=1.0, b=1.0))
    assert counts(problem, per_machine=4) == [5, 3]


def test_counts_beyond_the_pool_are_cut_where_there_is_most_to_spare():
    # 6 executors in all. a has load 1 and b 0.1: b is cut first, to 1, then a to 5.
    graph = topology(
        "a>b",
        streams={"a>b": {"selectivity": 0.1}},
        demand_per_s=100.0,
        a={"instances": 6},
        b={"instances": 6},
    )
    problem = build(graph, cluster(M1=2, every=FOUR_CORES), profile(a=1.0, b=1.0))
    assert counts(problem, per_machine=3, sleep=False) == [5, 1]


def test_max_instances_is_kept_and_the_note_says_what_it_costs():
    # b may have 2 at a load of 1.9: L = 0.95, over 0.8.
    outcome = lcstream(pipeline(190.0, b={"max_instances": 2}))
    assert outcome.placement.counts(2).tolist() == [3, 2]
    assert any("b with 2 executors, L 0.95" in note for note in outcome.notes)
    assert any("not reachable for b" in note for note in outcome.notes)


def test_more_executors_are_not_wasted_where_one_of_them_gets_everything():
    # Global grouping: b's first executor gets all 90 tuples/s, L = 0.9, however many there are.
    graph = topology(
        "a>b", streams={"a>b": {"grouping": "global"}}, demand_per_s=90.0, b={"instances": 1}
    )
    problem = build(graph, cluster(M1=4, every=FOUR_CORES), profile(a=1.0, b=1.0))
    outcome = lcstream(problem)
    assert outcome.placement.counts(2).tolist() == [2, 1]
    assert any("not reachable for b" in note for note in outcome.notes)


def test_the_busiest_executor_counts_where_keys_are_uneven():
    # 2 keys: whatever the count, at most two executors of b work, each with half of 120 tuples/s.
    even = {"grouping": "fields", "keys": 2}
    graph = topology("a>b", streams={"a>b": even}, demand_per_s=120.0)
    problem = build(graph, cluster(M1=4, every=FOUR_CORES), profile(a=1.0, b=1.0))
    stations = Stations(problem, 1.0, LatenessLimits(0.8, 0.0))
    totals = stations.totals([2, 2])
    for count in (2, 3, 7):
        rates = stations.arrivals(1, count, totals)
        assert rates.sum() == pytest.approx(120.0)
        assert stations.busiest(1, count, totals) in (60.0, 120.0)
    placed = counts(problem)
    assert stations.holds(1, placed[1], stations.totals(placed))


@pytest.mark.parametrize("tasks", [None, 12])
def test_the_busiest_of_many_keys_is_the_largest_that_arrives(tasks):
    even = {"grouping": "fields", "keys": 1000, "key_skew": 0.9}
    graph = topology("a>b", streams={"a>b": even}, b={"tasks": tasks})
    stations = Stations(
        build(graph, cluster(M1=4), profile(a=1.0, b=1.0)), 1.0, LatenessLimits(0.8, 0.0)
    )
    totals = stations.totals([2, 2])
    for count in (1, 5, 12):
        assert stations.busiest(1, count, totals) == stations.arrivals(1, count, totals).max()


@given(less=problems(1, "demands"))
def test_more_load_never_has_fewer_executors(less):
    low, high = with_demand(less, 3.0), with_demand(less, 6.0)
    limits = LatenessLimits(0.8, 0.0)
    few = first_counts(Stations(low, 1.0, limits), 0.25, 60)
    many = first_counts(Stations(high, 1.0, limits), 0.25, 60)
    assert all(a <= b for a, b in zip(few, many, strict=True))


def test_more_demand_has_at_least_as_many_executors(both):
    found = [counts(with_demand(both, per_s), sleep=False) for per_s in (500, 5000, 12000, 20000)]
    for few, many in pairwise(found):
        assert all(a <= b for a, b in zip(few, many, strict=True))
    assert sum(found[0]) < sum(found[-1])
