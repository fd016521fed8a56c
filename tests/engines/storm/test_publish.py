"""A plan put in force: what is shown first, what is waited for, what is gone back to."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.change.guard import stale
from penstock.change.in_force import plan_in_force
from penstock.engines.base import PublishOrder
from penstock.engines.storm.bridge import BridgeError
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.permission import Permission, plan_file_of
from penstock.engines.storm.plans_in_force import parts_in_force
from penstock.engines.storm.publish import NotFollowed, prepare
from penstock.engines.storm.publish import publisher as storm_publisher
from penstock.engines.storm.snapshot import snapshot_of
from penstock.errors import InputError
from penstock.files.store import dumps, load
from penstock.model.placement import Placement
from penstock.model.plan import Contingency


@pytest.fixture
def storm(tmp_path):
    return FakeStorm(tmp_path / "plan.json")


def snapshot(storm):
    return snapshot_of(read_nimbus(storm))


def plan_of(storm, *places):
    """A plan made from what runs: (component, machine, slot), components and machines by number."""
    now = snapshot(storm)
    made = plan_in_force(now)
    return replace(made, placement=Placement.of(*map(list, zip(*places, strict=True))))


@pytest.fixture
def apart(storm):
    # src 0 and work 0 stay on a; src 1 and work 1 go to b.
    return plan_of(storm, (0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0))


class Clock:
    """Time passes only by waiting."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def publisher(storm, kept, within_s=20.0, say=lambda _text: None):
    clock = Clock()
    order = PublishOrder(say, kept.append, within_s=within_s, clock=clock, sleep=clock.sleep)
    return storm_publisher(storm, storm.plan_file, order, Permission.asked(storm))


def test_nothing_is_touched_by_preparing(storm, apart):
    publication = prepare(apart, snapshot(storm))
    (step,) = publication.steps
    assert publication.changes.moves == 2
    # The one worker loses two executors and a second one starts: both are new.
    assert (step.workers_restarted, step.workers, dict(step.executors)) == (2, 2, {})
    assert step.pause_s(2) == 13.0  # 2 s of waiting, 3 s for the assignment, 8 s for a worker
    assert not storm.plan_file.exists()
    assert "rebalance" not in [what for what, _ in storm.asked]


def test_a_plan_is_written_ordered_and_read_back(storm, apart):
    kept = []
    done = publisher(storm, kept).publish(prepare(apart, snapshot(storm)))
    assert storm.plan_file.read_text() == dumps(apart)
    assert storm.places == {
        "src": [("a", 6700), ("b", 6700)],
        "work": [("a", 6700), ("b", 6700)],
    }
    assert [r.outcome for r in kept] == ["begun", "applied"]
    assert done.steps[0].placed_after_s == 0.0


def test_other_executor_counts_go_with_the_order(storm):
    wider = plan_of(storm, (0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 0), (1, 1, 0))
    publisher(storm, []).publish(prepare(wider, snapshot(storm)))
    orders = [fields for what, fields in storm.asked if what == "rebalance"]
    # One worker on each machine: with more asked for, Storm would want to move them again.
    assert orders == [
        {"name": "flow", "wait_s": 2, "workers": 2, "executors": {"src": 1, "work": 4}}
    ]


def test_a_storm_that_does_not_follow_gets_its_old_placement_back(storm, apart):
    storm.plan_file.write_text("the plan from before")
    before = dict(storm.places)
    storm.obeys = False
    kept = []
    with pytest.raises(NotFollowed, match="rolled back") as error:
        publisher(storm, kept).publish(prepare(apart, snapshot(storm)))
    assert "src 1 is on a, the plan has it on b" in str(error.value)
    assert storm.places == before
    orders = [fields["workers"] for what, fields in storm.asked if what == "rebalance"]
    assert orders == [2, 1]  # and back to the one worker it had
    assert storm.plan_file.read_text() == "the plan from before"
    assert kept[-1].outcome == "rolled back"
    assert kept[-1].backup.endswith("plan.json.before")


def test_where_there_was_no_plan_there_is_none_again(storm, apart):
    storm.obeys = False
    with pytest.raises(NotFollowed):
        publisher(storm, []).publish(prepare(apart, snapshot(storm)))
    assert not storm.plan_file.exists()


def test_an_order_under_way_is_waited_for(storm, apart):
    storm.busy = 3
    done = publisher(storm, []).publish(prepare(apart, snapshot(storm)))
    assert done.outcome == "applied"
    assert done.ended_s - done.began_s == 3.0  # one second after each refusal


def test_a_publisher_that_is_killed_leaves_a_plan_that_can_be_applied_again(storm, apart):
    class Killed(BaseException):
        pass

    def killed(what, **fields):
        if what == "rebalance":
            raise Killed
        return FakeStorm.ask(storm, what, **fields)

    storm.ask = killed
    with pytest.raises(Killed):
        publisher(storm, []).publish(prepare(apart, snapshot(storm)))
    del storm.ask
    assert json.loads(storm.plan_file.read_text())["format"] == "penstock/plan"
    assert stale(apart, snapshot(storm)) == []
    publisher(storm, []).publish(prepare(apart, snapshot(storm)))
    assert stale(apart, snapshot(storm)) == []  # in force already is not stale


def where(storm, given=None):
    return plan_file_of(snapshot(storm), Permission.asked(storm, given), given)


def test_a_nimbus_with_another_scheduler_is_refused(storm):
    storm.scheduler = "org.apache.storm.scheduler.resource.ResourceAwareScheduler"
    with pytest.raises(InputError, match=r"ResourceAwareScheduler.*set storm\.scheduler"):
        where(storm)


def test_a_plan_file_on_another_machine_is_refused(storm, tmp_path):
    storm.plan_file = tmp_path / "elsewhere" / "plan.json"
    storm.own_settings = {"penstock.plan.file": str(storm.plan_file)}
    with pytest.raises(InputError, match="run this on Nimbus' machine"):
        where(storm)
    assert where(storm, tmp_path / "plan.json") == tmp_path / "plan.json"


@pytest.mark.parametrize("own", [{}, {"penstock.plan.file": "/var/lib/penstock/plan.json"}])
def test_what_nimbus_calls_its_plan_file_is_written_only_if_somebody_here_says_so(
    storm, tmp_path, own
):
    storm.plan_file = precious = tmp_path / "precious"
    precious.write_text("keep")
    storm.own_settings = own
    with pytest.raises(InputError, match="precious: Nimbus calls this its plan file, but"):
        where(storm)
    assert where(storm, precious) == precious


# -- other topologies on the same Storm ------------------------------------------------------------


def other_plan(apart, name="billing"):
    """A plan for another topology of the same shape, as its file."""
    topology = replace(apart.problem.topologies[0], name=name)
    problem = replace(apart.problem, topologies=(topology,))
    lost = Contingency("b", (("src", 1, "a", 0), ("work", 1, "a", 0)))
    deployed = replace(apart.deployed[0], topology=name, id=f"{name}-2-100")
    return replace(apart, problem=problem, if_lost=(lost,), deployed=(deployed,))


def test_a_plan_for_one_topology_leaves_the_plan_of_another_in_force(storm, apart):
    other = other_plan(apart)
    storm.others = {"billing": ""}
    storm.plan_file.write_text(dumps(other))
    publisher(storm, []).publish(prepare(apart, snapshot(storm)))
    written = json.loads(storm.plan_file.read_text())
    assert [t["name"] for t in written["topologies"]] == ["flow"]
    (kept,) = written["kept"]
    was = json.loads(dumps(other))
    assert kept["topologies"] == was["topologies"]
    assert (kept["if_lost"], kept["deployed"]) == (was["if_lost"], was["deployed"])
    assert kept["inputs"]["cluster"]["machines"] == was["inputs"]["cluster"]["machines"]
    # It is still a plan file; and the next plan keeps it too.
    assert load(storm.plan_file).slots_of("flow") == apart.slots_of("flow")
    back = plan_of(storm, (0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0))
    publisher(storm, []).publish(prepare(back, snapshot(storm)))
    assert json.loads(storm.plan_file.read_text())["kept"] == [kept]


def test_the_plan_of_a_topology_that_is_gone_is_dropped(storm, apart):
    storm.plan_file.write_text(dumps(other_plan(apart)))
    publisher(storm, []).publish(prepare(apart, snapshot(storm)))
    assert storm.plan_file.read_text() == dumps(apart)


@pytest.mark.parametrize(
    "old",
    [
        "",
        "{",
        "[]",
        "\xff",
        '{"format": "penstock/cluster"}',
        '{"format": "penstock/plan"}',
        '{"format": "penstock/plan", "topologies": [{}], "inputs": {}}',
        '{"format": "penstock/plan", "topologies": [{"name": "flow"}], "inputs": {}}',
        '{"format": "penstock/plan", "topologies": [], "inputs": {}, "kept": [7]}',
    ],
)
def test_a_plan_file_that_is_none_keeps_nothing(old):
    assert parts_in_force(old.encode(), {"flow"}, set()) == []


def test_a_topology_that_may_not_be_read_or_has_no_place_stops_nobody(storm, apart):
    storm.others = {"secret": "not yours", "waiting": ""}
    done = publisher(storm, []).publish(prepare(apart, snapshot(storm)))
    assert done.outcome == "applied"
    left_out = snapshot(storm).left_out
    assert left_out == {"secret": "not yours", "waiting": "has no place yet (no slot)"}


# -- shares ----------------------------------------------------------------------------------------


@pytest.fixture
def shared(storm, apart):
    """A plan with unequal shares for a topology whose workers read them from a blob."""
    storm.settings = {
        "penstock.shares.file": "shares.json",
        "topology.blobstore.map": {"flow-shares": {"localname": "shares.json"}},
    }
    share = [0.5, 0.5, 0.75, 0.25]
    return replace(apart, placement=replace(apart.placement, share=np.array(share)))


def test_shares_go_to_the_blob_that_the_workers_read(storm, shared):
    publisher(storm, []).publish(prepare(shared, snapshot(storm)))
    assert storm.blobs == {"flow-shares": dumps(shared)}


@pytest.mark.parametrize("how", ["named", "linked", "dots", "relative"])
def test_a_file_that_only_the_topology_names_is_not_written(storm, shared, tmp_path, how):
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    precious = tmp_path / "precious"
    precious.write_text("keep")
    (allowed / "linked").symlink_to(precious)
    named = {"named": precious, "linked": allowed / "linked", "dots": allowed / ".." / "precious"}
    storm.settings = {"penstock.shares.file": str(named.get(how, "precious"))}
    storm.own_settings["penstock.shares.folders"] = [str(allowed)]
    said = []
    publisher(storm, [], say=said.append).publish(prepare(shared, snapshot(storm)))
    assert precious.read_text() == "keep"
    assert any("which was not written: copy the plan there" in text for text in said)


def test_shares_are_written_where_the_operator_lets_topologies_read_them(storm, shared, tmp_path):
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    storm.settings = {"penstock.shares.file": str(allowed / "flow.json")}
    storm.own_settings["penstock.shares.folders"] = [str(allowed)]
    publisher(storm, []).publish(prepare(shared, snapshot(storm)))
    assert (allowed / "flow.json").read_text() == dumps(shared)


def test_folders_for_shares_that_are_no_list_are_refused(storm):
    storm.own_settings["penstock.shares.folders"] = "/var/lib/penstock"
    with pytest.raises(InputError, match="must be a list of folders"):
        Permission.asked(storm)


def test_shares_are_taken_back_with_the_plan(storm, apart, shared):
    storm.plan_file.write_text(dumps(apart))
    storm.obeys = False
    with pytest.raises(NotFollowed, match="rolled back"):
        publisher(storm, []).publish(prepare(shared, snapshot(storm)))
    assert storm.blobs == {"flow-shares": dumps(apart)}


def test_shares_that_cannot_be_brought_are_a_reason_to_go_back(storm, shared):
    def refused(**_fields):
        raise BridgeError("no room for blobs")

    storm._put_blob = refused
    kept = []
    with pytest.raises(NotFollowed, match="could not be brought to the workers: no room for blobs"):
        publisher(storm, kept).publish(prepare(shared, snapshot(storm)))
    assert kept[-1].outcome != "begun"
