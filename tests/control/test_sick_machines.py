"""A machine that becomes slow in a rehearsal: found, planned with its speed, drained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.control.test_rehearsal import BOUND, CALM, PLANNER, load

from penstock.control.policies import registry
from penstock.control.rehearsal import RehearsalResult, rehearse
from penstock.control.rehearsed_engine import SlowPlan
from penstock.evaluate.capacity import capacity
from penstock.model.watch_rules import FREE
from penstock.planning.slow_machines import at_speeds

#: After an hour, for the rest of the rehearsal.
SLOW = SlowPlan(every_s=3600.0, speed=0.6, for_s=7200.0)
SLOWED_S = 3610.0


def with_a_slow_machine(policy: str, part: float = 0.4) -> RehearsalResult:
    rules = CALM.rules if policy == "penstock" else FREE
    setting = replace(CALM, slow=SLOW, rules=rules)
    return rehearse(load(*[part] * 18), registry.configured(policy, {}), PLANNER, setting)


@pytest.mark.parametrize("policy", ["penstock", "static", "hpa", "ds2", "dhalion", "flink"])
def test_whatever_the_policy_it_is_found_and_nothing_runs_on_it_in_the_end(policy):
    result = with_a_slow_machine(policy)
    (at_s, name), *_ = result.slowed
    assert at_s == SLOWED_S
    first = next(d for d in result.detections if d.kind == "sick machine")
    assert first.subject == name
    assert first.time_s - at_s <= 300.0
    assert first.value == pytest.approx(0.6, abs=0.1)
    machine = PLANNER.problem.cluster.machine_index[name]
    out = [d for d in result.detections if d.subject == name and "without" in d.why]
    last = result.decisions[-1].placement
    # Drained by itself, or because the policy planned something else after it was demoted.
    assert not out or machine not in last.machines_used


def test_decisions_name_what_was_detected():
    result = with_a_slow_machine("static")
    name = result.slowed[0][1]
    drained = result.decisions[-1]
    assert drained.reason == f"{name} must not be used any more"
    assert dict(drained.evidence)[f"sick machine {name}"] == pytest.approx(0.6, abs=0.1)
    # What ran carried 0.77 of the bound (1.1 of 0.7), and so does the plan without the machine.
    assert drained.rate_after_per_s >= 0.76 * BOUND


def test_a_slow_machine_is_planned_with_its_speed():
    problem = PLANNER.problem
    speed = np.ones(12)
    speed[5] = 0.6
    slowed = at_speeds(problem, speed)
    # A machine of 100 points at 0.6 of its speed has 60, and a tuple costs as many points.
    whole = PLANNER.carrying(0.9 * BOUND, np.ones(12, dtype=np.bool_)).placement
    before, after = capacity(problem, whole), capacity(slowed, whole)
    assert after.machine_slope == pytest.approx(before.machine_slope)
    assert slowed.cluster.usable_cpu[5] == pytest.approx(0.6 * problem.cluster.usable_cpu[5])
    planner = PLANNER.at_speeds(speed)
    assert planner.bound_per_s < BOUND
    assert planner is PLANNER.at_speeds(speed.copy())  # kept, with its plans
    assert PLANNER.at_speeds(np.ones(12)) is PLANNER
