"""Short windows merged: less noise, fewer rows, and nothing lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.telemetry.frames import START_MS, Row, accepted, by_task, put, record_rows, took

from penstock.telemetry.slots.columns import Vocabulary
from penstock.telemetry.slots.counts import counts_of
from penstock.telemetry.slots.merging import merged
from penstock.telemetry.slots.totals import differences
from penstock.telemetry.slots.windows import windows_of


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


def merged_rows(rows: list[Row], window_s: float = 60.0) -> list[Row]:
    vocabulary = Vocabulary()
    counts = differences(counts_of(accepted(rows), vocabulary, warm_up_s=60.0))
    return record_rows(windows_of(merged(counts, window_s)), vocabulary)


@pytest.fixture(scope="module")
def minutes() -> dict[int, list[Row]]:
    return by_task(merged_rows(SHORT))


def test_merged_windows_add_their_tuples_and_average_cpu_by_time(
    minutes: dict[int, list[Row]],
) -> None:
    first, second = minutes[1]
    assert (first["time_ms"], first["window_s"]) == (START_MS + 30_000, 30.0)
    assert first["rate"] == pytest.approx(3.0)  # 90 tuples in 30 s
    assert first["out_rate"] == pytest.approx(0.2)
    assert first["cpu_points"] == pytest.approx(4.0)  # (10 * 2 + 20 * 5) / 30
    assert first["memory_mb"] == pytest.approx(100.0)  # of the window that has it
    assert (second["window_s"], second["rate"], second["cpu_points"]) == (15.0, 6.0, 9.0)


def test_long_windows_and_warm_ups_stay_as_they_are(minutes: dict[int, list[Row]]) -> None:
    assert [(r["window_s"], r["cpu_points"]) for r in minutes[2]] == [(60.0, 1.0), (60.0, 2.0)]
    assert [(r["status"], r["cpu_points"]) for r in minutes[3]] == [("warm-up", 9.0), ("used", 1.0)]


def test_a_merged_spout_made_what_its_windows_made(minutes: dict[int, list[Row]]) -> None:
    (row,) = minutes[4]
    assert row["rate"] == pytest.approx(20.0)  # 400 in 20 s
    assert row["rate_variance"] == pytest.approx(1 / (3 * 0.0025 * 400))


def test_merging_cancels_the_sampling_error_at_the_seams(
    minutes: dict[int, list[Row]],
) -> None:
    (row,) = minutes[5]
    # One counter, two ends, 30 s: not three counters.
    assert row["rate_variance"] == pytest.approx(1 / (3 * 0.0025 * 900))


def test_the_order_of_arrival_does_not_matter(minutes: dict[int, list[Row]]) -> None:
    def figures(rows: list[Row]) -> list[float]:
        return [r[n] for r in rows for n in ("time_ms", "window_s", "rate", "rate_variance")]

    order = np.random.default_rng(2).permutation(len(SHORT))
    shuffled = by_task(merged_rows([SHORT[i] for i in order]))
    assert set(shuffled) == set(minutes)
    for task, rows in minutes.items():
        assert figures(shuffled[task]) == pytest.approx(figures(rows))


def test_without_a_length_windows_stay_as_they_came() -> None:
    assert len(merged_rows(SHORT, window_s=0.0)) == len(SHORT)


def test_windows_of_two_hours_are_never_merged() -> None:
    """Each hour's tables are made of its own records, though seven minutes may lie in both."""
    hour_s, length_s = 3600, 420
    assert (START_MS + 1000 * (hour_s - 60)) // 420_000 == (
        START_MS + 1000 * (hour_s + 60)
    ) // 420_000
    ends = (hour_s - 30, hour_s - 20, hour_s + 20, hour_s + 30)
    rows = merged_rows([short(1, end, 10, inputs=[took("a", 10)]) for end in ends], length_s)
    assert sorted((row["time_ms"] - START_MS) // 1000 for row in rows) == [ends[1], ends[3]]
    assert [row["window_s"] for row in rows] == [20.0, 20.0]
