"""``default``: Storm's EvenScheduler, with the vectors of the thesis."""

import pytest
from tests.builders import cluster, machine_names, profile, solve, topology

from penstock.errors import InputError
from penstock.model.cluster import Cluster
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem, build
from penstock.model.topology import Topology

ONE = profile(a=1.0, b=1.0, c=1.0, d=1.0)


def counted(shape: str, *counts: int, **options) -> Topology:
    """A topology with these instance counts, one where none is given."""
    names = list(dict.fromkeys(shape.replace(" ", ">").split(">")))
    given = dict(zip(names, counts or (1,) * len(names), strict=True))
    return topology(shape, **options, **{name: {"instances": n} for name, n in given.items()})


def placed(graphs: Topology | tuple[Topology, ...], machines: Cluster) -> tuple[Problem, Outcome]:
    problem = build(graphs, machines, ONE)
    return problem, solve(problem, "default")


def workers_of(problem: Problem, outcome: Outcome, topology: int) -> list[tuple[str, int]]:
    """(machine, slot) of each instance of a topology, in their order."""
    placement = outcome.placement
    mine = problem.topology_of[placement.component] == topology
    names = [problem.cluster.machines[m].name for m in placement.machine[mine]]
    return list(zip(names, placement.slot[mine].tolist(), strict=True))


def test_the_thesis_vector():
    # Thesis 1.2.1: Spout A -> Bolt A -> B -> C on two nodes: {Spout A, Bolt B}, {Bolt A, Bolt C}.
    problem, outcome = placed(counted("a>b>c>d"), cluster(M1=2))
    where = {label: machine_names(problem, outcome.placement, label) for label in "abcd"}
    assert where == {"a": ["M1-1"], "b": ["M1-2"], "c": ["M1-1"], "d": ["M1-2"]}
    assert outcome.placement.slot.tolist() == [0, 0, 0, 0]
    assert outcome.feasible


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 10])
def test_three_workers_on_three_nodes_whatever_the_slots(slots):
    graph = counted("a>b>c", 2, 3, 4, workers=3)
    problem, outcome = placed(graph, cluster(M1=3, every={"slots": slots}))
    # aabbbcccc dealt over M1-1, M1-2, M1-3.
    assert machine_names(problem, outcome.placement, "a") == ["M1-1", "M1-2"]
    assert machine_names(problem, outcome.placement, "b") == ["M1-3", "M1-1", "M1-2"]
    assert machine_names(problem, outcome.placement, "c") == ["M1-3", "M1-1", "M1-2", "M1-3"]
    assert outcome.placement.workers == ((0, 0), (1, 0), (2, 0))


def test_without_a_worker_count_there_is_one_worker_per_machine():
    _, outcome = placed(counted("a", 8), cluster(M1=3))
    assert outcome.placement.workers == ((0, 0), (1, 0), (2, 0))
    assert outcome.placement.counts(1).tolist() == [8]


def test_each_machine_gives_a_slot_before_any_gives_two():
    # Five workers on two machines: slots M1-1/0, M1-2/0, M1-1/1, M1-2/1, M1-1/2.
    problem, outcome = placed(counted("a", 5, workers=5), cluster(M1=2))
    expected = [("M1-1", 0), ("M1-2", 0), ("M1-1", 1), ("M1-2", 1), ("M1-1", 2)]
    assert workers_of(problem, outcome, 0) == expected


def test_more_workers_asked_than_there_are_slots():
    # Two slots are all there is; five instances go round them.
    graph = counted("a", 5, workers=9)
    problem, outcome = placed(graph, cluster(M1=2, every={"slots": 1}))
    expected = [("M1-1", 0), ("M1-2", 0), ("M1-1", 0), ("M1-2", 0), ("M1-1", 0)]
    assert workers_of(problem, outcome, 0) == expected
    assert outcome.feasible


def test_machines_with_more_free_slots_come_first():
    # M2-1 has 3 slots, M1-1 has 1, M3-1 has 2: the order is M2-1, M3-1, M1-1, M2-1, M3-1, M2-1.
    kinds = {"M1": {"slots": 1}, "M2": {"slots": 3}, "M3": {"slots": 2}}
    problem, outcome = placed(counted("a", 6, workers=6), cluster(M1=1, M2=1, M3=1, types=kinds))
    names = [name for name, _ in workers_of(problem, outcome, 0)]
    assert names == ["M2-1", "M3-1", "M1-1", "M2-1", "M3-1", "M2-1"]


def test_the_second_topology_gets_the_slots_that_are_left():
    # The first takes M1-1/0, M1-2/0 and M1-1/1; M1-2 then has more free slots and comes first.
    first = counted("a", 3, name="x", workers=3)
    second = counted("b", 3, name="y", workers=3)
    problem, outcome = placed((first, second), cluster(M1=2, every={"slots": 3}))
    assert workers_of(problem, outcome, 0) == [("M1-1", 0), ("M1-2", 0), ("M1-1", 1)]
    assert workers_of(problem, outcome, 1) == [("M1-2", 1), ("M1-1", 2), ("M1-2", 2)]


def test_slots_without_an_instance_stay_free():
    # Four workers asked, two instances: the other two slots go to the second topology.
    first = counted("a", 2, name="x", workers=4)
    second = counted("b", 2, name="y", workers=2)
    problem, outcome = placed((first, second), cluster(M1=2, every={"slots": 2}))
    assert workers_of(problem, outcome, 0) == [("M1-1", 0), ("M1-2", 0)]
    assert workers_of(problem, outcome, 1) == [("M1-1", 1), ("M1-2", 1)]


def test_without_a_slot_left_a_topology_is_refused():
    first = counted("a", 2, name="x")
    second = counted("b", 1, name="y")
    _, outcome = placed((first, second), cluster(M1=2, every={"slots": 1}))
    assert outcome.shortfalls == (Shortfall("slots", 1, 0, "y"),)
    assert not outcome.feasible
    assert outcome.placement.counts(2).tolist() == [2, 0]


def test_priority_goes_before_order():
    late = counted("a", 2, name="x", priority=5)
    urgent = counted("b", 2, name="y", priority=0)
    _, outcome = placed((late, urgent), cluster(M1=2, every={"slots": 1}))
    assert outcome.shortfalls == (Shortfall("slots", 1, 0, "x"),)
    assert outcome.placement.counts(2).tolist() == [0, 2]


def test_without_any_slot_nothing_is_placed():
    _, outcome = placed(counted("a"), cluster(M1=2, every={"slots": 0}))
    assert outcome.placement is None
    assert [s.topology for s in outcome.shortfalls] == ["t"]


def test_counts_are_asked_for_all_at_once():
    problem = build(topology("a>b>c", b={"instances": 2}), cluster(M1=1), ONE)
    with pytest.raises(InputError) as caught:
        solve(problem, "default")
    assert [finding.field for finding in caught.value.findings] == ["component a", "component c"]
    assert "--counts-from" in str(caught.value)


def test_counts_laid_down_from_outside_go_before_the_topologys():
    problem = build(counted("a>b", 5, 5), cluster(M1=2), ONE).with_counts([1, 2])
    assert solve(problem, "default").placement.counts(2).tolist() == [1, 2]


def test_neither_a_profile_nor_a_tree_is_needed():
    graph = topology(
        "a>b>a",
        a={"cpu_points": 10.0, "instances": 1},
        b={"cpu_points": 10.0, "instances": 3},
    )
    problem = build(graph, cluster(M1=2))
    outcome = solve(problem, "default")
    assert machine_names(problem, outcome.placement, "b") == ["M1-2", "M1-1", "M1-2"]
