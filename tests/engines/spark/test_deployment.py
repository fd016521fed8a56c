"""A plan as the engine sees it, whole and with machines lost."""

import numpy as np
import pytest
from tests.builders import SHAPES, cluster, profile, topology

from penstock.engines.spark.deployment import Deployment, PlaceBy
from penstock.engines.spark.losses import part_left, without_machines
from penstock.engines.spark.placement import require_placeable, resource_name, settings
from penstock.errors import InputError
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import build

LINEAR = topology(SHAPES["linear"], name="linear")


def plan(shares=True):
    """Each of the three components on M1-1 and M2-1, in shares of 3 to 1."""
    problem = build(LINEAR, cluster(M1=1, M2=1), profile(low=0.1, mid=0.1, high=0.1), weighted=True)
    share = [0.75, 0.25] * 3 if shares else None
    return Plan(problem, Placement.of([0, 0, 1, 1, 2, 2], [0, 1] * 3, share=share), "by hand")


def test_instances_have_tasks_shares_and_places():
    found = Deployment.of(plan(), "linear", PlaceBy.TYPE)
    assert [(i.task, i.share, i.place, i.machine) for i in found.instances["mid"]] == [
        (2, 0.75, "M1", "M1-1"),
        (3, 0.25, "M2", "M2-1"),
    ]
    by_machine = Deployment.of(plan(), "linear", PlaceBy.MACHINE)
    assert [i.place for i in by_machine.instances["low"]] == ["M1-1", "M2-1"]
    anywhere = Deployment.of(plan(), "linear")
    assert anywhere.places == [""]


def test_without_shares_instances_get_the_same():
    found = Deployment.of(plan(shares=False), "linear")
    assert found.shares("high") == [0.5, 0.5]


def test_the_place_with_most_of_the_work_comes_first():
    assert Deployment.of(plan(), "linear", PlaceBy.TYPE).places == ["M1", "M2"]


def test_another_topology_is_refused():
    with pytest.raises(InputError, match='no topology "star"; it has linear'):
        Deployment.of(plan(), "star")


def test_evenly_keeps_to_what_the_topology_asks_for():
    graph = topology(SHAPES["linear"], low={"instances": 3}, mid={"max_instances": 1})
    found = Deployment.evenly(graph, 2)
    assert {name: len(mine) for name, mine in found.instances.items()} == {
        "low": 3, "mid": 1, "high": 2,
    }  # fmt: skip
    tasks = [i.task for mine in found.instances.values() for i in mine]
    assert tasks == list(range(6))


def test_what_is_left_takes_over_in_the_shares_it_had():
    problem = build(
        LINEAR, cluster(M1=1, M2=1, M3=1), profile(low=0.1, mid=0.1, high=0.1), weighted=True
    )
    whole = Plan(
        problem,
        Placement.of(np.repeat([0, 1, 2], 3), [0, 1, 2] * 3, share=[0.5, 0.3, 0.2] * 3),
        "by hand",
    )
    left = without_machines(whole, {"M1-1"})
    assert Deployment.of(left, "linear").shares("low") == pytest.approx([0.6, 0.4])
    # Each machine does 0.3 points per tuple/s of its share: 1 / 0.5 of a machine before, 1 / 0.6
    # after.
    assert part_left(whole, left) == pytest.approx(0.5 / 0.6)


def test_a_component_that_ran_nowhere_else_gets_a_place():
    problem = build(LINEAR, cluster(M1=2), profile(low=0.1, mid=0.1, high=0.1))
    whole = Plan(problem, Placement.of([0, 1, 2], [0, 0, 1]), "by hand")
    left = without_machines(whole, {"M1-2"})
    assert set(left.placement.machine.tolist()) == {0}
    assert sorted(set(left.placement.component.tolist())) == [0, 1, 2]


def test_what_ran_on_one_machine_alone_goes_on_all_others_by_their_speed():
    kinds = {"M1": {"cpu_points": 90.0}, "M2": {"cpu_points": 50.0}, "M3": {"cpu_points": 30.0}}
    problem = build(
        topology("a>b", streams={"a>b": {"grouping": "weighted"}}),
        cluster(types=kinds, M1=1, M2=1, M3=1), profile(a=0.1, b=0.1), weighted=True,
    )  # fmt: skip
    left = without_machines(Plan(problem, Placement.of([0, 1], [0, 0]), "by hand"), {"M1-1"})
    # Every stage on both, 50 to 30.
    assert Deployment.of(left, "t").shares("a") == pytest.approx([0.625, 0.375])
    assert Deployment.of(left, "t").shares("b") == pytest.approx([0.625, 0.375])


def test_nothing_left_is_an_error():
    with pytest.raises(InputError, match="cannot run the plan"):
        without_machines(plan(), {"M1-1", "M2-1"})


@pytest.mark.parametrize("master", ["local[*]", "yarn", "k8s://https://host:6443"])
def test_a_master_that_cannot_place_is_refused_before_anything_starts(master):
    bound = Deployment.of(plan(), "linear", PlaceBy.TYPE)
    with pytest.raises(InputError, match="--place-by nothing"):
        require_placeable(master, bound)
    require_placeable("spark://host:7077", bound)
    require_placeable(master, Deployment.of(plan(), "linear"))


def test_settings_pin_stages_of_no_place_where_most_work_is():
    found = settings(Deployment.of(plan(), "linear", PlaceBy.TYPE), 4)
    assert found["spark.executor.resource.M1.amount"] == "1"
    assert found["spark.dynamicAllocation.maxExecutors"] == "4"
    assert settings(Deployment.of(plan(), "linear"), 1) == {}


def test_names_are_spelt_as_spark_can():
    assert resource_name("m4.large 2") == "m4_large_2"
