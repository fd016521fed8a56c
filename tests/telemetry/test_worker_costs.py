"""What a worker costs anyway is told from what it costs per tuple, on every machine type."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.telemetry.frames import START_MS, Row, windows

from penstock.model.profile import WorkerCost
from penstock.telemetry.findings import CostFit
from penstock.telemetry.usage import worker_minutes
from penstock.telemetry.worker_costs import worker_costs

pytestmark = pytest.mark.spark

#: Two tasks of a worker use these and take in the same.
TASKS = (10.0, 20.0)


def run(kind: str, met: float, e: float, noise: float, seed: int) -> list[Row]:
    """Sixty windows of a worker that uses ``met`` anyway and ``e`` per tuple/s of both tasks."""
    spread = np.random.default_rng(seed).normal(0.0, noise, 60)
    rows: list[Row] = []
    for number, off in enumerate(spread.tolist()):
        rate = (10.0, 40.0, 80.0)[number % 3]
        whole = sum(TASKS) + met + e * 2 * rate + off
        rows += [
            {"host": kind, "machine_type": kind, "task": task, "cpu_points": cpu, "rate": rate,
             "time_ms": START_MS + 10_000 * number, "worker_cpu_points": whole}
            for task, cpu in enumerate(TASKS, start=1)
        ]  # fmt: skip
    return rows


def found(spark: SparkSession, *rows: list[Row], e: dict[str, float]) -> dict[str, WorkerCost]:
    """With components that cost ``e`` by machine type."""
    frame = windows(spark, [row for some in rows for row in some])
    components = [
        CostFit("t", name, kind, 60, e=times * value, e_error=0.01 * value)
        for name, times in (("b", 1.0), ("c", 2.0))
        for kind, value in e.items()
    ]
    costs = worker_costs(frame, worker_minutes(frame), components)
    return {cost.machine_type: cost for cost in costs}


def test_a_line_is_fitted_where_tuples_cost_the_worker(spark: SparkSession) -> None:
    cost = found(spark, run("M1", 2.0, 0.05, 0.1, 5), e={"M1": 1.0})["M1"]
    assert cost.cpu_points == pytest.approx(2.0, abs=0.1)
    assert cost.e == pytest.approx(0.05, rel=0.02)
    assert cost.e_error is not None
    assert 0 < cost.e_error < 0.002


def test_a_worker_whose_cpu_does_not_follow_the_tuples_costs_the_same_at_all_rates(
    spark: SparkSession,
) -> None:
    cost = found(spark, run("M1", 5.0, 0.0, 0.5, 6), e={"M1": 1.0})["M1"]
    assert (cost.cpu_points, cost.e) == (pytest.approx(5.0, abs=0.3), 0.0)


def test_a_type_with_too_much_noise_gets_the_slope_that_its_speed_suggests(
    spark: SparkSession,
) -> None:
    # M2 does everything at half the cost; its own line is lost in noise.
    clear, noisy = run("M1", 2.0, 0.05, 0.1, 7), run("M2", 3.0, 0.025, 20.0, 8)
    cost = found(spark, clear, noisy, e={"M1": 1.0, "M2": 0.5})["M2"]
    assert cost.e == pytest.approx(0.025, rel=0.03)
    # The median of sixty windows of so much noise is off by 20 · 1.25 / √60 points.
    assert cost.error == pytest.approx(20 * 1.2533 / np.sqrt(60), rel=0.5)
    assert abs(cost.cpu_points - 3.0) < 3 * 20 * 1.2533 / np.sqrt(60)
