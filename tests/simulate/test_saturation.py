"""What goes through at saturation is the rate the cost model promises.

All examples with all schedulers are in ``penstock bench simulator``.
"""

from __future__ import annotations

import pytest
from tests.builders import build, cluster, place, profile, topology

from penstock import app
from penstock.evaluate.capacity import capacity
from penstock.evaluate.overload import overload
from penstock.simulate.scenario import Offered, Scenario, ServiceTime, Shape, Sharing
from penstock.simulate.simulate import simulate_placement
from penstock_bench.benchmarks.simulator import saturation_error_percent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "scheduler"),
    [
        ("linear", "optimal"),  # all machines full at once
        ("diamond", "default"),
        ("star", "hetero"),
        ("rollingcount", "hetero"),  # selectivity 10
        ("wordcount", "default"),  # skewed keys, a full thread
        ("pageload", "lcstream"),  # racks and network cards
        ("topn", "default"),  # regions, global grouping
    ],
)
def test_saturation_is_the_sustainable_rate(example, scheduler):
    plan = app.plan(app.problem(example), scheduler).plan
    assert abs(saturation_error_percent(plan, Sharing.BY_PLAN, 60)) < 1.5


def test_weighted_shares_saturate_at_their_rate():
    problem = app.problem("linear", "nasiri-testbed", weighted=True)
    plan = app.plan(problem, "penstock").plan
    assert plan.placement.has_shares
    assert abs(saturation_error_percent(plan, Sharing.BY_PLAN, 60)) < 1.5


def test_equal_sharing_starves_a_thread_that_needs_its_whole_core():
    """Two cores; hot needs a whole one and three others 1/3 of one each: together exactly full.

    By plan hot always gets its core. In equal parts it gets less whenever more than one of the
    others is busy, and can never catch up: what the cost model promises is then not reached.
    """
    problem = build(
        topology("a>hot a>b a>c a>d"),
        cluster(M1=2, every={"cpu_points": 200.0, "core_points": 100.0}),
        profile(a=0.0, hot=3.0, b=1.0, c=1.0, d=1.0, on=("M1",)),
    )
    placement = place(problem, "a M1-2", "hot M1-1", "b M1-1", "c M1-1", "d M1-1")
    rate = capacity(problem, placement).scale
    assert rate == pytest.approx(100 / 3)
    base = Scenario(duration_s=1500, sample_s=10, warmup_s=500, acking=False, queue_limit=None)
    got = {}
    for sharing in Sharing:
        scenario = Scenario(
            **{**base.__dict__, "sharing": sharing, "offered": Offered(None, None, 300)}
        )
        got[sharing] = simulate_placement(problem, placement, scenario).measured.completed_per_s
    assert got[Sharing.BY_PLAN] == pytest.approx(rate, rel=0.01)
    assert got[Sharing.EQUAL] < 0.97 * rate


def test_too_much_without_back_pressure_is_what_the_cost_model_says():
    """1.5 times the sustainable rate, queues without limit: every component at its fixed point."""
    plan = app.plan(app.problem("diamond", "nasiri-testbed"), "hetero").plan
    problem, placement = plan.problem, plan.placement
    offered = 1.5 * plan.predicted.scale
    scenario = Scenario(
        duration_s=200,
        warmup_s=50,
        offered=Offered(of_sustainable=None, per_s=offered),
        service=ServiceTime(Shape.DETERMINISTIC),
        acking=False,
        queue_limit=None,
    )
    measured = simulate_placement(problem, placement, scenario).measured
    expected = overload(problem, placement, offered).processed_per_s
    got = [component.processed_per_s for component in measured.components]
    assert got == pytest.approx(expected.tolist(), rel=0.02)
