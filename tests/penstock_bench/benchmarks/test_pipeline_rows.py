"""Rows of two tables held against each other, and what ten billion samples would take."""

from __future__ import annotations

import duckdb
import pytest

from penstock_bench.benchmarks import pipeline_paper
from penstock_bench.benchmarks.pipeline_cluster import WorkerSplit, worker_gain
from penstock_bench.benchmarks.pipeline_paper import START, PaperEstimate, StepCost, estimate
from penstock_bench.benchmarks.pipeline_rows import different
from penstock_bench.benchmarks.pipeline_speed import ProgramRun
from penstock_bench.benchmarks.suite import NotMeasurableHere
from penstock_bench.benchmarks.volumes import VolumeSize


@pytest.fixture
def database():
    with duckdb.connect() as database:
        database.execute("create table ours (name text, value double)")
        database.execute("create table theirs (name text, value double)")
        yield database


def differing(database: duckdb.DuckDBPyConnection, ours: list, theirs: list) -> int:
    for table, rows in (("ours", ours), ("theirs", theirs)):
        database.executemany(f"insert into {table} values (?, ?)", rows)
    return len(database.execute(different("ours", "theirs", ["name"], ["value"])).fetchall())


def test_equal_rows_do_not_differ_in_whatever_order(database):
    rows = [["a", 1.0], ["b", None], [None, 2.0], ["a", 3.0]]
    assert differing(database, rows, rows[::-1]) == 0


def test_a_part_in_a_thousand_million_is_what_numbers_may_differ_by(database):
    # 1 + 0.5e-9 is near enough, 1 + 2e-9 is not; and nothing is near to what is not there.
    ours = [["a", 1.0], ["b", 1.0], ["c", None]]
    theirs = [["a", 1.0 + 0.5e-9], ["b", 1.0 + 2e-9], ["c", 0.0]]
    assert differing(database, ours, theirs) == 2


def test_rows_count_as_often_as_they_occur(database):
    assert differing(database, [["a", 1.0], ["a", 1.0], ["b", 1.0]], [["a", 1.0], ["c", 1.0]]) == 3


# -- on paper --------------------------------------------------------------------------------------


def run(seconds: float, **steps: float) -> ProgramRun:
    lines = [{"pass": name.replace("_", " "), "rows": 0, "seconds": s} for name, s in steps.items()]
    return ProgramRun(seconds, 0.0, {"timings": lines})


def worked_out() -> PaperEstimate:
    few = (1_000_000, [run(13, take_in=2, results=1)])
    # Two runs, the median of each step between them.
    many = (11_000_000, [run(42, take_in=20, results=10), run(46, take_in=24, results=12)])
    return estimate(few, many, samples=111_000_000, cores=20, measured_cores=2)


def test_what_tasks_do_is_spread_and_what_the_driver_does_is_not():
    found = {step.name: worked_out().seconds_of(step) for step in worked_out().steps}
    # Spark starts in 12 and 10 s; taking in 22 s and 2 a further million, 100 of them on ten
    # times the cores; results 11 s and 1 a further million, by one.
    assert found == {
        START: pytest.approx(11.0),
        "take in": pytest.approx(22.2),
        "results": pytest.approx(111.0),
    }
    assert worked_out().seconds == pytest.approx(144.2)
    assert worked_out().longest.name == "results"


def test_a_step_that_was_slower_with_fewer_samples_is_no_gain():
    assert StepCost("take in", 5.0, 3.0, -0.2).seconds(1000, 1.0) == 3.0


def test_the_table_ends_with_what_gives_way_first(monkeypatch: pytest.MonkeyPatch):
    def profiled(size: VolumeSize, repeats: int, *, peers: bool) -> tuple[ProgramRun, ...]:
        millions = size.records / 1e6
        return (run(10 + 3 * millions, take_in=2 * millions, results=millions),) * repeats

    monkeypatch.setattr(pipeline_paper, "profiled", profiled)
    table = pipeline_paper.paper_table(2000, 4000, 3, 2, samples=10**10, cores=100, repeats=3)
    rows = {row[0]: row for row in table.rows}
    # Two seconds a million on these cores, spread over a hundred; one by the driver, all of it.
    assert rows["results"][3:] == ["driver", "10,000 s"]
    assert rows["take in"][3] == "tasks"
    assert rows["gives way first"][-1] == "results, by the driver alone"
    (minutes,) = pipeline_paper.paper_minutes(2000, 4000, 3, 2, samples=10**10, cores=100)
    assert rows["start to profile"][-1] == f"{minutes:.0f} min"


# -- workers ---------------------------------------------------------------------------------------


def test_workers_have_a_core_each_where_there_are_enough():
    assert WorkerSplit.of(2) == WorkerSplit(2, 4, 40.0)
    # Two cores: four workers of 0.4 and the driver's 0.4 are 2. Three: two workers, the driver.
    assert WorkerSplit.of(3) == WorkerSplit(1, 2, 100.0)


def test_without_control_groups_nothing_is_judged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "penstock_bench.benchmarks.pipeline_cluster.ControlGroups.find", lambda: None
    )
    with pytest.raises(NotMeasurableHere, match="workers cannot be held to cores of their own"):
        list(worker_gain(records=1, components=1, types=1))
