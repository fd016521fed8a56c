"""Tuples out for tuples in, in blocks of time, for both halves of it."""

from __future__ import annotations

import pytest
from pyspark.sql import Row as SparkRow
from pyspark.sql import SparkSession
from tests.telemetry.frames import START_MS, Row, put, took, windows

from penstock.telemetry.streams import stream_blocks, stream_sums

pytestmark = pytest.mark.spark

#: Windows of 9 to 11 s share blocks of 20 * 8 s.
BLOCK_MS = 160_000
#: The first block that begins after START_MS, and the one after.
FIRST_MS = -(-START_MS // BLOCK_MS) * BLOCK_MS
LATER_MS = FIRST_MS + 10 * BLOCK_MS


def window(task: int, time_ms: int, tuples: float, *outputs: Row, **changes: object) -> Row:
    seconds = float(changes.get("window_s", 10.0))  # type: ignore[arg-type]
    return {
        "task": task, "time_ms": time_ms, "rate": tuples / seconds, "inputs": [took("a", tuples)],
        "outputs": list(outputs), **changes,
    }  # fmt: skip


WINDOWS = [
    # One block of task 1: 100 + 60 + 40 in; 50 + 30 out on s, 9 on x.
    window(1, FIRST_MS + 1000, 100, put(50, "s", bytes=500), put(4, "x")),
    window(1, FIRST_MS + 12_000, 60, put(30, "s", bytes=300), put(5, "x"), window_s=11.0),
    window(1, FIRST_MS + 21_000, 40, put(0, "s", bytes=0), window_s=9.0, status="warm-up"),
    # Not counted: unknown, or the beginning of a series.
    window(1, FIRST_MS + 31_000, 999, put(999, "s"), status="baseline"),
    {"task": 1, "time_ms": FIRST_MS + 41_000, "status": "unknown"},
    # Task 2 in the same block, and both much later.
    window(2, FIRST_MS + 1000, 10, put(6, "s", bytes=66)),
    window(1, LATER_MS + 1000, 100, put(70, "s", bytes=700)),
    # A window of 40 s where a record was lost is no earlier for that.
    window(2, LATER_MS + 2000, 30, put(21, "s", bytes=210), window_s=40.0),
]


@pytest.fixture(scope="module")
def blocks(spark: SparkSession) -> list[SparkRow]:
    return stream_blocks(windows(spark, WINDOWS)).cache().collect()


@pytest.fixture(scope="module")
def sums(spark: SparkSession) -> dict[tuple[str, bool], SparkRow]:
    found = stream_sums(stream_blocks(windows(spark, WINDOWS))).collect()
    return {(row["stream"], row["late"]): row for row in found}


def test_a_block_adds_up_the_windows_of_a_task(blocks: list[SparkRow]) -> None:
    first = {r["stream"]: r for r in blocks if r["task"] == 1 and r["block"] == FIRST_MS}
    assert set(first) == {"s", "x"}
    s, x = first["s"], first["x"]
    assert s["tuples_in"] == pytest.approx(200.0)  # 100 + 60 + 40
    assert (s["tuples_out"], s["bytes"], s["sized_tuples"]) == (80.0, 800.0, 80.0)
    assert s["seconds"] == pytest.approx(30.0)
    # x is counted against everything that came in, and nobody said how large it is.
    assert (x["tuples_in"], x["tuples_out"]) == (pytest.approx(200.0), 9.0)
    assert (x["bytes"], x["sized_tuples"]) == (None, None)


def test_the_halves_are_halves_of_the_time(sums: dict[tuple[str, bool], SparkRow]) -> None:
    early, late = sums["s", False], sums["s", True]
    # Early: 200 in and 80 out of task 1, 10 and 6 of task 2.
    assert (early["blocks"], early["i"], early["o"]) == (2, pytest.approx(210.0), 86.0)
    assert early["ii"] == pytest.approx(200.0**2 + 10.0**2)
    assert early["io"] == pytest.approx(200.0 * 80.0 + 10.0 * 6.0)
    assert early["oo"] == pytest.approx(80.0**2 + 6.0**2)
    assert early["bytes"] == 866.0
    # Late: 100 and 70, 30 and 21.
    assert (late["blocks"], late["i"], late["o"]) == (2, pytest.approx(130.0), 91.0)
    assert late["seconds"] == pytest.approx(50.0)
