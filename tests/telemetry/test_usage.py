"""What worker processes and machines used, and what a worker costs beside its tasks."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.telemetry.frames import START_MS, Row, windows

from penstock.telemetry.schemas import UTILISATION, WORKERS
from penstock.telemetry.usage import utilisation, worker_minutes, worker_overheads

pytestmark = pytest.mark.spark

MINUTE = START_MS // 60_000


def moment(
    second: int, whole: float | None, *tasks: float | None, worker: str = "6700", **changes: object
) -> list[Row]:
    """All tasks of a worker report at once, each with the worker's own figure."""
    return [
        {"task": number, "time_ms": START_MS + 1000 * second, "worker": worker, "cpu_points": cpu,
         "worker_cpu_points": whole, "worker_memory_mb": 500.0, **changes}
        for number, cpu in enumerate(tasks, start=1)
    ]  # fmt: skip


WINDOWS = [
    # The first minute: 20, 22 and 90 points beside the tasks; the last is a wild reading of one.
    *moment(10, 50.0, 10.0, 20.0),
    *moment(20, 62.0, 15.0, 25.0),
    *moment(30, 98.0, 8.0, 0.0),
    # The second: one task of two is not measured at 70 s.
    *moment(70, 60.0, 10.0, None),
    *moment(80, 54.0, 10.0, 20.0),
    # The third.
    *moment(130, 70.0, 20.0, 20.0),
    # A second worker on the machine, whose process is not measured; and a warm-up.
    *moment(10, None, 5.0, 6.0, worker="6701", worker_memory_mb=300.0),
    *moment(20, 900.0, 5.0, 6.0, worker="6701", status="warm-up"),
]


@pytest.fixture(scope="module")
def workers(spark: SparkSession) -> DataFrame:
    return worker_minutes(windows(spark, WINDOWS)).select(*WORKERS.names).cache()


def test_a_minute_of_a_worker_has_means_and_the_median_of_what_it_costs_itself(
    workers: DataFrame,
) -> None:
    found = {(r["worker"], r["minute"] - MINUTE): r for r in workers.collect()}
    first, second = found["6700", 0], found["6700", 1]
    assert first["worker_cpu_points"] == pytest.approx(70.0)  # (50 + 62 + 98) / 3
    assert first["tasks_cpu_points"] == pytest.approx(26.0)  # (30 + 40 + 8) / 3
    assert first["own_cpu_points"] == pytest.approx(22.0)  # of 20, 22 and 90
    assert (first["tasks"], first["worker_memory_mb"]) == (2, 500.0)
    # A sum with an unknown in it is unknown: 70 s says nothing about the tasks.
    assert second["tasks_cpu_points"] == pytest.approx(30.0)
    assert second["own_cpu_points"] == pytest.approx(24.0)
    other = found["6701", 0]
    assert (other["worker_cpu_points"], other["tasks_cpu_points"]) == (None, 11.0)
    assert other["own_cpu_points"] is None


def test_a_machine_uses_what_its_workers_use(workers: DataFrame) -> None:
    (row,) = utilisation(workers).select(*UTILISATION.names).collect()
    # Minutes: 70 + 11 of the worker that is known by its tasks only, 57, 70.
    assert (row["host"], row["minutes"], row["workers"]) == ("h1", 3, 2)
    assert row["cpu_points_mean"] == pytest.approx((81.0 + 57.0 + 70.0) / 3)
    assert (row["cpu_points_most"], row["cpu_points_p95"]) == (81.0, 81.0)
    assert row["memory_mb_most"] == 800.0


def test_the_overhead_of_a_worker_is_a_median_over_minutes(workers: DataFrame) -> None:
    (row,) = worker_overheads(workers).collect()
    # 22, 24 and 30; the worker without a figure of its own counts nowhere.
    assert (row["machine_type"], row["minutes"]) == ("M1", 3)
    assert row["quartiles"][1] == pytest.approx(24.0)
