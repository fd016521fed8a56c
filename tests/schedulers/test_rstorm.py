"""``rstorm``: Algorithms 1 to 4 on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import cluster, topology

from penstock.errors import InputError
from penstock.model.problem import Problem, build
from penstock.schedulers.base import Budget
from penstock.schedulers.rstorm import RStormScheduler

PLENTY = {"cpu_points": 100.0, "memory_mb": 1000.0}


def asked(instances: int, cpu: float, memory: float) -> dict[str, float]:
    return {"instances": instances, "cpu_points": cpu, "memory_mb": memory}


def places(problem: Problem, **settings) -> list[tuple[str, str]]:
    """(component, machine) of every instance, in the order of the placement."""
    outcome = RStormScheduler(**settings).solve(problem, Budget(), np.random.default_rng(0))
    assert outcome.placement is not None, outcome.shortfalls
    machines = [machine.name for machine in problem.cluster.machines]
    return [
        (problem.components[c].name, machines[m])
        for c, m in zip(outcome.placement.component, outcome.placement.machine, strict=True)
    ]


def test_tasks_gather_on_the_ref_node_while_it_has_memory():
    # All machines alike, so the first of the first rack is the ref node (most left, first of
    # equals) and is nearest for the first task. It then has less left, so it is nearer still to
    # what the next task needs, and 0 away from itself: all four tasks of 200 MB go there.
    graph = topology("a>b", a=asked(2, 10.0, 200.0), b=asked(2, 10.0, 200.0))
    problem = build(graph, cluster(every=PLENTY, M1=3))
    assert {machine for _, machine in places(problem)} == {"M1-1"}


def test_a_full_node_passes_the_next_task_to_its_rack_before_the_other():
    # 400 MB each: two fill M1-1 (1000 MB), the others go to the other machine of its rack.
    graph = topology("a>b", a=asked(2, 10.0, 400.0), b=asked(2, 10.0, 400.0))
    racks = {"M1-1": "near", "M1-2": "far", "M1-3": "near"}
    problem = build(graph, cluster(every=PLENTY, racks=racks, M1=3))
    assert {machine for _, machine in places(problem)} == {"M1-1", "M1-3"}


def test_tasks_come_breadth_first_one_of_each_component_in_turn():
    # Order by Algorithms 2 and 3: a, b, c, a, c. One machine holds three tasks of 300 MB: a, b, c
    # of the first turn share it, the second a and c share the next.
    graph = topology(
        "a>b>c", a=asked(2, 5.0, 300.0), b=asked(1, 5.0, 300.0), c=asked(2, 5.0, 300.0)
    )
    problem = build(graph, cluster(every=PLENTY, M1=2))
    assert places(problem) == [
        ("a", "M1-1"),
        ("a", "M1-2"),
        ("b", "M1-1"),
        ("c", "M1-1"),
        ("c", "M1-2"),
    ]


def test_the_ref_node_is_the_one_with_most_in_the_rack_with_most():
    # Rack two: 300 + 100 points, more than rack one's 100 + 100; its M2-1 has the most.
    every = {"memory_mb": 1000.0}
    racks = {"M1-1": "one", "M1-2": "one", "M1-3": "two", "M2-1": "two"}
    types = {"M1": {"cpu_points": 100.0}, "M2": {"cpu_points": 300.0}}
    graph = topology("a", a=asked(1, 300.0, 1000.0))
    problem = build(graph, cluster(every=every, types=types, racks=racks, M1=3, M2=1))
    assert places(problem) == [("a", "M2-1")]


def test_cpu_is_soft_and_memory_hard():
    # Three tasks of 60 points on one machine of 100: allowed, CPU goes below zero.
    graph = topology("a", a=asked(3, 60.0, 100.0))
    problem = build(graph, cluster(every=PLENTY, M1=1))
    assert len(places(problem)) == 3
    hard = RStormScheduler(hard="memory,cpu").solve(problem, Budget(), np.random.default_rng(0))
    assert hard.placement is None
    shortfall = hard.shortfalls[0]
    # One task leaves 40 points for the second's 60.
    assert (shortfall.resource, shortfall.needed, shortfall.available) == ("cpu_points", 60, 40)


def test_a_topology_is_placed_whole_or_not_at_all_and_says_what_is_missing():
    big = topology("a", name="big", a=asked(3, 10.0, 400.0))
    small = topology("b", name="small", b=asked(1, 10.0, 100.0))
    problem = build([big, small], cluster(every=PLENTY, M1=1))
    outcome = RStormScheduler().solve(problem, Budget(), np.random.default_rng(0))
    # Two of three 400 MB tasks would fit in 1000 MB; the third lacks 200. Nothing of it stays.
    assert [str(s) for s in outcome.shortfalls] == [
        "big/a: needs 400 memory_mb, 200 available on M1-1"
    ]
    assert outcome.placement.counts(2).tolist() == [0, 1]


def test_equal_memory_is_enough():
    problem = build(topology("a", a=asked(1, 10.0, 1000.0)), cluster(every=PLENTY, M1=1))
    assert places(problem) == [("a", "M1-1")]


def test_a_worker_over_its_heap_opens_another_slot():
    graph = topology("a", worker_max_heap_mb=250.0, a=asked(4, 1.0, 100.0))
    problem = build(graph, cluster(every=PLENTY, M1=1))
    outcome = RStormScheduler().solve(problem, Budget(), np.random.default_rng(0))
    # Two tasks of 100 MB fit a heap of 250: workers 0 and 1 hold two each.
    assert outcome.placement.slot.tolist() == [0, 0, 1, 1]


def test_a_worker_is_charged_at_least_the_floor():
    # Floor 50: one task of 10 points takes 50 of the 100; a second topology's takes the rest.
    graphs = [topology("a", name=n, a=asked(1, 10.0, 1.0)) for n in ("t1", "t2", "t3")]
    machines = cluster(every=PLENTY, worker_min_cpu_points=50.0, M1=1)
    problem = build(graphs, machines)
    outcome = RStormScheduler(hard="memory,cpu").solve(problem, Budget(), np.random.default_rng(0))
    assert [s.topology for s in outcome.shortfalls] == ["t3"]


@pytest.mark.parametrize(
    "settings", [{"hard": "disk"}, {"cpu_weight": -1}, {"memory_weight": np.nan}]
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(InputError, match="rstorm"):
        RStormScheduler(**settings)
