"""Richer forms: each is found where it is true, and the straight line is kept where it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.telemetry.fit.single import choose, mean_left_out_errors, shows_bend

from penstock.model.cpu_form import CpuForm, FormKind
from penstock.telemetry.fit.points import Points

SPINNING = CpuForm(FormKind.SPINNING, e=0.2, met=3.0, spin=16.0, shape=60.0)
SATURATING = CpuForm(FormKind.SATURATING, e=0.5, met=2.0, shape=100.0)
CROWDING = CpuForm(FormKind.CROWDING, e=0.2, met=3.0, shape=0.5, instances=4.0)
LINEAR = CpuForm(FormKind.LINEAR, e=0.2, met=3.0)


def measured(form: CpuForm, n: int = 1200, seed: int = 0, noise: float = 0.03) -> Points:
    """Rates in steps, 3 % of noise, and from 2 to 8 executors over the hours."""
    rng = np.random.default_rng(seed)
    rate = np.repeat(rng.uniform(2.0, 200.0, n // 5), 5)
    instances = rng.choice([2.0, 4.0, 8.0], n)
    cpu = form.cpu_points(rate, instances) * rng.normal(1.0, noise, n)
    return Points(
        rate=rate, cpu=cpu, rate_variance=np.zeros(n), time_ms=np.arange(n) * 10_000,
        task=np.ones(n, int), cluster=np.arange(n) // 5, instances=instances,
    )  # fmt: skip


def test_the_forms_are_what_they_say() -> None:
    rate = np.array([0.0, 30.0, 60.0, 100.0])
    # 0.2 rate + 3, and 16, 8, 0, 0 of spinning.
    assert SPINNING.cpu_points(rate).tolist() == pytest.approx([19.0, 17.0, 15.0, 23.0])
    # 100 (1 - exp(-(0.5 rate + 2) / 100))
    assert SATURATING.cpu_points(rate)[3] == pytest.approx(100 * (1 - np.exp(-0.52)))
    # Four times the executors of the reference: twice the cost of a tuple.
    assert CROWDING.cpu_points(rate, 16.0).tolist() == pytest.approx([3.0, 15.0, 27.0, 43.0])


@pytest.mark.parametrize("seed", range(5))
def test_a_straight_line_stays_straight(seed: int) -> None:
    found = choose(measured(LINEAR, seed=seed))
    assert found.form.kind is FormKind.LINEAR
    assert (found.form.e, found.form.met) == (
        pytest.approx(0.2, rel=0.01), pytest.approx(3.0, rel=0.05),
    )  # fmt: skip
    assert found.linear_error == 0.0


def test_wild_readings_are_no_bend() -> None:
    made = measured(LINEAR)
    wild = np.random.default_rng(9).random(len(made)) < 0.05
    spoilt = replace(made, cpu=np.where(wild, 6.0 * made.cpu, made.cpu))
    assert choose(spoilt).form.kind is FormKind.LINEAR


@pytest.mark.slow
def test_spinning_is_found_and_the_plans_line_is_the_loaded_one() -> None:
    found = choose(measured(SPINNING))
    assert found.form.kind is FormKind.SPINNING
    assert found.form.e == pytest.approx(0.2, rel=0.03)
    assert found.form.spin == pytest.approx(16.0, rel=0.1)
    assert found.form.shape == pytest.approx(60.0, rel=0.1)
    # Spinning never stands in the way of work: the line is 0.2 rate + 3.
    assert found.line[:2] == pytest.approx([0.2, 3.0], rel=0.1)
    # At the lowest rates (about 6 tuples/s, 2 % of 2 to 200) the idle one burns
    # 16 (1 - 6/60) = 14.4 of 4.2 + 14.4 points: the line is off by 77 %.
    assert found.linear_error == pytest.approx(0.77, abs=0.04)


@pytest.mark.slow
def test_saturation_is_found_with_its_ceiling() -> None:
    found = choose(measured(SATURATING))
    assert found.form.kind is FormKind.SATURATING
    assert found.form.shape == pytest.approx(100.0, rel=0.1)
    assert found.form.e == pytest.approx(0.5, rel=0.05)
    # What the data say lies far closer to the form than to the line that stands for it.
    errors = mean_left_out_errors(measured(SATURATING))
    assert errors[FormKind.SATURATING] < 0.8 * errors[FormKind.LINEAR]


@pytest.mark.slow
def test_crowding_is_found_with_its_exponent() -> None:
    found = choose(measured(CROWDING))
    assert found.form.kind is FormKind.CROWDING
    assert found.form.shape == pytest.approx(0.5, abs=0.05)
    assert found.form.instances == 4.0
    assert found.form.e == pytest.approx(0.2, rel=0.03)


@pytest.mark.slow
def test_the_error_of_the_line_is_its_largest_distance_from_the_form() -> None:
    found = choose(measured(SATURATING))
    made = measured(SATURATING)
    low, high = np.quantile(made.rate, [0.02, 0.98])
    rates = np.linspace(low, high, 2001)  # far finer than the 25 steps of the answer
    form = found.form.cpu_points(rates)
    e, met = found.line
    assert found.linear_error == pytest.approx(
        np.max(np.abs(e * rates + met - form) / form), rel=0.02
    )


def test_few_windows_show_no_bend() -> None:
    made = measured(SPINNING).where(np.arange(35))
    assert not shows_bend(made)
