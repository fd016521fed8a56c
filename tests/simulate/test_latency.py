"""Latencies when tuples are stuck, and percentiles that nobody can tell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.builders import build, cluster, place, profile, topology
from tests.simulate.runs import calm, simulated

from penstock.simulate.histogram import BUCKETS
from penstock.simulate.latency import PERCENTILES, latency_of, tuples_needed
from penstock.simulate.latency_bucket import bucket
from penstock.simulate.scenario import Down, Slow


@pytest.fixture
def pair():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=1.0, on=("M1",)))
    return problem, place(problem, "a M1-1", "b M1-2")


def histogram(*seconds: float) -> np.ndarray:
    counts = np.zeros(BUCKETS, np.int64)
    for one in seconds:
        counts[bucket(one)] += 1
    return counts


def test_tuples_stuck_at_a_dead_machine_count_with_their_age(pair):
    """50/s for 40 s; those of seconds 20 to 30 are lost and would time out from 50 s on.

    So 500 of 2,000 are 10 to 20 s old at the end: 1 % of all are over 19.6 s, 10 % over 16 s.
    """
    result = simulated(*pair, calm(50, 40, changes=(Down(20.0, "M1-2", 30.0),)))
    figures = result.measured.topologies[0]
    assert figures.awaiting_timeout == pytest.approx(500, abs=3)
    assert result.balance.awaiting_timeout == figures.awaiting_timeout
    assert figures.latency_p50_ms == pytest.approx(10, rel=0.01)
    assert figures.latency_p90_ms == pytest.approx(16_000, rel=0.02)
    assert figures.latency_p99_ms == pytest.approx(19_600, rel=0.02)
    # A quarter of all at 15 s on average, the others at 10 ms.
    assert figures.latency_ms == pytest.approx(3_757, rel=0.02)
    assert set(figures.at_least) == {"latency_ms", "latency_p90_ms", "latency_p99_ms"}
    assert result.balance.missing == 0


def test_once_they_are_sent_again_latencies_are_known(pair):
    """The same for long enough: the lost ones time out after 5 s, and nothing is a lower bound."""
    scenario = calm(
        50, 60, timeout_s=5.0, max_spout_pending=50, changes=(Down(20.0, "M1-2", 30.0),)
    )
    figures = simulated(*pair, scenario).measured.topologies[0]
    assert figures.awaiting_timeout == 0
    assert figures.latency_p99_ms > 5_000
    assert figures.at_least == ()


def test_tuples_stuck_in_a_queue_count_too(pair):
    """At 1 % of its speed b handles one tuple a second; the others wait for up to 20 s."""
    result = simulated(*pair, calm(50, 40, changes=(Slow(20.0, "M1-2", 0.01),)))
    figures = result.measured.topologies[0]
    assert figures.awaiting_timeout == 0
    assert figures.in_flight == pytest.approx(980, abs=5)
    # 1,000 of 2,000 became due in the last 20 s: 10 % of all are older than 16 s.
    assert figures.latency_p90_ms == pytest.approx(16_000, rel=0.03)
    assert "latency_p90_ms" in figures.at_least


def test_a_second_counts_only_what_became_due_in_it(pair):
    """Tuples that got stuck long ago say nothing about those of the last second."""
    result = simulated(*pair, calm(50, 40, changes=(Down(20.0, "M1-2", 30.0),)))
    medians = [moment.topologies[0].latency_p50_ms for moment in result.over_time]
    # All 50 of second 25 are stuck, half a second old at its end on average.
    assert medians[25] == pytest.approx(500, rel=0.1)
    assert medians[35] == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_unfinished_tuples_never_lower_a_figure(seed):
    rng = np.random.default_rng(seed)
    counts = [
        histogram(*rng.lognormal(mean, 2.0, size))
        for mean, size in zip(rng.normal(-3, 2, 2), rng.integers(1, 20_000, 2), strict=True)
    ]
    completed = int(counts[0].sum())
    alone = latency_of(completed, 1.5 * completed, counts[0], 0 * counts[0], 1e6)
    both = latency_of(completed, 1.5 * completed, *counts, 1e6)
    assert alone.at_least == ()
    for name in ("mean", *PERCENTILES):
        less, more = (getattr(one, f"{name}_ms") for one in (alone, both))
        assert math.isnan(less) or more >= less


def test_without_a_completed_tuple_ages_are_all_that_is_known():
    stuck = latency_of(0, 0.0, histogram(), histogram(*[3.0] * 20), 60.0)
    assert stuck.mean_ms == pytest.approx(3_000, rel=0.01)
    assert stuck.p50_ms == pytest.approx(3_000, rel=0.01)
    assert stuck.at_least == ("latency_ms", "latency_p50_ms")


def test_a_percentile_below_all_that_is_stuck_is_known():
    """60 fast, 30 slow, 10 stuck: the median and p90 are known, whatever becomes of the stuck."""
    completed, stuck = histogram(*[0.1] * 60, *[0.2] * 30), histogram(*[5.0] * 10)
    found = latency_of(900, 120.0, 10 * completed, 10 * stuck, 60.0)
    assert found.p50_ms == pytest.approx(100, rel=0.01)
    assert found.p90_ms == pytest.approx(200, rel=0.01)
    assert found.p99_ms == pytest.approx(5_000, rel=0.01)
    assert found.at_least == ("latency_ms", "latency_p99_ms")


@pytest.mark.parametrize(("name", "tuples"), [("p50", 20), ("p90", 100), ("p99", 1_000)])
def test_a_percentile_needs_ten_tuples_beyond_it(name, tuples):
    assert tuples_needed(name) == tuples
    for count in (tuples - 1, tuples):
        given = latency_of(count, 0.1 * count, histogram(*[0.1] * count), histogram(), 60.0)
        assert math.isnan(getattr(given, f"{name}_ms")) == (count < tuples)


def test_the_thousandth_part_is_not_told_of_a_second():
    many = histogram(*[0.1] * 20_000)
    for seconds, told in ((1.0, False), (10.0, True)):
        p999 = latency_of(20_000, 2_000.0, many, histogram(), seconds).p999_ms
        assert math.isnan(p999) != told
