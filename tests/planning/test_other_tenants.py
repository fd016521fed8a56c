"""Machines that others use too are planned with what is left of them."""

from dataclasses import replace

import pytest
from tests.builders import all_on, build, cluster, profile, topology

from penstock.evaluate.assess import assess
from penstock.files.store import load, to_dict
from penstock.planning.other_tenants import with_other_tenants


def shared(points):
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0))
    return with_other_tenants(problem, points)


def test_what_others_use_is_no_room_for_tuples():
    # 40 of 100 points are used by others: 60 tuples/s at a point each, 100 on the other machine.
    problem = shared({"M1-1": 40.0})
    assert assess(problem, all_on(problem, 0)).scale == pytest.approx(60.0)
    assert assess(problem, all_on(problem, 1)).scale == pytest.approx(100.0)


def test_the_type_says_which_type_the_engine_knows_it_as_and_has_its_costs():
    problem = shared({"M1-1": 41.0, "M1-2": 38.6})
    assert {m.type for m in problem.cluster.machines} == {"M1 with 40 points of others"}
    kind = problem.cluster.types[-1]
    assert kind.variant_of == "M1"
    assert problem.profile.by_place["a", kind.name].e == 1.0
    assert load(to_dict(problem.cluster)) == problem.cluster


def test_what_any_system_uses_by_itself_makes_no_type():
    assert {m.type for m in shared({"M1-1": 2.0}).cluster.machines} == {"M1"}


def test_what_the_type_is_stated_to_use_is_not_counted_twice():
    kinds = {"M1": {"base_cpu_points": 30.0}}
    problem = build(topology("a"), cluster(types=kinds, M1=1), profile(a=1.0))
    assert with_other_tenants(problem, {"M1-1": 30.0}) is problem


def test_a_machine_that_others_fill_keeps_a_little_room():
    kind = shared({"M1-1": 250.0}).cluster.types[-1]
    assert replace(kind, name="").base_cpu_points == 95.0
