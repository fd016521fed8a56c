"""Few instances of a keyed component: the largest of their buckets limits every plan."""

import pytest
from tests.builders import cluster, profile

from penstock.evaluate.bound import KIND_FEW_INSTANCES, upper_bound
from penstock.evaluate.division import largest_bucket
from penstock.evaluate.key_buckets import most_instances
from penstock.evaluate.programme import formulate
from penstock.model.problem import Problem, build
from penstock.model.topology import Component, Grouping, Kind, Stream, Topology

KEYS, SKEW = 1000, 0.8


def counting(memory_mb: float) -> Problem:
    """Words counted by key on two machines of 100 MB and 400 points in threads of 100."""
    graph = Topology(
        "t",
        (
            Component("words", Kind.SPOUT, "words"),
            Component("count", Kind.BOLT, "count", memory_mb=memory_mb),
        ),
        (Stream("words", "count", grouping=Grouping.FIELDS, keys=KEYS, key_skew=SKEW),),
    )
    machines = cluster(M1=2, every={"cpu_points": 400.0, "core_points": 100.0, "memory_mb": 100.0})
    return build(graph, machines, profile(words=0.1, count=1.0))


def test_memory_says_how_many_instances_there_are_at_most():
    # 30 MB each: 200 / 30 of them, whole or not.
    problem = counting(memory_mb=30.0)
    assert most_instances(formulate(problem), 1, 10.0) == pytest.approx(200 / 30, abs=1e-5)


def test_the_largest_bucket_of_so_few_limits_every_plan():
    # Six instances at most: the least largest bucket of one to six is what a thread must take.
    bucket = min(largest_bucket(KEYS, SKEW, n) for n in range(1, 7))
    bound = upper_bound(counting(memory_mb=30.0))
    assert bound.kind == KIND_FEW_INSTANCES
    assert bound.scale == pytest.approx(100.0 / bucket, rel=1e-3)


def test_with_room_for_many_instances_it_says_nothing():
    assert upper_bound(counting(memory_mb=0.1)).few_instances_of is None
