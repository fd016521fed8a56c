"""The step that costs least, on demands where it can be worked out."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.control.step_choice import StepPrice, best_step

PRICE = StepPrice(price_s=12.0, pause_s=12.0, target_s=5.0, confirm_s=50.0, bin_s=300.0)
MOST = 1000.0


def equal_machines(rates: np.ndarray) -> np.ndarray:
    return rates / 10.0


def step(now: float, carries: float, scenarios: np.ndarray, price: StepPrice = PRICE):
    return best_step(now, carries, scenarios, price, equal_machines, MOST)


def certain(*rates: float) -> np.ndarray:
    return np.tile(np.array(rates), (5, 1))


def test_steady_demand_that_is_carried_with_little_room_stays():
    assert step(100.0, 108.0, certain(*[100.0] * 48)).saves_s < 0


def test_room_that_nobody_needs_is_given_back_with_room_for_the_pause():
    best = step(100.0, 200.0, certain(*[100.0] * 48))
    # Over the target for 7 s and 7 s / room. At 12 s of machines each, 84 / room falls by as much
    # as 48 bins of 300 s rise where room**2 = 84 / 14400: 7.6 %.
    assert best.carry_per_s == pytest.approx(107.6, rel=0.03)
    # Who stays may do the same five minutes later: now it saves one bin of 0.924 of the machines.
    assert best.saves_s == pytest.approx(0.924 * 300.0, rel=0.05)


def test_a_rise_that_is_certain_is_grown_for_once_and_before_it_comes():
    path = certain(100.0, 100.0, *[200.0] * 46)
    assert step(100.0, 110.0, path[:, 1:]).saves_s >= step(100.0, 110.0, path).saves_s
    assert step(199.0, 110.0, certain(*[200.0] * 48)).carry_per_s > 200.0


def test_what_half_of_the_scenarios_pass_is_not_carried_with_no_room():
    scenarios = np.tile(np.array([[100.0], [130.0]]), (10, 48))
    scenarios[::2, ::2] = 130.0
    assert step(100.0, 100.0, scenarios).carry_per_s >= 130.0


def test_no_more_is_asked_for_than_the_cluster_carries():
    assert step(950.0, 900.0, certain(*[1500.0] * 48)).carry_per_s <= MOST
