"""Executors told apart by the traffic that was measured between them; figures of the thesis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.builders import cluster, held_by_slot, profile, topology

import penstock
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.problem import Problem, build
from penstock.model.profile import StreamMeasure
from penstock.schedulers import Budget, executor_kinds, get
from penstock.schedulers.executor_groups import pairs_by_traffic
from penstock.schedulers.executor_kinds import ExecutorKinds, kinds_by_traffic
from penstock.schedulers.traffic import traffic_between

FIGURE = Path(__file__).parents[1] / "fixtures" / "thesis-fig-3-4"
#: The executors of the figure in the order of components and their instances.
EXECUTORS = "ABDCEF"


@pytest.fixture
def figure() -> Problem:
    """Fig. 3.4 from its files."""
    return penstock.problem(
        FIGURE / "topology.yaml", FIGURE / "cluster.yaml", FIGURE / "profile.yaml"
    )


def kinds(problem: Problem, topology: int = 0) -> ExecutorKinds:
    counts = [count or 1 for count in problem.counts_asked]
    traffic = traffic_between(problem, counts)
    return kinds_by_traffic(problem, topology, np.array(counts), traffic)


def held(problem: Problem, scheduler: str, **settings: object) -> tuple[dict[str, str], list[str]]:
    outcome = get(scheduler)(**settings).solve(problem, Budget(), np.random.default_rng(0))
    return held_by_slot(problem, outcome), list(outcome.notes)


def slots_of(problem: Problem, scheduler: str) -> dict[str, int]:
    """The slot of each executor of the figure, as the plan has it."""
    slots = penstock.plan(problem, scheduler).plan.placement.slot
    return dict(zip(EXECUTORS, slots.tolist(), strict=True))


def two_by_two(**changes: object) -> Problem:
    """a (tasks 1, 2) to b (3, 4), whose pairs 1-4 and 2-3 have all the traffic, on two workers."""
    traffic = InstanceTraffic(
        tasks=(("a", (1, 2)), ("b", (3, 4))), pairs=((1, 4, 9.0), (2, 3, 8.0)), topology="t"
    )
    costs = replace(
        profile(a=1.0, b=1.0, c=1.0),
        streams=(StreamMeasure("a", "b", tuples_per_s=17.0),),
        traffic=(replace(traffic, **changes),),
    )
    graph = topology("a>b", a={"instances": 2}, b={"instances": 2}, workers=2)
    return build(graph, cluster(M1=1, every={"slots": 10}), costs)


# -- the figures of the thesis, from files ------------------------------------------------------


def test_the_pairs_of_the_figure_are_sorted_as_in_its_table(figure: Problem):
    executors = kinds(figure)
    # Table 3.6: BE 9, DE 8, BC 7, EF 7, AB 6, CF 2, AD 1.
    named = [
        EXECUTORS[source] + EXECUTORS[target]
        for source, target in pairs_by_traffic(executors.pairs, executors.per_pair)
    ]
    assert named == ["BE", "DE", "BC", "EF", "AB", "CF", "AD"]


@pytest.mark.parametrize("scheduler", ["a3", "ban"])
def test_executors_of_one_component_go_where_their_own_traffic_is(figure: Problem, scheduler: str):
    # Three to a slot: B and E open (9), D has 8 with E. C and F are left to open the other, and A
    # has nothing to do with them but goes there. B and D are one component, C and E another.
    assert slots_of(figure, scheduler) == {"B": 0, "D": 0, "E": 0, "A": 1, "C": 1, "F": 1}


def test_the_cut_goes_between_executors(figure: Problem):
    # From A to F flow at most 7: all that A sends, 6 and 1. Into F go 9, so A is cut off; of the
    # cuts of 7 it is the only one, because B could send on 16 and D 8.
    slots = slots_of(figure, "gr")
    assert {name for name, slot in slots.items() if slot == slots["A"]} == {"A"}


def test_the_sums_of_the_streams_alone_cannot_tell_them_apart(figure: Problem):
    sums = replace(figure, profile=replace(figure.profile, traffic=()))
    # 24 between first and second: 6 a pair, as much as nothing else; spread evenly, C is as good
    # as E for B, and comes first.
    assert slots_of(sums, "a3") != slots_of(figure, "a3")


# -- who is who ---------------------------------------------------------------------------------


def test_instance_i_is_the_ith_task():
    placement = penstock.plan(two_by_two(), "a3").plan.placement
    # a: tasks 1, 2; b: 3, 4. 1 goes with 4, and 2 with 3.
    a1, a2, b3, b4 = placement.slot.tolist()
    assert a1 == b4 != a2 == b3


def test_a_plan_says_what_its_traffic_is():
    _, notes = held(two_by_two(), "a3")
    assert "traffic between executors as measured" in notes


def test_other_counts_than_measured_are_spread_evenly_and_a_note_says_so():
    problem = two_by_two(tasks=(("a", (1, 2)), ("b", (3, 4, 5))))
    found, notes = held(problem, "a3")
    without = replace(problem, profile=replace(problem.profile, traffic=()))
    assert found == held(without, "a3")[0]
    expected = (
        "traffic spread evenly over executors: instances differ from those measured: "
        "b (2 planned, 3 measured)"
    )
    assert expected in notes


def test_streams_of_components_that_match_stay_exact():
    # c has 2 instances, 1 was measured: b>c is spread, 4/4 a pair; a>b is not.
    traffic = InstanceTraffic(
        tasks=(("a", (1, 2)), ("b", (3, 4)), ("c", (5,))),
        pairs=((1, 4, 9.0), (2, 3, 8.0), (3, 5, 4.0)),
    )
    costs = replace(
        profile(a=1.0, b=1.0, c=1.0),
        streams=(
            StreamMeasure("a", "b", tuples_per_s=17.0),
            StreamMeasure("b", "c", tuples_per_s=4.0),
        ),
        traffic=(traffic,),
    )
    two = {"instances": 2}
    graph = topology("a>b>c", a=two, b=two, c=two, workers=2)
    executors = kinds(build(graph, cluster(M1=1), costs))
    assert executors.per_pair[:2, 2:4].tolist() == [[0, 9], [8, 0]]
    assert executors.per_pair[2:4, 4:].tolist() == [[1, 1], [1, 1]]
    assert "spread evenly where instances differ: c (2 planned, 1 measured)" in executors.notes


def test_a_task_too_many_is_nobody_elses():
    # b has 1 instance, 2 were measured: task 3 is not c's, although c's instance comes next.
    traffic = InstanceTraffic(
        tasks=(("a", (1,)), ("b", (2, 3)), ("c", (4,))), pairs=((1, 3, 9.0), (1, 4, 5.0))
    )
    sums = tuple(StreamMeasure("a", target, tuples_per_s=r) for target, r in (("b", 2), ("c", 5)))
    costs = replace(profile(a=1.0, b=1.0, c=1.0), streams=sums, traffic=(traffic,))
    executors = kinds(build(topology("a>b a>c"), cluster(M1=1), costs))
    # a, b, c: 2 by the sum, 5 by the pair.
    assert executors.per_pair[0].tolist() == [0, 2, 5]


def test_without_a_sum_to_spread_the_rate_model_speaks_for_all():
    traffic = InstanceTraffic(tasks=(("a", (1,)), ("b", (2,))), pairs=((1, 2, 9.0),))
    costs = replace(profile(a=1.0, b=1.0, c=1.0), traffic=(traffic,))
    problem = build(topology("a>b>c", c={"instances": 2}), cluster(M1=1), costs)
    executors = kinds(problem)
    assert executors.counts.tolist() == [1, 1, 2]
    assert executors.notes[0].endswith("c (2 planned, 0 measured)")


def test_each_topology_has_its_own_and_names_it():
    problem = two_by_two()
    other = topology("a>b", name="u", a={"instances": 1}, b={"instances": 1})
    both = build((*problem.topologies, other), problem.cluster, problem.profile)
    assert kinds(both, 0).notes == ("t: traffic between executors as measured",)
    # The profile's entry is for t only.
    assert kinds(both, 1).notes == ()


def test_a_profile_of_one_topology_is_for_any():
    assert kinds(two_by_two(topology="")).counts.tolist() == [1, 1, 1, 1]


def test_what_the_profile_leaves_out_and_guesses_is_told():
    # 17 listed, 3 not: 15 %.
    executors = kinds(two_by_two(pairs_left_out=2, left_out_per_s=3.0, estimated=True))
    assert executors.notes[1:] == (
        "traffic between executors is estimated: senders were not told",
        "15 % of the tuples go between pairs that the profile leaves out",
    )


def test_very_many_executors_count_as_alike(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executor_kinds, "MOST_EXECUTORS", 3)
    executors = kinds(two_by_two())
    assert executors.counts.tolist() == [2, 2]
    assert executors.notes == ("traffic spread evenly over executors: more than 3 executors",)


def test_a_streams_pairs_only_and_nobody_with_himself():
    # 3-1 goes against the stream, 1-2 is none, 3-3 is no pair.
    pairs = ((1, 4, 9.0), (3, 1, 5.0), (1, 2, 5.0), (3, 3, 5.0))
    executors = kinds(two_by_two(pairs=pairs))
    assert executors.pairs == [(0, 3)]
    assert executors.per_pair.sum() == 9
