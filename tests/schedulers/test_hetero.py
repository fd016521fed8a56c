"""``hetero``: Algorithms 1 and 2 of Nasiri et al.."""

import pytest
from tests.builders import (
    NASIRI_MET,
    SCENARIOS,
    SHAPES,
    cluster,
    nasiri,
    place,
    profile,
    solve,
    topology,
)

from penstock.errors import CycleError, InputError, NotMeasuredError
from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.model.problem import build
from penstock.model.profile import Cost, Profile
from penstock_bench.contract.reference import Reference


@pytest.mark.parametrize("machines", SCENARIOS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_papers_scenarios_are_carried_well(shape, machines):
    problem = nasiri(shape, machines, met=NASIRI_MET)
    outcome = solve(problem)
    scale = assess(problem, outcome.placement).sustainable_scale
    bound = upper_bound(problem).scale
    assert outcome.feasible
    assert 0.55 * bound < scale <= bound * (1 + 1e-9)


@pytest.mark.parametrize("machines", SCENARIOS[:3], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_machine_is_over_utilised(shape, machines):
    # By the reference, which adds up each machine on its own.
    problem = nasiri(shape, machines)
    placement = solve(problem).placement
    reference = Reference(problem, placement)
    scale = assess(problem, placement).sustainable_scale
    assert scale == pytest.approx(reference.scale, rel=1e-9)
    assert max(reference.machine_cpu(scale)) <= 100.0 * (1 + 1e-9)


def test_one_component_on_two_machines_by_hand():
    # e = 1, met = 10, R0 = 1. Over-utilised when R/N + 10 > 100 for an instance of its own machine.
    # R = 1, 2, 4, ..., 64: fine (7 rounds). R = 128: 138 > 100, a second instance at 64 costs 74;
    # M1-1 would have 74 + 74, M1-2 has room: (1, 1) (8). R = 128: fine (9).
    # R = 256: each 138; a third at 85.3 costs 95.3 and fits nowhere (10) -> Scale 2.
    # Scale 2: 128 fine (11), 192: each 106, a third at 64 costs 74, no room (12) -> Scale 4.
    # Scale 4: 128, 160 fine (14), 200: 110 (15) -> Scale 8: 160, 180 fine (17), 202.5 (18).
    # Scale 16, 32, 64, 128: 180 is fine, 180 * (1 + 1/Scale) is not (two rounds each: 26).
    # Scale 256: the same (28), and now R = 180.7 <= Scale: stop, and return R = 180.
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0, met=10.0))
    outcome = solve(problem)
    assert outcome.placement == place(problem, "a M1-1", "a M1-2")
    assert outcome.iterations == 28
    assert assess(problem, outcome.placement).sustainable_scale == pytest.approx(180.0)


def test_it_stops_where_one_more_instance_is_not_enough():
    # e = 1 on M1 and 2 on M2, met 0. First on M1, which is full at 100. At R > 100 a second
    # instance takes R/2 > 50: on M2 that costs 2 * R/2 > 100, on M1 R/2 + R/2 > 100. It fits
    # nowhere, so hetero stays with one instance, though (2, 1) would carry 150: a third each.
    problem = build(topology("a"), cluster(M1=1, M2=1), profile(a={"M1": 1.0, "M2": 2.0}))
    placement = solve(problem).placement
    assert placement == place(problem, "a M1-1")
    assert assess(problem, placement).sustainable_scale == pytest.approx(100.0)
    better = place(problem, "a M1-1", "a M1-1", "a M2-1")
    assert assess(problem, better).sustainable_scale == pytest.approx(150.0)


def test_the_first_assignment_is_where_each_costs_least():
    # One round only: the state at R0. Ties go to the first machine.
    costs = profile(a={"M1": 2.0, "M2": 1.0}, b={"M1": 1.0, "M2": 1.0}, met=1.0)
    problem = build(topology("a>b"), cluster(M1=2, M2=2), costs)
    outcome = solve(problem, iterations=1)
    assert outcome.placement == place(problem, "a M2-1", "b M1-1")
    assert outcome.interrupted


def test_the_hottest_task_of_the_machine_gets_the_instance():
    # a 1 and b 3 points: at R = 32 the machine is over (128); b is hottest. At 16 each it costs
    # 48: M1-1 would have 32 + 48 + 48, M1-2 has room.
    problem = build(topology("a>b"), cluster(M1=2), profile(a=1.0, b=3.0))
    outcome = solve(problem, iterations=7)  # R = 1, 2, 4, 8, 16, then 32: add, and 32 is fine
    assert outcome.placement == place(problem, "a M1-1", "b M1-1", "b M1-2")


def test_of_the_machines_with_room_the_cheapest_is_taken():
    # First on M2-1. At R = 128 a second instance takes 64: 76.8 points on M1-1, which has room
    # and comes first, but only 64 on M2-2.
    costs = profile(a={"M1": 1.2, "M2": 1.0})
    problem = build(topology("a"), cluster(M1=1, M2=2), costs)
    outcome = solve(problem, iterations=9)  # R = 1, 2, ..., 64, then 128: add, and 128 is fine
    assert outcome.placement == place(problem, "a M2-1", "a M2-2")


def test_room_is_judged_at_the_new_lower_rate():
    # At R0 = 80 the one instance is beyond its core of 60. Two of 40 fill 80 of the machine's
    # 100 points; the old 80 and a new 40 would not have fitted.
    points = {"core_points": 60.0}
    problem = build(topology("a"), cluster(M1=1, every=points), profile(a=1.0))
    outcome = solve(problem, r0=80.0, iterations=2)
    assert outcome.placement == place(problem, "a M1-1", "a M1-1")


def test_max_instances_are_kept():
    graph = topology("a", a={"max_instances": 3})
    problem = build(graph, cluster(M1=10), profile(a=1.0, met=1.0))
    placement = solve(problem).placement
    assert placement.counts(1).tolist() == [3]
    assert assess(problem, placement).sustainable_scale == pytest.approx(297.0)


def test_a_full_thread_asks_for_another_instance():
    # Four cores of 25 on one machine: four instances of 24 tuples/s each.
    points = {"core_points": 25.0}
    problem = build(topology("a"), cluster(M1=1, every=points), profile(a=1.0, met=1.0))
    placement = solve(problem).placement
    assert placement.counts(1).tolist() == [4]
    assert assess(problem, placement).sustainable_scale == pytest.approx(96.0)


def test_topologies_get_slots_of_their_own():
    graphs = (topology("a", name="x"), topology("b", name="y"))
    problem = build(graphs, cluster(M1=2, every={"slots": 2}), profile(a=1.0, b=1.0, met=1.0))
    placement = solve(problem).placement
    assert Reference(problem, placement).slot_errors() == []


def test_a_worker_is_paid_for_where_the_first_instance_opens_it():
    # Each machine pays 20 for the worker and 10 for the instance: 2 * 70.
    kind = {"worker_cpu_points": 20.0}
    problem = build(topology("a"), cluster(M1=2, every=kind), profile(a=1.0, met=10.0))
    placement = solve(problem).placement
    assert assess(problem, placement).sustainable_scale == pytest.approx(140.0)


@pytest.mark.parametrize("r0", [0.0, -1.0, float("nan"), float("inf")])
def test_r0_must_be_a_positive_number(r0):
    with pytest.raises(InputError, match="r0"):
        solve(nasiri("linear", (1, 1, 1)), r0=r0)


def test_per_machine_must_be_at_least_one():
    with pytest.raises(InputError, match="per_machine"):
        solve(nasiri("linear", (1, 1, 1)), per_machine=0)


def test_overheads_that_do_not_fit_are_a_shortfall():
    # Both components start on the one machine: 120 + 2 points at R0 = 1.
    problem = build(topology("a>b"), cluster(M1=1), profile(a=1.0, b=1.0, met=60.0))
    outcome = solve(problem)
    assert outcome.placement is None
    (shortfall,) = outcome.shortfalls
    assert (shortfall.resource, shortfall.machine) == ("cpu_points", "M1-1")
    assert (shortfall.needed, shortfall.available) == (pytest.approx(122.0), 100.0)


def test_a_shortfall_of_a_thread_needs_more_than_there_is():
    # 10 points a core, 20 needed at R0 = 1, and no second instance allowed.
    graph = topology("a", a={"max_instances": 1})
    problem = build(graph, cluster(M1=1, every={"core_points": 10.0}), profile(a=20.0))
    (shortfall,) = solve(problem).shortfalls
    assert (shortfall.needed, shortfall.available) == (20.0, 10.0)


def test_more_topologies_than_slots_is_a_shortfall():
    # One machine, two slots, three topologies: the third has nowhere to go.
    graphs = tuple(topology("a", name=name) for name in "xyz")
    problem = build(graphs, cluster(M1=1, every={"slots": 2}), profile(a=1.0))
    outcome = solve(problem)
    assert [s.resource for s in outcome.shortfalls] == ["slots"]
    if outcome.placement is not None:
        assert Reference(problem, outcome.placement).slot_errors() == []


def test_a_machine_that_cannot_even_carry_itself_is_left_alone():
    # M2 spends more on itself than it has; nothing runs there, so it cannot be over-utilised.
    kinds = {"M2": {"base_cpu_points": 150.0}}
    costs = profile(a={"M1": 1.0, "M2": 1.0}, met=10.0)
    problem = build(topology("a"), cluster(M1=2, M2=1, types=kinds), costs)
    placement = solve(problem).placement
    assert placement == place(problem, "a M1-1", "a M1-2")


def test_a_search_that_never_began_has_found_nothing_missing():
    outcome = solve(nasiri("linear", (1, 1, 1)), iterations=0)
    assert outcome.interrupted
    assert all(s.needed > s.available for s in outcome.shortfalls)


@pytest.mark.parametrize("met", [0.0, 1.0])
def test_work_that_costs_nothing_ends_the_search(met):
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=0.0, met=met))
    outcome = solve(problem)
    assert outcome.placement.counts(2).tolist() == [1, 1]


def test_free_idling_ends_the_search():
    # With met 0 an instance more always fits; per_machine ends it.
    problem = build(topology("a>b"), cluster(M1=2), profile(a=1.0, b=1.0))
    placement = solve(problem, per_machine=5).placement
    assert max(placement.machine.tolist().count(m) for m in (0, 1)) <= 5


def test_groupings_it_does_not_look_at_are_noted():
    graph = topology("a>b", streams={"a>b": {"grouping": "all"}})
    problem = build(graph, cluster(M1=1), profile(a=1.0, b=1.0))
    (note,) = solve(problem).notes
    assert "all" in note


def test_rates_need_a_profile():
    graph = topology("a", a={"cpu_points": 10.0})
    with pytest.raises(NotMeasuredError):
        solve(build(graph, cluster(M1=1)))


def test_rates_need_a_topology_without_cycles():
    problem = build(topology("s>a>b>a"), cluster(M1=1), profile(s=1.0, a=1.0, b=1.0))
    with pytest.raises(CycleError, match=r"a -> b|b -> a"):
        solve(problem)


def test_instances_that_cannot_help_are_not_added_until_nothing_fits():
    """The hottest task has 30 points whatever it handles, seven others 8.9 and one per tuple/s.

    At 1 tuple/s the machine that is cheap for all holds 30 + 7 x 9.9 = 99.3 points, at 2 tuples/s
    106.3; another instance of the hottest leaves its 30 points there. As written, 30 other machines
    are filled with three each, 90 rounds, and again at 1.5 tuples/s.
    """
    others = [f"b{letter}" for letter in "abcdefg"]
    costs = (
        Cost(name, kind, e=0.0 if name == "hot" else e, met=30.0 if name == "hot" else 8.9)
        for name in ("hot", *others)
        for kind, e in (("M1", 1.0), ("M2", 100.0))
    )
    graph = topology(" ".join(f"hot>{name}" for name in others))
    problem = build(graph, cluster(M1=1, M2=30), Profile("mine", tuple(costs)))
    found = solve(problem, iterations=20)
    assert not found.interrupted
    assert found.placement is not None
    assert assess(problem, found.placement).sustainable_scale == pytest.approx(1.1)
