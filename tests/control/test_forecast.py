"""The forecast: seasons once they have proved themselves, and an interval that holds."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.control.forecast import DAY, Forecast


def wave(days: float, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """A daily wave between 600 and 1000 tuples/s."""
    t = np.arange(int(days * DAY))
    clean = 800.0 - 200.0 * np.cos(2 * np.pi * t / DAY)
    return clean * np.exp(noise * np.random.default_rng(seed).standard_normal(len(t)))


def fed(rates: np.ndarray) -> Forecast:
    forecast = Forecast.empty()
    for rate in rates.tolist():
        forecast = forecast.seen(rate)
    return forecast


def test_a_steady_rate_is_forecast_as_it_is():
    forecast = fed(np.full(100, 500.0))
    assert forecast.path() == pytest.approx(np.full(48, 500.0))
    # Nothing was ever off the forecast: scenarios close on it, but for the twelve from before.
    assert np.median(forecast.scenarios(), axis=0) == pytest.approx(np.full(48, 500.0), rel=0.005)


def test_a_daily_season_is_known_on_the_third_day():
    rates = wave(3.0)
    now = int(2.25 * DAY)  # rising steeply
    forecast = fed(rates[:now])
    assert forecast.path() == pytest.approx(rates[now : now + 48], rel=0.02)


def test_a_cold_start_follows_the_level():
    forecast = fed(np.array([100.0, 100.0]))
    assert forecast.path()[0] == pytest.approx(100.0)
    assert np.isfinite(forecast.scenarios()).all()


def test_a_bin_without_telemetry_is_not_zero():
    forecast = fed(np.full(50, 500.0))
    assert forecast.seen(float("nan")).past[-1] == pytest.approx(500.0)


@pytest.mark.parametrize("ahead", [1, 12, 48])
def test_scenarios_are_passed_as_often_as_they_say(ahead):
    rates = wave(8.0, noise=0.05)
    passed = []
    forecast = Forecast.empty()
    for i, rate in enumerate(rates.tolist()):
        forecast = forecast.seen(rate)
        # Errors of three days are remembered, and the season is known from the third on.
        if 5 * DAY <= i < len(rates) - ahead:
            high = np.quantile(forecast.scenarios()[:, ahead - 1], 0.8)
            passed.append(rates[i + ahead] > high)
    # A chance of 0.2; scenarios overlap, so that 1000 of them are some hundred.
    assert np.mean(passed) == pytest.approx(0.2, abs=0.08)


def test_one_jump_does_not_widen_what_may_come():
    calm = wave(2.0, noise=0.02)
    jumped = np.concatenate([calm, 1.5 * calm[:24]])
    before, after = fed(calm).restless[-1], fed(jumped).restless[-1]
    # A root mean square over 48 steps would be log(1.5) / sqrt(48) = 0.059, twice the usual 0.028.
    assert after == pytest.approx(before, rel=0.25)


def test_learning_changes_no_value_in_place():
    before = fed(wave(1.0))
    kept = before.past.copy()
    before.seen(5.0)
    np.testing.assert_array_equal(before.past, kept)
