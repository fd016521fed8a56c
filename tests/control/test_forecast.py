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
    # Nothing was ever off the forecast: what is left is what was believed at the beginning, and the
    # least that demand is taken to move by, 0.5 % a bin.
    assert forecast.errors().next_deviation < 0.005


def test_a_daily_season_is_known_on_the_third_day():
    rates = wave(3.0)
    now = int(2.25 * DAY)  # rising steeply
    forecast = fed(rates[:now])
    assert forecast.path() == pytest.approx(rates[now : now + 48], rel=0.02)


def test_a_cold_start_follows_the_level():
    forecast = fed(np.array([100.0, 100.0]))
    assert forecast.path()[0] == pytest.approx(100.0)
    errors = forecast.errors()
    assert np.isfinite(errors.lasting).all()
    assert np.isfinite(errors.news).all()


def test_a_bin_without_telemetry_is_not_zero():
    forecast = fed(np.full(50, 500.0))
    assert forecast.seen(float("nan")).past[-1] == pytest.approx(500.0)


@pytest.mark.parametrize("ahead", [1, 12, 36])
@pytest.mark.parametrize("lasts", [0.0, 0.95])
def test_errors_are_as_large_as_they_are_said_to_be(ahead, lasts):
    """With noise that passes by at once, and with noise that lasts for an hour and a half."""
    rng, noise, state = np.random.default_rng(0), [], 0.0
    for shock in rng.standard_normal(7 * DAY).tolist():
        state = lasts * state + 0.05 * np.sqrt(1 - lasts**2) * shock
        noise.append(state)
    rates = wave(7.0) * np.exp(noise)
    squares = []
    forecast = Forecast.empty()
    for i, rate in enumerate(rates.tolist()):
        forecast = forecast.seen(rate)
        # The season is known from the third day on, and the errors of before are forgotten by then.
        if 5 * DAY <= i < len(rates) - ahead:
            errors = forecast.errors()
            said = errors.lasting[ahead - 1] ** 2 + np.var(errors.passing)
            off = np.log(rates[i + ahead] / forecast.path()[ahead - 1])
            squares.append(off**2 / said)
    # 1 if they are; two days are some thirty independent errors that last, and an early day's
    # larger ones are not all forgotten: a quarter to two.
    assert 0.25 < np.mean(squares) < 2.0


def test_noise_that_passes_by_is_told_from_what_lasts():
    rng = np.random.default_rng(1)
    white = 500.0 * np.exp(0.05 * rng.standard_normal(3 * DAY))
    walk = 500.0 * np.exp(np.cumsum(0.02 * rng.standard_normal(3 * DAY)))
    # Of white noise nothing lasts but what the forecast's own mean wavers by.
    assert fed(white).errors().lasts < 0.5 < 0.9 < fed(walk).errors().lasts


def test_a_moment_tells_of_its_bin_where_rates_are_steady_within_it():
    rng = np.random.default_rng(2)
    rates = 500.0 * np.exp(0.1 * rng.standard_normal(DAY))
    steady = jittering = Forecast.empty()
    for now, after in zip(rates[:-1].tolist(), rates[1:].tolist(), strict=True):
        steady = steady.seen(now, after)
        jittering = jittering.seen(now, after * rng.uniform(0.5, 1.5))
    assert steady.moment_tells > 0.9
    # An error of 0.1 behind noise of 0.3: a tenth of what is seen is the bin's.
    assert jittering.moment_tells < 0.35


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
