"""Where queueing theory knows the answer. The long runs are in ``penstock bench simulator``."""

from __future__ import annotations

import pytest

from penstock.simulate.intervals import interval
from penstock.simulate.simulate import simulate_placement
from penstock_bench.benchmarks.queue_theory import MODELS
from penstock_bench.benchmarks.simulator import wait_and_queue

#: What 400,000 tuples at load 0.7 leave of chance.
WITHIN = 0.04


@pytest.mark.parametrize("name", MODELS)
def test_wait_and_queue_are_those_of_theory(name):
    model = MODELS[name]
    result = simulate_placement(
        model.problem(), model.placement(), model.scenario(0.7, 100_000), 1, runs=4
    )
    waits, queues = wait_and_queue(model, result)
    rate = model.arrival_per_s(0.7)
    assert interval(waits).mean == pytest.approx(model.wait_s(rate), rel=WITHIN)
    assert interval(queues).mean == pytest.approx(model.queue(rate), rel=WITHIN)


def test_theory_itself_on_worked_examples():
    """At 70 of 100 tuples/s: M/M/1 waits 0.7/30 s and holds 7/3; constant service waits half."""
    assert MODELS["M/M/1"].wait_s(70) == pytest.approx(0.7 / 30)
    assert MODELS["M/M/1"].queue(70) == pytest.approx(7 / 3)
    assert MODELS["M/D/1"].wait_s(70) == pytest.approx(0.35 / 30)
    # Wait of 0.35/30 s at 70/s is 0.8167 tuples, and 0.7 are in service.
    assert MODELS["M/D/1"].queue(70) == pytest.approx(0.81667 + 0.7, rel=1e-4)
    assert MODELS["Jackson"].queue(70) == pytest.approx(14 / 3)


def test_little_s_law_holds_in_every_run():
    """Tuples present are rate times stay, but for those present at the end."""
    model = MODELS["M/M/1"]
    result = simulate_placement(model.problem(), model.placement(), model.scenario(0.7, 50_000), 3)
    station = result.measured.components[1]
    assert station.present == pytest.approx(
        station.processed_per_s * station.stay_ms / 1e3, rel=0.01
    )
