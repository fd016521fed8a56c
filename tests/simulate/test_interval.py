"""The interval model agrees with the fluid model and the event engine where all run."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from tests.builders import build, cluster, place, profile, topology
from tests.simulate.runs import simulated

from penstock.simulate.interval import EnginePauses, IntervalModel, drawn_pause
from penstock.simulate.patterns import Steps
from penstock.simulate.scenario import Arrivals, Offered, Scenario

#: One machine of 100 points, one point per tuple: 100 tuples/s.
PROBLEM = build(topology("a"), cluster(M1=2), profile(a=1.0, on=("M1",), met=0.0))
PLACEMENT = place(PROBLEM, "a M1-1")
TWO = place(PROBLEM, "a M1-1", "a M1-2")


def backlogs(model: IntervalModel, rates: list[float], step_s: float = 10.0) -> list[float]:
    return [model.step(rate, step_s).backlog for rate in rates]


def test_what_is_over_capacity_waits_and_drains():
    model = IntervalModel(PROBLEM, PLACEMENT)
    # 50 tuples/s too many for 20 s, then 40 tuples/s room: 1000, then 400 less every 10 s.
    assert backlogs(model, [150, 150, 60, 60, 60]) == pytest.approx([500, 1000, 600, 200, 0])


def test_a_pause_stops_everything_for_its_length():
    model = IntervalModel(PROBLEM, PLACEMENT)
    model.change(TWO, pause_s=15.0)
    first = model.step(80, 10)
    assert first.processed == 0
    assert isnan(first.latency_s)  # a missing value, which counts as over any target
    # 5 s more: 1200 wait, then 5 s at 200/s with 80/s coming: 600 left.
    second = model.step(80, 10)
    assert second.backlog == pytest.approx(600)
    # The first one done after the pause came at its beginning, 15 s ago, the last one 7.5 s ago;
    # and 10 ms of work take, at a load of 0.98, 1.5 s in the slowest of twenty.
    assert second.latency_s == pytest.approx(15 - 0.05 * (15 - 7.5) + 1.5, abs=0.1)


def test_a_lost_machine_takes_tuples_until_it_is_noticed():
    model = IntervalModel(PROBLEM, TWO, latency_limit_s=5.0)
    model.lose(np.array([False, True]))
    # Half of all tuples go there and fail: of 200 tuples/s 100 count.
    sample = model.step(120, 10)
    assert sample.backlog == pytest.approx(200)
    assert sample.latency_s >= 30  # they come back after their time-out
    assert sample.late >= 0.5 * sample.processed


def test_a_slow_machine_limits_the_plan():
    model = IntervalModel(PROBLEM, TWO)
    model.slow(1, 0.6)
    # Both get the same; the slow one is full at 60 of its own, 120 tuples/s together.
    assert model.carries_per_s == pytest.approx(120)
    model.slow(1, 1.0)
    assert model.carries_per_s == pytest.approx(200)


def test_pauses_are_drawn_around_their_mean():
    pauses = EnginePauses(spread=0.25)
    drawn = [drawn_pause(12.0, pauses, lambda x=x: x) for x in (0.0, 0.5, 1.0)]
    assert drawn == [9.0, 12.0, 15.0]


@pytest.mark.slow
@pytest.mark.parametrize("fluid", [True, False])
def test_backlog_follows_the_other_models(fluid):
    rates = [80.0] * 6 + [150.0] * 6 + [60.0] * 12
    levels = ((0.0, 0.8), (60.0, 1.5), (120.0, 0.6))
    scenario = Scenario(
        duration_s=240.0,
        warmup_s=0.0,
        sample_s=10.0,
        offered=Offered(None, 100.0, None, Steps(levels), Arrivals.EVEN),
        queue_limit=None,
        acking=False,
    )
    theirs = simulated(PROBLEM, PLACEMENT, scenario, fluid=fluid).runs[0].looks[1:]
    waiting = [float(look.present.sum()) for look in theirs]
    ours = backlogs(IntervalModel(PROBLEM, PLACEMENT), rates)
    # 3000 wait at the worst; chance in service times moves the engine's by some tuples.
    np.testing.assert_allclose(ours, waiting, atol=10 if fluid else 150)


@pytest.mark.slow
def test_latency_below_capacity_is_that_of_the_engine():
    scenario = Scenario(
        duration_s=600.0, warmup_s=60.0, sample_s=60.0, offered=Offered(None, 80.0), acking=False
    )
    engine = simulated(PROBLEM, PLACEMENT, scenario)
    # M/M/1 at a load of 0.8: the mean is 1/(100 - 80) = 50 ms, its 95th percentile 3 times that.
    ours = IntervalModel(PROBLEM, PLACEMENT).step(80, 60).latency_s
    assert ours == pytest.approx(0.150, rel=0.01)
    assert ours == pytest.approx(3.0 * engine.measured.topologies[0].latency_ms / 1e3, rel=0.15)
