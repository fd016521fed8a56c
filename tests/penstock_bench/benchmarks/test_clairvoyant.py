"""A floor under every policy that keeps the limits, on loads where it can be worked out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.control.test_rehearsal import PLANNER, load

from penstock.control.policies.penstock import PenstockPolicy
from penstock.control.rehearsal import RehearsalSetting, rehearse
from penstock_bench.benchmarks.control.clairvoyant import ChangeCost, Clairvoyant


def known(*parts: float) -> Clairvoyant:
    return Clairvoyant(load(*parts), PLANNER)


def test_a_steady_load_needs_no_change_and_has_no_regret():
    floor = known(*[0.4] * 24).floor(0.01)
    assert floor.schedule.changes == 0
    # A part of the time may be over the target, and then nothing need run: at most that is saved.
    assert -0.01 <= floor.regret <= 0.0


def test_without_changes_the_highest_rate_is_held():
    steps = known(*[0.2] * 12, *[0.6] * 12)
    least_low, least_high = steps.least[0], steps.least[-1]
    floor = steps.floor(0.0, most_changes=0)
    # An hour at each rate. Weak duality: below by what the halving of prices leaves.
    assert floor.machine_hours <= 2 * least_high
    assert floor.machine_hours == pytest.approx(2 * least_high, rel=0.02)
    # With a change, and time for it, it is the least of each hour; an overload of 1.6 % is borne.
    assert steps.floor(0.1).machine_hours == pytest.approx(least_low + least_high, abs=1.0)


def test_a_change_costs_the_windows_of_its_pause_and_drain():
    over = ChangeCost(pause_s=12.0, target_s=5.0, window_s=10.0).over_s(np.array([[0.1, 0.5, 7.0]]))
    # 12 + 7 / 0.1 = 82 s are eight windows; 12 + 14 = 26 two; 13 one.
    np.testing.assert_allclose(over, [[80.0, 20.0, 10.0]])
    short = ChangeCost(pause_s=4.0).over_s(np.array([[0.1]]))
    assert short.tolist() == [[0.0]]


def test_an_overload_is_over_the_target_once_five_seconds_wait():
    over = ChangeCost().overload_s(np.array([[0.9, 1.01, 1.25]]))
    # At 1.25 times what is carried a fifth of each second is left: 5 s after 25 s.
    np.testing.assert_allclose(over, [[0.0, 0.0, 275.0]])


def test_no_schedule_within_the_limits_is_below_the_floor():
    parts = (0.2, 0.5, 0.3, 0.6, 0.2)
    one = known(*parts)
    allowed_s, most = 0.05 * len(parts) * 300.0, 2
    best = np.inf
    for way in product(range(len(one.machines)), repeat=len(parts)):
        level = np.array(way)
        at = np.flatnonzero(np.diff(level)) + 1
        over = (
            one._overload_s[np.arange(len(parts)), level].sum() + one._change_s[at, level[at]].sum()
        )
        if len(at) <= most and over <= allowed_s:
            best = min(best, one.machines[level].sum() / 12.0)
    assert one.floor(0.05, most).machine_hours <= best + 1e-9


def test_our_policy_stays_above_the_floor_for_its_own_changes_and_time():
    what = load(*[0.2] * 18, *[0.5] * 12, *[0.3] * 18)
    score = rehearse(what, PenstockPolicy(), PLANNER, RehearsalSetting(), 0).score
    floor = Clairvoyant(what, PLANNER).floor(score.over_target, score.changes)
    assert floor.machine_hours <= score.machine_hours
