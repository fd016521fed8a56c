"""What is watched: another problem only when something is another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.app.watching.toy_watch import PROFILE, few_plans
from tests.engines.toy_engine import ToyEngine, toy_cluster

from penstock.app.watching.system import SystemMaker
from penstock.engines.base import WatchOrder
from penstock.engines.reading import Reading, TopologyReading
from penstock.errors import InputError

MAKER = SystemMaker(ToyEngine(), planner=few_plans)


@pytest.fixture
def one(tmp_path):
    """A reading of one topology."""
    toy_cluster(tmp_path)
    with ToyEngine(str(tmp_path)).watch(WatchOrder()) as session:
        return Reading(1.0, session.snapshot(), {"flow": TopologyReading(100.0)})


def with_another(reading, offered_per_s):
    """The same with a second topology of the same kind."""
    snapshot = reading.snapshot
    (topology,), (deployed,) = snapshot.topologies, snapshot.deployed
    both = replace(
        snapshot,
        topologies=(topology, replace(topology, name="more")),
        deployed=(deployed, replace(deployed, topology="more", id="more-1")),
    )
    rates = {**reading.topologies, "more": TopologyReading(offered_per_s)}
    return replace(reading, snapshot=both, topologies=rates)


def test_the_same_cluster_is_the_same_object(one):
    first = MAKER.system(one, PROFILE, None)
    assert MAKER.system(replace(one, time_s=2.0), PROFILE, first) is first


def test_topologies_are_planned_for_their_parts_of_the_load(one):
    first = MAKER.system(one, PROFILE, None)
    two = MAKER.system(with_another(one, 300.0), PROFILE, first)
    # 100 and 300 of 400 tuples/s; together as many as 1 each.
    assert two.problem.demand.tolist() == pytest.approx([0.5, 1.5])
    # A tenth more or less is the same mix, and so is one that nobody knows.
    assert MAKER.system(with_another(one, 200.0), PROFILE, two) is two
    assert MAKER.system(with_another(one, float("nan")), PROFILE, two) is two
    shifted = MAKER.system(with_another(one, 100.0), PROFILE, two)
    assert shifted.problem.demand.tolist() == pytest.approx([1.0, 1.0])


def test_only_the_topologies_named_are_watched(one):
    both = with_another(one, 300.0)
    chosen = replace(MAKER, names=("more",)).system(both, PROFILE, None)
    assert chosen.runs == {"more": "more-1"}
    with pytest.raises(InputError, match="waiting for other to run"):
        replace(MAKER, names=("other",)).system(both, PROFILE, None)


def test_what_lacks_a_place_for_now_stays_watched_and_what_ended_does_not(one):
    both = MAKER.system(with_another(one, 100.0), PROFILE, None)
    waits = replace(one.snapshot, left_out={"more": "has no place yet"})
    still = MAKER.system(replace(one, snapshot=waits), PROFILE, both)
    assert {t.name for t in still.problem.topologies} == {"flow", "more"}
    assert set(MAKER.system(one, PROFILE, still).runs) == {"flow"}
