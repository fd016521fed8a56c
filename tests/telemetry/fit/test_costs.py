"""Costs of groups: fitted, or refused in words that help; and one last step over all windows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession
from tests.telemetry.fit.single import fit_group, fit_line

from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.costs import (
    GROUP,
    MOST_SAMPLED,
    all_window_sums,
    refined,
    sampled,
)
from penstock.telemetry.fit.points import Points

pytestmark = pytest.mark.spark

NAMES = {"topology": "t", "component": "b", "machine_type": "M1"}
E, MET = 0.2, 3.0


def points(rate: Any, cpu: Any, variance: float = 0.0, tasks: int = 1) -> Points:
    """Windows of ten seconds; a cluster is a task in ten minutes."""
    n = len(rate)
    task = np.arange(n) % tasks
    time_ms = np.arange(n) // tasks * 10_000
    return Points(
        rate=np.asarray(rate, float),
        cpu=np.asarray(cpu, float),
        rate_variance=np.full(n, variance),
        time_ms=time_ms,
        task=task,
        cluster=task + 1000 * (time_ms // 600_000),
        instances=np.full(n, float(tasks)),
    )


def fitted(measured: Points, samples: int | None = None) -> CostFit:
    return fit_group(measured, samples)


# -- refusals ----------------------------------------------------------------------------------


def refusal(rate: Any, cpu: Any, variance: float = 0.0) -> str:
    found = fitted(points(rate, cpu, variance))
    assert found.not_ready
    return found.not_ready


def test_too_few_windows_are_refused() -> None:
    rate = np.linspace(10.0, 100.0, 11)
    assert refusal(rate, E * rate + MET) == (
        "only 11 windows with rate and CPU, 12 are needed; run longer"
    )
    assert fitted(points(rate, E * rate)).e != fitted(points(rate, E * rate)).e  # unknown, not 0


def test_twelve_windows_are_enough_where_they_are_clear() -> None:
    rate = np.linspace(10.0, 100.0, 12)
    found = fitted(points(rate, E * rate + MET))
    assert (found.not_ready, found.e, found.met) == (
        "", pytest.approx(E), pytest.approx(MET),
    )  # fmt: skip


def test_one_rate_cannot_tell_the_cost_of_a_tuple_from_the_fixed_cost() -> None:
    rate = np.linspace(98.0, 102.0, 100)  # 4 % apart
    assert refusal(rate, E * rate + MET).startswith(
        "only one rate seen (98.2 to 101.8 tuples/s): the cost of a tuple cannot be told from"
    )
    # Far apart only because they are badly counted: a spread of 28 within 3 * 10 of noise.
    seen = np.linspace(10.0, 40.0, 100)
    assert "run it at other rates too" in refusal(seen, E * seen + MET, variance=100.0)


def test_cpu_that_falls_with_the_rate_is_not_this_components() -> None:
    rate = np.linspace(10.0, 100.0, 200)
    noise = np.random.default_rng(0).normal(0.0, 0.5, 200)
    told = refusal(rate, 50.0 - 0.1 * rate + noise)
    assert told == "CPU falls as the rate rises; is it this component's CPU?"


def test_tuples_that_cost_next_to_nothing_cost_nothing() -> None:
    """An acker: its fixed cost is seen, that of its tuples drowns in noise."""
    rng = np.random.default_rng(3)
    rate = np.tile(np.linspace(20.0, 80.0, 40), 2)
    found = fitted(points(rate, 1.0 - 0.002 * rate + rng.normal(0.0, 0.1, 80)))
    assert found.not_ready == ""
    assert found.e == 0.0
    assert found.met == pytest.approx(0.9, abs=0.05)  # the level in the middle, at 50 tuples/s
    # 0.002 points per tuple/s, known to a half: 0.12 points over the rates seen matter to nobody.
    dear = fitted(points(rate, 1.0 + 0.002 * rate + rng.normal(0.0, 0.15, 80)))
    assert dear.e_error > 0.25 * dear.e > 0
    assert dear.not_ready == ""


def test_a_cost_known_to_less_than_a_quarter_is_none() -> None:
    rng = np.random.default_rng(1)
    rate = np.linspace(10.0, 100.0, 30)
    # 0.05 points per tuple/s: 4.5 over the range, in noise of 5.
    found = fitted(points(rate, 0.05 * rate + 20.0 + rng.normal(0.0, 5.0, 30)))
    assert found.e > 0
    assert found.e_error > 0.25 * found.e
    assert found.not_ready.startswith(f"too uncertain: e = {found.e:.3g} ± ")
    assert "measure longer, or at rates further apart than 10 to 100 tuples/s" in found.not_ready


def test_both_halves_of_the_time_are_fitted_on_their_own() -> None:
    rate = np.tile(np.linspace(10.0, 100.0, 50), 4)
    e = np.repeat([0.2, 0.3], 100)
    found = fitted(points(rate, e * rate + MET))
    assert (found.e_first, found.e_last) == (pytest.approx(0.2), pytest.approx(0.3))
    assert (found.rate_least, found.rate_most) == (
        pytest.approx(10.0, abs=1.0), pytest.approx(100.0, abs=1.0),
    )  # fmt: skip


# -- all windows -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> Points:
    """Ten tasks of 1,200 windows: noise of 5 %, sampled rates, wild readings."""
    rng = np.random.default_rng(2)
    n = 3 * MOST_SAMPLED
    rate = rng.uniform(10.0, 100.0, n)
    cpu = (E * rate + MET) * rng.normal(1.0, 0.05, n)
    cpu = np.where(rng.random(n) < 0.03, 6.0 * cpu, cpu)
    seen = rate + rng.normal(0.0, 2.0, n)
    return points(seen, cpu, variance=4.0, tasks=10)


def frame_of(measured: Points) -> pd.DataFrame:
    columns = {**asdict(measured), "cpu_points": measured.cpu, "run": "r", **NAMES}
    del columns["cpu"]
    return pd.DataFrame(columns)


def test_one_step_over_all_windows_is_as_good_as_the_full_fit(
    spark: SparkSession, large: Points
) -> None:
    chosen = np.random.default_rng(3).permutation(len(large))[: MOST_SAMPLED // 2]
    start = fitted(large.where(np.sort(chosen)), samples=len(large))
    full = fit_line(large)
    measurements = spark.createDataFrame(frame_of(large))
    fits = spark.createDataFrame(pd.DataFrame([asdict(start)]))
    (row,) = all_window_sums(measurements, fits).collect()
    found = refined(start, row.asDict())
    assert row["clusters"] == 10 * 20  # ten tasks, 12,000 s in stretches of 600 s
    e, met = full.coefficients
    # From a sixth of the windows the start is off by sqrt(6 - 1) = 2.2 errors of the full fit, as a
    # rule; one step leaves a small part of one.
    assert abs(found.e - e) < 0.2 * full.errors[0]
    assert abs(found.met - met) < 0.2 * full.errors[1]
    assert found.e_error == pytest.approx(full.errors[0], rel=0.05)
    assert found.met_error == pytest.approx(full.errors[1], rel=0.05)
    assert found.e == pytest.approx(E, abs=3 * found.e_error)


def test_about_as_many_windows_as_wanted_are_sampled_and_always_the_same(
    spark: SparkSession, large: Points
) -> None:
    small = {**NAMES, "component": "small"}
    both = pd.concat([frame_of(large), frame_of(large.where(np.arange(50))).assign(**small)])
    counts = spark.createDataFrame(
        [(*NAMES.values(), len(large)), (*small.values(), 50)], [*GROUP, "samples"]
    )
    measurements = spark.createDataFrame(both)
    taken, again = (
        sampled(frame, counts).select("component", "task", "time_ms").toPandas()
        for frame in (measurements, measurements.repartition(3))
    )
    # 4,000 of 12,000, chosen by hash: give or take sqrt(12000 * 1/3 * 2/3) = 52.
    by_component = taken["component"].value_counts()
    assert by_component["b"] == pytest.approx(MOST_SAMPLED, abs=4 * 52)
    assert by_component["small"] == 50
    keys = [set(frame.itertuples(index=False, name=None)) for frame in (taken, again)]
    assert keys[0] == keys[1]
