"""The fluid model agrees with the engine where both run."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import build, cluster, place, profile, topology
from tests.simulate.runs import STEADY, calm, simulated

from penstock import app
from penstock.errors import InputError
from penstock.evaluate.overload import _share_fairly
from penstock.simulate.scenario import CutOff, Down, Scenario, Slow, WhenFull
from penstock.simulate.sharing_fluid import share_by_need
from penstock.simulate.variants import saturated


@pytest.mark.slow
@pytest.mark.parametrize("example", ["linear", "diamond", "star", "wordcount", "pageload"])
def test_both_carry_the_same_at_saturation(example):
    plan = app.plan(app.problem(example), "hetero").plan
    scenario = saturated(
        Scenario(duration_s=40, warmup_s=20, tuples_per_batch=20, service=STEADY),
        plan.problem,
        plan.placement,
    )
    fluid = simulated(plan.problem, plan.placement, scenario, fluid=True)
    rate = sum(rate for _, rate in plan.predicted.rate_per_s)
    assert fluid.measured.completed_per_s == pytest.approx(rate, rel=0.02)
    if example in ("linear", "diamond", "star"):
        exact = Scenario(**{**scenario.__dict__, "tuples_per_batch": 1})
        engine = simulated(plan.problem, plan.placement, exact)
        got = fluid.measured.throughput_per_s
        assert got == pytest.approx(engine.measured.throughput_per_s, rel=0.02)


def test_back_pressure_and_drops_agree_with_the_engine():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=2.0, on=("M1",)))
    placement = place(problem, "a M1-1", "b M1-2")
    waiting = calm(100, 20, queue_limit=10)
    dropping = calm(100, 20, queue_limit=10, when_full=WhenFull.DROP, acking=False)
    for scenario, field in ((waiting, "at_source"), (dropping, "lost")):
        engine = simulated(problem, placement, scenario)
        fluid = simulated(problem, placement, scenario, fluid=True)
        assert fluid.measured.completed_per_s == pytest.approx(50, rel=0.02)
        there, here = getattr(engine.balance, field), getattr(fluid.balance, field)
        assert here == pytest.approx(there, rel=0.05)


def test_a_core_runs_at_its_full_speed_whatever_the_plan_keeps_free():
    # A core of 50 points, a fifth kept free: planned for 40 tuples/s, and 48 still go through.
    machines = cluster(M1=1, headroom=0.2, every={"core_points": 50.0})
    problem = build(topology("a"), machines, profile(a=1.0, on=("M1",)))
    placement = place(problem, "a M1-1")
    for fluid in (False, True):
        got = simulated(problem, placement, calm(48, 60, queue_limit=None), fluid=fluid)
        assert got.measured.completed_per_s == pytest.approx(48, rel=0.02)


def test_a_machine_that_slows_down_and_one_that_dies():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=1.0, on=("M1",)))
    placement = place(problem, "a M1-1", "b M1-2")
    changes = (Slow(20.0, "M1-2", 0.5, 40.0), Down(70.0, "M1-2", 80.0))
    over_time = simulated(problem, placement, calm(80, 90, changes=changes), fluid=True).over_time
    rates = [one.completed_per_s for one in over_time]
    assert rates[30] == pytest.approx(50, rel=0.01)
    assert rates[50] == pytest.approx(100, rel=0.01)
    assert rates[75] == 0
    assert rates[88] == pytest.approx(100, rel=0.01)


def test_what_it_does_not_know_it_refuses():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=1.0, on=("M1",)))
    placement = place(problem, "a M1-1", "b M1-2")
    with pytest.raises(InputError, match="not CutOff; use the engine"):
        simulated(problem, placement, calm(1, changes=(CutOff(1.0, "rack-1"),)), fluid=True)


def test_it_divides_cpu_as_the_cost_model_does():
    rng = np.random.default_rng(1)
    for _ in range(50):
        machine = rng.integers(5, size=30)
        wanted = rng.random(30) * rng.choice([0.0, 1.0, 50.0], size=30)
        room = rng.random(5) * 100
        expected = _share_fairly(wanted, machine, room)
        assert share_by_need(wanted, machine, room) == pytest.approx(expected)
