"""A few changes to a plan that exists: a lost machine, within an allowance."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from tests.builders import cluster, nasiri, place, profile, solve, topology

from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.terms import changes_between, held_table
from penstock.model.cluster import MachineType
from penstock.model.problem import build
from penstock.model.terms import Held, Least, Terms
from penstock.planning.contingencies.same_counts import contingencies_same_counts
from penstock.planning.contingencies.with_rates import contingencies, without_machine
from penstock.schedulers import Budget, regroup
from penstock.schedulers.machine_groups import Allowance, Classes, placement_of
from penstock.schedulers.regroup import Regroup


def regrouped(problem, placement, changes, free=None):
    table = held_table(problem, placement)
    nothing = np.zeros(table.shape[1], dtype=np.int64)
    allowance = Allowance(changes, nothing if free is None else free)
    search = Regroup(Classes.of(problem), table, allowance, Budget())
    best = search.run()
    return search, best, search.table_of(best)


def test_the_scale_it_works_with_is_the_cost_models():
    problem = nasiri("diamond", (2, 2, 2))
    placement = solve(problem, "hetero").placement
    search, best, after = regrouped(problem, placement, 4)
    assert search.start.scale == pytest.approx(capacity(problem, placement).scale)
    assert best.scale == pytest.approx(capacity(problem, placement_of(problem, after)).scale)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_tuples_cost_nothing_on_a_type_of_which_no_cost_is_known():
    """b gets no tuples; M2 has no machines and no costs."""
    graph = topology("a>b", streams={"a>b": {"selectivity": 0.0}})
    machines = cluster(M1=2)
    types = (*machines.types, MachineType("M2", core_points=50.0))
    problem = build(graph, replace(machines, types=types), profile(a=1.0, b=1.0, on=("M1",)))
    # a 1.0 on its own M1 of 100 points.
    _, best, _ = regrouped(problem, place(problem, "a M1-1", "b M1-2"), 0)
    assert best.scale == pytest.approx(100.0)


def test_one_change_splits_the_component_that_limits():
    # a 1.0 on M1-1 limits at 100; a second a on the empty M1-3 doubles that.
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=0.1))
    placement = place(problem, "a M1-1", "b M1-2")
    _, best, after = regrouped(problem, placement, 1)
    assert best.scale == pytest.approx(200.0)
    assert changes_between(held_table(problem, placement), after) == 1
    assert after.sum(axis=0).tolist() == [2, 1]


def test_without_an_allowance_nothing_changes():
    problem = nasiri("linear", (2, 2, 2))
    placement = solve(problem, "hetero").placement
    _, _, after = regrouped(problem, placement, 0)
    assert (after == held_table(problem, placement)).all()


@pytest.mark.parametrize("changes", [1, 2, 4])
def test_it_never_changes_more_than_it_may(changes):
    problem = nasiri("star", (2, 2, 2))
    placement = solve(problem, "hetero").placement
    before = held_table(problem, placement)
    _, best, after = regrouped(problem, placement, changes)
    assert changes_between(before, after) <= changes
    assert best.scale >= capacity(problem, placement).scale * (1 - 1e-9)


def test_memory_and_terms_are_kept():
    problem = build(
        topology("a>b", a={"memory_mb": 60.0}, b={"memory_mb": 60.0}),
        cluster(M1=3, every={"memory_mb": 100.0}),
        profile(a=1.0, b=0.1),
    ).with_terms(Terms(avoid=("M1-3",)))
    _, _, after = regrouped(problem, place(problem, "a M1-1", "b M1-2"), 5)
    assert not violations(problem, placement_of(problem, after))


def test_fixed_instances_stay():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=1.0, b=1.0)).with_terms(
        Terms(fixed=(Held("a", "M1-1"), Held("b", "M1-1")))
    )
    _, _, after = regrouped(problem, place(problem, "a M1-1", "b M1-1"), 5)
    assert (after[0] >= 1).all()


def test_a_lost_machine_is_not_used_and_only_a_few_others_change():
    problem = nasiri("linear", (3, 3, 3))
    placement = solve(problem, "hetero").placement
    before = held_table(problem, placement)
    for lost in placement.machines_used.tolist():
        made = without_machine(problem, placement, lost, extra=2)
        assert made is not None
        after = held_table(problem, made)
        assert not after[lost].any()
        rest = before.copy()
        rest[lost] = 0
        # What ran there may start elsewhere; beyond that two changes at most.
        come = np.maximum(after - rest, 0).sum(axis=0)
        gone = np.maximum(rest - after, 0).sum(axis=0)
        assert np.maximum(np.maximum(come - before[lost], 0), gone).sum() <= 2


def test_the_only_instance_of_a_component_comes_back_somewhere():
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=1.0))
    made = without_machine(problem, place(problem, "a M1-1", "b M1-2"), 0, extra=0)
    assert made is not None
    # b stays on M1-2, so the empty machine takes a: 100 as before.
    assert capacity(problem, made).scale == pytest.approx(100.0)


def test_no_plan_is_left_where_memory_does_not_suffice():
    problem = build(
        topology("a>b", a={"memory_mb": 60.0}, b={"memory_mb": 60.0}),
        cluster(M1=2, every={"memory_mb": 100.0}),
        profile(a=1.0, b=1.0),
    )
    placement = place(problem, "a M1-1", "b M1-2")
    assert without_machine(problem, placement, 0) is None
    assert [c.rate_left_per_s for c in contingencies(problem, placement, Budget())] == [0.0, 0.0]


def test_contingencies_say_what_each_loss_leaves_and_can_be_carried_out():
    problem = nasiri("star", (2, 2, 2))
    placement = solve(problem, "hetero").placement
    found = contingencies(problem, placement, Budget())
    assert [c.machine for c in found] == [
        problem.cluster.machines[m].name for m in placement.machines_used
    ]
    for lost in found:
        table = _carried_out(problem, placement, lost)
        made = placement_of(problem, table)
        assert not table[problem.cluster.machine_index[lost.machine]].any()
        assert capacity(problem, made).scale == pytest.approx(lost.rate_left_per_s)


def _carried_out(problem, placement, lost):
    """The table after the moves, additions and drops of a contingency."""
    starts = placement.starts(len(problem.components))
    table = held_table(problem, placement)
    index = problem.cluster.machine_index

    def home(label, number):
        c = problem.labels.index(label)
        return c, int(placement.machine[starts[c] + number])

    for label, number, machine, _slot in lost.moves:
        c, origin = home(label, number)
        table[origin, c] -= 1
        table[index[machine], c] += 1
    for label, machine, _slot in lost.added:
        table[index[machine], problem.labels.index(label)] += 1
    for label, number in lost.dropped:
        c, origin = home(label, number)
        table[origin, c] -= 1
    assert (table >= 0).all()
    return table


def test_weighted_plans_give_the_lost_shares_to_the_others():
    # Two like machines with a each: one lost, the other takes all, 100 of 200.
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0), weighted=True)
    placement = place(problem, "a M1-1", "a M1-2", shares=[0.5, 0.5])
    found = contingencies(problem, placement, Budget())
    assert [c.rate_left_per_s for c in found] == pytest.approx([100.0, 100.0])
    assert [c.dropped for c in found] == [(("a", 0),), (("a", 1),)]


@pytest.mark.parametrize("least", [Least.MACHINES, Least.PRICE, Least.ENERGY])
@pytest.mark.parametrize("same_counts", [False, True])
@pytest.mark.parametrize("core_points", [None, 50.0])
def test_machines_that_a_thrifty_plan_leaves_off_take_nothing_over(least, same_counts, core_points):
    # 80 tuples/s of 1 point each for a and b fill two of four machines to 80 points. Without one
    # of them, both components share the other: 100 / (1 + 1) = 50 are left. The two idle machines
    # would carry all 80, but they are off. With cores of 50 points there are two instances each.
    machines = cluster(M1=4, every={"core_points": core_points})
    problem = build(topology("a>b"), machines, profile(a=1.0, b=1.0))
    each = 1 if core_points is None else 2
    placement = place(problem, *["a M1-1"] * each, *["b M1-2"] * each)
    work_out = contingencies_same_counts if same_counts else contingencies

    def left(terms: Terms) -> list[float | None]:
        found = work_out(problem.with_terms(terms), placement, Budget())
        return [lost.rate_left_per_s for lost in found]

    assert left(Terms(carry_per_s=80.0, least=(least,))) == pytest.approx([50.0, 50.0])
    for terms in (Terms(carry_per_s=80.0, least=(Least.TRAFFIC,)), Terms()):
        assert min(left(terms)) >= 80.0


def test_hundreds_of_components_take_little_memory():
    """300 of them on four machines that are too small: all exchanges of two were gigabytes."""
    names = [f"s{i}" for i in range(300)]
    graph = topology(" ".join(names), **{name: {"kind": "spout"} for name in names})
    problem = build(graph, cluster(M1=4), profile(met=5.0, **dict.fromkeys(names, 1.0)))
    problem = problem.with_terms(Terms(fixed=(Held("s0", "M1-1"),)))
    classes = Classes.of(problem)
    table = np.zeros((4, 300), dtype=np.int64)
    table[1:] = np.eye(3, dtype=np.int64).repeat(100, axis=1)
    tracemalloc.start()
    try:
        nothing = np.zeros(300, dtype=np.int64)
        Regroup(classes, table, Allowance(10, nothing), Budget(iterations=3)).run()
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()


def test_candidates_come_in_batches_and_say_the_same(monkeypatch):
    problem = nasiri("star", (3, 3, 3))
    placement = solve(problem, "hetero").placement
    whole = contingencies(problem, placement, Budget())
    assert any(lost.moves for lost in whole)
    monkeypatch.setattr(regroup, "_CELLS_AT_ONCE", 1)
    assert contingencies(problem, placement, Budget()) == whole
