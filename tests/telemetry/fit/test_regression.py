"""Robust lines: the truth without noise, hardly moved by outliers, honest about their errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.telemetry.fit.single import (
    fit_line,
    median_line,
    scatter_of,
    serial_correlation,
    small_sample_factor,
)

from penstock.telemetry.fit.points import Points
from penstock.telemetry.fit.scatter import Scatter, bisquare, bisquare_slope
from penstock.telemetry.fit.segments import Segments

E, MET = 0.2, 3.0


def points(rate: np.ndarray, cpu: np.ndarray, **more: Any) -> Points:
    """One task, a window every ten seconds, every window a cluster of its own."""
    n = len(rate)
    made = Points(
        rate=np.asarray(rate, float),
        cpu=np.asarray(cpu, float),
        rate_variance=np.zeros(n),
        time_ms=np.arange(n) * 10_000,
        task=np.ones(n, int),
        cluster=np.arange(n),
        instances=np.ones(n),
    )
    return replace(made, **more)


def noisy(
    n: int, seed: int, *, e: float = E, met: float = MET, relative: float = 0.05, floor: float = 0.2
) -> Points:
    rng = np.random.default_rng(seed)
    rate = rng.uniform(10.0, 200.0, n)
    level = e * rate + met
    return points(rate, level + rng.normal(0.0, floor + relative * level))


# -- the truth ---------------------------------------------------------------------------------


def test_without_noise_the_line_is_the_truth() -> None:
    rate = np.linspace(5.0, 100.0, 40)
    line = fit_line(points(rate, E * rate + MET))
    assert line.coefficients == pytest.approx([E, MET], rel=1e-9)
    assert line.r_squared == pytest.approx(1.0)
    assert np.abs(line.residuals).max() < 1e-9


def test_a_tenth_of_readings_eight_times_too_high_moves_e_by_less_than_one_percent() -> None:
    clean = noisy(1000, seed=1)
    cpu = clean.cpu.copy()
    cpu[np.random.default_rng(2).choice(1000, 100, replace=False)] *= 8.0
    plain, spoilt = fit_line(clean), fit_line(replace(clean, cpu=cpu))
    assert spoilt.coefficients[0] == pytest.approx(plain.coefficients[0], rel=0.01)
    # Least squares is off by far more: 10 % of 7 times the cost on top, 1.7 in place of 1.
    naive = np.polyfit(clean.rate, cpu, 1)[0]
    assert naive > 1.3 * E


def test_readings_of_zero_move_it_as_little() -> None:
    clean = noisy(1000, seed=3)
    cpu = np.where(np.random.default_rng(4).random(1000) < 0.1, 0.0, clean.cpu)
    assert fit_line(replace(clean, cpu=cpu)).coefficients[0] == pytest.approx(E, rel=0.02)


def test_met_is_never_negative_and_then_the_line_goes_through_the_origin() -> None:
    rate = np.linspace(10.0, 100.0, 60)
    line = fit_line(points(rate, E * rate - 1.0))
    assert line.coefficients[1] == 0.0
    # Through the origin: below E, and within what the rates allow ((E * rate - 1) / rate).
    assert E - 1.0 / 10.0 < line.coefficients[0] < E
    for seed in range(20):
        assert fit_line(noisy(60, seed, met=0.0)).coefficients[1] >= 0.0


def test_the_median_line_needs_no_weights() -> None:
    x = np.arange(20.0)
    y = 2.0 * x + 1.0
    y[[3, 11, 17]] = 500.0
    assert median_line(x, y) == pytest.approx([2.0, 1.0])
    assert median_line(np.full(5, 7.0), np.array([1, 2, 3, 4, 90.0])).tolist() == [0.0, 3.0]


def test_the_weights_are_tukeys() -> None:
    # At half of the constant (1 - 1/4)^2, and its score falls: (1 - 1/4)(1 - 5/4).
    u = np.array([0.0, 4.685 / 2, 4.685, 9.0])
    assert bisquare(u).tolist() == pytest.approx([1.0, 0.5625, 0.0, 0.0])
    assert bisquare_slope(u).tolist() == pytest.approx([1.0, -0.1875, 0.0, 0.0])


def test_scatter_that_grows_with_the_load_is_seen() -> None:
    rng = np.random.default_rng(5)
    level = rng.uniform(5.0, 100.0, 20_000)
    found = scatter_of(level, rng.normal(0.0, 0.5 + 0.1 * level))
    assert found.slope[0] == pytest.approx(0.1, rel=0.1)
    assert found.at(np.array([50.0]), Segments(np.array([1])))[0] == pytest.approx(5.5, rel=0.05)
    flat = scatter_of(level, rng.normal(0.0, 2.0, 20_000))
    assert flat.at(np.array([5.0, 100.0]), Segments(np.array([2]))) == pytest.approx(
        [2.0, 2.0], rel=0.1
    )
    assert Scatter(np.array([1.0]), np.array([0.5])).at(
        np.array([-4.0]), Segments(np.array([1]))
    ).tolist() == [3.0]


@pytest.mark.slow
def test_it_is_seen_with_fifteen_windows_at_each_of_three_loads_too() -> None:
    # A computer that others use as well: a fifth more or less CPU for the same work.
    rate = np.repeat([20.0, 60.0, 100.0], 15)
    inside, errors = [], []
    for seed in range(250):
        level = E * rate
        line = fit_line(points(rate, level * np.random.default_rng(seed).normal(1.0, 0.2, 45)))
        errors.append(line.errors[0] / E)
        inside.append(abs(line.coefficients[0] - E) <= 1.96 * line.errors[0])
    # With weights 1 / level², the free slope of exact theory has an error of 0.2 / sqrt(45) times
    # sqrt(mean(1/x²) / var(1/x)) of x = 1, 3, 5: 5.3 %.
    assert np.median(errors) < 0.06
    assert np.mean(inside) >= 0.91


# -- rates that are only sampled ---------------------------------------------------------------


def test_sampled_rates_flatten_a_plain_slope_and_not_ours() -> None:
    # Rates from 10 to 30 (variance 33.3) seen with an error of variance 8: a plain slope is
    # 33.3 / 41.3 = 0.806 of the true one.
    naive, ours = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rate = rng.uniform(10.0, 30.0, 400)
        seen = rate + rng.normal(0.0, np.sqrt(8.0), 400)
        cpu = E * rate + MET + rng.normal(0.0, 0.3, 400)
        naive.append(np.polyfit(seen, cpu, 1)[0])
        ours.append(fit_line(points(seen, cpu, rate_variance=np.full(400, 8.0))).coefficients[0])
    assert np.mean(naive) == pytest.approx(0.806 * E, rel=0.02)
    # The mean of 40 slopes, each known to about 5 %: off by 0.8 % of chance.
    assert np.mean(ours) == pytest.approx(E, rel=0.03)


# -- errors ------------------------------------------------------------------------------------


def test_errors_fall_with_the_root_of_the_number_of_windows() -> None:
    few = np.mean([fit_line(noisy(200, s)).errors[0] for s in range(10)])
    many = np.mean([fit_line(noisy(3200, s)).errors[0] for s in range(10)])
    assert few / many == pytest.approx(4.0, rel=0.1)  # sqrt(16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "relative", "met"), [(60, 0.05, 3.0), (300, 0.10, 3.0), (300, 0.02, 30.0)]
)
def test_intervals_cover_the_truth_as_often_as_they_say(
    n: int, relative: float, met: float
) -> None:
    inside = []
    for seed in range(250):
        line = fit_line(noisy(n, 1000 + seed, relative=relative, met=met))
        inside.extend(np.abs(line.coefficients - [E, met]) <= 1.96 * line.errors)
    assert 0.91 <= np.mean(inside) <= 0.99


@pytest.mark.slow
def test_intervals_still_hold_with_outliers_and_sampled_rates() -> None:
    inside = []
    for seed in range(250):
        made = noisy(300, 5000 + seed)
        rng = np.random.default_rng(seed)
        wild = rng.random(300) < 0.03
        seen = made.rate + rng.normal(0.0, 3.0, 300)
        cpu = np.where(wild, made.cpu * rng.uniform(3, 10, 300), made.cpu)
        line = fit_line(replace(made, rate=seen, cpu=cpu, rate_variance=np.full(300, 9.0)))
        inside.extend(np.abs(line.coefficients - [E, MET]) <= 1.96 * line.errors)
    assert 0.91 <= np.mean(inside) <= 0.99


def _wandering(rng: np.random.Generator, n: int, correlation: float) -> np.ndarray:
    """Noise of spread 1 in which neighbours resemble each other."""
    noise = rng.normal(0.0, np.sqrt(1 - correlation**2), n)
    path = np.empty(n)
    path[0] = rng.normal()
    for i in range(1, n):
        path[i] = correlation * path[i - 1] + noise[i]
    return path


@pytest.mark.slow
def test_windows_that_resemble_each_other_widen_the_errors() -> None:
    rng = np.random.default_rng(7)
    inside = []
    for _ in range(200):
        # Load in steps of 30 windows, and noise that lasts: 600 windows are far fewer in effect.
        rate = np.repeat(rng.uniform(10.0, 200.0, 20), 30)
        cpu = E * rate + MET + _wandering(rng, 600, 0.8)
        line = fit_line(points(rate, cpu, cluster=np.arange(600) // 30))
        inside.extend(np.abs(line.coefficients - [E, MET]) <= 1.96 * line.errors)
    assert 0.91 <= np.mean(inside) <= 0.99
    alone = fit_line(points(rate, cpu, cluster=np.arange(600)))
    assert line.errors[1] > 1.5 * alone.errors[1]


def test_serial_correlation_is_seen_where_it_stands_out() -> None:
    rng = np.random.default_rng(8)
    made = points(np.ones(2000), np.ones(2000))
    assert serial_correlation(_wandering(rng, 2000, 0.6), made) == pytest.approx(0.6, abs=0.08)
    assert serial_correlation(rng.normal(size=2000), made) == 0.0
    few = points(np.ones(10), np.ones(10))
    assert serial_correlation(np.linspace(-1, 1, 10), few) == 0.0


def test_few_samples_widen_errors_by_students_t() -> None:
    # 12 windows, 2 parameters: sqrt(12/10) * t(10) / 1.96 = 1.0954 * 2.2281 / 1.96 = 1.2453.
    assert small_sample_factor(12, 2, 1) == pytest.approx(1.2453, abs=1e-3)
    # 20 clusters: sqrt(20/19) * t(19) / 1.96 = 1.0260 * 2.0930 / 1.96 = 1.0956.
    assert small_sample_factor(5000, 2, 20) == pytest.approx(1.0956, abs=1e-3)
    assert small_sample_factor(1_000_000, 2, 1) == pytest.approx(1.0, abs=1e-4)
