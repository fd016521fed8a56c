"""What worker processes and machines used, and what a worker costs beside its tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.telemetry.frames import START_MS, Row, as_rows, slot_windows
from tests.telemetry.slots.small_store import SmallStore

from penstock.telemetry.slots.columns import Columns, Vocabulary
from penstock.telemetry.slots.hours import utilisation
from penstock.telemetry.slots.sums import SampleSizes, partial_sums

MINUTE = START_MS // 60_000


def moment(
    second: int, whole: float | None, *tasks: float | None, worker: str = "6700", **changes: object
) -> list[Row]:
    """All tasks of a worker report at once, each with the worker's own figure."""
    first = 1 if worker == "6700" else 11
    return [
        {"task": number, "time_ms": START_MS + 1000 * second, "worker": worker, "cpu_points": cpu,
         "worker_cpu_points": whole, "worker_memory_mb": 500.0, **changes}
        for number, cpu in enumerate(tasks, start=first)
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


VOCABULARY = Vocabulary()


@pytest.fixture(scope="module")
def workers() -> Columns:
    windows = slot_windows(WINDOWS, VOCABULARY)
    return partial_sums(windows, VOCABULARY, SampleSizes({}, {}))["workers"]


def test_a_minute_of_a_worker_has_means_and_the_median_of_what_it_costs_itself(
    workers: Columns,
) -> None:
    found = {(r["worker"], r["minute"] - MINUTE): r for r in as_rows(workers, VOCABULARY)}
    assert len(found) == 4
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


def test_a_machine_uses_what_its_workers_use(workers: Columns) -> None:
    (row,) = as_rows(utilisation(workers), VOCABULARY)
    # Minutes: 70 + 11 of the worker that is known by its tasks only, 57, 70.
    assert (row["host"], row["minutes"], row["workers"]) == ("h1", 3, 2)
    assert row["cpu_points_mean"] == pytest.approx((81.0 + 57.0 + 70.0) / 3)
    assert (row["cpu_points_most"], row["cpu_points_p95"]) == (81.0, 81.0)
    assert row["memory_mb_most"] == 800.0


def record(row: Row) -> Row:
    """The record that a window is made of."""
    is_young = row.get("status") == "warm-up"
    kept = {name: value for name, value in row.items() if name != "status"}
    return {**kept, "inputs": [], "uptime_s": 1.0 if is_young else 100.0}


def test_the_overhead_of_a_worker_is_a_median_over_minutes(tmp_path: Path) -> None:
    store = SmallStore(str(tmp_path))
    store.take_in([record(row) for row in WINDOWS])
    store.compute()
    # 22, 24 and 30; the worker without a figure of its own counts nowhere.
    assert store.summaries().own_cpu() == {"M1": (pytest.approx((22.0, 24.0, 30.0)), 3)}


def test_the_cpu_of_a_machine_is_a_mean_over_minutes_of_all_hours(tmp_path: Path) -> None:
    store = SmallStore(str(tmp_path))
    later = [dict(row, time_ms=row["time_ms"] + 3_600_000) for row in WINDOWS[:2]]
    store.take_in([record(row) for row in [*WINDOWS, *later]])
    store.compute()
    ((host, mean),) = store.summaries().machine_cpu()
    # Minutes of the first hour: 81, 57 and 70; the one of the second: 50.
    assert (host, mean) == ("h1", pytest.approx((81.0 + 57.0 + 70.0 + 50.0) / 4))
