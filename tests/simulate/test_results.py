"""Intervals, warm-up and percentiles."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from tests.builders import build, cluster, place, profile, topology
from tests.simulate.runs import calm, simulated

from penstock.simulate.histogram import BUCKETS, middles_s, percentile_s
from penstock.simulate.intervals import interval
from penstock.simulate.latency_bucket import bucket
from penstock.simulate.patterns import Bursts, Steps, Wave
from penstock.simulate.scenario import Offered, ServiceTime
from penstock.simulate.warmup import looks_to_cut


def test_an_interval_is_student_s():
    """1, 2, 3: mean 2, deviation 1, t(2 degrees, 97.5 %) = 4.3027."""
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.half_width == pytest.approx(4.302653 / sqrt(3), rel=1e-6)
    assert interval([5.0]).half_width is None
    assert interval([1.0, float("nan"), 3.0]).mean == 2


def test_the_beginning_is_cut_where_it_differs():
    """Ten looks while queues fill, ninety settled: MSER-5 cuts the ten."""
    series = np.concatenate([np.linspace(0, 90, 10), 100 + np.tile([1.0, -1.0], 45)])
    assert looks_to_cut(series) == 10
    assert looks_to_cut(np.ones(100)) == 0
    assert looks_to_cut(np.arange(100.0)) <= 50


@pytest.mark.parametrize("seconds", [2e-9, 1e-6, 0.0123, 1.0, 77.7, 1e5])
def test_a_latency_is_found_again_within_a_percent(seconds):
    counts = np.zeros(BUCKETS, np.int64)
    counts[bucket(seconds)] += 1
    assert percentile_s(counts, 0.5) == pytest.approx(seconds, rel=0.008)
    assert (np.diff(middles_s()) > 0).all()


@pytest.mark.slow
def test_percentiles_of_an_exponential_stay():
    """M/M/1 at half load: the stay is exponential with mean 20 ms, p99 = 20 ln 100 = 92.1 ms."""
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=1.0, on=("M1",)))
    scenario = calm(1, 4000, service=ServiceTime(), queue_limit=None, acking=False,
                    offered=Offered(None, 50.0))  # fmt: skip
    measured = simulated(problem, place(problem, "a M1-1", "b M1-2"), scenario).measured
    assert measured.topologies[0].latency_ms == pytest.approx(20, rel=0.03)
    assert measured.topologies[0].latency_p50_ms == pytest.approx(13.86, rel=0.04)
    assert measured.topologies[0].latency_p99_ms == pytest.approx(92.1, rel=0.05)


def test_patterns_are_the_rates_they_say():
    times, factors = Bursts(10.0, 2.0, 3.0).steps(25.0)
    assert times.tolist() == [0, 10, 12, 20, 22]
    assert factors.tolist() == [1, 3, 1, 3, 1]
    times, factors = Wave(96.0, 0.2, 1.0).steps(96.0)
    assert factors.mean() == pytest.approx(0.6)
    assert times[np.argmax(factors)] in (47.0, 48.0)


def test_offered_rates_follow_their_steps():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=0.1, on=("M1",)))
    offered = Offered(None, 100.0, None, Steps(((0.0, 1.0), (10.0, 0.0), (20.0, 3.0))))
    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), calm(1, 30, offered=offered))
    rates = [one.topologies[0].offered_per_s for one in result.over_time]
    assert np.mean(rates[:10]) == pytest.approx(100, rel=0.1)
    assert np.max(rates[10:20]) == 0
    assert np.mean(rates[20:]) == pytest.approx(300, rel=0.1)
