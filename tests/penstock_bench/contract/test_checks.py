"""The contract's checks fail where an answer is wrong."""

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem, build
from penstock.schedulers import get
from penstock_bench.contract.checks import check, machines_over, slot_errors


def two() -> Problem:
    asks = {"memory_mb": 60.0}
    graphs = [topology("a>b", name=name, a=asks, b=asks) for name in ("x", "y")]
    machines = cluster(M1=2, every={"slots": 2, "memory_mb": 100.0})
    return build(graphs, machines, profile(a=1.0, b=1.0)).with_counts([1, 1, 1, 1])


GOOD = ("x/a M1-1", "x/b M1-2", "y/a M1-1/1", "y/b M1-2/1")


@pytest.mark.parametrize(
    ("instances", "shortfalls"),
    [
        (("x/a M1-1", "x/b M1-2", "y/a M1-1", "y/b M1-2"), ()),
        (("x/a M1-1/2", "x/b M1-2", "y/a M1-1/1", "y/b M1-2/1"), ()),
        ((*GOOD, "x/a M1-1"), ()),
        (GOOD[:3], ()),
        (GOOD[:2], ()),
        (GOOD[:2], (Shortfall("slots", 1, 2, "y"),)),
    ],
    ids=["a slot shared", "no such slot", "one too many", "half", "not said", "no shortage"],
)
def test_a_wrong_answer_is_found(instances, shortfalls):
    problem = two()
    with pytest.raises(AssertionError):
        check(get("default"), problem, Outcome(place(problem, *instances), shortfalls))


def test_a_right_answer_passes_and_may_leave_a_topology_out_with_a_word():
    problem = two()
    check(get("default"), problem, Outcome(place(problem, *GOOD)))
    left_out = (Shortfall("slots", 2, 1, "y"),)
    check(get("default"), problem, Outcome(place(problem, *GOOD[:2]), left_out))


def test_memory_counts_for_those_that_look_at_it():
    problem = two()
    crowded = place(problem, *GOOD)
    assert machines_over(problem, crowded) == ["M1-1", "M1-2"]
    assert slot_errors(problem, crowded) == []
    with pytest.raises(AssertionError):
        check(get("tsstream"), problem, Outcome(crowded))
