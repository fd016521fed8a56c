"""Short forms of what ``penstock bench simulator`` measures."""

from __future__ import annotations

import pytest

from penstock_bench.benchmarks import simulator
from penstock_bench.benchmarks.queue_theory import SERVICE_PER_S
from penstock_bench.benchmarks.simpy_peer import stations_with_simpy


@pytest.mark.slow
def test_the_peer_simulates_the_same_stations():
    """Two stations at load 0.5: 2 / (100 - 50) s in the system; three events a tuple."""
    events, stay_s, _ = stations_with_simpy(50.0, SERVICE_PER_S, 2, 2000.0, 1)
    assert stay_s == pytest.approx(2 / 50, rel=0.05)
    assert events == pytest.approx(3 * 50 * 2000, rel=0.02)


def test_random_runs_lose_no_tuple():
    assert list(simulator.tuples_missing(cases=6, seed=5)) == [0.0]


def test_ten_tuples_as_one_carry_as_much_and_wait_longer():
    assert next(simulator.batched(10, 40.0, "throughput")) < 2
    assert next(simulator.batched(10, 40.0, "latency")) > 3


def test_the_large_scenario_in_short():
    assert next(simulator.large(700, 30.0, "difference")) < 2
