"""The papers' policies: what they do when, and that they use what was seen before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import nasiri
from tests.control.test_rehearsal import BOUND, CALM, PLANNER, load

from penstock.control.decision import Decision, DecisionKind
from penstock.control.journal import entry_of, folded
from penstock.control.loop import begin
from penstock.control.observation import Observation
from penstock.control.policies import registry
from penstock.control.policies.flink import FlinkPolicy
from penstock.control.policies.lcstream import LcStreamPolicy
from penstock.control.policies.tune import SCHEDULERS, TunePolicy
from penstock.control.policy import Setting
from penstock.control.provenance import provenance
from penstock.control.rehearsal import rehearse
from penstock.errors import InputError
from penstock.evaluate.capacity import capacity
from penstock.model.placement import Placement
from penstock.model.watch_rules import FREE
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.schedulers.base import Budget
from penstock.schedulers.lcstream.counts import LatenessLimits, Stations

FREELY = replace(CALM, rules=FREE)
EVERYONE = np.ones(12, dtype=np.bool_)
SETTING = Setting(PLANNER.problem, PLANNER, 5.0, 12.0)


def seen(time_s: float, part: float, placement, **differs) -> Observation:
    rate = part * BOUND
    processed = min(rate, PLANNER.carries_per_s(placement))
    cpu = PLANNER.machine_load(placement).cpu(processed / PLANNER.unit)
    calm = Observation(time_s, (rate,), (processed,), (0.0,), (0.1,), placement, EVERYONE, cpu)
    return replace(calm, **differs)


def proposals(policy, observations, memory=None):
    memory = policy.start() if memory is None else memory
    found = []
    for one in observations:
        proposal, memory = policy.propose(one, memory, SETTING)
        if proposal.wants_change:
            found.append((one.time_s, proposal))
    return found


def steady(part: float, placement, seconds: float):
    return [seen(10.0 * i, part, placement) for i in range(int(seconds / 10) + 1)]


# -- flink -----------------------------------------------------------------------------------------


def test_flink_of_before_does_not_shrink_within_its_grace_period():
    placement = PLANNER.carrying(0.5 * BOUND, EVERYONE).placement
    carries = PLANNER.carries_per_s(placement) / BOUND
    policy = FlinkPolicy(
        window_s=60.0, stabilise_s=60.0, shrink_every_s=0.0, grace_s=3600.0, band=0.1
    )
    # Above the band at first (0.9 of what is carried), far below it after ten minutes.
    busy = steady(0.9 * carries, placement, 600.0)
    idle = [replace(one, time_s=one.time_s + 610.0) for one in steady(0.1, placement, 7200.0)]
    found = proposals(policy, [*busy, *idle])
    grown_s = max(at for at, p in found if "more than" in p.reason)
    shrunk_s = min(at for at, p in found if "less than" in p.reason)
    assert 3600.0 <= shrunk_s - grown_s <= 3660.0


# -- lcstream --------------------------------------------------------------------------------------


def test_lcstream_wakes_servers_until_queues_are_short():
    small = PLANNER.carrying(0.3 * BOUND, EVERYONE).placement
    _, proposal = proposals(LcStreamPolicy(), steady(0.6, small, 120.0))[0]
    assert proposal.reason == "queues or waits are over their limits"
    after = proposal.placement
    assert len(after.machines_used) > len(small.machines_used)
    stations = Stations(PLANNER.problem, 0.6 * BOUND / PLANNER.unit, LatenessLimits(0.8, 0.0))
    counts = after.counts(len(PLANNER.problem.components)).tolist()
    totals = stations.totals(counts)
    assert all(stations.holds(c, n, totals) for c, n in enumerate(counts))


def test_lcstream_puts_servers_to_sleep_when_most_have_little_to_do():
    large = PLANNER.carrying(0.9 * BOUND, EVERYONE).placement
    _, proposal = proposals(LcStreamPolicy(), steady(0.1, large, 120.0))[0]
    assert proposal.reason == "most servers have little to do"
    assert len(proposal.placement.machines_used) < len(large.machines_used)
    scale = capacity(PLANNER.problem, proposal.placement).scale
    assert scale * PLANNER.unit >= 0.1 * BOUND


def test_lcstream_leaves_alone_what_is_within_the_limits():
    fit = PLANNER.carrying(0.8 * BOUND, EVERYONE).placement
    assert proposals(LcStreamPolicy(threshold=1.0), steady(0.5, fit, 600.0)) == []


def test_lcstream_applies_a_state_that_was_seen_before(monkeypatch):
    small = PLANNER.carrying(0.3 * BOUND, EVERYONE).placement
    first = proposals(LcStreamPolicy(), steady(0.6, small, 60.0))[0][1].placement
    # Journal of a run in which that placement carried 0.6 of the bound.
    entry = None
    for one in steady(0.6, first, 100.0):
        turn = entry_of(one, _nothing(one.time_s), ())
        entry = turn if entry is None else folded(entry, turn)
    past = provenance([entry], np.zeros(12))
    state = begin(PLANNER.problem, PLANNER, LcStreamPolicy(), FREE, past)
    # Without the scheduler there is nothing but the memory.
    monkeypatch.setattr(LcStreamPolicy, "_up", lambda *_: pytest.fail("it was seen before"))
    again = proposals(LcStreamPolicy(), steady(0.6, small, 60.0), state.memory)
    assert again[0][1].placement == first


def _nothing(time_s):
    return Decision(time_s, DecisionKind.NOTHING, "")


def test_lcstream_wakes_again_on_load_in_a_rehearsal():
    result = rehearse(load(*[0.6] * 6, *[0.1] * 6, *[0.6] * 6), LcStreamPolicy(), PLANNER, FREELY)
    kinds = [d.kind for d in result.decisions]
    assert DecisionKind.DRAIN in kinds
    assert DecisionKind.WAKE in kinds[kinds.index(DecisionKind.DRAIN) :]
    assert result.series.latency_s[-1] <= 5.0


# -- tune ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_tune_plans_with_each_of_the_thesis_schedulers(scheduler):
    small = PLANNER.carrying(0.2 * BOUND, EVERYONE).placement
    policy = TunePolicy(scheduler=scheduler)
    at_s, proposal = proposals(policy, steady(0.4, small, 300.0))[0]
    assert at_s == 300.0
    assert proposal.reason == "a machine has too much to do"
    before, after = (
        PLANNER.machine_load(p).cpu(0.4 * BOUND / PLANNER.unit).max()
        for p in (small, proposal.placement)
    )
    assert after < before


def test_tune_needs_fewer_machines_when_little_is_used():
    large = PLANNER.carrying(0.9 * BOUND, EVERYONE).placement
    _, proposal = proposals(TunePolicy(), steady(0.1, large, 300.0))[0]
    assert proposal.reason == "little is used"
    assert len(proposal.placement.machines_used) < len(large.machines_used)


def test_tune_moves_executors_together_where_traffic_calls_for_it():
    # Spread by turns over two machines, every tuple of ``default`` changes machine; a3 puts the
    # heaviest pairs together.
    problem = nasiri("linear", (0, 2, 0))
    problem = problem.with_counts([1] * len(problem.components))
    planner = CapacityPlanner(problem, levels=10, budget=lambda: Budget(iterations=1))
    setting = Setting(problem, planner, 5.0, 12.0)
    n = len(problem.components)
    apart = Placement.of(range(n), [c % 2 for c in range(n)])
    rate = 0.5 * planner.carries_per_s(apart)
    cpu = planner.machine_load(apart).cpu(rate / planner.unit)
    policy, found = TunePolicy(low=0.0), []
    memory = policy.start()
    for i in range(31):
        one = Observation(
            10.0 * i, (rate,), (rate,), (0.0,), (0.1,), apart, np.ones(2, dtype=np.bool_), cpu,
            stream_per_s=np.full(len(problem.streams), rate),
        )  # fmt: skip
        proposal, memory = policy.propose(one, memory, setting)
        if proposal.wants_change:
            found.append(proposal)
    assert [p.reason for p in found] == ["less traffic between nodes"]
    evidence = dict(found[0].evidence)
    assert evidence["with a new plan"] <= evidence["traffic on the way"] - policy.gain
    assert found[0].beyond_rate  # it may carry just as much


def test_a_scheduler_that_the_thesis_has_not_is_refused():
    with pytest.raises(InputError, match='must be one of top, a3, ban, gr, not "rstorm"'):
        registry.configured("tune", {"scheduler": "rstorm"})
    with pytest.raises(InputError, match="tune: scheduler must be a name, not 3"):
        registry.configured("tune", {"scheduler": 3})
