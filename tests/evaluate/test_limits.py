"""Hard limits, each broken once with the numbers worked out."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.builders import all_on, cluster, place, profile, topology
from tests.model.strategies import placed

from penstock.evaluate.limits import cpu_requested, memory_used, resources_used, violations
from penstock.evaluate.violation import Violation
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.model.resources import ResourceKind
from penstock_bench.contract.reference import Reference

FREE = profile(a=0.0, b=0.0, c=0.0)


def requesting(worker_min: float = 0.0, **machines: int) -> Problem:
    """No profile: each a asks for 30 points, each b for 4."""
    graph = topology("a>b", a={"cpu_points": 30.0}, b={"cpu_points": 4.0})
    return build(graph, cluster(**machines, worker_min_cpu_points=worker_min))


def test_a_placement_within_all_limits_breaks_none():
    problem = build(topology("a>b"), cluster(M1=1, every={"memory_mb": 1.0, "slots": 1}), FREE)
    assert violations(problem, all_on(problem)) == ()


def test_memory_of_instances_and_workers():
    # 2 * 100 + 2 workers of 50 on M1-1; one worker and one instance on M1-2.
    problem = build(
        topology("a>b", a={"memory_mb": 100.0}),
        cluster(M1=2, every={"memory_mb": 280.0, "worker_memory_mb": 50.0}),
        FREE,
    )
    placement = place(problem, "a M1-1/0", "a M1-1/1", "b M1-2")
    assert memory_used(problem, placement).tolist() == [300.0, 50.0]
    assert violations(problem, placement) == (Violation("MB memory", "M1-1", 300.0, 280.0),)


def test_memory_that_just_fits_is_no_violation():
    problem = build(
        topology("a", a={"memory_mb": 0.1}), cluster(M1=1, every={"memory_mb": 0.3}), FREE
    )
    # 0.1 + 0.1 + 0.1 is a little more than 0.3 in floating point.
    assert violations(problem, place(problem, *["a M1-1"] * 3)) == ()


def test_slots_are_counted_from_zero():
    problem = build(topology("a"), cluster(M1=1, every={"slots": 2}), FREE)
    assert violations(problem, place(problem, "a M1-1/1")) == ()
    assert violations(problem, place(problem, "a M1-1/2")) == (Violation("slots", "M1-1", 3, 2),)


def test_the_heap_of_a_worker_holds_what_is_not_off_heap():
    # a is 100 MB of which 30 off the heap: two of them 140, one 70.
    problem = build(
        topology("a", worker_max_heap_mb=128.0, a={"memory_mb": 100.0, "offheap_mb": 30.0}),
        cluster(M1=1),
        FREE,
    )
    placement = place(problem, "a M1-1/0", "a M1-1/1", "a M1-1/1")
    assert violations(problem, placement) == (
        Violation("MB worker heap", "M1-1 slot 1", 140.0, 128.0),
    )


def test_a_heap_limit_holds_for_its_own_topology_only():
    limited = topology("a", name="x", worker_max_heap_mb=10.0, a={"memory_mb": 10.0})
    free = topology("b", name="y", b={"memory_mb": 500.0})
    problem = build((limited, free), cluster(M1=2), FREE)
    assert violations(problem, place(problem, "x/a M1-2/1", "y/b M1-2/0", "y/b M1-1/1")) == ()


def test_a_slot_serves_one_topology():
    problem = build((topology("a", name="x"), topology("b", name="y")), cluster(M1=2), FREE)
    shared = place(problem, "x/a M1-2/1", "y/b M1-2/1")
    found = violations(problem, shared)
    assert found == (Violation("topologies in one slot", "M1-2 slot 1", 2, 1),)


@pytest.mark.parametrize("limit", [{"max_instances": 2}, {"tasks": 2}])
def test_no_more_instances_than_allowed(limit):
    problem = build(topology("a", a=limit), cluster(M1=1), FREE)
    found = violations(problem, place(problem, *["a M1-1"] * 3))
    assert found == (Violation("instances", "a", 3.0, 2.0),)


def test_a_placed_topology_has_every_component():
    problem = build(topology("a>b"), cluster(M1=1), FREE)
    found = violations(problem, place(problem, "a M1-1"))
    assert found == (Violation("instance at least", "b", 1.0, 0.0),)


def test_a_topology_refused_as_a_whole_breaks_nothing():
    problem = build((topology("a", name="x"), topology("b", name="y")), cluster(M1=1), FREE)
    assert violations(problem, place(problem, "x/a M1-1")) == ()


def test_requests_are_a_hard_limit():
    # Four a ask for 120 of the 100 points.
    problem = requesting(M1=2)
    placement = place(problem, *["a M1-1"] * 4, "b M1-2")
    assert cpu_requested(problem, placement).tolist() == [120.0, 4.0]
    assert violations(problem, placement) == (Violation("CPU points", "M1-1", 120.0, 100.0),)


def test_requests_leave_the_headroom_free():
    graph = topology("a", a={"cpu_points": 30.0})
    problem = build(graph, cluster(M1=1, headroom=0.2))
    found = violations(problem, place(problem, *["a M1-1"] * 3))
    assert found == (Violation("CPU points", "M1-1", 90.0, 80.0),)


def test_a_worker_is_charged_at_least_the_floor():
    # M1-1: slot 0 holds 4 + 4 = 8, charged 10; slot 1 holds 30. M1-2: slot 2 holds 4, charged 10.
    problem = requesting(worker_min=10.0, M1=3)
    placement = place(problem, "b M1-1/0", "b M1-1/0", "a M1-1/1", "b M1-2/2")
    assert cpu_requested(problem, placement).tolist() == [40.0, 10.0, 0.0]


def test_measured_cpu_is_not_a_hard_limit():
    problem = build(
        topology("a", a={"cpu_points": 500.0}), cluster(M1=1), profile(a=1.0, met=200.0)
    )
    assert violations(problem, all_on(problem)) == ()


@given(placed())
def test_slots_of_random_placements_are_in_order(case: tuple[Problem, Placement]):
    problem, placement = case
    about_slots = [v for v in violations(problem, placement) if "slot" in v.resource]
    assert about_slots == Reference(problem, placement).slot_errors() == []


def test_a_violation_says_what_is_needed_and_what_there_is():
    text = str(Violation("MB memory", "M1-1", 300.0, 280.0))
    assert text == "M1-1: 300 MB memory, 280 available"


def gpus(soft: bool = False) -> Problem:
    """b asks for a GPU and 10 GB/s of disk; M1 has two GPUs and 15 GB/s."""
    graph = topology("a>b", b={"resources": (("disk", 10.0), ("gpu", 1.0))})
    types = {"M1": {"resources": (("disk", 15.0), ("gpu", 2.0))}, "M2": {}}
    machines = cluster(M1=1, M2=1, types=types)
    kinds = (ResourceKind("disk", "GB/s", soft=soft),)
    return build(graph, replace(machines, resources=kinds), FREE)


def test_a_resource_that_runs_out_is_named_with_its_unit():
    # Two b on M1-1: 20 GB/s of 15, two GPUs of two. M2-1 has no GPU.
    problem = gpus()
    crowded = place(problem, "a M2-1", "b M1-1", "b M1-1")
    assert [str(v) for v in violations(problem, crowded)] == ["M1-1: 20 GB/s disk, 15 available"]
    astray = place(problem, "a M1-1", "b M2-1")
    assert [str(v) for v in violations(problem, astray)] == [
        "M2-1: 10 GB/s disk, 0 available",
        "M2-1: 1 gpu, 0 available",
    ]


def test_of_a_soft_resource_more_may_be_used_than_there_is():
    problem = gpus(soft=True)
    crowded = place(problem, "a M2-1", "b M1-1", "b M1-1")
    assert resources_used(problem, crowded).tolist() == [[0.0, 20.0, 2.0], [0.0, 0.0, 0.0]]
    assert violations(problem, crowded) == ()
