"""What a plan predicts: the evaluator's numbers, and the gap to the bound."""

import pytest
from tests.builders import all_on, cluster, nasiri, place, profile, topology

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.predict import predict
from penstock.model.problem import build


def test_rates_loads_and_the_gap_to_the_bound():
    # One component on two machines, placed on one: half of the bound.
    problem = build(topology("a"), cluster(M1=2), profile(a=2.0, met=10.0))
    found, judged = predict(problem, all_on(problem), upper_bound(problem).scale)
    assert found.scale == judged.sustainable_scale == pytest.approx(45.0)
    assert found.rate_per_s == (("t", pytest.approx(45.0)),)
    assert found.gap == pytest.approx(0.5)
    assert not found.proven_optimal
    (load,) = found.machines  # only machines in use
    assert (load.machine, load.instances, load.cpu_points) == ("M1-1", 1, pytest.approx(100.0))
    assert load.memory_mb is None


def test_a_plan_at_the_bound_is_proven_optimal():
    problem = build(topology("a"), cluster(M1=2), profile(a=2.0, met=10.0))
    found, _ = predict(problem, place(problem, "a M1-1", "a M1-2"), upper_bound(problem).scale)
    assert found.proven_optimal
    assert found.gap == pytest.approx(0.0, abs=1e-9)


def test_a_plan_that_breaks_a_limit_is_not_proven_anything():
    graph = topology("a", a={"max_instances": 1})
    problem = build(graph, cluster(M1=2), profile(a=2.0, met=10.0))
    found, _ = predict(problem, place(problem, "a M1-1", "a M1-2"), upper_bound(problem).scale)
    assert found.scale == pytest.approx(90.0)  # more than the bound of 45
    assert found.violations == ("a: 2 instances, 1 available",)
    assert not found.proven_optimal


def test_without_a_bound_there_is_no_gap():
    problem = nasiri("linear", (1, 1, 1))
    found, _ = predict(problem, all_on(problem))
    assert found.gap is None
    assert found.bound_kind == ""


def test_without_rates_only_what_is_requested():
    graph = topology("a", a={"cpu_points": 30.0, "memory_mb": 100.0})
    problem = build(graph, cluster(M1=2))
    found, judged = predict(problem, place(problem, "a M1-1", "a M1-1"))
    assert judged is None
    assert found.scale is None
    (load,) = found.machines
    assert (load.cpu_points, load.memory_mb) == (60.0, 200.0)
    assert load.utilisation == pytest.approx(0.6)


def test_what_costs_nothing_has_no_rate_to_predict():
    problem = build(topology("a>b"), cluster(M1=1), profile(a=0.0, b=0.0, met=1.0))
    found, _ = predict(problem, all_on(problem), upper_bound(problem).scale)
    assert found.scale is None
    assert found.bound_scale is None
    assert found.limited_by.startswith("nothing")
