"""``proportional``: every component everywhere, in proportion to speed."""

import numpy as np
import pytest
from tests.builders import SHAPES, cluster, profile, solve, topology

from penstock.engines.spark.planning import as_spark_runs_it
from penstock.errors import InputError
from penstock.evaluate.capacity import capacity
from penstock.model.problem import build
from penstock.model.topology import Grouping

LINEAR = topology(SHAPES["linear"])


def shares_by_machine(problem, placement, component):
    mine = placement.component == component
    found = np.zeros(len(problem.cluster.machines))
    np.add.at(found, placement.machine[mine], placement.share[mine])
    return found


COSTS = profile(low={"M1": 0.1, "M2": 0.2}, mid={"M1": 0.1, "M2": 0.1}, high={"M1": 0.3, "M2": 0.1})


def test_a_chain_is_divided_by_the_speed_of_all_of_it():
    problem = build(LINEAR, cluster(M1=1, M2=1), COSTS, weighted=True)
    found = solve(problem, "proportional").placement
    # A tuple costs 0.5 points on M1 and 0.4 on M2: speeds 4 to 5.
    for component in range(3):
        assert shares_by_machine(problem, found, component) == pytest.approx([4 / 9, 5 / 9])


def test_shares_are_speeds_where_every_component_is_a_stage():
    keyed = {"grouping": "weighted", "fields": ("key",)}
    graph = topology(SHAPES["linear"], streams={"low>mid": keyed, "mid>high": keyed})
    problem = build(graph, cluster(M1=1, M2=1), COSTS, weighted=True)
    found = solve(problem, "proportional").placement
    # Machines of 100 points each: speeds 1/0.1 to 1/0.2, alike, and 1/0.3 to 1/0.1.
    assert shares_by_machine(problem, found, 0) == pytest.approx([2 / 3, 1 / 3])
    assert shares_by_machine(problem, found, 1) == pytest.approx([0.5, 0.5])
    assert shares_by_machine(problem, found, 2) == pytest.approx([0.25, 0.75])


def test_where_machines_only_differ_in_size_it_fills_them_all():
    big = cluster(M1=1, M2=1, M3=1, types={"M1": {"cpu_points": 90.0}, "M2": {"cpu_points": 50.0},
                                          "M3": {"cpu_points": 30.0}})  # fmt: skip
    problem = build(LINEAR, big, profile(low=0.1, mid=0.2, high=0.3), weighted=True)
    found = solve(problem, "proportional").placement
    # 170 points at 0.6 points per tuple/s.
    assert capacity(problem, found).scale == pytest.approx(170 / 0.6)


def test_a_machine_with_cores_gets_an_instance_for_each():
    problem = build(
        LINEAR,
        cluster(M1=1, M2=1, types={"M1": {"cpu_points": 400.0, "core_points": 100.0}}),
        profile(low=0.1, mid=0.1, high=0.1),
        weighted=True,
    )
    found = solve(problem, "proportional").placement
    assert np.bincount(found.machine[found.component == 0]).tolist() == [4, 1]


def test_streams_that_follow_no_shares_are_divided_evenly():
    problem = build(LINEAR, cluster(M1=1, M2=1), profile(low=0.1, mid=0.1, high=0.1))
    assert not solve(problem, "proportional").placement.has_shares


def test_for_spark_keys_follow_shares_and_counts_are_left_open():
    graph = topology(
        "a>b b>c b>d",
        streams={
            "a>b": {"grouping": "fields", "fields": ("key",)}, "b>c": {"grouping": "global"},
        },
        a={"instances": 4}, b={"tasks": 8},
    )  # fmt: skip
    found = as_spark_runs_it(graph)
    assert [s.grouping for s in found.streams] == [
        Grouping.WEIGHTED, Grouping.GLOBAL, Grouping.WEIGHTED,
    ]  # fmt: skip
    assert [s.fields for s in found.streams] == [("key",), (), ()]
    assert all(c.instances is None and c.tasks is None for c in found.components)


def test_more_instances_than_anyone_plans_are_refused_with_the_way_out():
    """Two components on 30 machines of two cores each: 120 instances."""
    cores = {"cpu_points": 200.0, "core_points": 100.0}
    problem = build(topology("a>b"), cluster(M1=30, every=cores), profile(a=1.0, b=1.0))
    with pytest.raises(InputError, match=r"some 120 instances, .*--set most_instances=120"):
        solve(problem, "proportional", most_instances=119)
    assert len(solve(problem, "proportional", most_instances=120).placement) == 120
