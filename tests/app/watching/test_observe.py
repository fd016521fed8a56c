"""A reading with names becomes an observation with positions; what is not known stays so."""

from __future__ import annotations

from math import isnan, nan

import pytest
from tests.app.watching.toy_watch import PROFILE, few_plans
from tests.engines.toy_engine import ToyEngine, toy_cluster

from penstock.app.watching.observe import observation_of
from penstock.app.watching.system import SystemMaker
from penstock.engines.base import WatchOrder
from penstock.engines.reading import InstanceReading, Reading, TopologyReading


@pytest.fixture
def snapshot(tmp_path):
    toy_cluster(tmp_path)
    with ToyEngine(str(tmp_path)).watch(WatchOrder()) as session:
        return session.snapshot()


def seen(reading):
    system = SystemMaker(ToyEngine(), planner=few_plans).system(reading, PROFILE, None)
    return observation_of(reading, system)


def test_names_become_positions(snapshot):
    src, work = ("flow", "src", 0), ("flow", "work", 0)
    reading = Reading(
        5.0, snapshot, {"flow": TopologyReading(100.0, 90.0, 7.0, 0.2, 0.1)}, {"a": 200.0},
        {src: InstanceReading("a", 90.0), work: InstanceReading("a", 80.0)},
        {("flow", "src", "work", "default"): 85.0}, {(src, work): 80.0},
        telemetry_age_s=3.0,
    )  # fmt: skip
    one = seen(reading)
    assert (one.offered, one.processed, one.waiting, one.held_back) == (100.0, 90.0, 7.0, 0.1)
    assert one.cpu[0] == 0.5  # 200 of 400 points
    assert isnan(one.cpu[1])
    assert one.instance_per_s.tolist() == [90.0, 80.0]
    assert one.stream_per_s.tolist() == [85.0]
    (traffic,) = one.traffic
    assert traffic.tasks_of == {"src": (1,), "work": (2,)}
    assert traffic.pairs == ((1, 2, 80.0),)
    assert (one.settled, one.telemetry_age_s, one.alive.tolist()) == (True, 3.0, [True, True])


def test_what_is_not_known_is_nan_or_missing_and_never_zero(snapshot):
    one = seen(Reading(5.0, snapshot))
    assert isnan(one.offered)
    assert isnan(one.held_back)
    assert (one.cpu, one.stream_per_s, one.instance_per_s, one.traffic) == (None, None, None, ())
    # Without telemetry it is as old as can be.
    assert one.telemetry_age_s == float("inf")
    assert not one.is_known


def test_what_starts_or_has_a_rate_unknown_is_told_so(snapshot):
    starts = TopologyReading(nan, nan, nan, nan, nan, "2 executors of flow are starting")
    one = seen(Reading(5.0, snapshot, {"flow": starts}))
    assert not one.settled
