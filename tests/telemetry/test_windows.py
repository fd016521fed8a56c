"""Rates of windows, how sure they are where tuples are only sampled, and windows merged."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row as SparkRow
from pyspark.sql import SparkSession
from tests.telemetry.frames import START_MS, Row, accepted, put, took

from penstock.telemetry import schemas
from penstock.telemetry.clean import Settings, differences
from penstock.telemetry.windows import merged, rates

pytestmark = pytest.mark.spark

#: Ten seconds each, unless said otherwise.
WINDOWS: dict[str, Row] = {
    "bolt": {
        "inputs": [took("a", 100), took("c", 50)],
        "outputs": [put(20, bytes=400), put(10, "s", bytes=200)],
    },
    "four seconds": {"inputs": [took("a", 100)], "window_ms": 4000},
    "spout": {"produced": 200, "outputs": [put(400)]},
    "spout that does not say": {"outputs": [put(300, "s1"), put(500, "s2")]},
    "spout with an empty list": {"inputs": [], "produced": 200, "outputs": [put(400)]},
    "Storm's spout": {"inputs": [], "outputs": [put(300)]},
    "idle": {"inputs": [], "outputs": []},
    "sink": {"inputs": [took("a", 100)], "outputs": []},
    "uncounted": {"cpu_points": 5.0},
    "outputs unknown": {"inputs": [took("a", 100)]},
    "sampled": {"inputs": [took("a", 100), took("c", 40)], "sample_rate": 0.05},
    "sampled by task": {
        "inputs": [took("a", 100, task=1), took("a", 40, task=2), took("a", 40, task=3)],
        "sample_rate": 0.1,
    },
    "sampled spout": {"produced": 200, "outputs": [put(200)], "sample_rate": 0.05},
}


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, SparkRow]:
    rows = [{"component": name, "task": i, **w} for i, (name, w) in enumerate(WINDOWS.items())]
    frame = rates(differences(accepted(spark, rows), Settings()))
    assert frame.columns == schemas.WINDOWS.names
    return {row["component"]: row for row in frame.collect()}


@pytest.mark.parametrize(
    ("name", "rate", "out_rate"),
    [
        ("bolt", 15.0, 3.0),  # 150 and 30 in 10 s
        ("four seconds", 25.0, None),
        ("spout", 20.0, 40.0),  # what it made, not what it put out
        ("spout that does not say", 50.0, 80.0),  # its fullest stream
        ("spout with an empty list", 20.0, 40.0),  # it takes nothing in, and makes something
        ("Storm's spout", 30.0, 30.0),
        ("idle", 0.0, 0.0),
        ("sink", 10.0, 0.0),
        ("uncounted", None, None),
        ("outputs unknown", 10.0, None),
    ],
)
def test_rates_are_tuples_over_seconds_and_unknown_is_not_zero(
    found: dict[str, SparkRow], name: str, rate: float | None, out_rate: float | None
) -> None:
    assert (found[name]["rate"], found[name]["out_rate"]) == (rate, out_rate)


def test_bytes_are_those_put_out(found: dict[str, SparkRow]) -> None:
    assert found["bolt"]["bytes_per_s"] == 60.0


def test_sampling_adds_a_variance_for_each_counter(found: dict[str, SparkRow]) -> None:
    # At each of both ends (1/p)^2/6 tuples^2: 1/(3 p^2) a counter, over seconds^2.
    assert found["bolt"]["rate_variance"] == 0.0
    # 2 counters: 2 / (3 * 0.0025 * 100)
    assert found["sampled"]["rate_variance"] == pytest.approx(8 / 3)
    # 3 counters: 3 / (3 * 0.01 * 100)
    assert found["sampled by task"]["rate_variance"] == pytest.approx(1.0)
    assert found["sampled spout"]["rate_variance"] == pytest.approx(4 / 3)


# -- merging -----------------------------------------------------------------------------------


def short(task: int, end_s: float, length_s: float, **changes: Any) -> Row:
    times = {"time_ms": START_MS + int(1000 * end_s), "window_ms": int(1000 * length_s)}
    return {"task": task, **times, **changes}


#: Merged to minutes.
SHORT = [
    short(1, 10, 10, inputs=[took("a", 10)], outputs=[put(1)], cpu_points=2.0, memory_mb=100.0),
    short(1, 30, 20, inputs=[took("a", 80)], outputs=[put(5)], cpu_points=5.0),
    # Its middle lies in the second minute.
    short(1, 70, 15, inputs=[took("a", 90)], outputs=[put(9)], cpu_points=9.0),
    # As long as asked for already.
    short(2, 60, 60, inputs=[took("a", 10)], cpu_points=1.0),
    short(2, 120, 60, inputs=[took("a", 20)], cpu_points=2.0),
    # A warm-up is not mixed with what is used.
    short(3, 10, 10, inputs=[took("a", 10)], cpu_points=9.0, uptime_s=10.0),
    short(3, 20, 10, inputs=[took("a", 10)], cpu_points=1.0, uptime_s=80.0),
    # Spouts: what they made adds up; sampled.
    short(4, 10, 10, produced=100, outputs=[put(100)], sample_rate=0.05),
    short(4, 20, 10, produced=300, outputs=[put(300)], sample_rate=0.05),
    # One sampled counter over three windows that follow each other.
    short(5, 10, 10, inputs=[took("a", 100)], sample_rate=0.05),
    short(5, 20, 10, inputs=[took("a", 100)], sample_rate=0.05),
    short(5, 30, 10, inputs=[took("a", 100)], sample_rate=0.05),
]


@pytest.fixture(scope="module")
def minutes(spark: SparkSession) -> dict[int, list[SparkRow]]:
    settings = Settings(window_s=60.0)
    frame = rates(merged(differences(accepted(spark, SHORT), settings), settings))
    by_task: dict[int, list[SparkRow]] = {}
    for row in sorted(frame.collect(), key=lambda r: (r["task"], r["time_ms"])):
        by_task.setdefault(row["task"], []).append(row)
    return by_task


def test_merged_windows_add_their_tuples_and_average_cpu_by_time(
    minutes: dict[int, list[SparkRow]],
) -> None:
    first, second = minutes[1]
    assert (first["time_ms"], first["window_s"]) == (START_MS + 30_000, 30.0)
    assert first["rate"] == pytest.approx(3.0)  # 90 tuples in 30 s
    assert first["out_rate"] == pytest.approx(0.2)
    assert first["cpu_points"] == pytest.approx(4.0)  # (10 * 2 + 20 * 5) / 30
    assert first["memory_mb"] == pytest.approx(100.0)  # of the window that has it
    assert (second["window_s"], second["rate"], second["cpu_points"]) == (15.0, 6.0, 9.0)


def test_long_windows_and_warm_ups_stay_as_they_are(minutes: dict[int, list[SparkRow]]) -> None:
    assert [(r["window_s"], r["cpu_points"]) for r in minutes[2]] == [(60.0, 1.0), (60.0, 2.0)]
    assert [(r["status"], r["cpu_points"]) for r in minutes[3]] == [("warm-up", 9.0), ("used", 1.0)]


def test_a_merged_spout_made_what_its_windows_made(minutes: dict[int, list[SparkRow]]) -> None:
    (row,) = minutes[4]
    assert row["rate"] == pytest.approx(20.0)  # 400 in 20 s
    assert row["rate_variance"] == pytest.approx(1 / (3 * 0.0025 * 400))


def test_merging_cancels_the_sampling_error_at_the_seams(
    minutes: dict[int, list[SparkRow]],
) -> None:
    (row,) = minutes[5]
    # One counter, two ends, 30 s: not three counters.
    assert row["rate_variance"] == pytest.approx(1 / (3 * 0.0025 * 900))
