"""However records are split into batches, and however late they come, tables end up the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.telemetry.frames import START_MS, Row, put, took
from tests.telemetry.slots.small_store import HOUR_TABLES, SmallStore

from penstock.telemetry.slots.keys import hour_of
from penstock.telemetry.slots.sums import SampleSizes

MINUTES = 150
#: From ten minutes before an hour over two whole ones to twenty minutes after.
BEGIN_MS = START_MS + 50 * 60_000
#: Component, host, machine type, worker and rack of each task; 4 stands for 4 and 5.
TASKS = {
    1: ("spout", "h1", "M1", "6700", "r1"),
    2: ("split", "h1", "M1", "6700", "r1"),
    3: ("split", "h2", "M2", "6700", "r1"),
    4: ("count", "h2", "M2", "6701", ""),
    6: ("count", "h3", "M1", "6700", "r2"),
}
RESTART = 97


def recording(counters: str, seed: int = 1) -> list[Row]:
    """Windows of a minute of two topologies, with everything that can happen to them."""
    rng = np.random.default_rng(seed)
    rows = []
    for task, (component, host, kind, worker, rack) in TASKS.items():
        sums: dict[str, float] = {}
        for minute in range(1, MINUTES + 1):
            if minute == RESTART and host == "h2":
                sums = {}
            age = minute - (RESTART - 1 if minute >= RESTART and host == "h2" else 0)
            if rng.random() < 0.02:
                continue  # lost
            level = 100.0 + 50.0 * (minute % 7) + float(rng.integers(20))
            counts = {"in": level, "a": level / 2, "b": level / 4, "bytes": 3 * level}
            if counters == "total":
                sums = {name: sums.get(name, 0.0) + value for name, value in counts.items()}
                counts = sums
            rows.append({
                "topology": "t" if task < 6 else "u", "run": f"r{minute // 60}", "task": task,
                "component": component, "host": host, "machine_type": kind, "worker": worker,
                "rack": rack, "last_task": 5 if task == 4 else None, "counters": counters,
                "time_ms": BEGIN_MS + 60_000 * minute + int(rng.integers(5)), "window_ms": 60_000,
                "uptime_s": 60.0 * age - 5.0 if host != "h3" else None,
                "cpu_points": 0.1 * level + float(rng.normal()) + 3.0 if minute % 11 else None,
                "worker_cpu_points": 0.1 * level + 20.0 + float(rng.normal()),
                "memory_mb": float(100 + minute // 10), "worker_memory_mb": 500.0,
                "sample_rate": 0.05 if task == 3 else 1.0, **lists(task, counts),
            })  # fmt: skip
    return rows


def lists(task: int, counts: dict[str, float]) -> Row:
    outputs = [put(counts["a"], "s", bytes=counts["bytes"]), put(counts["b"], "x")]
    if task == 1:
        return {"produced": counts["in"], "outputs": outputs}
    if task < 4:
        return {"inputs": [took("spout", counts["in"], "s", task=1)], "outputs": outputs}
    half = counts["in"] / 2
    return {
        "inputs": [took("split", half, "s", bytes=counts["bytes"]), took("ghost", half, "g")],
        "outputs": [],
    }


def with_repeats(rows: list[Row], seed: int = 2) -> list[Row]:
    """Some again from another file, and some with another value."""
    rng = np.random.default_rng(seed)
    again = [rows[n] | {"file": "e"} for n in rng.integers(0, len(rows), 25)]
    wrong = [rows[n] | {"memory_mb": 1.0} for n in rng.integers(0, len(rows), 10)]
    return [*rows, *again, *wrong]


def at_once(rows: Iterable[Row], path: Path, **settings: Any) -> SmallStore:
    store = SmallStore(str(path), **settings)
    store.take_in(rows)
    store.compute()
    return store


# -- the same, but for the order in which numbers were added up ------------------------------------


def same_rows(one: Iterable[Row], other: Iterable[Row]) -> None:
    mine, theirs = (sorted(rows, key=_key) for rows in (one, other))
    assert [_key(row) for row in mine] == [_key(row) for row in theirs]
    for left, right in zip(mine, theirs, strict=True):
        same_value(left, right)


def same_value(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same_value(one[name], other[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same_value(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9, nan_ok=True)
    else:
        assert one == other


def _key(row: Row) -> str:
    return repr([(name, value) for name, value in row.items() if not isinstance(value, float)])


def same(one: SmallStore, other: SmallStore) -> None:
    for table in HOUR_TABLES:
        same_rows(one.table(table), other.table(table))
    same_rows(one.rates(), other.rates())
    for slot in one.repeats | other.repeats:
        assert sorted(one.repeats[slot]) == sorted(other.repeats[slot]), slot
    mine, theirs = one.summaries(), other.summaries()
    assert mine.sizes() == theirs.sizes()
    for name in (
        "groups", "windows_by_status", "stream_halves", "edges", "share_estimated", "machine_cpu",
        "own_cpu", "time_covered",
    ):  # fmt: skip
        same_value(getattr(mine, name)(), getattr(theirs, name)())
    assert sorted(mine.host_spans()) == sorted(theirs.host_spans())
    same_rows(one.fits(), other.fits())


# -- splits ------------------------------------------------------------------------------------

WAYS: dict[str, dict[str, Any]] = {
    "deltas": {"counters": "delta", "window_s": 0.0},
    "totals": {"counters": "total", "window_s": 0.0},
    "merged": {"counters": "delta", "window_s": 300.0},
    "totals merged": {"counters": "total", "window_s": 300.0},
}


@pytest.fixture(scope="module", params=WAYS)
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Row], SmallStore, dict[str, Any]]:
    """Records, and the store that got all of them in one batch."""
    settings = {"warm_up_s": 120.0, **WAYS[request.param]}
    rows = with_repeats(recording(settings.pop("counters")))
    return rows, at_once(rows, tmp_path_factory.mktemp("whole"), **settings), settings


Whole = tuple[list[Row], SmallStore, dict[str, Any]]


def test_the_recording_has_all_that_can_happen(whole: Whole) -> None:
    rows, store, _ = whole
    statuses = set(store.summaries().windows_by_status())
    assert statuses == {"used", "warm-up", *(["baseline"] if store.totals else [])}
    reasons = {reason for repeats in store.repeats.values() for *_, reason in repeats}
    assert reasons == {"duplicate", "contradicts another record"}
    assert len({row["hour"] for row in store.table("traffic")}) == 4
    assert 0 < store.summaries().share_estimated() < 1
    assert sum(report.records for report in store.reports.values()) == len(rows)
    assert any(not row["not_ready"] for row in store.fits())


@pytest.mark.slow
def test_any_split_into_batches_ends_with_the_same_tables(whole: Whole, tmp_path: Path) -> None:
    """Computed now and then, so that records come late to slots computed before."""
    rows, expected, settings = whole
    rng = np.random.default_rng(len(rows))
    batch = rng.integers(0, 5, len(rows))
    store = SmallStore(str(tmp_path), **settings)
    for number in range(5):
        store.take_in(rows[n] for n in rng.permutation(np.flatnonzero(batch == number)))
        if number == 4 or rng.random() < 0.6:
            store.compute()
    same(expected, store)


@pytest.mark.slow
def test_a_slot_after_the_other_ends_with_the_same_tables(whole: Whole, tmp_path: Path) -> None:
    """As a live run takes them in, with the last slot of all coming first."""
    rows, expected, settings = whole
    slots = sorted({row["time_ms"] // 600_000 for row in rows})
    store = SmallStore(str(tmp_path), **settings)
    for slot in [slots[-1], *slots[:-1]]:
        store.take_in(row for row in rows if row["time_ms"] // 600_000 == slot)
        store.compute()
    same(expected, store)


@pytest.mark.slow
def test_a_record_that_comes_after_all_others_changes_what_it_must(
    whole: Whole, tmp_path: Path
) -> None:
    """A total in the last seconds of an hour: the hour after depends on it, too."""
    rows, expected, settings = whole
    ends = [START_MS + 3_600_000 * hour for hour in (1, 2)]
    late = [row for row in rows if any(0 < end - row["time_ms"] < 180_000 for end in ends)]
    assert len(late) > 5
    store = at_once([row for row in rows if row not in late], tmp_path, **settings)
    for row in late:
        store.take_in([row])
    store.compute()
    same(expected, store)


# -- samples of many windows -------------------------------------------------------------------


def test_points_put_by_slot_by_slot_are_the_final_sample(tmp_path: Path) -> None:
    """At first nobody knows how many windows there will be, and as many as needed are put by."""
    rng = np.random.default_rng(9)
    rows = [
        {"task": task, "time_ms": START_MS + 1000 * second, "window_ms": 1000, "cpu_points": cpu,
         "inputs": [took("a", rate)]}
        for task in range(6)
        for second, rate, cpu in zip(
            range(1, 1201), rng.uniform(10, 100, 1200), rng.uniform(1, 20, 1200), strict=True
        )
    ]  # fmt: skip
    group = ("t", "b", "M1")
    expected = at_once(rows, tmp_path / "whole", sizes=SampleSizes({group: 3600}, {}))
    assert expected.summaries().sizes().groups == {group: 7200}
    store = SmallStore(str(tmp_path / "parts"))
    for begin in (0, 1, 2):
        store.take_in(rows[begin::3])
        store.sizes = SampleSizes({group: 1200 * (begin + 1)}, {})
        store.compute()
    (mine,), (theirs,) = expected.fits(), store.fits()
    assert mine["samples"] == 7200
    same_value(mine, theirs)


def test_hours_that_nothing_came_for_are_left_as_they_are(tmp_path: Path) -> None:
    rows = recording("delta")
    store = at_once(rows, tmp_path)
    before = dict(store.manifest.parts["traffic"])
    last = max(rows, key=lambda row: row["time_ms"])
    store.take_in([last | {"time_ms": last["time_ms"] + 60_000}])
    store.compute()
    changed = {h for h, path in store.manifest.parts["traffic"].items() if before[h] != path}
    assert changed == {"2026-01-01-03"}
    slots = {s for s, path in store.manifest.parts["slots"].items() if "part=c2" in path}
    assert {hour_of(slot) for slot in slots} == changed
    assert len(slots) == 1


@pytest.mark.parametrize("window_s", [0.0, 60.0])
def test_a_slot_of_nothing_but_contradictions_counts_for_nothing(
    window_s: float, tmp_path: Path
) -> None:
    times = [START_MS + 60_000 * minute for minute in (1, 1, 15)]
    rows = [{"time_ms": time_ms, "inputs": [took("a", 10.0)]} for time_ms in times]
    rows[0]["inputs"] = [took("a", 20.0)]
    store = at_once(rows, tmp_path, window_s=window_s)
    assert [reason for *_, reason in store.repeats["2026-01-01-00-00"]] == [
        "contradicts another record"
    ] * 2
    assert [row["time_ms"] for row in store.rates()] == times[2:]
    assert store.summaries().windows_by_status() == {"used": 1}
    # And nothing else, where no slot has a window.
    alone = at_once(rows[:2], tmp_path / "alone", window_s=window_s)
    assert alone.rates() == []
    assert all(alone.table(name) == [] for name in HOUR_TABLES)
    assert alone.summaries().groups() == []
    assert alone.fits() == []
