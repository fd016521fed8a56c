"""What a plan says about how far its figures may be trusted."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import all_on, cluster, profile, topology

from penstock.evaluate.predict import predict
from penstock.model.cpu_form import CpuForm, FormKind
from penstock.model.plan import Plan
from penstock.model.problem import build
from penstock.model.profile import Cost, SpeedBasis, SpeedEstimate
from penstock.planning.cost_caveats import cost_caveats

ONE = cluster(M1=1, every={"cpu_points": 100.0})


def plan_with(**changes: object) -> Plan:
    """One spout of 1 point per tuple/s alone on a machine of 100: it carries 100 tuples/s."""
    cost: Cost = replace(profile(a=1.0, on=("M1",)).costs[0], **changes)
    problem = build(topology("a"), ONE, replace(profile(a=1.0, on=("M1",)), costs=(cost,)))
    placement = all_on(problem)
    predicted, _ = predict(problem, placement)
    return Plan(problem=problem, placement=placement, scheduler="hand", predicted=predicted)


def test_a_straight_line_that_was_measured_needs_no_word():
    assert cost_caveats(plan_with()) == []
    assert cost_caveats(plan_with(rate_most=90.0)) == []


def test_an_estimated_cost_is_named():
    assert cost_caveats(plan_with(extrapolated=True)) == [
        "estimated, never measured: the cost of a on M1"
    ]


def test_an_estimate_by_speed_says_from_what_and_how_far_it_may_be_off():
    # A standard error of 22.1 % is a factor of 1.221; 1.96 of them are a factor of 1.48.
    estimate = SpeedEstimate("any", 1.4, SpeedBasis.STATED)
    (note,) = cost_caveats(plan_with(extrapolated=True, estimate=estimate, e_error=0.221))
    assert note == (
        "estimated, never measured: costs on M1 (1.4 times as fast), from those measured on any by "
        "the speeds stated in the cluster; each may be off by a factor of 1.5 either way (95 %)"
    )


def test_a_line_for_a_bent_form_says_how_far_it_is_off():
    form = CpuForm(FormKind.SPINNING, 1.0, 0.0, spin=16.0, shape=20.0)
    (note,) = cost_caveats(plan_with(form=form, linear_error=0.12))
    assert "a on M1: measured as spinning" in note
    assert "off by up to 12 %" in note


def test_rates_beyond_the_measured_are_named():
    # 100 tuples/s planned, 50 measured.
    (note,) = cost_caveats(plan_with(rate_most=50.0))
    assert "a on M1 is to take 100 tuples/s per instance, measured up to 50" in note
