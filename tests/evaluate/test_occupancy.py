"""What runs on a machine, what is full there, and what a tuple costs."""

from __future__ import annotations

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.evaluate.occupancy import occupancy
from penstock.model.problem import Problem, build
from penstock.model.terms import Terms
from penstock.report.pages.occupancy import component_sentences, machine_sentences


def unlike() -> Problem:
    """a costs 1 on M1 and 2 on M2; a core is half a machine; b costs nothing but memory."""
    kinds = {"core_points": 50.0, "memory_mb": 1000.0, "slots": 2}
    graph = topology("a>b", b={"memory_mb": 400.0})
    costs = profile(a={"M1": 1.0, "M2": 2.0}, b=0.0)
    return build(graph, cluster(M1=2, M2=2, every=kinds), costs)


def test_a_machine_has_what_runs_there_and_what_is_left():
    problem = unlike()
    # a is divided evenly; the thread on M2-1 is full at 25 of 50 tuples/s, M1-1 then has 25 points.
    found = occupancy(problem, place(problem, "a M1-1", "a M2-1", "b M1-1", "b M1-1"))
    cpu, slots, memory = found.resources_of(0)
    assert (cpu.used, cpu.left) == (pytest.approx(25.0), pytest.approx(75.0))
    assert (slots.used, slots.available) == (1.0, 2.0)
    assert (memory.used, memory.part) == (800.0, 0.8)
    a, b = found.on(0)
    assert (a.instances, b.instances) == (1, 2)
    assert (a.rate_per_s, a.thread_load) == (pytest.approx(25.0), pytest.approx(0.5))
    assert [row.relative_cost for row in found.of(0)] == [1.0, 2.0]


def test_the_machine_that_limits_says_so():
    problem = unlike()
    found = occupancy(problem, place(problem, "a M1-1", "a M2-1", "b M1-1"))
    here = machine_sentences(found, 2)
    assert here[0].startswith("it limits the plan: one instance of a on M2-1 (M2) has its thread")
    assert here[1] == "full: a thread of a"
    # 25 points at 50 tuples/s: 100 at 200.
    assert machine_sentences(found, 0) == [
        "nothing here is full",
        "its CPU would be full at 200 tuples/s (300.0 % more than the plan carries)",
    ]


def test_an_idle_machine_says_why():
    problem = unlike()
    placed = place(problem, "a M1-1", "b M1-1")
    worth = machine_sentences(occupancy(problem, placed), 1)
    assert worth[1] == "at best a M1 is worth 100 tuples/s: another plan may use it"
    avoiding = problem.with_terms(Terms(avoid=("M2-2",)))
    assert machine_sentences(occupancy(avoiding, placed), 3) == [
        "nothing runs here: the plan is to avoid it"
    ]


def test_a_component_says_what_it_costs_where():
    problem = unlike()
    found = occupancy(problem, place(problem, "a M1-1", "a M2-1", "b M1-1"))
    assert component_sentences(found, 0) == [
        "takes in 50 tuples/s and uses 75.0 CPU points",
        "its busiest instance, on M2-1, uses 100.0 % of its thread",
        "CPU points per tuple/s: 1 on M1, 2 on M2",
    ]


def test_without_rates_requests_are_shown():
    asks = {"cpu_points": 20.0}
    problem = build(topology("a>b", a=asks, b=asks), cluster(M1=2)).with_counts([1, 2])
    found = occupancy(problem, place(problem, "a M1-1", "b M1-1", "b M1-2"))
    assert found.resources_of(0)[0].used == 40.0
    assert machine_sentences(found, 0) == ["nothing here is full"]
    assert component_sentences(found, 1)[0].startswith("asks for 40.0 CPU points")
