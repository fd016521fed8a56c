"""A Storm of dictionaries and a folder of telemetry lines, read as the watcher reads them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from math import isnan, nan

import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.change.in_force import plan_in_force
from penstock.engines.base import PublishOrder, WatchOrder
from penstock.engines.lab import keeper
from penstock.engines.publisher import EngineAway
from penstock.engines.storm import engine as storm_engine
from penstock.engines.storm.bridge import BridgeError
from penstock.engines.storm.engine import StormEngine
from penstock.errors import UsageError
from penstock.model.placement import Placement

NOW_S = 1_767_225_600.0


@pytest.fixture
def storm(tmp_path, monkeypatch):
    storm = FakeStorm(tmp_path / "plan.json")
    monkeypatch.setattr(storm_engine, "open_bridge", storm.opened)
    monkeypatch.setattr(keeper, "find", lambda _engine: None)
    return storm


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "telemetry"
    folder.mkdir()
    return folder


def line(component, task, ended_s=0.0, **values):
    """A window of ten seconds that ended so long ago, from where the fake has everybody."""
    return {
        "version": 1, "time_ms": round(1e3 * (NOW_S - ended_s)), "window_ms": 10_000,
        "topology": "flow", "component": component, "task": task, "host": "a",
        "machine_type": "box", "worker": "6700", "run": "flow-1-100", "worker_cpu_points": 40.0,
        **values,
    }  # fmt: skip


def spout(task, tuples, ended_s=0.0, **values):
    outputs = [{"stream": "default", "tuples": tuples}]
    return line("src", task, ended_s, outputs=outputs, inputs=[], held_back=0.0, **values)


def bolt(task, tuples, ended_s=0.0, source=None, **values):
    inputs = [{"component": "src", "stream": "default", "tuples": tuples}]
    if source is not None:
        inputs[0]["task"] = source
    return line("work", task, ended_s, inputs=inputs, outputs=[], **values)


def write(folder, *lines, name=".flow@a@6700@1-000000.jsonl.part", ending="\n"):
    with (folder / name).open("a") as file:
        file.write("\n".join(json.dumps(one) for one in lines) + ending)
    os.utime(folder / name, (NOW_S, NOW_S))


def reading(folder, clock=lambda: NOW_S, window_s=30.0):
    order = WatchOrder(telemetry=(str(folder),), clock=clock, window_s=window_s)
    with StormEngine(nimbus="master").watch(order) as session:
        return session.reading()


def test_rates_are_means_of_the_newest_windows(storm, folder):
    write(
        folder,
        spout(1, 999.0, ended_s=40.0),  # too old
        spout(1, 100.0, ended_s=10.0), spout(1, 300.0), spout(2, 100.0),
        bolt(3, 200.0, execute_ms=5.0, cpu_points=20.0, queue_fill=0.5), bolt(5, 100.0),
    )  # fmt: skip
    seen = reading(folder)
    flow = seen.topologies["flow"]
    # (100 + 300) / 20 s of the first, 100 / 10 s of the second.
    assert flow.processed_per_s == pytest.approx(30.0)
    assert (flow.offered_per_s, flow.backlog) == (flow.processed_per_s, 0.0)
    assert (flow.held_back, flow.unsettled) == (0.0, "")
    work = seen.instances["flow", "work", 0]
    assert (work.arrives_per_s, work.serves_per_s) == (20.0, 200.0)  # 1 / 5 ms
    assert (work.cpu_points, work.queue_fill, work.machine) == (20.0, 0.5, "a")
    assert seen.stream_per_s["flow", "src", "work", "default"] == pytest.approx(30.0)
    # One worker, however many executors tell of it.
    assert seen.machine_points == {"a": 40.0}
    assert seen.telemetry_age_s == 0.0
    assert seen.running_since_s == NOW_S - 50.0


def test_what_arrives_is_what_is_taken_in_and_what_the_backlog_grows_by(storm, folder):
    write(
        folder,
        spout(1, 100.0, ended_s=10.0, backlog=0.0), spout(1, 100.0, backlog=50.0),
        spout(2, 100.0, ended_s=10.0, backlog=20.0), spout(2, 100.0, backlog=10.0),
    )  # fmt: skip
    flow = reading(folder).topologies["flow"]
    # 20/s are taken in; 50 more wait and 10 fewer, in ten seconds.
    assert flow.processed_per_s == pytest.approx(20.0)
    assert flow.offered_per_s == pytest.approx(24.0)
    assert flow.backlog == pytest.approx(60.0)
    # 60 tuples at 20/s.
    assert isnan(flow.latency_s)  # nobody said how long a tuple takes


def test_without_a_count_a_spout_that_is_held_back_would_emit_more(storm, folder):
    write(folder, *(spout(t, 100.0) | {"held_back": 0.5, "latency_ms": 200.0} for t in (1, 2)))
    flow = reading(folder).topologies["flow"]
    # Half of the time for 20/s: 40/s, and 10 s of what is missing wait.
    assert (flow.offered_per_s, flow.backlog) == (pytest.approx(40.0), pytest.approx(200.0))
    assert flow.latency_s == pytest.approx(0.2 + 200.0 / 20.0)


def test_a_silent_spout_makes_the_rate_unknown_and_not_less(storm, folder):
    write(folder, spout(1, 100.0), bolt(3, 50.0), bolt(5, 50.0))
    seen = reading(folder)
    assert isnan(seen.topologies["flow"].offered_per_s)
    assert isnan(seen.topologies["flow"].backlog)
    # One that nobody heard of is no zero either.
    write(folder, name="empty.jsonl", ending="")
    assert isnan(seen.instances["flow", "src", 1].arrives_per_s)


def test_windows_in_which_not_everything_ran_do_not_count(storm, folder):
    """A spout that has just begun emits next to nothing, and that is not what arrives."""
    write(folder, spout(1, 0.0, ended_s=41.0), spout(2, 0.0, ended_s=41.0))
    # The fake's executors have run for 50 s: the window before ended 41 s ago and began 51 s ago.
    write(folder, spout(1, 100.0, ended_s=40.0), spout(2, 100.0, ended_s=40.0))
    assert reading(folder, window_s=60.0).topologies["flow"].processed_per_s == pytest.approx(20.0)


def test_a_topology_that_starts_has_no_rate_yet(storm, folder, monkeypatch):
    own = storm._assignments

    def starting(topology):
        answer = own(topology)
        answer["executors"][0]["uptime_s"] = 0
        return answer

    monkeypatch.setattr(storm, "_assignments", starting)
    write(folder, spout(1, 100.0), spout(2, 100.0))
    seen = reading(folder)
    assert isnan(seen.topologies["flow"].processed_per_s)
    assert seen.topologies["flow"].unsettled == "1 executors of flow are starting"
    assert (isnan(seen.running_since_s), seen.telemetry_age_s) == (True, 0.0)


def test_tasks_that_no_executor_has_wait_for_a_place(storm, folder):
    storm.places["work"] = storm.places["work"][:1]
    own = storm._assignments

    def partly(topology):
        answer = own(topology)
        answer["executors"][-1]["last_task"] -= 2
        return answer

    storm._assignments = partly
    assert reading(folder).topologies["flow"].unsettled == "2 tasks of flow have no place"


def test_lines_from_where_an_executor_was_before_do_not_count(storm, folder):
    write(folder, spout(1, 100.0) | {"worker": "6701"}, spout(2, 100.0) | {"run": "flow-1-99"})
    assert isnan(reading(folder).topologies["flow"].processed_per_s)


def test_traffic_between_executors_is_told_where_it_is_counted(storm, folder):
    write(folder, bolt(3, 200.0, source=1), bolt(5, 100.0, source=2))
    traffic = reading(folder).traffic_per_s
    assert traffic == {
        (("flow", "src", 0), ("flow", "work", 0)): 20.0,
        (("flow", "src", 1), ("flow", "work", 1)): 10.0,
    }


def test_a_file_goes_on_under_its_new_name_and_each_line_counts_once(storm, folder):
    now_s = [NOW_S]
    order = WatchOrder(telemetry=(str(folder),), clock=lambda: now_s[0])
    with StormEngine(nimbus="master").watch(order) as session:
        part = ".flow@a@6700@1-000000.jsonl.part"
        write(folder, spout(1, 100.0), spout(2, 100.0), ending="\n" + '{"time_ms": 17672')
        assert session.reading().topologies["flow"].processed_per_s == pytest.approx(20.0)
        with (folder / part).open("a") as file:
            file.write("25600000}\n" + json.dumps(spout(1, 300.0)) + "\n")
        (folder / part).rename(folder / part.removeprefix(".").removesuffix(".part"))
        # 400 in 20 s and 100 in 10 s; the line that was cut has ended and says nothing of anybody.
        assert session.reading().topologies["flow"].processed_per_s == pytest.approx(30.0)


@pytest.mark.parametrize(
    "text",
    [
        '{"time_ms": "now"}', "[1, 2]", "{" * 2000, '{"time_ms": 1e999}', '{"time_ms": true}',
        json.dumps(line("src", 1) | {"task": {}, "outputs": "all", "inputs": [3]}),
        json.dumps(spout(1, nan)), json.dumps(spout(1, -5.0)),
        json.dumps(spout(1, 100.0) | {"window_ms": "long"}),
    ],
)  # fmt: skip
def test_lines_that_are_no_records_are_passed_over(storm, folder, text):
    (folder / "x.jsonl").write_text(text + "\n")
    os.utime(folder / "x.jsonl", (NOW_S, NOW_S))
    rate = reading(folder).topologies["flow"].processed_per_s
    assert isnan(rate)


def test_links_and_pipes_in_the_folder_are_not_opened(storm, folder, tmp_path):
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", spout(1, 100.0), spout(2, 100.0), name="far.jsonl")
    (folder / "link.jsonl").symlink_to(tmp_path / "other" / "far.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    os.utime(folder / "pipe.jsonl", (NOW_S, NOW_S))
    assert isnan(reading(folder).topologies["flow"].processed_per_s)


def test_shares_in_force_are_those_of_the_plan_that_is_obeyed(storm, folder):
    storm.grouping = "weighted"
    order = WatchOrder(telemetry=(str(folder),), clock=lambda: NOW_S)
    with StormEngine(nimbus="master").watch(order) as session:
        before = session.snapshot()
        now = plan_in_force(before)
        share = [nan, nan, 0.25, 0.75]
        placement = now.placement
        shared = Placement.of(placement.component, placement.machine, placement.slot, share)
        plan = replace(now, placement=shared)
        publication = session.prepare(plan, before)
        assert not any(step.pauses for step in publication.steps)
        session.publish(publication, PublishOrder(sleep=lambda _s: None, clock=lambda: NOW_S))
        assert "rebalance" not in [what for what, _ in storm.asked]
        assert session.reading().shares == {("flow", "work"): (0.25, 0.75)}
        storm.places["work"] = [("b", 6700), ("b", 6700)]  # somebody moved it
        assert session.reading().shares == {}


def test_a_nimbus_that_is_away_is_asked_again_later(storm, folder, monkeypatch):
    def away(*_, **__):
        raise BridgeError("no leader", "not-reached")

    monkeypatch.setattr(storm, "_cluster", away)
    with StormEngine(nimbus="master").watch(WatchOrder(telemetry=(str(folder),))) as session:
        for _ in range(6):
            with pytest.raises(EngineAway, match="no leader"):
                session.reading()
    # A login may have run out, so the sixth time it begins anew.
    assert [what for what, _ in storm.asked].count("close") == 1


def test_what_cannot_be_watched_is_refused():
    with pytest.raises(UsageError, match="UI"), StormEngine(ui="http://ui").watch(WatchOrder()):
        pass


def test_a_topic_is_refused_with_what_to_do(storm):
    order = WatchOrder(telemetry=("kafka://broker:9092/telemetry",))
    with (
        pytest.raises(UsageError, match="from files, not from Kafka"),
        StormEngine(nimbus="master").watch(order),
    ):
        pass
