"""The plan of a run: replaced between two batches, once its places are there."""

import threading

import pytest
from tests.builders import cluster, place, topology

from penstock.engines.spark.deployment import PlaceBy
from penstock.engines.spark.planned import PlanInForce, plan_id_of
from penstock.errors import InputError
from penstock.files.store import save
from penstock.model.plan import Plan
from penstock.model.problem import build

ASKED = {"cpu_points": 10.0, "instances": 1}
GRAPH = topology("a>b", a=ASKED, b=ASKED)
PROBLEM = build(GRAPH, cluster(M1=2, every={"cpu_points": 100.0}))
FIRST = Plan(PROBLEM, place(PROBLEM, "a M1-1", "b M1-1"), "test")
SECOND = Plan(PROBLEM, place(PROBLEM, "a M1-2", "b M1-2"), "test")


class SlowPlaces:
    """Executors at M1-1; those at M1-2 come when they may, or never."""

    def __init__(self):
        self.may_come, self.error = threading.Event(), None

    def missing(self, deployment):
        return [p for p in deployment.places if p == "M1-2"]

    def reach(self, _deployment):
        self.may_come.wait(10)
        if self.error:
            raise self.error


@pytest.fixture
def run(tmp_path):
    path, said = tmp_path / "plan.json", []
    save(FIRST, path)
    return PlanInForce(path, GRAPH, PlaceBy.MACHINE, said.append), SlowPlaces(), said


def follow(in_force, places):
    """Looks until what is under way has come to its end."""
    places.may_come.set()
    while in_force.is_coming:
        changed = in_force.look(places)
    return changed


def test_batches_go_on_under_the_old_plan_while_executors_of_the_new_one_start(run):
    in_force, places, said = run
    save(SECOND, in_force.path)
    assert not in_force.look(places)
    assert in_force.is_coming
    assert in_force.deployment.places == ["M1-1"]
    assert follow(in_force, places)
    assert in_force.deployment.places == ["M1-2"]
    assert in_force.id == plan_id_of(in_force.path.read_bytes())
    assert said == [f"following the new plan of {in_force.path}"]


def test_a_plan_whose_places_cannot_be_reached_is_refused_and_named(run):
    in_force, places, _ = run
    save(SECOND, in_force.path)
    before, places.error = in_force.id, InputError("no worker there")
    in_force.look(places)
    assert not follow(in_force, places)
    assert (in_force.id, in_force.deployment.places) == (before, ["M1-1"])
    assert in_force.refused == (plan_id_of(in_force.path.read_bytes()), "no worker there")


def test_a_plan_that_is_replaced_while_it_waits_is_forgotten(run):
    in_force, places, _ = run
    save(SECOND, in_force.path)
    in_force.look(places)
    save(FIRST, in_force.path)
    assert in_force.look(places)  # at once: its places are there
    assert in_force.deployment.places == ["M1-1"]
    places.may_come.set()


def test_a_plan_that_waited_when_the_session_ended_is_read_again_in_the_next(run):
    in_force, places, _ = run
    save(SECOND, in_force.path)
    in_force.look(places)
    in_force.begin_anew()
    in_force.look(places)
    assert follow(in_force, places)
    assert in_force.deployment.places == ["M1-2"]


def test_what_is_no_plan_is_refused_and_a_plan_that_is_gone_stays_in_force(run):
    in_force, places, said = run
    in_force.path.write_text("{")
    assert not in_force.look(places)
    assert said[-1].startswith("the new plan was refused")
    in_force.path.unlink()
    assert not in_force.look(places)
    assert in_force.deployment.places == ["M1-1"]
