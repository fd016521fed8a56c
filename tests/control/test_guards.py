"""Each guard rail refuses what it is for, and says which rule it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import build, cluster, place, profile, topology

from penstock.control.guards import GUARDS, ChangeRecord, WantedChange, not_ready, refusal
from penstock.control.observation import Observation
from penstock.model.watch_rules import Hours, WatchRules
from penstock.planning.capacity_plans import CapacityPlan

PROBLEM = build(
    topology("a"),
    cluster(M1=4, every={"price_per_hour": 2.0}),
    profile(a=1.0, on=("M1",), met=0.0),
)
NOW = place(PROBLEM, "a M1-1", "a M1-2")
FEWER = place(PROBLEM, "a M1-1")
MORE = place(PROBLEM, "a M1-1", "a M1-2", "a M1-3")
#: 1970-01-02 03:00 UTC.
AT_S = 86_400.0 + 3 * 3600.0


def seen(**differs) -> Observation:
    calm = Observation(AT_S, (90.0,), (90.0,), (0.0,), (0.1,), NOW, np.ones(4, dtype=np.bool_))
    return replace(calm, **differs)


def wanted(placement, rules: WatchRules, **differs) -> WantedChange:
    machines = len(placement.machines_used)
    plan = CapacityPlan(placement, 100.0 * machines, machines, machines, machines)
    given = {"seen": seen(), "moves": abs(machines - 2), "changes": (), "shares_only": False}
    given |= {"shrinking_since_s": AT_S - 1000.0, "carries_now_per_s": 200.0} | differs
    return WantedChange(rules=rules, problem=PROBLEM, plan=plan, **given)


CHANGED = ChangeRecord(AT_S - 20.0, 3, 200.0, 100.0, 2)


@pytest.mark.parametrize(
    ("rule", "want"),
    [
        ("dead_band", wanted(FEWER, WatchRules(dead_band=0.6))),
        ("dead_band", wanted(MORE, WatchRules(), asked_per_s=150.0)),  # asked for less, got more
        ("catching_up_s", wanted(FEWER, WatchRules(), seen=seen(backlog=(180.0,)))),
        ("forbidden_hours", wanted(MORE, WatchRules(forbidden_hours=(Hours(22.0, 6.0),)))),
        ("must_keep", wanted(MORE, WatchRules(), useless_per_s=(300.0,))),
        ("cool_down_s", wanted(MORE, WatchRules(), changes=(CHANGED,))),
        ("stabilise_s", wanted(FEWER, WatchRules(stabilise_s=300.0), shrinking_since_s=AT_S - 9)),
        ("most_moves_per_change", wanted(MORE, WatchRules(most_moves_per_change=4), moves=5)),
        (
            "most_moves_per_hour",
            wanted(
                MORE, WatchRules(cool_down_growing_s=0, most_moves_per_hour=3), changes=(CHANGED,)
            ),
        ),
        (
            "most_changes_per_hour",
            wanted(
                MORE, WatchRules(cool_down_growing_s=0, most_changes_per_hour=1), changes=(CHANGED,)
            ),
        ),
        ("machines", wanted(MORE, WatchRules(most_machines=2))),
        ("machines", wanted(FEWER, WatchRules(fewest_machines=2))),
        ("most_instances", wanted(MORE, WatchRules(most_instances=2))),
        # Three machines at 2 an hour each.
        ("most_price_per_hour", wanted(MORE, WatchRules(most_price_per_hour=5.0))),
    ],
)
def test_a_rule_refuses_and_is_named(rule, want):
    found = refusal(want)
    assert found is not None
    assert found[0] == rule
    assert found[1]


@pytest.mark.parametrize("placement", [FEWER, MORE])
def test_without_a_reason_nothing_is_refused(placement):
    assert refusal(wanted(placement, WatchRules())) is None


def test_shares_move_nobody_so_that_cool_downs_let_them_pass():
    assert refusal(wanted(MORE, WatchRules(), changes=(CHANGED,), shares_only=True)) is None


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("stale_after_s", seen(telemetry_age_s=61.0)),
        ("missing is not zero", seen(offered_per_s=(float("nan"),))),
        ("all runs", seen(settled=False)),
        ("most_failed", seen(alive=np.array([True, True, False, False]))),
    ],
)
def test_what_is_not_known_or_does_not_run_is_not_acted_on(rule, what):
    assert not_ready(what, WatchRules())[0] == rule


def test_every_guard_has_a_case_here():
    cases = test_a_rule_refuses_and_is_named.pytestmark[0].args[1]
    assert {rule for rule, _ in cases} == set(GUARDS)


def test_hours_go_over_midnight():
    night = Hours(22.0, 6.0)
    assert [night.has(hour) for hour in (21.9, 22.0, 0.0, 5.9, 6.0)] == [
        False, True, True, True, False,
    ]  # fmt: skip
