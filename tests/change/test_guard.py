"""Whether a plan still fits what runs."""

from dataclasses import replace

import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.change.guard import differences, stale
from penstock.change.in_force import plan_in_force
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.snapshot import snapshot_of
from penstock.errors import InputError
from penstock.model.placement import Placement
from penstock.model.plan import Deployed
from penstock.planning.other_tenants import with_other_tenants


@pytest.fixture
def storm(tmp_path):
    return FakeStorm(tmp_path / "plan.json")


@pytest.fixture
def plan(storm):
    return plan_in_force(now(storm))


def now(storm):
    return snapshot_of(read_nimbus(storm))


def test_a_plan_of_what_runs_is_not_stale(storm, plan):
    assert stale(plan, now(storm)) == []


def test_everything_that_changed_is_said(storm, plan):
    storm.id = "flow-2-200"
    storm.machines = ("b",)
    assert stale(plan, now(storm)) == [
        "machine a is not there",
        "flow was submitted again: it is now flow-2-200, not flow-1-100",
    ]


def test_another_placement_is_stale_unless_it_is_the_plan(storm, plan):
    storm.places["work"] = [("a", 6700), ("b", 6700)]
    moved = now(storm)
    # The plan keeps both on a, and that is what ran when it was made.
    assert stale(plan, moved) == ["flow was rescheduled since the plan was made"]
    assert stale(replace(plan_in_force(moved), deployed=plan.deployed), moved) == []


def test_a_machine_that_others_use_too_is_still_of_its_type(storm, plan):
    shared = replace(plan, problem=with_other_tenants(plan.problem, {"a": 50.0}))
    assert shared.problem.cluster.machines[0].type == "box with 50 points of others"
    assert stale(shared, now(storm)) == []


def test_other_groupings_are_stale(storm, plan):
    storm.grouping = "all"
    assert stale(plan, now(storm)) == ["the streams or groupings of flow have changed"]


def test_a_plan_made_from_files_is_held_against_components_only(storm, plan):
    by_hand = replace(plan, deployed=())
    storm.id, storm.grouping = "flow-9-900", "all"
    assert stale(by_hand, now(storm)) == []


def test_workers_count_and_their_numbers_do_not():
    planned = {"x": (("a", 0), ("a", 1)), "y": (("a", 0),)}

    def running(*slots):
        return Deployed("t", "t-1", (("x", tuple(slots[:2])), ("y", slots[2:])))

    assert differences(planned, running(("a", 7), ("a", 3), ("a", 7))) == []
    assert differences(planned, running(("a", 7), ("a", 3), ("a", 3))) == [
        "y 0 is in another worker of a"
    ]
    assert differences(planned, running(("a", 7), ("a", 7), ("a", 7))) == [
        "two workers of the plan run as one"
    ]
    assert differences(planned, running(("b", 7), ("a", 3), ("a", 7))) == [
        "x 0 is on b, the plan has it on a"
    ]


def test_an_executor_on_a_machine_that_is_gone_is_no_plan(storm):
    storm.places["work"] = [("a", 6700), ("c", 6700)]
    with pytest.raises(InputError, match="is on id-c, which is not there any more"):
        plan_in_force(now(storm))


def test_more_instances_than_tasks_cannot_be_had(storm, plan):
    # Two spouts with a task each; a plan made from files knows nothing of tasks.
    places = plan.placement
    third = Placement.of([*places.component, 0], [*places.machine, 0])
    assert stale(replace(plan, placement=third), now(storm)) == [
        "flow/src has 2 tasks, too few for 3 instances"
    ]


def test_a_plan_that_needs_what_its_machine_lacks_is_refused_by_name(storm, plan):
    # Both instances of work are on a, each with a GPU; a has one, by the plan's own cluster.
    (graph,) = plan.problem.topologies
    with_gpu = tuple(
        replace(c, resources=(("gpu", 1.0),)) if c.name == "work" else c for c in graph.components
    )
    kinds = tuple(replace(kind, resources=(("gpu", 1.0),)) for kind in plan.problem.cluster.types)
    problem = replace(
        plan.problem,
        topologies=(replace(graph, components=with_gpu),),
        cluster=replace(plan.problem.cluster, types=kinds),
    )
    short = ["machine a has 1 gpu, the plan needs 2"]
    assert stale(replace(plan, problem=problem), now(storm)) == short
    # Where the engine says what there is, that is what counts.
    offering = replace(now(storm), cluster=plan.problem.cluster)
    enough = tuple(replace(kind, resources=(("gpu", 2.0),)) for kind in kinds)
    offering = replace(offering, cluster=replace(offering.cluster, types=enough))
    assert stale(replace(plan, problem=problem), offering) == []
