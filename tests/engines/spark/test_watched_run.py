"""A run of Spark's, watched and told by its files."""

from dataclasses import replace

import pytest
from tests.builders import cluster, place, profile, topology
from tests.engines.spark.fake_run import FakeRun

from penstock import app
from penstock.engines.base import PublishOrder, WatchOrder
from penstock.engines.publisher import EngineAway, NotFollowed
from penstock.engines.spark import watched_run
from penstock.engines.spark.run_status import BatchStatus
from penstock.engines.spark.watched_run import SparkRunSession
from penstock.errors import InputError
from penstock.model.plan import Plan
from penstock.model.telemetry import Input, Output, Sample

CLUSTER = cluster(every={"cpu_points": 100.0}, M1=2)
PROBLEM = app.problem(topology("a>b"), CLUSTER, profile(on=("M1",), a=0.1, b=0.1), engine="spark")
ONE = Plan(PROBLEM, place(PROBLEM, "a M1-1", "b M1-1"), "test")


def both(share):
    """On both machines, the first with this share."""
    where = ("a M1-1", "a M1-2", "b M1-1", "b M1-2")
    return Plan(PROBLEM, place(PROBLEM, *where, shares=[share, 1 - share] * 2), "test")


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A run and the session that watches it; time passes only by waiting."""

    def start(plan, **options):
        run = FakeRun(tmp_path, plan, **options)
        monkeypatch.setattr(watched_run, "read_status", run.read_status)
        monkeypatch.setattr(watched_run, "registered_workers", run.registered)
        return run, SparkRunSession(run.folder, order=WatchOrder(clock=lambda: 1060.0))

    return start


def publish(session, plan, within_s=5.0):
    now = [1000.0]

    def sleep(seconds):
        now[0] += seconds

    order = PublishOrder(within_s=within_s, clock=lambda: now[0], sleep=sleep)
    return session.publish(session.prepare(plan, session.snapshot()), order)


def sample(task, component, host, rows, points, end_ms=1_060_000, worker="77"):
    inputs = () if component == "a" else (Input("a", "default", rows),)
    return Sample(
        end_ms, 5000, "t", component, task, host, "M1", worker, inputs=inputs,
        outputs=(Output("default", rows),), produced=rows if component == "a" else None,
        cpu_points=points, worker_cpu_points=40.0,
    )  # fmt: skip


def test_a_machine_without_instances_is_there_and_one_without_a_worker_is_not(watched):
    run, session = watched(ONE)
    assert [m.name for m in session.snapshot().cluster.machines] == ["M1-1", "M1-2"]
    run.workers = ["M1-1"]
    assert [m.name for m in session.snapshot().cluster.machines] == ["M1-1"]
    run.workers = []
    with pytest.raises(EngineAway, match="nobody answers"):
        session.snapshot()


def test_a_reading_is_of_the_newest_batches(watched):
    run, session = watched(both(0.75))
    # Long ago; then five seconds in which 500 rows were offered and 400 taken; then 600 and 700.
    run.did(BatchStatus(7, 1000.0, 5.0, 9999, 1000.0, 0.0, 5.0))
    run.did(BatchStatus(8, 1050.0, 5.0, 10, 3000.0, 0.0, 5.0))
    run.did(
        BatchStatus(9, 1055.0, 5.0, 400, 3500.0, 100.0, 6.0),
        [sample(0, "a", "M1-1", 300, 10, 1_055_000), sample(1, "a", "M1-2", 100, 5, 1_055_000)],
    )
    run.did(
        BatchStatus(10, 1060.0, 5.0, 700, 4100.0, 0.0, 8.0),
        [
            sample(0, "a", "M1-1", 500, 30), sample(1, "a", "M1-2", 200, 5),
            sample(2, "b", "M1-1", 500, 12),
        ],
    )  # fmt: skip
    reading = replace(session, order=replace(session.order, window_s=10.0)).reading()
    seen = reading.topologies["t"]
    # 1,100 rows in ten seconds, both ways; the oldest of the rows had waited for 8 s.
    assert (seen.offered_per_s, seen.processed_per_s) == (110.0, 110.0)
    assert (seen.backlog, seen.latency_s, seen.unsettled) == (0.0, 8.0, "")
    # A worker tells with each of its instances; it is one worker. The second batch of M1-2 counts.
    assert reading.machine_points == {"M1-1": 40.0, "M1-2": 40.0}
    assert reading.stream_per_s == {("t", "a", "b", "default"): 50.0}
    assert reading.instances["t", "a", 0].cpu_points == 20.0
    assert reading.instances["t", "a", 1].arrives_per_s == 30.0
    assert reading.shares["t", "a"] == (0.75, 0.25)
    assert reading.telemetry_age_s == 0.0


def test_while_the_run_has_not_noticed_that_a_machine_is_gone_nothing_is_settled(watched):
    run, session = watched(ONE)
    run.did(BatchStatus(0, 1050.0, 5.0, 100))
    assert session.reading().topologies["t"].unsettled == ""
    run.workers = ["M1-2"]
    assert session.reading().topologies["t"].unsettled == "the run goes on without M1-1 soon"


def test_rows_wait_where_more_came_than_one_batch_takes(watched):
    run, session = watched(ONE)
    run.did(BatchStatus(0, 1050.0, 5.0, 100, 400.0, 300.0, 5.0))
    # 100 of the 300 came while the batch ran, as it seems: they had no turn yet.
    assert session.reading().topologies["t"].backlog == 200.0


def test_a_source_that_cannot_tell_leaves_it_unknown(watched):
    run, session = watched(ONE)
    run.did(BatchStatus(0, 1050.0, 5.0, 100))
    run.did(BatchStatus(1, 1055.0, 5.0, 100))
    seen = session.reading().topologies["t"]
    assert seen.offered_per_s != seen.offered_per_s
    assert seen.backlog != seen.backlog
    assert seen.latency_s == 5.0  # a row waits for its batch


def test_new_shares_are_taken_up_and_nothing_restarts(watched):
    _, session = watched(both(0.5))
    plan = both(0.75)
    assert not any(s.pauses for s in session.prepare(plan, session.snapshot()).steps)
    publish(session, plan)
    assert session.reading().shares["t", "b"] == (0.75, 0.25)


def test_what_runs_already_is_published_again_and_stays(watched):
    run, session = watched(both(0.75))
    before = run.status.places
    publish(session, both(0.75))
    assert run.status.places == before


def test_a_plan_that_the_run_refuses_leaves_the_very_file_from_before(watched):
    run, session = watched(both(0.75), obeys=False)
    before = run.path.read_bytes()
    with pytest.raises(NotFollowed, match="the run refused the plan: it is obstinate"):
        publish(session, ONE)
    assert run.path.read_bytes() == before
    assert session.reading().shares["t", "a"] == (0.75, 0.25)


def test_how_long_a_change_stopped_the_stream_is_what_the_run_says(watched):
    run, session = watched(ONE)
    assert session.reading().paused_s != session.reading().paused_s
    run.status = replace(run.status, paused_s=2.5)
    run.did(BatchStatus(0, 1000.0, 5.0, 1))
    assert session.reading().paused_s == 2.5


def test_a_run_that_has_ended_is_away_and_one_that_never_was_is_an_error(watched):
    run, session = watched(ONE)
    run.status = replace(run.status, started="another boot")
    run.did(BatchStatus(0, 1000.0, 5.0, 1))
    with pytest.raises(EngineAway, match="has ended"):
        session.reading()
    (run.folder / "status.json").unlink()
    with pytest.raises(InputError, match="is this the folder"):
        session.reading()
