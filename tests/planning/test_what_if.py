"""Other machines and other demands than the files say, and what is wrong with those asked for."""

from __future__ import annotations

import pytest
from tests.builders import SHAPES, cluster, nasiri_profile, profile, topology

from penstock.errors import InputError
from penstock.model.problem import Problem, build
from penstock.planning.what_if import DemandChange, WhatIf, assume


def two_topologies() -> Problem:
    graphs = [topology(SHAPES["linear"], name=name, demand_per_s=100.0) for name in ("x", "y")]
    machines = cluster(M1=2, M2=3, racks={"M2-3": "rack-9"})
    return build(graphs, machines, nasiri_profile())


def names(problem: Problem) -> list[str]:
    return [machine.name for machine in problem.cluster.machines]


def test_machines_added_are_numbered_on_and_stand_beside_the_last_of_their_type():
    changed, words = assume(two_topologies(), WhatIf(add=(("M2", 2), ("M1", 1))))
    assert names(changed)[5:] == ["M2-4", "M2-5", "M1-3"]
    assert [m.rack for m in changed.cluster.machines[5:]] == ["rack-9", "rack-9", "rack-1"]
    assert words == (
        "2 more machines M2 in rack-9: M2-4, M2-5",
        "1 more machine M1 in rack-1: M1-3",
    )


def test_machines_go_by_name_or_the_last_ones_of_a_type():
    changed, words = assume(two_topologies(), WhatIf(remove=("M2-3",), remove_of_type=(("M2", 1),)))
    assert names(changed) == ["M1-1", "M1-2", "M2-1"]
    assert words == ("without M2-3, M2-2",)


def test_a_machine_that_comes_never_has_the_name_of_one_that_goes():
    changed, _ = assume(two_topologies(), WhatIf(add=(("M1", 1),), remove=("M1-2",)))
    assert names(changed) == ["M1-1", "M2-1", "M2-2", "M2-3", "M1-3"]


def test_a_type_without_machines_can_be_bought_if_its_costs_are_known():
    problem = build(topology("a"), cluster(M1=1, M2=0), profile(a=1.0))
    changed, _ = assume(problem, WhatIf(add=(("M2", 1),)))
    assert names(changed) == ["M1-1", "M2-1"]
    unknown = build(topology("a"), cluster(M1=1, M2=0), profile(a=1.0, on=("M1",)))
    with pytest.raises(InputError, match='no cost of "a" on machine type M2'):
        assume(unknown, WhatIf(add=(("M2", 1),)))


def test_demands_are_multiplied_or_replaced_one_change_after_the_other():
    twice = DemandChange(factor=2.0)
    fixed = DemandChange("x", rate_per_s=30.0)
    more = DemandChange("y", factor=1.5)
    changed, words = assume(two_topologies(), WhatIf(demand=(twice, fixed, more)))
    # y: 100, doubled, and half as much again.
    assert [t.demand_per_s for t in changed.topologies] == [30.0, 300.0]
    assert words == (
        "demand of x 30 tuples/s instead of 100",
        "demand of y 300 tuples/s instead of 100",
    )


def test_everything_that_is_wrong_is_said_at_once():
    wrong = WhatIf(
        add=(("M7", 1), ("M1", 0)),
        remove=("M1-9", "M1"),
        remove_of_type=(("M2", 4), ("M8", 1)),
        demand=(DemandChange("z", factor=2.0), DemandChange(rate_per_s=5.0)),
    )
    with pytest.raises(InputError) as refused:
        assume(two_topologies(), wrong)
    assert [str(finding) for finding in refused.value.findings] == [
        '--remove: no machine "M1-9"; did you mean "M1-2"?',
        "--remove: M1 is a machine type; write M1=2 for all of its machines",
        "--remove: cannot remove 4 of M2: there are 3",
        '--remove: no machine type "M8"; known: M1, M2',
        '--add: no machine type "M7"; known: M1, M2',
        "--add: M1=0: write a number from 1 to 10,000",
        '--demand: no topology "z"; known: x, y',
        "--demand: name the topology the rate is for: x=20000",
    ]


def test_a_demand_nobody_declared_cannot_be_multiplied():
    problem = build(topology("a"), cluster(M1=1), profile(a=1.0))
    with pytest.raises(InputError, match="t declares no demand_per_s that could be multiplied"):
        assume(problem, WhatIf(demand=(DemandChange(factor=2.0),)))


def test_without_any_machine_there_is_no_problem():
    with pytest.raises(InputError, match="leaves no machines"):
        assume(two_topologies(), WhatIf(remove_of_type=(("M1", 2), ("M2", 3))))
