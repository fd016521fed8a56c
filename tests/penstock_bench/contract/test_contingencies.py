"""What contingencies promise is what their moves give; the checker of that sees what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem, build
from penstock.model.terms import Held, Least, Terms
from penstock.planning.contingencies.with_rates import contingencies
from penstock.schedulers import Budget
from penstock_bench.contract.contingencies import carried_out, faults_of
from penstock_bench.contract.random_losses import contingency_faults, random_plans


def test_a_plan_in_other_slots_than_ours_keeps_them():
    """y has slot 0 of M1-2; that x comes first in the problem gives it no right to that."""
    graphs = [topology("a", name=name) for name in ("x", "y")]
    problem = build(graphs, cluster(M1=2, every={"slots": 2}), profile(a=0.1, met=1.0))
    placement = place(problem, "x/a M1-1", "y/a M1-2")
    first, _ = contingencies(problem, placement, Budget())
    assert first.moves == (("x/a", 0, "M1-2", 1),)


@pytest.mark.slow
@pytest.mark.parametrize("first", [300, 350])
def test_no_contingency_of_random_plans_is_wrong(first: int):
    """Thousands more are tried by the fuzz suite."""
    assert contingency_faults(50, seed=first) == []


@pytest.mark.slow
def test_random_plans_are_of_all_kinds_and_keep_what_they_promise():
    """A check of losses that all come to nothing would pass whatever they say."""
    plans = [plan for number in range(200, 300) for plan in random_plans(number)]
    assert [fault for plan in plans for fault in plan.faults] == []
    losses = [(plan, loss) for plan in plans for loss in plan.losses]
    assert sum(bool(loss.rate_left_per_s) for _, loss in losses) > 150
    assert sum(bool(loss.added) for _, loss in losses) > 0
    assert sum(bool(loss.dropped) for _, loss in losses) > 5
    assert sum(bool(loss.shares) for _, loss in losses) > 5
    assert sum(not plan.problem.has_rates for plan in plans) > 3
    assert sum(len(plan.problem.topologies) > 1 for plan in plans) > 30
    assert sum(plan.problem.terms.binds for plan in plans) > 30


# -- the checker itself ---------------------------------------------------------------------------


def two(**terms: Any) -> tuple[Problem, Placement]:
    """Two topologies of one component each with two instances on three machines of 100 points."""
    graphs = [topology("a", name=name, a={"max_instances": 2}) for name in ("x", "y")]
    every = {"slots": 2, "memory_mb": 100.0}
    problem = build(graphs, cluster(M1=3, every=every), profile(a=1.0, met=0.0))
    problem = problem.with_terms(Terms(**terms))
    return problem, place(problem, "x/a M1-1", "x/a M1-2", "y/a M1-2/1", "y/a M1-3")


#: Without M1-1 its x/a goes to M1-3, which then takes half of each topology: 100 points for both.
GOOD = Contingency("M1-1", (("x/a", 0, "M1-3", 1),), 200.0)


def test_a_right_contingency_passes():
    problem, placement = two()
    assert faults_of(problem, placement, GOOD, same_counts=True) == []


def test_moves_are_carried_out_by_instance_number():
    problem, placement = two()
    after = carried_out(problem, placement, replace(GOOD, moves=(("x/a", 1, "M1-3", 1),)))
    assert after == place(problem, "x/a M1-1", "x/a M1-3/1", "y/a M1-2/1", "y/a M1-3")


def test_that_no_plan_was_found_promises_nothing():
    problem, placement = two()
    assert faults_of(problem, placement, Contingency("M1-1", (), 0.0)) == []


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"rate_left_per_s": 200.1}, "200.1/s promised, 200/s carried"),
    ({"rate_left_per_s": None}, "no rate is promised, 200/s is carried"),
    ({"rate_left_per_s": 0.0}, "0/s promised"),
    ({"moves": ()}, "x/a[0] stays on it"),
    ({"moves": (*GOOD.moves, *GOOD.moves)}, "x/a[0] is moved or ends twice"),
    ({"moves": (("x/a", 2, "M1-3", 1),)}, "there is no x/a[2]"),
    ({"moves": (("x/b", 0, "M1-3", 1),)}, "there is no x/b[0]"),
    ({"moves": (("x/a", 0, "M1-4", 1),)}, "there is no machine M1-4"),
    ({"moves": (("x/a", 0, "M1-1", 1),)}, "something goes to the lost machine"),
    ({"moves": (("x/a", 0, "M1-3", 0),)}, "M1-3 slot 0"),
    ({"moves": (("x/a", 0, "M1-3", 2),)}, "M1-3 has no slot 2"),
    ({"added": (("x/a", "M1-2", 0),)}, "3 instances of x/a, at most 2"),
    ({"dropped": (("x/a", 1),)}, "instances start or end"),
    ({"shares": (("x/a", (0.5, 0.5)),)}, "the problem allows none"),
]


@pytest.mark.parametrize(("changed", "fault"), WRONG, ids=[fault for _, fault in WRONG])
def test_a_wrong_contingency_is_found(changed, fault):
    problem, placement = two()
    found = faults_of(
        problem, placement, replace(GOOD, **changed), same_counts="dropped" in changed
    )
    assert fault in "; ".join(found)


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"avoid": ("M1-3",)}, "M1-3 is to be avoided"),
        ({"apart": (("x/a", "y/a"),)}, "x/a and y/a are together on M1-3"),
        ({"fixed": (Held("x/a", "M1-2", 2),)}, "1 of 2 x/a fixed on M1-2"),
    ],
    ids=["avoid", "apart", "fixed"],
)
def test_terms_are_looked_at(terms, fault):
    problem, placement = two(**terms)
    found = "; ".join(faults_of(problem, placement, GOOD))
    assert fault in found


def test_memory_and_machines_that_are_off_are_looked_at():
    asks = {"memory_mb": 60.0}
    problem = build(
        topology("a>b", a=asks, b=asks),
        cluster(M1=3, every={"memory_mb": 100.0}),
        profile(a=1.0, b=1.0),
    )
    placement = place(problem, "a M1-1", "b M1-2")
    crowded = Contingency("M1-1", (("a", 0, "M1-2", 0),), 50.0)
    assert faults_of(problem, placement, crowded) == ["without M1-1: M1-2 has too little memory"]
    saving = problem.with_terms(Terms(least=(Least.MACHINES,)))
    on = Contingency("M1-1", (("a", 0, "M1-3", 0),), 100.0)
    assert faults_of(problem, placement, on) == []
    assert faults_of(saving, placement, on) == ["without M1-1: M1-3 is off"]


def test_shares_are_those_that_the_contingency_gives():
    problem = build(topology("a"), cluster(M1=3), profile(a=1.0), weighted=True)
    placement = place(problem, "a M1-1", "a M1-2", "a M1-3", shares=[0.5, 0.25, 0.25])
    ends = Contingency("M1-1", (), 200.0, dropped=(("a", 0),))
    # 100 points on each of two machines: 200 tuples/s where both get half.
    said = replace(ends, shares=(("a", (0.5, 0.5)),))
    assert faults_of(problem, placement, said) == []
    unequal = replace(ends, shares=(("a", (0.2, 0.8)),))
    assert faults_of(problem, placement, unequal) == ["without M1-1: 200/s promised, 125/s carried"]
    assert "its shares are not said" in faults_of(problem, placement, ends)[0]
