"""Traffic between instances: exact where tasks are known, dealt out by shares where not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.telemetry.frames import START_MS, Row, as_rows, put, slot_windows, took

from penstock.telemetry.slots.columns import NO_WORD, Columns, Vocabulary, rows_of
from penstock.telemetry.slots.hours import hour_tables
from penstock.telemetry.slots.keys import HOUR_MS, hour_name
from penstock.telemetry.slots.sums import SampleSizes, partial_sums
from penstock.telemetry.slots.traffic import place_traffic, worker_crossings

#: Where each task runs: host, worker, rack.
PLACES = {
    1: ("h1", "6700", "r1"),
    2: ("h2", "6700", "r1"),
    3: ("h1", "6700", "r1"),
    4: ("h3", "6700", "r2"),
    5: ("h1", "6701", "r1"),
}


def at(topology: str, task: int, second: int, **changes: object) -> Row:
    host, worker, rack = PLACES[task]
    return {
        "topology": topology, "component": "a" if task < 3 else "b", "task": task, "host": host,
        "worker": worker, "rack": rack, "time_ms": START_MS + 1000 * second, **changes,
    }  # fmt: skip


def two_by_two(topology: str, *inputs_of_3_4: list[Row]) -> list[Row]:
    """a (1, 2) put out 300 and 100 in 20 s; b (3, 4) take in what is given."""
    third, fourth = inputs_of_3_4
    return [
        at(topology, 1, 10, outputs=[put(200)]),
        at(topology, 1, 20, outputs=[put(100), put(7, "other")]),
        at(topology, 2, 10, outputs=[put(100)]),
        at(topology, 2, 20, outputs=[]),
        at(topology, 3, 10, inputs=third),
        at(topology, 3, 20, inputs=[]),  # watched, and nothing came
        at(topology, 4, 10, inputs=fourth),
        at(topology, 4, 20, inputs=fourth),
    ]


WINDOWS = [
    # The writer knows the source task; one window of ten seconds with tuples, one without.
    *two_by_two(
        "exact",
        [took("a", 60, task=1, bytes=600), took("a", 20, task=2, bytes=400)],
        [took("a", 30, task=1)],
    ),
    at("exact", 5, 10, inputs=[took("a", 50, task=1), took("a", 5, "other", task=1)]),
    # It knows the component only: 3 took 80, 4 took 2 * 160.
    *two_by_two("dealt", [took("a", 80, bytes=800)], [took("a", 160)]),
    # A source that never reported.
    at("dealt", 5, 10, inputs=[took("ghost", 40)]),
    # Windows in which inputs were not counted, or which do not count, add no time.
    at("dealt", 3, 30, outputs=[put(1, "up")]),
    at("dealt", 3, 40, inputs=[took("a", 9999)], status="baseline"),
    # Acknowledgements, which nobody counts as sent: 3 worked three times as much as 4.
    at("acked", 3, 10, rate=9.0),
    at("acked", 4, 10, rate=3.0, outputs=[]),
    at("acked", 5, 10, inputs=[took("b", 48, "__ack_ack")]),
    # The next hour of the same pair, twice as much.
    at("exact", 4, 3700, inputs=[took("a", 120, task=1)]),
    at("exact", 1, 3700, outputs=[put(120)]),
]


VOCABULARY = Vocabulary()


def traffic_of(rows: list[Row]) -> Columns:
    """Of windows of one hour."""
    windows = slot_windows(rows, VOCABULARY)
    (hour,) = {hour_name(int(time_ms)) for time_ms in windows.time_ms}
    sums = partial_sums(windows, VOCABULARY, SampleSizes({}, {}))
    return hour_tables(sums, VOCABULARY, hour)["traffic"]


def of_topology(traffic: Columns, name: str) -> Columns:
    return rows_of(traffic, traffic["topology"] == VOCABULARY.number(name))


@pytest.fixture(scope="module")
def hours() -> list[Columns]:
    """Traffic of the first hour and of the second."""
    first = [row for row in WINDOWS if row["time_ms"] < START_MS + HOUR_MS]
    return [traffic_of(first), traffic_of([row for row in WINDOWS if row not in first])]


Found = dict[tuple[str, int | None, int, str], Row]


@pytest.fixture(scope="module")
def found(hours: list[Columns]) -> Found:
    """By topology, source task, target task and stream, in the first hour."""
    rows = as_rows(hours[0], VOCABULARY)
    found = {
        (r["topology"], r["source_task"], r["target_task"], r["stream"]): r for r in rows
    }  # fmt: skip
    assert len(found) == len(rows)
    assert {r["hour"] for r in rows} == {"2026-01-01-00"}
    return found


def test_known_source_tasks_give_exact_traffic(found: Found) -> None:
    rows = {key[1:]: row for key, row in found.items() if key[0] == "exact"}
    # 3 was watched for 20 s, in 10 of which tuples came; its window of two entries counts once.
    assert {key: (row["tuples"], row["seconds"]) for key, row in rows.items()} == {
        (1, 3, "default"): (60.0, 20.0),
        (2, 3, "default"): (20.0, 20.0),
        (1, 4, "default"): (60.0, 20.0),
        (1, 5, "default"): (50.0, 10.0),
        (1, 5, "other"): (5.0, 10.0),
    }
    assert rows[1, 3, "default"]["tuples_per_s"] == 3.0
    assert rows[1, 3, "default"]["bytes_per_s"] == 30.0
    assert rows[1, 4, "default"]["bytes_per_s"] is None  # unknown, not zero
    assert not any(row["estimated"] for row in rows.values())


def test_distances_are_those_between_the_places(found: Found) -> None:
    rows = {key[1:3]: row["distance"] for key, row in found.items() if key[0] == "exact"}
    assert rows == {
        (1, 3): "same worker",
        (1, 5): "same machine",
        (2, 3): "same rack",
        (1, 4): "other rack",
    }


def test_unknown_source_tasks_share_by_what_each_put_out(found: Found) -> None:
    rows = {key[1:3]: row for key, row in found.items() if key[0] == "dealt"}
    # On that stream 1 put out 300 and 2 put out 100: three quarters and one quarter.
    assert {key: row["tuples"] for key, row in rows.items()} == {
        (1, 3): 60.0,
        (2, 3): 20.0,
        (1, 4): 240.0,
        (2, 4): 80.0,
        (None, 5): 40.0,
    }
    assert rows[1, 3]["bytes"] == 600.0
    assert all(row["estimated"] for row in rows.values())
    # 20 s: neither the window without counts nor the baseline adds to it.
    assert {rows[key]["seconds"] for key in ((1, 3), (2, 3))} == {20.0}
    assert rows[2, 4]["source_host"] == "h2"


def test_a_stream_that_nobody_counts_as_sent_is_shared_by_what_each_took_in(found: Found) -> None:
    rows = {key[1:3]: row for key, row in found.items() if key[0] == "acked"}
    assert {key: row["tuples"] for key, row in rows.items()} == {(3, 5): 36.0, (4, 5): 12.0}
    assert rows[3, 5]["source_host"] == PLACES[3][0]


def crossings(traffic: Columns) -> dict[tuple[str, str], float | None]:
    rows = as_rows(worker_crossings(traffic, VOCABULARY), VOCABULARY)
    return {(r["host"], r["worker"]): r["crossing"] for r in rows}


def test_tuples_enter_and_leave_workers(hours: list[Columns]) -> None:
    found = crossings(of_topology(hours[0], "exact"))
    # Tuples/s from 1 to 4 and 5, and from 2 to 3; what 1 sends to 3 stays in their worker.
    assert found[PLACES[1][:2]] == pytest.approx(60 / 20 + 55 / 10 + 20 / 20)
    assert found[PLACES[2][:2]] == pytest.approx(20 / 20)
    assert found[PLACES[4][:2]] == pytest.approx(60 / 20)
    assert found[PLACES[5][:2]] == pytest.approx(55 / 10)


def test_what_enters_is_unknown_where_a_sender_is(hours: list[Columns]) -> None:
    found = crossings(of_topology(hours[0], "dealt"))
    assert found[PLACES[5][:2]] is None
    assert found[PLACES[4][:2]] is not None


def test_acknowledgements_cross_nothing() -> None:
    rows = [
        at("t", 1, 10, component="__acker", outputs=[put(50, "__ack_ack")]),
        at("t", 4, 10, inputs=[took("__acker", 50, "__ack_ack", task=1)]),
    ]
    traffic = traffic_of(rows)
    assert traffic["tuples"].tolist() == [50.0]
    assert crossings(traffic) == {}


def test_a_source_that_never_reported_sent_its_tuples_from_nobody_knows_where(
    found: Found,
) -> None:
    row = found["dealt", None, 5, "default"]
    assert (row["source"], row["tuples_per_s"]) == ("ghost", 4.0)
    assert (row["source_host"], row["distance"]) == (None, None)


def test_workers_machines_and_racks_exchange_what_their_instances_do(
    hours: list[Columns],
) -> None:
    found = {
        (row["level"], row["source"], row["target"], hour): row["tuples_per_s"]
        for hour, traffic in enumerate(hours)
        for row in as_rows(
            place_traffic(of_topology(traffic, "exact"), VOCABULARY), VOCABULARY
        )
    }  # fmt: skip
    assert found == {
        # h1 to h1: 60/20 within a worker and (50 + 5)/10 across; h1 to h3 in both hours.
        ("worker", "h1/6700", "h1/6700", 0): pytest.approx(3.0),
        ("worker", "h1/6700", "h1/6701", 0): pytest.approx(5.5),
        ("worker", "h2/6700", "h1/6700", 0): pytest.approx(1.0),
        ("worker", "h1/6700", "h3/6700", 0): pytest.approx(3.0),
        ("worker", "h1/6700", "h3/6700", 1): pytest.approx(12.0),
        ("machine", "h1", "h1", 0): pytest.approx(8.5),
        ("machine", "h2", "h1", 0): pytest.approx(1.0),
        ("machine", "h1", "h3", 0): pytest.approx(3.0),
        ("machine", "h1", "h3", 1): pytest.approx(12.0),
        ("rack", "r1", "r1", 0): pytest.approx(9.5),
        ("rack", "r1", "r2", 0): pytest.approx(3.0),
        ("rack", "r1", "r2", 1): pytest.approx(12.0),
    }


def test_a_sender_nobody_knows_keeps_its_tuples_at_every_level(hours: list[Columns]) -> None:
    unknown = rows_of(hours[0], hours[0]["source_host"] == NO_WORD)
    rows = as_rows(place_traffic(unknown, VOCABULARY), VOCABULARY)
    assert {(row["level"], row["source"], row["target"], row["tuples_per_s"]) for row in rows} == {
        ("worker", None, "h1/6701", 4.0),
        ("machine", None, "h1", 4.0),
        ("rack", None, "r1", 4.0),
    }


def test_a_rack_that_nobody_named_has_no_row() -> None:
    rows = [
        at("t", 1, 10, rack="", outputs=[put(90)]),
        at("t", 4, 10, rack="", inputs=[took("a", 50, task=1)]),
    ]
    places = as_rows(place_traffic(traffic_of(rows), VOCABULARY), VOCABULARY)
    assert {row["level"] for row in places} == {"worker", "machine"}


def test_tuples_of_any_task_of_an_executor_are_the_executors() -> None:
    """Storm's executors report under their first task and send under all of them."""
    rows = [
        at("t", 1, 10, last_task=2, outputs=[put(90)]),
        at("t", 3, 10, last_task=4, component="b",
           inputs=[took("a", 50, task=1, bytes=500), took("a", 40, task=2, bytes=400)]),
        at("t", 5, 10, inputs=[took("b", 30, task=4)]),
    ]  # fmt: skip
    found = sorted(as_rows(traffic_of(rows), VOCABULARY), key=lambda row: row["target_task"])
    assert [(r["source_task"], r["target_task"], r["tuples"], r["bytes"]) for r in found] == [
        (1, 3, 90.0, 900.0),
        (3, 5, 30.0, None),
    ]
    assert [r["distance"] for r in found] == ["same worker", "same machine"]


def test_the_order_of_windows_does_not_matter(hours: list[Columns]) -> None:
    def key(row: Row) -> str:
        return str([row[n] for n in ("topology", "source_task", "target_task", "stream")])

    first = [row for row in WINDOWS if row["time_ms"] < START_MS + HOUR_MS]
    order = np.random.default_rng(5).permutation(len(first))
    shuffled = as_rows(traffic_of([first[i] for i in order]), VOCABULARY)
    expected = sorted(as_rows(hours[0], VOCABULARY), key=key)
    for mine, theirs in zip(sorted(shuffled, key=key), expected, strict=True):
        assert mine == pytest.approx(theirs)
