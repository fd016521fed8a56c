"""Counts that one scheduler decides for another."""

from __future__ import annotations

import pytest
from tests.builders import cluster, profile, topology

from penstock.errors import InputError
from penstock.model.problem import build
from penstock.planning.compare import compare
from penstock.planning.counts import counts_outcome
from penstock.planning.solve import plan
from penstock.schedulers.base import Budget

ONLY_PLACE = ("default", "rstorm", "gr", "top", "a3", "ban", "tsstream", "isolation")


@pytest.fixture
def one_slot_for_two():
    """A slot belongs to one topology: of t and u, the first gets the only one."""
    graphs = [topology("a>b", name="t"), topology("c>d", name="u")]
    return build(graphs, cluster(M1=1, every={"slots": 1}), profile(a=1.0, b=1.0, c=1.0, d=1.0))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scheduler", ONLY_PLACE)
@pytest.mark.parametrize("source", ["hetero", "proportional"])
def test_a_topology_that_was_left_out_has_no_counts_to_take(one_slot_for_two, scheduler, source):
    partial = counts_outcome(one_slot_for_two, source, 0, Budget)
    assert partial.placement is None or 0 in partial.placement.counts(4).tolist()
    result = plan(one_slot_for_two, scheduler, counts_from=source)
    assert result.plan is None
    assert f"no instance counts from {source}" in result.outcome.notes


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_comparison_says_so_of_each_that_needs_them(one_slot_for_two):
    result = compare(one_slot_for_two, ONLY_PLACE, counts_from="proportional", given_counts=True)
    assert [row.plan for row in result.rows] == [None] * len(ONLY_PLACE)


def test_counts_of_the_topology_are_not_filled_up_with_none(one_slot_for_two):
    stated = build(
        [topology("a>b", name="t", a={"instances": 1}), *one_slot_for_two.topologies[1:]],
        one_slot_for_two.cluster,
        one_slot_for_two.profile,
    )
    with pytest.raises(InputError, match="no instance counts from hetero for those not stated"):
        plan(stated, "rstorm", counts_from="topology")
