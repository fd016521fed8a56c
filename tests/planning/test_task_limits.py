"""Tasks that are too few for the machines are named, and only those."""

from dataclasses import replace

import pytest

from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.problem import build
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Component, Kind, Stream, Topology
from penstock.planning.task_limits import task_limit

#: Four machines of four cores; a thread gets one.
CLUSTER = Cluster(
    "c",
    (MachineType("box", cpu_points=400.0, core_points=100.0),),
    tuple(Machine(f"m{i}", "box") for i in range(4)),
)
PROFILE = Profile("p", (Cost("src", "box", e=0.1, met=0.0), Cost("work", "box", e=0.9, met=0.0)))


def problem(src_tasks, work_tasks):
    components = (
        Component("src", Kind.SPOUT, tasks=src_tasks), Component("work", tasks=work_tasks)
    )  # fmt: skip
    topology = Topology("flow", components, (Stream("src", "work"),))
    return build([topology], CLUSTER, PROFILE)


def test_enough_tasks_limit_nothing():
    # All 1,600 points carry 1,600 tuples/s at one point each; 1,440 of them are work's.
    assert task_limit(problem(4, 16)) is None


def test_the_component_with_too_few_is_named_with_what_more_would_bring():
    limit = task_limit(problem(4, 4))
    # Four threads of work carry 4 * 100 / 0.9 = 444 tuples/s.
    assert limit.components == (("work", 4),)
    assert limit.carries_per_s == pytest.approx(444.4, rel=1e-3)
    assert limit.could_carry_per_s == pytest.approx(1600.0, rel=1e-3)
    assert "444 tuples/s, and 1600 with more tasks of work (4)" in str(limit)


def test_without_tasks_there_is_no_limit():
    free = problem(None, None)
    assert task_limit(free) is None
    assert task_limit(replace(free, weighted=True)) is None
