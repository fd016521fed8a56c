"""How many more machines a rate needs."""

from __future__ import annotations

import pytest
from tests.builders import all_on, cluster, place, profile, topology

from penstock.model.problem import build
from penstock.model.topology import Grouping
from penstock.planning.purchase import purchase
from penstock.report.page.wording import words
from penstock.report.pages.offered_load import purchase_blocks


def test_the_bound_says_how_many_at_least_and_the_plans_own_gap_how_many_likely():
    """a costs 1 point per tuple/s; 2 machines bound it at 200, and a plan on one carries 100.

    350 needs 3.5 machines, so 2 more; a plan that reaches half of its bound needs 7, so 5 more.
    """
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0))
    found = purchase(problem, all_on(problem), 350.0)
    (need,) = found.needs
    assert (need.at_least, need.likely) == (2, 5)
    assert found.bound_scale == pytest.approx(200.0)
    assert not found.another_plan_may_do


def test_a_rate_below_the_bound_may_need_another_plan_only():
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0))
    found = purchase(problem, all_on(problem), 150.0)
    assert found.another_plan_may_do
    assert found.needs[0].at_least == 0


def test_the_cheapest_type_comes_first():
    """M2 does a quarter of the work of M1 for a tenth of its price: 4 for 0.4 beat 1 for 1."""
    kinds = {"M1": {"price_per_hour": 1.0}, "M2": {"price_per_hour": 0.1}}
    costs = profile(a={"M1": 1.0, "M2": 4.0})
    problem = build(topology("a"), cluster(M1=1, M2=1, types=kinds), costs)
    placed = place(problem, "a M1-1")
    # The plan carries 100 of 125, 80 %: 225 * 0.8 = 180, so 180 needs 100 more from new machines.
    found = purchase(problem, placed, 180.0)
    assert [(n.machine_type, n.likely) for n in found.needs] == [("M2", 4), ("M1", 1)]
    assert found.needs[0].price_per_hour == pytest.approx(0.4)


def test_no_number_of_machines_helps_where_one_instance_is_the_limit():
    problem = build(topology("a", a={"max_instances": 1}), cluster(M1=1), profile(a=1.0))
    (need,) = purchase(problem, all_on(problem), 150.0).needs
    assert (need.at_least, need.likely) == (None, None)


def test_a_key_that_no_number_of_machines_carries_is_named():
    """One key: all of b's tuples go to one instance, one thread of 100 points, 100 tuples/s."""
    fields = {"grouping": Grouping.FIELDS, "fields": ("user",), "keys": 1, "key_skew": 0.0}
    keyed = topology("a>b", streams={"a>b": fields})
    problem = build(keyed, cluster(M1=2), profile(a=0.1, b=1.0))
    found = purchase(problem, all_on(problem), 150.0)
    assert found.needs[0].at_least is None
    assert found.hottest_key is not None
    assert problem.labels[found.hottest_key.component] == "b"
    said = " ".join(words(block) for block in purchase_blocks(problem, found))
    assert "split the key, or aggregate before it" in said
