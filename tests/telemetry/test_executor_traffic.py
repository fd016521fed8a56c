"""Traffic between instances in the profile: which run, which pairs, and what plans make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from tests.telemetry.frames import HOUR, START_MS, Row, put, slot_windows, took

import penstock
from penstock.files.store import save
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.plan import Plan
from penstock.telemetry.executor_traffic import executor_traffic
from penstock.telemetry.pipeline import build_profile
from penstock.telemetry.schemas import TABLES
from penstock.telemetry.slots.columns import Columns, Vocabulary, to_arrow
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.hours import hour_tables
from penstock.telemetry.slots.pair_sums import PairSumsReader, added_up, pair_sums
from penstock.telemetry.slots.sums import SampleSizes, partial_sums
from penstock.telemetry.source import open_source

FIGURE = Path(__file__).parents[1] / "fixtures" / "thesis-fig-3-4"
NEXT_HOUR, LAST_HOUR = "2026-01-01-01", "2026-01-01-02"


def seen(task: int, component: str, second: int = 10, **changes: object) -> Row:
    """A window of ten seconds."""
    return {
        "component": component, "task": task, "host": "h1", "time_ms": START_MS + 1000 * second,
        "rate": 1.0, **changes,
    }  # fmt: skip


def chain(run: str, second: int = 10, sent: float = 60, **changes: object) -> list[Row]:
    """a (1) to b (2, 3), of whom only 2 gets anything; 3 passes nothing on."""
    return [
        seen(1, "a", second, run=run, outputs=[put(sent)], **changes),
        seen(2, "b", second, run=run, inputs=[took("a", sent, task=1)], outputs=[], **changes),
        seen(3, "b", second, run=run, inputs=[], outputs=[put(0)], **changes),
    ]


def found(rows: list[Row], **settings: int) -> tuple[InstanceTraffic, ...]:
    vocabulary = Vocabulary()
    sums = [
        pair_sums(tables["traffic"], tables["streams"], hour, vocabulary)
        for hour, tables in tables_by_hour(rows, vocabulary)
    ]
    return executor_traffic(added_up(sums), vocabulary, **settings) if sums else ()


def tables_by_hour(
    rows: list[Row], vocabulary: Vocabulary
) -> Iterator[tuple[str, dict[str, Columns]]]:
    """Tables of all hours of these windows."""
    for hour in sorted({str(row.get("hour", HOUR)) for row in rows}):
        own = [
            {name: value for name, value in row.items() if name != "hour"}
            for row in rows
            if str(row.get("hour", HOUR)) == hour
        ]
        sums = partial_sums(slot_windows(own, vocabulary), vocabulary, SampleSizes({}, {}))
        yield hour, hour_tables(sums, vocabulary, hour)


def test_pairs_and_tasks_of_a_run():
    (traffic,) = found(chain("r"))
    # 60 in 10 s. 3 got nothing, but it is there: it said that it put out nothing.
    assert traffic.pairs == ((1, 2, 6.0),)
    assert traffic.tasks == (("a", (1,)), ("b", (2, 3)))
    assert (traffic.topology, traffic.run, traffic.estimated) == ("", "r", False)


def test_the_mean_is_over_the_time_the_target_was_watched():
    rows = [
        *chain("r"),
        *chain("r", second=3610, sent=30, hour=NEXT_HOUR),
        # 2 was watched ten seconds more, without tuples from anyone.
        seen(2, "b", 20, run="r", inputs=[]),
    ]
    # 60 in 20 s, then 30 in 10 s.
    assert found(rows)[0].pairs == ((1, 2, 3.0),)


def test_a_target_that_moved_was_watched_at_both_places():
    moved = seen(2, "b", 20, run="r", host="h2", inputs=[took("a", 20, task=1)])
    # 60 in 10 s on h1, 20 in 10 s on h2.
    assert found([*chain("r"), moved])[0].pairs == ((1, 2, 4.0),)


def test_the_newest_run_counts_whatever_it_is_called():
    rows = [*chain("t-9", second=10), *chain("t-10", second=600, sent=90)]
    (traffic,) = found(rows)
    assert (traffic.run, traffic.pairs) == ("t-10", ((1, 2, 9.0),))


def test_each_topology_has_its_own_and_an_equal_part_of_the_pairs():
    many = [
        seen(1, "a", topology="u", outputs=[put(100)]),
        seen(2, "b", topology="u", inputs=[took("a", 10, task=1)], outputs=[]),
        seen(3, "b", topology="u", inputs=[took("a", 60, task=1)], outputs=[]),
        seen(4, "b", topology="u", inputs=[took("a", 30, task=1)], outputs=[]),
    ]
    t, u = found([*chain("r"), *many], most_pairs=5)
    assert (t.topology, len(t.pairs), t.pairs_left_out) == ("t", 1, 0)
    # Two each: 6/s and 3/s are the heaviest, 1/s is left out, a tenth.
    assert (u.topology, u.pairs) == ("u", ((1, 3, 6.0), (1, 4, 3.0)))
    assert (u.pairs_left_out, u.left_out_per_s, u.part_left_out) == (1, 1.0, 0.1)


def test_tuples_of_nobody_known_are_left_out_and_counted():
    rows = [*chain("r"), seen(4, "c", run="r", inputs=[took("ghost", 20)], outputs=[])]
    (traffic,) = found(rows)
    assert traffic.pairs == ((1, 2, 6.0),)
    assert (traffic.pairs_left_out, traffic.left_out_per_s) == (1, 2.0)


def test_acknowledgements_back_are_no_traffic_but_those_to_ackers_are():
    rows = [
        seen(1, "a", inputs=[took("__acker", 10, "__ack_ack", task=2)], outputs=[put(10)]),
        seen(2, "__acker", inputs=[took("a", 10, task=1)], outputs=[put(10, "__ack_ack")]),
    ]
    (traffic,) = found(rows)
    assert traffic.pairs == ((1, 2, 1.0),)
    assert traffic.tasks_of["__acker"] == (2,)


def test_dealt_out_traffic_says_that_it_is_estimated():
    rows = [seen(1, "a", outputs=[put(10)]), seen(2, "b", inputs=[took("a", 10)], outputs=[])]
    assert found(rows)[0].estimated


def test_without_records_there_is_none():
    assert found([]) == ()


def test_hours_read_one_after_the_other_add_up_as_all_at_once(tmp_path: Path):
    rows = [
        *chain("r"),
        *chain("r", second=3610, sent=30, hour=NEXT_HOUR),
        *chain("s", second=7210, sent=90, hour=LAST_HOUR),
    ]
    vocabulary, root = Vocabulary(), str(tmp_path)
    hours = []
    for hour, tables in tables_by_hour(rows, vocabulary):
        paths = [
            StoreFiles(root).write(
                name, hour, to_arrow(tables[name], to_arrow_schema(TABLES[name]), vocabulary), []
            )
            for name in ("traffic", "streams")
        ]
        hours.append((hour, *paths))
    reader = PairSumsReader(root)
    found = [
        executor_traffic(reader.read(hours[:number]), reader.vocabulary)[0] for number in (1, 2, 3)
    ]
    # 60 in 10 s; 90 in 20 s; another run.
    assert [one.pairs for one in found] == [((1, 2, 6.0),), ((1, 2, 4.5),), ((1, 2, 9.0),)]
    # An hour that was computed again has other files.
    assert executor_traffic(reader.read([hours[0], hours[2]]), reader.vocabulary) == tuple(
        found[2:]
    )
    assert executor_traffic(reader.read(hours), reader.vocabulary) == tuple(found[2:])


# -- from telemetry to a plan -------------------------------------------------------------------

#: Fig. 3.4 by task (A 1; B 2, D 4; C 3, E 5; F 6) and who each is an executor of.
COMPONENTS = {1: "spout", 2: "first", 3: "second", 4: "first", 5: "second", 6: "last"}
TRAFFIC = {(1, 2): 6, (1, 4): 1, (2, 3): 7, (2, 5): 9, (3, 6): 2, (4, 5): 8, (5, 6): 7}


def write_figure(folder: Path) -> None:
    """Half an hour of the figure's traffic, at one to two times its rates."""
    lines = []
    for window in range(180):
        level = 1 + (window % 30) / 29
        for task, component in COMPONENTS.items():
            taken = {s: 10 * level * r for (s, t), r in TRAFFIC.items() if t == task}
            sent = sum(10 * level * r for (s, _), r in TRAFFIC.items() if s == task)
            rate = (sum(taken.values()) or sent) / 10
            noise = ((window * 7 + task * 3) % 11 - 5) / 50
            lines.append(
                {
                    "version": 1, "topology": "figure", "run": "figure-1", "component": component,
                    "task": task, "host": "h1", "machine_type": "M1", "worker": "6700",
                    "time_ms": START_MS + 10_000 * window, "window_ms": 10_000,
                    "uptime_s": 600 + 10 * window, "cpu_points": 1 + 0.5 * rate + noise,
                    "inputs": [took(COMPONENTS[s], n, task=s) for s, n in taken.items()] or None,
                    "outputs": [put(sent)], "produced": None if taken else sent,
                }
            )  # fmt: skip
    folder.mkdir()
    kept = ({k: v for k, v in line.items() if v is not None} for line in lines)
    (folder / "telemetry.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))


@pytest.mark.spark
def test_the_figure_goes_from_telemetry_to_the_plan(spark, tmp_path: Path):
    write_figure(tmp_path / "telemetry")
    measured = build_profile(spark, open_source(spark, str(tmp_path / "telemetry")))
    save(measured.whole_profile(), tmp_path / "measured.json")
    traffic = penstock.load(tmp_path / "measured.json").traffic[0]
    # Levels are 1.5 on average.
    assert {(s, t): rate for s, t, rate in traffic.pairs} == pytest.approx(
        {pair: 1.5 * rate for pair, rate in TRAFFIC.items()}
    )
    assert measured_plan(tmp_path).placement == measured_plan(FIGURE).placement


def measured_plan(folder: Path) -> Plan:
    """Of the figure's files, with the profile of another folder where it has one."""
    costs = folder / ("measured.json" if folder != FIGURE else "profile.yaml")
    problem = penstock.problem(FIGURE / "topology.yaml", FIGURE / "cluster.yaml", costs)
    answer = penstock.plan(problem, "a3")
    assert "traffic between executors as measured" in answer.plan.notes
    return answer.plan
