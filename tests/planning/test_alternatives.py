"""Why an instance is where it is: the limits and scores of the other machines."""

from __future__ import annotations

import pytest
from tests.builders import cluster, profile, topology

from penstock.evaluate.assess import assess
from penstock.model.placement import Placement
from penstock.model.problem import build
from penstock.planning.alternatives import explain


def by_name(found):
    names = [machine.name for machine in found.problem.cluster.machines]
    return {names[a.machine]: a for a in found.alternatives}


def test_every_other_machine_says_what_it_lacks_or_what_it_is_worth():
    # a costs 1 point per tuple/s on M1, 2 on M2; b 1 everywhere. Each alone on an M1: 100/s.
    graph = topology("a>b", a={"memory_mb": 300.0})
    types = {"M2": {"memory_mb": 200.0}}
    problem = build(
        graph, cluster(types=types, M1=3, M2=1), profile(a={"M1": 1.0, "M2": 2.0}, b=1.0)
    )
    placement = Placement.of([0, 1], [0, 1])
    found = explain(problem, placement, 0)
    assert found.scale == pytest.approx(100.0)
    assert found.cpu_on_type.tolist() == [100.0, 200.0]
    others = by_name(found)
    # M1-2 is full with b; together they carry half: 1 + 1 points per tuple/s on 100.
    assert (others["M1-2"].lacks.resource, others["M1-2"].lacks.available) == ("cpu_points", 0.0)
    assert others["M1-2"].scale == pytest.approx(50.0)
    # M1-3 is empty and just like home.
    assert others["M1-3"].lacks is None
    assert others["M1-3"].scale == pytest.approx(100.0)
    # M2-1 has 200 MB for an instance of 300.
    assert (others["M2-1"].lacks.resource, others["M2-1"].lacks.needed) == ("memory_mb", 300.0)
    assert others["M2-1"].scale is None


def test_a_machine_without_a_free_slot_says_so():
    graphs = [topology("a", name="t1"), topology("b", name="t2")]
    problem = build(graphs, cluster(every={"slots": 1}, M1=2), profile(a=1.0, b=1.0))
    found = explain(problem, Placement.of([0, 1], [0, 1]), 0)
    assert by_name(found)["M1-2"].lacks.resource == "slots"


def test_scores_are_those_of_the_cost_model():
    problem = build(
        topology("low>mid>high"), cluster(M1=2), profile(met=1.5, low=0.1, mid=0.2, high=0.3)
    )
    placement = Placement.of([0, 1, 2], [0, 0, 1])
    found = explain(problem, placement, 1)
    moved = assess(problem, Placement.of([0, 1, 2], [0, 1, 1]))
    assert by_name(found)["M1-2"].scale == pytest.approx(moved.scale)
    # low and mid on one machine, high on the other: one of two hops leaves its process.
    assert found.remote == pytest.approx(0.5)


def test_without_rates_requests_are_held_against_what_is_free():
    graph = topology(
        "a>b", a={"cpu_points": 60.0, "instances": 1}, b={"cpu_points": 50.0, "instances": 1}
    )
    problem = build(graph, cluster(M1=2))
    found = explain(problem, Placement.of([0, 1], [0, 1]), 0)
    lacks = by_name(found)["M1-2"].lacks
    assert (lacks.resource, lacks.needed, lacks.available) == ("cpu_points", 60.0, 50.0)
    assert found.scale is None
