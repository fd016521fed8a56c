"""The independent plan checker: silent on right plans, and it says what is wrong with others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.builders import cluster, place, profile, topology

from penstock import app
from penstock.model.plan import Plan, Prediction
from penstock.model.problem import build
from penstock_bench.contract.plan_check import plan_faults

# a and b cost 1 point per tuple/s each: 100 points carry 50/s together, 100/s apart.
PROBLEM = build(topology("a>b"), cluster(M1=2, every={"slots": 1}), profile(a=1.0, b=1.0))
APART = place(PROBLEM, "a M1-1", "b M1-2")


def plan(scale: float = 100.0, rate: float = 100.0, bound: float = 100.0, placement=APART) -> Plan:
    said = Prediction(rate_per_s=(("t", rate),), scale=scale, bound_scale=bound)
    return Plan(PROBLEM, placement, "by hand", predicted=said)


def test_a_right_plan_has_no_faults():
    assert plan_faults(plan()) == []


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["default", "hetero", "penstock"])
def test_what_schedulers_promise_is_carried(scheduler):
    made = app.plan(app.problem("diamond", "nasiri-testbed"), scheduler).plan
    assert made is not None
    assert plan_faults(made) == []


def test_a_promise_that_is_not_carried_is_a_fault():
    assert plan_faults(plan(scale=101.0, bound=200.0)) == [
        "promises a scale of 101.0, carries 100.0"
    ]
    together = place(PROBLEM, "a M1-1", "b M1-1")
    assert "carries 50.0" in plan_faults(plan(placement=together))[0]


def test_a_rate_of_a_topology_that_is_not_carried_is_a_fault():
    assert plan_faults(plan(rate=90.0)) == ["promises 90.0/s of t, carries 100.0/s"]


def test_more_than_the_bound_is_a_fault():
    assert plan_faults(plan(bound=99.0)) == ["promises 100.0, over its bound of 99.0"]


def test_a_number_that_is_none_is_a_fault():
    assert "the scale is nan" in plan_faults(plan(scale=float("nan")))


def test_a_slot_that_is_not_there_is_a_fault():
    beyond = replace_slot(APART, 3)
    assert plan_faults(plan(placement=beyond)) == ["M1-1 has no slot 3"]


def test_a_component_without_an_instance_is_a_fault():
    assert plan_faults(plan(placement=place(PROBLEM, "a M1-1"))) == ["t/b has no instance"]


def test_two_topologies_in_one_slot_are_a_fault():
    graphs = (topology("a", name="x"), topology("b", name="y"))
    problem = build(graphs, cluster(M1=1), profile(a=1.0, b=1.0))
    shared = Plan(problem, place(problem, "x/a M1-1", "y/b M1-1"), "by hand")
    assert plan_faults(shared) == ["M1-1 slot 0 is shared by two topologies"]


def test_memory_that_is_not_there_must_be_said():
    graph = topology("a", a={"memory_mb": 600.0, "max_instances": 2})
    problem = build(graph, cluster(M1=1, every={"memory_mb": 1000.0}), profile(a=1.0))
    both = place(problem, "a M1-1", "a M1-1")
    said = Prediction(rate_per_s=(("t", 100.0),), scale=100.0)
    silent = Plan(problem, both, "by hand", predicted=said)
    assert plan_faults(silent) == ["M1-1 has too little memory, and the plan does not say so"]
    honest = replace(said, violations=("M1-1: 1,200 MB memory of 1,000",))
    assert plan_faults(replace(silent, predicted=honest)) == []


def replace_slot(placement, slot):
    slots = placement.slot.copy()
    slots[0] = slot
    return type(placement).of(placement.component, placement.machine, slots)
