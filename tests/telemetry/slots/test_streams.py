"""Tuples out for tuples in, in blocks of time, for both halves of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.telemetry.frames import START_MS, Row, as_rows, put, slot_windows, took
from tests.telemetry.slots.small_store import SmallStore

from penstock.telemetry.slots.columns import Columns, Vocabulary, joined
from penstock.telemetry.slots.hours import stream_blocks
from penstock.telemetry.slots.sums import SampleSizes, partial_sums

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


def partial(rows: list[Row], vocabulary: Vocabulary) -> dict[str, Columns]:
    return partial_sums(slot_windows(rows, vocabulary), vocabulary, SampleSizes({}, {}))


@pytest.fixture(scope="module")
def blocks() -> list[Row]:
    vocabulary = Vocabulary()
    sums = partial(WINDOWS, vocabulary)
    return as_rows(stream_blocks(sums["intake"], sums["outputs"]), vocabulary)


def test_a_block_adds_up_the_windows_of_a_task(blocks: list[Row]) -> None:
    first = {r["stream"]: r for r in blocks if r["task"] == 1 and r["block"] == FIRST_MS}
    assert set(first) == {"s", "x"}
    s, x = first["s"], first["x"]
    assert s["tuples_in"] == pytest.approx(200.0)  # 100 + 60 + 40
    assert (s["tuples_out"], s["bytes"], s["sized_tuples"]) == (80.0, 800.0, 80.0)
    assert s["seconds"] == pytest.approx(30.0)
    # x is counted against everything that came in, and nobody said how large it is.
    assert (x["tuples_in"], x["tuples_out"]) == (pytest.approx(200.0), 9.0)
    assert (x["bytes"], x["sized_tuples"]) == (None, None)


def test_blocks_of_windows_in_several_slots_are_added_up(blocks: list[Row]) -> None:
    """A block may begin in one slot and end in the next."""
    rng, vocabulary = np.random.default_rng(4), Vocabulary()
    slot = rng.integers(3, size=len(WINDOWS))
    parts = [
        partial([w for w, n in zip(WINDOWS, slot, strict=True) if n == number], vocabulary)
        for number in range(3)
    ]
    together = stream_blocks(*(joined([part[n] for part in parts]) for n in ("intake", "outputs")))

    def key(row: Row) -> tuple[int, int, str]:
        return row["task"], row["block"], row["stream"]

    rows = sorted(as_rows(together, vocabulary), key=key)
    for found, expected in zip(rows, sorted(blocks, key=key), strict=True):
        assert found == pytest.approx(expected)


# -- halves ------------------------------------------------------------------------------------


def record(row: Row) -> Row:
    """The record that a window is made of."""
    status = row.get("status", "used")
    kept = {n: v for n, v in row.items() if n in ("task", "time_ms", "inputs", "outputs")}
    changes: Row = {"window_ms": int(1000 * float(row.get("window_s", 10.0)))}
    if status == "baseline":  # a total with none before it
        changes |= {"counters": "total", "worker": "6701"}
    if status == "warm-up":
        changes |= {"uptime_s": 1.0}
    return kept | changes


Halves = list[dict[str, float]]


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Halves]:
    store = SmallStore(str(tmp_path_factory.mktemp("store")))
    store.take_in([record(row) for row in WINDOWS])
    store.compute()
    found = store.summaries().stream_halves()
    assert {key[:2] for key in found} == {("t", "b")}
    return {stream: parts for (_, _, stream), parts in found.items()}


def test_the_halves_are_halves_of_the_time(halves: dict[str, Halves]) -> None:
    early, late = halves["s"]
    # Early: 200 in and 80 out of task 1, 10 and 6 of task 2.
    assert (early["blocks"], early["i"], early["o"]) == (2, pytest.approx(210.0), 86.0)
    assert early["ii"] == pytest.approx(200.0**2 + 10.0**2)
    assert early["io"] == pytest.approx(200.0 * 80.0 + 10.0 * 6.0)
    assert early["oo"] == pytest.approx(80.0**2 + 6.0**2)
    assert early["bytes"] == 866.0
    # Late: 100 and 70, 30 and 21.
    assert (late["blocks"], late["i"], late["o"]) == (2, pytest.approx(130.0), 91.0)
    assert late["seconds"] == pytest.approx(50.0)


def test_a_stream_of_one_block_has_one_half(halves: dict[str, Halves]) -> None:
    (only,) = halves["x"]
    assert (only["blocks"], only["i"], only["o"]) == (1, pytest.approx(200.0), 9.0)


def test_hours_before_and_after_the_middle_count_whole(tmp_path: Path) -> None:
    """Of three hours the middle one is told apart block by block."""
    minutes = [0, 10, 70, 80, 110, 130, 179]
    store = SmallStore(str(tmp_path))
    store.take_in(
        {"time_ms": START_MS + 60_000 * minute + 30_000, "inputs": [took("a", 10.0 + minute)],
         "outputs": [put(1.0 + minute, "s")]}
        for minute in minutes
    )  # fmt: skip
    store.compute()
    (parts,) = store.summaries().stream_halves().values()
    # Blocks of 160 s: the first begins at minute 0 and the last at 176, so the middle is 88.
    early, late = (
        [minute for minute in minutes if (minute > 88) == is_late] for is_late in (False, True)
    )
    assert [part["blocks"] for part in parts] == [len(early), len(late)]
    assert [part["i"] for part in parts] == pytest.approx(
        [sum(10.0 + m for m in half) for half in (early, late)]
    )
    assert [part["oo"] for part in parts] == pytest.approx(
        [sum((1.0 + m) ** 2 for m in half) for half in (early, late)]
    )
