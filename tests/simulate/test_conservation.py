"""Nothing is created and nothing is lost, whatever the problem and whatever goes wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.model.strategies import placed

from penstock.simulate.census import take_census
from penstock.simulate.engine import SimulationEngine
from penstock.simulate.faults import bring_up, set_speed, take_down
from penstock.simulate.scenario import Offered, Scenario, Selectivity, Shuffle, WhenFull


@st.composite
def scenarios(draw) -> Scenario:
    pick = lambda *values: draw(st.sampled_from(values))  # noqa: E731
    return Scenario(
        duration_s=1.0,
        offered=Offered(of_sustainable=None, per_s=pick(20.0, 200.0, 1000.0)),
        queue_limit=pick(None, 1, 5, 100),
        when_full=pick(*WhenFull),
        max_spout_pending=pick(None, 1, 20),
        acking=pick(True, False),
        timeout_s=pick(0.05, 0.3, 30.0),
        replay=pick(True, False),
        selectivity=pick(*Selectivity),
        shuffle=pick(*Shuffle),
    )


def books(engine: SimulationEngine) -> None:
    """Counters, lists and tables agree."""
    world = engine.world
    census, instances = take_census(world), world.instances
    size = len(world.services)

    def by(name):
        return np.bincount(instances["component"], instances[name], size).astype(np.int64)

    # Every node of the table is somewhere or free.
    assert census.nodes - census.nodes_free == census.found
    # At every component: what came is done, lost there, or present. Tuples lost on their way never
    # came, so lost ones are bounded by what came and by what was sent.
    present = census.queued + census.in_hand
    assert (present == by("present")).all()
    assert (by("came") - by("done") - present <= by("lost")).all()
    assert (by("came") - by("done") - present >= 0).all()
    # Every tuple offered is completed, lost, given up, in flight or at its source.
    topologies = world.topologies
    spouts = instances["spout"] > 0
    at_source = np.bincount(
        instances["topology"][spouts], instances["queue"][spouts], len(topologies)
    ).astype(np.int64)
    given_up = topologies["timed_out"] - topologies["replayed"]
    known = topologies["completed"] + topologies["lost"] + given_up + topologies["live"]
    assert (topologies["offered"] == known + at_source).all()


@pytest.mark.slow
@given(placed(), scenarios(), st.integers(0, 1000))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_in_is_out_and_queued_and_dropped(case, scenario, seed):
    problem, placement = case
    if not len(placement):
        return
    engine = SimulationEngine(problem, placement, scenario, seed)
    machine = int(placement.machine[0])
    acts = {
        0.2: lambda w: set_speed(w, machine, 0.3),
        0.4: lambda w: take_down(w, machine),
        0.7: lambda w: bring_up(w, machine),
    }
    for at_s, act in acts.items():
        for _ in range(20):
            if engine.advance(at_s, 5_000):
                break
        books(engine)
        act(engine.world.record)
        books(engine)
    for _ in range(20):
        if engine.advance(1.0, 5_000):
            break
    books(engine)
