"""Totals become differences by series, and young workers are warming up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.telemetry.frames import START_MS, Row, accepted, by_task, put, record_rows, took

from penstock.telemetry.slots.columns import Vocabulary
from penstock.telemetry.slots.counts import STATUSES, counts_of
from penstock.telemetry.slots.totals import differences

USED, WARM_UP, BASELINE, UNKNOWN = STATUSES


def total(task: int, second: float, **changes: Any) -> Row:
    return {"task": task, "time_ms": START_MS + int(1000 * second), "counters": "total", **changes}


def delta(task: int, second: float = 10.0, **changes: Any) -> Row:
    return {"task": task, "time_ms": START_MS + int(1000 * second), **changes}


_HOUR_S = 3600.0
RECORDS = [
    # 1: counts rise, a stream is new, a counter falls, and rises again.
    total(1, 10, inputs=[took("a", 100, bytes=1000)], outputs=[put(10)]),
    total(1, 20, inputs=[took("a", 160, bytes=1600)], outputs=[put(25)]),
    total(1, 40, inputs=[took("a", 200, bytes=2000), took("a", 7, "x")], outputs=[put(25)]),
    total(1, 50, inputs=[took("a", 30), took("a", 9, "x")], outputs=[put(30)]),
    total(1, 60, inputs=[took("a", 50), took("a", 9, "x")], outputs=[put(31)]),
    # 2: the worker is younger than before, though it has counted further already.
    total(2, 10, inputs=[took("a", 10)], uptime_s=500.0),
    total(2, 20, inputs=[took("a", 12)], uptime_s=9.0),
    total(2, 30, inputs=[took("a", 20)], uptime_s=19.0),
    total(2, 110, inputs=[took("a", 80)], uptime_s=99.0),
    # 3: a spout.
    total(3, 10, produced=10, outputs=[put(20)]),
    total(3, 20, produced=35, outputs=[put(70)]),
    total(3, 30, produced=5, outputs=[put(75)]),
    # 4: moved to another worker, where totals begin anew.
    total(4, 10, inputs=[took("a", 10)]),
    total(4, 20, inputs=[took("a", 90)], worker="6701"),
    total(4, 30, inputs=[took("a", 95)], worker="6701"),
    # 5: by source task, each a counter of its own.
    total(5, 10, inputs=[took("a", 10, task=1), took("a", 100, task=2)]),
    total(5, 20, inputs=[took("a", 130, task=2), took("a", 15, task=1)]),
    # 6: in between the inputs were not counted.
    total(6, 10, inputs=[took("a", 100)], outputs=[put(10)]),
    total(6, 20, outputs=[put(15)]),
    total(6, 30, inputs=[took("a", 180)], outputs=[put(25)]),
    total(6, 40, inputs=[took("a", 200)], outputs=[put(26)]),
    # 7: silent for hours; and over midnight's end of the hour.
    total(7, 10, inputs=[took("a", 100)]),
    total(7, _HOUR_S + 10, inputs=[took("a", 300)]),
    total(7, 3 * _HOUR_S + 10, inputs=[took("a", 900)]),
    total(7, 3 * _HOUR_S + 20, inputs=[took("a", 950)]),
    # Deltas.
    delta(20, inputs=[took("a", 5)], uptime_s=59.9),
    delta(21, inputs=[took("a", 5)], uptime_s=60.0),
    delta(22, inputs=[took("a", 5)]),
    delta(23, cpu_points=5.0, uptime_s=900.0),
    delta(24, inputs=[]),
    delta(25, cpu_points=5.0, uptime_s=5.0),
]  # fmt: skip


def counted(rows: list[Row]) -> list[Row]:
    vocabulary = Vocabulary()
    counts = differences(counts_of(accepted(rows), vocabulary, warm_up_s=60.0))
    return record_rows(counts, vocabulary)


@pytest.fixture(scope="module")
def series() -> dict[int, list[Row]]:
    order = np.random.default_rng(1).permutation(len(RECORDS))
    return by_task(counted([RECORDS[i] for i in order]))


def test_the_order_of_arrival_does_not_matter(series: dict[int, list[Row]]) -> None:
    assert by_task(counted(RECORDS)) == series


def statuses(rows: list[Row]) -> list[str]:
    return [row["status"] for row in rows]


def taken_in(row: Row) -> dict[str, float] | None:
    return None if row["inputs"] is None else {e["stream"]: e["tuples"] for e in row["inputs"]}


def test_totals_become_what_was_counted_since_the_record_before(
    series: dict[int, list[Row]],
) -> None:
    first, second, third, fell, again = series[1]
    assert statuses(series[1]) == [BASELINE, USED, USED, BASELINE, USED]
    assert first["window_ms"] is None
    assert taken_in(second) == {"default": 60.0}  # 160 - 100
    assert second["inputs"][0]["bytes"] == 600.0
    assert (second["outputs"][0]["tuples"], second["window_ms"]) == (15.0, 10_000)
    # 20 s later: 200 - 160, and a stream that was not there before counted from zero.
    assert taken_in(third) == {"default": 40.0, "x": 7.0}
    assert (third["outputs"][0]["tuples"], third["window_ms"]) == (0.0, 20_000)
    # default fell from 200 to 30: a restart at an unknown moment, so nothing is used.
    assert taken_in(fell)["default"] < 0
    assert taken_in(again) == {"default": 20.0, "x": 0.0}


def test_a_worker_that_is_younger_than_before_was_restarted(
    series: dict[int, list[Row]],
) -> None:
    # And is warming up until it is a minute old.
    assert statuses(series[2]) == [BASELINE, BASELINE, WARM_UP, USED]
    assert taken_in(series[2][2]) == {"default": 8.0}
    assert taken_in(series[2][3]) == {"default": 60.0}


def test_what_a_spout_made_is_a_total_too(series: dict[int, list[Row]]) -> None:
    assert statuses(series[3]) == [BASELINE, USED, BASELINE]
    assert (series[3][1]["produced"], series[3][1]["outputs"][0]["tuples"]) == (25.0, 50.0)


def test_totals_belong_to_one_worker_process(series: dict[int, list[Row]]) -> None:
    assert statuses(series[4]) == [BASELINE, BASELINE, USED]
    assert taken_in(series[4][2]) == {"default": 5.0}


def test_totals_by_source_task_are_told_apart_whatever_their_order(
    series: dict[int, list[Row]],
) -> None:
    entries = series[5][1]["inputs"]
    assert [(e["task"], e["tuples"]) for e in entries] == [(2, 30.0), (1, 5.0)]


def test_a_total_after_one_that_was_not_counted_is_a_new_beginning(
    series: dict[int, list[Row]],
) -> None:
    # Not 180 tuples in ten seconds: that is since the worker started. Missing is never zero.
    assert statuses(series[6]) == [BASELINE, USED, BASELINE, USED]
    uncounted, last = series[6][1], series[6][3]
    assert (taken_in(uncounted), uncounted["outputs"][0]["tuples"]) == (None, 5.0)
    assert (taken_in(last), last["outputs"][0]["tuples"]) == ({"default": 20.0}, 1.0)


def test_a_total_is_compared_with_its_own_hour_and_the_hour_before_only(
    series: dict[int, list[Row]],
) -> None:
    # Live, older hours are not read again; history must not know more.
    assert statuses(series[7]) == [BASELINE, USED, BASELINE, USED]
    assert (taken_in(series[7][1]), series[7][1]["window_ms"]) == ({"default": 200.0}, 3_600_000)
    assert series[7][2]["window_ms"] is None
    assert taken_in(series[7][3]) == {"default": 50.0}


def test_young_workers_are_warming_up_and_what_was_not_counted_is_unknown(
    series: dict[int, list[Row]],
) -> None:
    told = {task: statuses(series[task]) for task in range(20, 26)}
    assert told == {
        20: [WARM_UP],  # 59.9 s
        21: [USED],
        22: [USED],  # no age given
        23: [UNKNOWN],  # CPU, but no tuples
        24: [USED],  # an empty list: nothing came
        25: [UNKNOWN],
    }
