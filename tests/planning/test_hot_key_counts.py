"""Of the instances that a hot key makes a plan take, how many would nearly do."""

from __future__ import annotations

import re

from tests.builders import cluster, profile, topology

from penstock.model.problem import build
from penstock.model.topology import Grouping
from penstock.planning.solve import plan


def planned(**options):
    keyed = {"grouping": Grouping.FIELDS, "keys": 2000, "key_skew": 0.9}
    graph = topology("read>count", streams={"read>count": keyed}, count=options)
    machines = cluster(M1=4, every={"cpu_points": 6400.0, "core_points": 100.0})
    result = plan(build([graph], machines, profile(read=0.001, count=0.05, met=1.0)), "penstock")
    assert result.plan is not None
    return result.plan


def test_so_many_instances_carry_what_the_note_says():
    free = planned()
    note = next(n for n in free.notes if "max_instances" in n)
    found = re.search(r"count has ([\d,]+) .* about ([\d,]+) would carry 95 %", note)
    assert found is not None
    instances, enough = (int(number.replace(",", "")) for number in found.groups())
    assert instances == free.placement.counts(2)[1] > 2 * enough
    fewer = planned(max_instances=enough)
    assert fewer.predicted.scale is not None
    assert free.predicted.scale is not None
    assert fewer.predicted.scale >= 0.95 * free.predicted.scale


def test_nothing_is_said_where_the_machines_are_the_limit():
    even = topology("read>count")
    problem = build([even], cluster(M1=1), profile(read=0.001, count=0.05, met=1.0))
    result = plan(problem, "penstock")
    assert result.plan is not None
    assert not [n for n in result.plan.notes if "max_instances" in n]
