"""Advice: what one more machine adds, which speed-up pays, what can go, how sure it is."""

from dataclasses import replace

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.errors import InputError
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.planning.advice import advise
from penstock.report.pages.advice import advice_sentences

pytestmark = pytest.mark.slow


def plan_of(problem: Problem, *instances: str) -> Plan:
    return Plan(problem, place(problem, *instances), "by hand")


def test_the_machine_and_the_speed_up_that_pay_most_come_first():
    # a: 1 point per tuple/s on M1, 4 on M2. Two M1 and one M2 carry 225; one more M1 325, one more
    # M2 250. All of them hold a alone, so a 10 % faster is 10 % more.
    problem = build(topology("a"), cluster(M1=2, M2=1), profile(a={"M1": 1.0, "M2": 4.0}))
    found = advise(plan_of(problem, "a M1-1", "a M1-2"))
    assert found.rate_per_s == pytest.approx(200.0)
    assert [change.what for change in found.one_more] == ["one more M1", "one more M2"]
    assert found.one_more[0].bound_per_s == pytest.approx(325.0)
    assert found.faster[0].what == "a 10 % faster"
    assert found.faster[0].gain == pytest.approx(0.1, abs=0.02)


def test_a_machine_that_the_rate_does_not_need_can_go():
    # One spout that may have one instance only: 100 tuples/s whatever there is.
    problem = build(topology("a", a={"max_instances": 1}), cluster(M1=3), profile(a=1.0))
    found = advise(plan_of(problem, "a M1-1"))
    assert dict(found.can_go) == {"M1": 2}
    assert "the same rate needs fewer machines: 2 M1 can go" in advice_sentences(found)
    assert found.one_more[0].gain == pytest.approx(0.0)
    assert dict(found.wasted) == {"M1": pytest.approx(1 / 3)}


def test_error_bars_become_a_range_of_rates():
    # e = 1 +- 1.96 * 0.1: 100 / 1.196 to 100 / 0.804.
    costs = tuple(
        replace(cost, e_error=0.1, met_error=0.0) for cost in profile(a=1.0, on=("M1",)).costs
    )
    problem = build(topology("a"), cluster(M1=1), replace(profile(a=1.0, on=("M1",)), costs=costs))
    found = advise(plan_of(problem, "a M1-1"))
    assert found.range_of_plan == pytest.approx((100 / 1.196, 100 / 0.804))
    assert found.range_of_best == pytest.approx((100 / 1.196, 100 / 0.804))


def test_without_error_bars_it_says_that_the_uncertainty_is_not_known():
    problem = build(topology("a"), cluster(M1=1), profile(a=1.0))
    found = advise(plan_of(problem, "a M1-1"))
    assert found.range_of_plan is None
    assert advice_sentences(found)[-1].startswith("the uncertainty is not known")


def test_advice_needs_rates():
    problem = build(topology("a", a={"cpu_points": 1.0}), cluster(M1=1))
    with pytest.raises(InputError, match="needs rates"):
        advise(plan_of(problem, "a M1-1"))
