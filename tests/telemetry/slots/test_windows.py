"""Rates of windows, and how sure they are where tuples are only sampled."""

from __future__ import annotations

import pytest
from tests.telemetry.frames import Row, accepted, put, record_rows, took

from penstock.telemetry.slots.columns import Vocabulary
from penstock.telemetry.slots.counts import counts_of
from penstock.telemetry.slots.totals import differences
from penstock.telemetry.slots.windows import windows_of

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
def found() -> dict[str, Row]:
    rows = [{"component": name, "task": i, **w} for i, (name, w) in enumerate(WINDOWS.items())]
    vocabulary = Vocabulary()
    windows = windows_of(differences(counts_of(accepted(rows), vocabulary, warm_up_s=60.0)))
    assert len(windows) == len(rows)
    return {row["component"]: row for row in record_rows(windows, vocabulary)}


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
    found: dict[str, Row], name: str, rate: float | None, out_rate: float | None
) -> None:
    assert (found[name]["rate"], found[name]["out_rate"]) == (rate, out_rate)


def test_bytes_are_those_put_out(found: dict[str, Row]) -> None:
    assert found["bolt"]["bytes_per_s"] == 60.0


def test_sampling_adds_a_variance_for_each_counter(found: dict[str, Row]) -> None:
    # At each of both ends (1/p)^2/6 tuples^2: 1/(3 p^2) a counter, over seconds^2.
    assert found["bolt"]["rate_variance"] == 0.0
    # 2 counters: 2 / (3 * 0.0025 * 100)
    assert found["sampled"]["rate_variance"] == pytest.approx(8 / 3)
    # 3 counters: 3 / (3 * 0.01 * 100)
    assert found["sampled by task"]["rate_variance"] == pytest.approx(1.0)
    assert found["sampled spout"]["rate_variance"] == pytest.approx(4 / 3)
