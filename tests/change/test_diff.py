"""What changes between two plans (another machine is a move, one more or less is not)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import cluster, place, profile, topology
from tests.model.strategies import dice, random_placement, random_problem

from penstock.change.diff import ComponentChange, diff
from penstock.model.plan import Plan, Prediction
from penstock.model.problem import build

PROBLEM = build(topology("a>b"), cluster(M1=4), profile(a=1.0, b=1.0))


def plan(*instances: str, shares: list[float] | None = None, rate: float | None = None) -> Plan:
    predicted = Prediction(rate_per_s=(("t", rate),)) if rate else Prediction()
    return Plan(PROBLEM, place(PROBLEM, *instances, shares=shares), "hand", predicted=predicted)


def test_nothing_changes_between_a_plan_and_itself():
    one = plan("a M1-1", "b M1-2")
    changes = diff(one, one)
    assert not changes.any
    assert (changes.moves, changes.added, changes.dropped) == (0, 0, 0)
    assert changes.to_dict()["components"] == []


def test_an_instance_on_another_machine_is_a_move():
    changes = diff(plan("a M1-1", "b M1-1", "b M1-2"), plan("a M1-1", "b M1-1", "b M1-3"))
    assert changes.components[1] == ComponentChange("t", "b", 2, 2, moves=(("M1-2", "M1-3"),))
    assert (changes.moves, changes.added, changes.dropped) == (1, 0, 0)
    assert changes.machines_taken == ("M1-3",)
    assert changes.machines_freed == ("M1-2",)


def test_one_more_is_an_addition_and_one_less_is_a_drop():
    few, many = plan("a M1-1", "b M1-2"), plan("a M1-1", "b M1-2", "b M1-2", "b M1-4")
    assert diff(few, many).components[1] == ComponentChange("t", "b", 1, 3, added=("M1-2", "M1-4"))
    back = diff(many, few)
    assert back.components[1] == ComponentChange("t", "b", 3, 1, dropped=("M1-2", "M1-4"))
    assert (back.moves, back.added, back.dropped) == (0, 0, 2)


def test_a_move_and_an_addition_of_one_component_are_told_apart():
    """b leaves machine 1 and comes to 2 and 3: one of these is the move, the other is new."""
    changes = diff(plan("a M1-1", "b M1-1"), plan("a M1-1", "b M1-2", "b M1-3"))
    assert changes.components[1] == ComponentChange(
        "t", "b", 1, 2, moves=(("M1-1", "M1-2"),), added=("M1-3",)
    )


def test_two_instances_that_change_places_are_no_change():
    """They are alike: who is where does not matter, how many are where does."""
    assert not diff(plan("a M1-1", "b M1-1", "b M1-2"), plan("a M1-1", "b M1-2", "b M1-1")).any


def test_another_slot_of_the_same_machine_is_no_move():
    assert diff(plan("a M1-1/0", "b M1-1/0"), plan("a M1-1/3", "b M1-1/1")).moves == 0


def test_other_shares_are_a_change_without_a_move():
    nan = float("nan")
    even = plan("a M1-1", "b M1-1", "b M1-2")
    weighted = plan("a M1-1", "b M1-1", "b M1-2", shares=[nan, 0.3, 0.7])
    changes = diff(even, weighted)
    assert (changes.any, changes.moves) == (True, 0)
    assert [c.component for c in changes.components if c.shares_changed] == ["b"]
    assert not diff(weighted, weighted).any


def test_shares_that_change_machines_are_a_change():
    """0.3 and 0.7 stay, but the other machine has the larger part now."""
    nan = float("nan")
    one = plan("a M1-1", "b M1-1", "b M1-2", shares=[nan, 0.3, 0.7])
    other = plan("a M1-1", "b M1-1", "b M1-2", shares=[nan, 0.7, 0.3])
    assert diff(one, other).any


def test_components_are_known_by_name_whatever_their_order():
    reordered = build(topology("b a>b"), cluster(M1=4), profile(a=1.0, b=1.0))
    before = plan("a M1-1", "b M1-2")
    after = Plan(reordered, place(reordered, "a M1-1", "b M1-2"), "hand")
    assert not diff(before, after).any


def test_a_component_that_is_gone_is_dropped_and_a_new_one_added():
    other = build(topology("a>c"), cluster(M1=4), profile(a=1.0, c=1.0))
    changes = diff(plan("a M1-1", "b M1-2"), Plan(other, place(other, "a M1-1", "c M1-3"), "hand"))
    assert [(c.component, c.before, c.after) for c in changes.components if c.is_change] == [
        ("c", 0, 1),
        ("b", 1, 0),
    ]
    assert (changes.moves, changes.added, changes.dropped) == (0, 1, 1)


def test_components_of_one_name_in_two_topologies_are_kept_apart():
    graphs = [topology("a>b", name=name) for name in ("one", "two")]
    both = build(graphs, cluster(M1=4), profile(a=1.0, b=1.0))
    rest = ("one/a M1-1", "two/a M1-1/1", "one/b M1-2")
    before = Plan(both, place(both, *rest, "two/b M1-3"), "hand")
    after = Plan(both, place(both, *rest, "two/b M1-4"), "hand")
    moved = [(c.topology, c.component, c.moves) for c in diff(before, after).components if c.moves]
    assert moved == [("two", "b", (("M1-3", "M1-4"),))]


def test_rates_before_and_after_are_told():
    changes = diff(plan("a M1-1", "b M1-1", rate=10.0), plan("a M1-1", "b M1-2", rate=15.0))
    told = changes.to_dict()
    assert (told["rate_before_per_s"], told["rate_after_per_s"]) == ({"t": 10.0}, {"t": 15.0})
    assert told["components"] == [
        {
            "topology": "t",
            "component": "b",
            "before": 1,
            "after": 1,
            "moves": [{"from": "M1-1", "to": "M1-2"}],
            "added": [],
            "dropped": [],
            "shares_changed": False,
        }
    ]


@pytest.mark.parametrize("same", [True, False])
@given(made=dice(), seed=st.integers(0, 2**32))
def test_properties_of_any_two_plans_of_a_problem(same, made, seed):
    problem = random_problem(made)
    first = random_placement(made, problem)
    second = first if same else random_placement(replace(made, seed=seed), problem)
    before, after = Plan(problem, first, "one"), Plan(problem, second, "two")
    there, back = diff(before, after), diff(after, before)
    assert there.moves == back.moves
    assert (there.added, there.dropped) == (back.dropped, back.added)
    if same:
        assert not there.any
    for c, change in enumerate(there.components):
        old = Counter(first.machine[first.component == c].tolist())
        new = Counter(second.machine[second.component == c].tolist())
        assert (change.before, change.after) == (old.total(), new.total())
        assert change.before + len(change.added) - len(change.dropped) == change.after
        assert not (change.added and change.dropped)
        # What neither moves nor comes nor goes stays: as many as both plans have in a place.
        stays = change.before - len(change.moves) - len(change.dropped)
        assert stays == (old & new).total()
        assert all(a != b for a, b in change.moves)
