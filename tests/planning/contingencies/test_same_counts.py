"""A lost machine in an engine that cannot start or end instances."""

from dataclasses import replace

import pytest
from tests.builders import cluster, nasiri, place, profile, solve, topology

from penstock.evaluate.capacity import capacity
from penstock.model.placement import Placement
from penstock.model.problem import build
from penstock.planning.contingencies import same_counts
from penstock.planning.contingencies.same_counts import contingencies_same_counts
from penstock.planning.solve import plan
from penstock.schedulers.base import Budget


def test_what_ran_on_the_lost_machine_moves_and_nothing_else():
    problem = nasiri("star", (2, 2, 2))
    placement = solve(problem, "hetero").placement
    found = contingencies_same_counts(problem, placement, Budget())
    assert [c.machine for c in found] == [
        problem.cluster.machines[m].name for m in placement.machines_used
    ]
    starts = placement.starts(len(problem.components))
    index = problem.cluster.machine_index
    for lost in found:
        assert (lost.added, lost.dropped) == ((), ())
        machine, slot = placement.machine.copy(), placement.slot.copy()
        for label, number, to, worker in lost.moves:
            at = starts[problem.labels.index(label)] + number
            assert machine[at] == index[lost.machine]
            machine[at], slot[at] = index[to], worker
        assert index[lost.machine] not in machine
        made = Placement(placement.component, machine, slot, placement.share)
        assert capacity(problem, made).scale == pytest.approx(lost.rate_left_per_s)


def test_it_goes_where_most_is_carried():
    # a costs 1 point per tuple/s, b 2. With M1-1 lost, its a joins b on M1-2 (100/3 left) or takes
    # the idle M1-3 (100 / 2 = 50 left, b is full first).
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=2.0))
    placement = place(problem, "a M1-1", "b M1-2")
    lost = contingencies_same_counts(problem, placement, Budget())[0]
    assert lost.moves == (("a", 0, "M1-3", 0),)
    assert lost.rate_left_per_s == pytest.approx(50.0)


def test_it_joins_the_worker_of_its_own_topology():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=1.0, b=2.0))
    placement = place(problem, "a M1-1", "b M1-2/3")
    assert contingencies_same_counts(problem, placement, Budget())[0].moves == (
        ("a", 0, "M1-2", 3),
    )


def test_where_nothing_holds_it_the_rate_is_zero():
    problem = build(
        topology("a>b", a={"memory_mb": 60.0}, b={"memory_mb": 60.0}),
        cluster(M1=2, every={"memory_mb": 100.0}),
        profile(a=1.0, b=1.0),
    )
    placement = place(problem, "a M1-1", "b M1-2")
    found = contingencies_same_counts(problem, placement, Budget())
    assert [(c.moves, c.rate_left_per_s) for c in found] == [((), 0.0), ((), 0.0)]


def crowded(instances: int):
    """So many like instances on two machines."""
    problem = build(topology("a"), cluster(M1=2), profile(a=0.01))
    half = ["a M1-1", "a M1-2"]
    return problem, place(problem, *half * (instances // 2))


def test_more_work_than_was_asked_for_is_not_begun(monkeypatch):
    """2,000 instances, each tried on one of two kinds of machines, against all the others.

    2,000 x 1 x (2,000 + 6,000) = 16 million; 4 million are done for each kind of loss. Both
    machines hold the same, so that they are one kind.
    """
    problem, placement = crowded(2000)

    def evaluated(*_):
        raise AssertionError("work was begun")

    monkeypatch.setattr(same_counts, "capacity", evaluated)
    assert contingencies_same_counts(problem, placement, Budget(), most_kinds=3) == ()
    with pytest.raises(AssertionError, match="begun"):
        contingencies_same_counts(problem, placement, Budget(), most_kinds=4)


def test_a_plan_says_only_what_was_asked_for_of_lost_machines():
    problem, _ = crowded(2)
    many = replace(problem.topologies[0].components[0], instances=1000)
    graph = replace(problem.topologies[0], components=(many,))
    problem = build(graph, problem.cluster, problem.profile)
    left_out, asked = (
        plan(problem, "default", if_lost=kinds, same_counts=True).plan for kinds in (1, 1000)
    )
    assert left_out.if_lost == ()
    assert [len(lost.moves) for lost in asked.if_lost] == [500, 500]
