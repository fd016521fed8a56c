"""``default`` deals as Storm's EvenScheduler does: tasks by id, slots interleaved."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import cluster, topology

from penstock.errors import InputError
from penstock.model.problem import Problem, build
from penstock.schedulers.base import Budget
from penstock.schedulers.even import DefaultScheduler

ONE = {"cpu_points": 1.0, "instances": 1}
TWO = {"cpu_points": 1.0, "instances": 2}


def workers(problem: Problem, order: str = "task-id") -> dict[tuple[str, int], list[str]]:
    """What runs in each worker: (machine, slot) to component names."""
    outcome = DefaultScheduler(order).solve(problem, Budget(), np.random.default_rng(0))
    placement = outcome.placement
    found: dict[tuple[str, int], list[str]] = {}
    for c, m, s in zip(placement.component, placement.machine, placement.slot, strict=True):
        key = (problem.cluster.machines[m].name, int(s))
        found.setdefault(key, []).append(problem.components[c].name)
    return found


def test_tasks_are_numbered_by_component_id():
    # Task ids: count 1, 2; split 3; zspout 4 (alphabetical). Two workers: 1 and 3, 2 and 4.
    graph = topology("zspout>split>count", workers=2, zspout=ONE, split=ONE, count=TWO)
    problem = build(graph, cluster(M1=2))
    assert workers(problem) == {
        ("M1-1", 0): ["split", "count"],
        ("M1-2", 0): ["zspout", "count"],
    }


def test_declared_order_deals_as_the_file_says():
    # zspout, split, count, count: the first and third, the second and fourth.
    graph = topology("zspout>split>count", workers=2, zspout=ONE, split=ONE, count=TWO)
    problem = build(graph, cluster(M1=2))
    assert workers(problem, "declared") == {
        ("M1-1", 0): ["zspout", "count"],
        ("M1-2", 0): ["split", "count"],
    }


def test_storms_ackers_sort_by_their_own_id():
    # "__acker" stands before lower-case names ("_" is 0x5F, "a" 0x61), after upper-case ones.
    acker = {**ONE, "kind": "acker"}
    graph = topology("Src>bolt bolt>zz", workers=3, Src=ONE, bolt=ONE, zz=acker)
    problem = build(graph, cluster(M1=3))
    # Src 1, __acker 2, bolt 3.
    assert workers(problem) == {("M1-1", 0): ["Src"], ("M1-2", 0): ["zz"], ("M1-3", 0): ["bolt"]}


def test_slots_are_interleaved_over_machines_those_with_more_first():
    # M1 has 1 slot, M2 has 3: order M2-1:0, M1-1:0, M2-1:1, M2-1:2. Five workers asked, four are.
    types = {"M1": {"slots": 1}, "M2": {"slots": 3}}
    graph = topology("a>b>c>d>e", workers=5, **dict.fromkeys("abcde", ONE))
    problem = build(graph, cluster(types=types, M1=1, M2=1))
    assert workers(problem) == {
        ("M2-1", 0): ["a", "e"],
        ("M1-1", 0): ["b"],
        ("M2-1", 1): ["c"],
        ("M2-1", 2): ["d"],
    }


def test_a_second_topology_gets_the_slots_that_are_left():
    # Two machines of two slots. The first topology's three workers take M1-1:0, M1-2:0, M1-1:1;
    # the second, which asks for two, finds only M1-2:1.
    first = topology("a>b>c", name="first", workers=3, a=ONE, b=ONE, c=ONE)
    second = topology("d>e", name="second", workers=2, d=ONE, e=ONE)
    problem = build([first, second], cluster(every={"slots": 2}, M1=2))
    assert workers(problem) == {
        ("M1-1", 0): ["a"],
        ("M1-2", 0): ["b"],
        ("M1-1", 1): ["c"],
        ("M1-2", 1): ["d", "e"],
    }


def test_after_a_first_topology_the_machine_with_more_free_slots_comes_first():
    # The first takes one slot of M1-1; M1-2 then has more free and is dealt first.
    first = topology("a", name="first", workers=1, a=ONE)
    second = topology("b>c", name="second", workers=2, b=ONE, c=ONE)
    problem = build([first, second], cluster(every={"slots": 2}, M1=2))
    assert workers(problem) == {("M1-1", 0): ["a"], ("M1-2", 0): ["b"], ("M1-1", 1): ["c"]}


def test_without_a_worker_count_a_machine_gives_one_slot_even_where_another_has_none():
    # The first topology takes M1-1's only slot. M2-1 has two left; the second uses one of them.
    types = {"M1": {"slots": 1}, "M2": {"slots": 3}}
    first = topology("a>b", name="first", workers=2, a=ONE, b=ONE)
    second = topology("c>d", name="second", c=ONE, d=ONE)
    problem = build([first, second], cluster(types=types, M1=1, M2=1))
    assert workers(problem) == {("M2-1", 0): ["a"], ("M1-1", 0): ["b"], ("M2-1", 1): ["c", "d"]}


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError, match="task-id or declared"):
        DefaultScheduler("random")
