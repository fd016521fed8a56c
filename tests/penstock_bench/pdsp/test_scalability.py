"""Throughput against instances: the law, its rivals, and what is said when data are too few."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import NotMeasuredError
from penstock_bench.pdsp.scalability import (
    Ceiling,
    UniversalScalability,
    constant_execute_limit,
    fit_best,
    fit_ceiling,
    fit_universal,
)
from penstock_bench.pdsp.scalability_pooled import SaturatedRuns, fit_pooled

COUNTS = np.array([2.0, 4, 8, 16, 32, 48, 64, 96])


def law(rate: float, contention: float, coherency: float, counts=COUNTS):
    return UniversalScalability(rate, contention, coherency, (0, 0, 0)).predict(counts)


def test_the_law_by_hand():
    # 10 · 4 / (1 + 0.5 · 3 + 0.1 · 4 · 3) = 40 / 3.7
    assert law(10, 0.5, 0.1, np.array([4.0])) == pytest.approx([40 / 3.7])
    assert UniversalScalability(10, 0.19, 0.01, (0, 0, 0)).best_instances == pytest.approx(9)
    assert UniversalScalability(10, 0.19, 0.0, (0, 0, 0)).best_instances == np.inf


@pytest.mark.parametrize(
    ("rate", "contention", "coherency"),
    [(1e4, 0.05, 1e-4), (4e5, 0.5, 0.0), (7e4, 0.0, 1e-3), (3e3, 0.0, 0.0), (1e5, 1.0, 1e-5)],
)
def test_known_parameters_come_back(rate, contention, coherency):
    fitted = fit_universal(COUNTS, law(rate, contention, coherency))
    assert fitted.rate_of_one_per_s == pytest.approx(rate, rel=1e-3)
    assert fitted.contention == pytest.approx(contention, abs=2e-3)
    assert fitted.coherency == pytest.approx(coherency, abs=2e-5)


def test_a_collapsed_run_does_not_pull():
    rates = law(1e4, 0.05, 1e-4)
    rates[5] /= 10  # one run of eight collapsed
    fitted = fit_universal(COUNTS, rates)
    others = np.arange(8) != 5
    assert fitted.predict(COUNTS[others]) == pytest.approx(rates[others], rel=0.05)


def test_never_negative_and_never_random():
    rng = np.random.default_rng(1)
    for _ in range(6):
        rates = rng.lognormal(10, 1, 8)
        one, other = fit_universal(COUNTS, rates), fit_universal(COUNTS, rates)
        assert (one.predict(COUNTS) == other.predict(COUNTS)).all()
        assert one.contention >= 0
        assert one.coherency >= 0


@pytest.mark.slow
def test_standard_errors_cover_the_truth():
    """Two standard errors hold the true log rate of one in about 95 of 100 noisy samples;
    of fifty, 43 or more in all but one of a thousand tries."""
    rng = np.random.default_rng(2)
    covered = 0
    counts = np.repeat(COUNTS, 3)
    for _ in range(50):
        rates = law(1e4, 0.1, 2e-4, counts) * np.exp(rng.normal(0, 0.02, len(counts)))
        fitted = fit_universal(counts, rates)
        off = abs(np.log(fitted.rate_of_one_per_s) - np.log(1e4))
        covered += off <= 2 * fitted.standard_errors[0]
    assert covered >= 43


def test_too_few_numbers_of_instances_are_refused():
    with pytest.raises(NotMeasuredError, match="at 2 instance counts; at least 3 are needed"):
        fit_universal(np.array([2.0, 2, 4]), np.array([1.0, 1, 2]))


def test_the_ceiling_finds_slope_and_top():
    # 100 per instance up to 1,000: the knee is at 10 instances.
    assert fit_ceiling(COUNTS, np.minimum(100 * COUNTS, 1000)) == Ceiling(
        pytest.approx(100), pytest.approx(1000)
    )


def test_constant_execute_time_stops_at_the_first_busy_component():
    # 4 threads at 1 ms carry 4,000/s, 8 at 10 ms carry 800/s; what was not seen does not limit.
    limit = constant_execute_limit({"a": 4, "b": 8, "c": 1}, {"a": 1e-3, "b": 1e-2})
    assert limit == pytest.approx(800)
    assert constant_execute_limit({"a": 4}, {}) == np.inf


def test_the_data_choose_between_law_and_ceiling():
    assert isinstance(fit_best(COUNTS, law(1e4, 0.1, 1e-3)), UniversalScalability)
    assert isinstance(fit_best(COUNTS, np.minimum(100 * COUNTS, 1000)), Ceiling)


def pooled_case() -> tuple[SaturatedRuns, np.ndarray]:
    """Two plans on two machine types, one twice as fast; b's shape differs from a's."""
    plans, machines, counts, rates = [], [], [], []
    for plan, shape in (("a", (1e4, 0.05, 1e-4)), ("b", (3e4, 0.4, 1e-5))):
        for machine, speed in (("slow", 1.0), ("fast", 2.0)):
            plans += [plan] * len(COUNTS)
            machines += [machine] * len(COUNTS)
            counts += COUNTS.tolist()
            rates += (speed * law(*shape)).tolist()
    runs = SaturatedRuns(np.array(plans), np.array(machines), np.array(counts))
    return runs, np.array(rates)


def test_pooled_predicts_a_vector_left_out_of_one_machine_type():
    runs, rates = pooled_case()
    held = (runs.plan == "a") & (runs.machine_type == "fast") & (runs.instances == 32)
    fitted = fit_pooled(runs.where(~held), rates[~held])
    assert fitted.predict(runs.where(held)) == pytest.approx(rates[held], rel=0.03)


def test_pooled_calibrates_a_machine_type_from_two_runs():
    """Plan a was seen at 2 and 96 instances on the fast machines, and everywhere on the slow."""
    runs, rates = pooled_case()
    few = (runs.plan == "a") & (runs.machine_type == "fast")
    held = few & (runs.instances > 2) & (runs.instances < 96)
    fitted = fit_pooled(runs.where(~held), rates[~held])
    assert fitted.predict(runs.where(held)) == pytest.approx(rates[held], rel=0.05)
