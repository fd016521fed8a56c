"""Spark's event log: jobs, scans with the rows they read, and which of them are passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InputError
from penstock_bench.benchmarks.event_log import (
    Scan,
    event_log_of,
    log_options,
    read_event_logs,
    reported_passes,
)

Event = dict[str, Any]
SQL = "org.apache.spark.sql.execution.ui."


def node(name: str, *children: Event, rows: int | None = None) -> Event:
    """A node of a plan; ``rows`` is the number of its count of rows."""
    metrics = [{"name": "number of files read", "accumulatorId": 99}]
    if rows is not None:
        metrics.append({"name": "number of output rows", "accumulatorId": rows})
    return {"nodeName": name, "children": list(children), "metrics": metrics}


def execution(plan: Event, event: str = "SparkListenerSQLExecutionStart") -> Event:
    return {"Event": SQL + event, "executionId": 0, "sparkPlanInfo": plan}


def task(stage: int, *counts: tuple[int, int], cpu_ms: int = 0) -> Event:
    """A task that read so many rows of a scan."""
    values = [
        {"ID": number, "Name": "number of output rows", "Update": str(rows), "Value": "7"}
        for number, rows in counts
    ]
    return {
        "Event": "SparkListenerTaskEnd", "Stage ID": stage,
        "Task Info": {"Accumulables": [{"ID": 1, "Name": "internal.metrics.x"}, *values]},
        "Task Metrics": {"Executor CPU Time": cpu_ms * 1_000_000},
    }  # fmt: skip


JOB = {"Event": "SparkListenerJobStart", "Job ID": 0}


def test_a_scan_is_what_the_tasks_of_one_stage_read():
    plan = execution(node("HashAggregate", node("Scan parquet ", rows=5), rows=6))
    log = event_log_of([JOB, plan, task(0, (5, 30), cpu_ms=2000), task(0, (5, 40), (6, 1)), JOB])
    # The aggregate puts out rows, too; it reads no table.
    assert log.scans == (Scan("Scan parquet", 70),)
    assert (log.jobs, log.task_cpu_s) == (2, 2.0)


def test_a_plan_that_runs_twice_reads_twice():
    plan = execution(node("Scan parquet ", rows=5))
    log = event_log_of([plan, task(0, (5, 70)), task(3, (5, 70))])
    assert [scan.rows for scan in log.scans] == [70, 70]


def test_a_pass_reads_at_least_half_as_many_rows_as_there_are_samples():
    plan = execution(
        node("Join", node("Scan text ", rows=5), node("BatchScan kafka", rows=6),
             node("InMemoryTableScan", rows=7), node("LocalTableScan", rows=8))
    )  # fmt: skip
    log = event_log_of([plan, task(0, (5, 49), (6, 50), (7, 100), (8, 200))])
    assert [scan.table for scan in log.passes(100)] == ["BatchScan kafka", "InMemoryTableScan"]


def test_plans_that_change_while_they_run_count_once_each_scan():
    scan = node("Scan parquet ", rows=5)
    events = [
        execution(node("AdaptiveSparkPlan", node("Project", scan))),
        task(0, (5, 80)),
        execution(node("AdaptiveSparkPlan", scan), "SparkListenerSQLAdaptiveExecutionUpdate"),
    ]
    assert len(event_log_of(events).scans) == 1


def test_two_applications_number_their_scans_alike():
    start = [{"Event": "SparkListenerApplicationStart", "App ID": name} for name in ("a", "b")]
    scans = [execution(node(name, rows=5)) for name in ("Scan parquet ", "Scan json ")]
    log = event_log_of([start[0], scans[0], task(0, (5, 3)), start[1], scans[1], task(0, (5, 4))])
    assert log.scans == (Scan("Scan parquet", 3), Scan("Scan json", 4))


def test_tasks_that_failed_say_nothing_and_harm_nothing():
    failed = {"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Task Metrics": None}
    assert event_log_of([failed]).task_cpu_s == 0


def test_logs_are_read_from_a_folder_rolled_or_not(tmp_path: Path):
    (tmp_path / "eventlog_v2_app").mkdir()
    lines = "".join(json.dumps(event) + "\n" for event in (JOB, JOB))
    (tmp_path / "eventlog_v2_app" / "events_1_app").write_text(lines)
    (tmp_path / "eventlog_v2_app" / "appstatus_app").write_text("")
    (tmp_path / ".local-1.crc").write_bytes(b"\x00")
    # The program was killed while it wrote the last line.
    (tmp_path / "local-1").write_text(json.dumps(JOB) + '\n{"Event": "Spark')
    assert read_event_logs(tmp_path).jobs == 3


@pytest.mark.parametrize(("content", "words"), [(None, "no event log"), ("x\n", "is no event")])
def test_a_folder_with_something_else_is_refused(tmp_path: Path, content, words):
    if content:
        (tmp_path / "log").write_text(content)
    with pytest.raises(InputError, match=words):
        read_event_logs(tmp_path)


def test_passes_of_tasks_in_python_are_those_the_pipeline_tells():
    answer = {"timings": [{"step": "fits", "seconds": 3}, {"pass": "take in", "rows": 100},
                          {"pass": "repeats", "rows": 49}]}  # fmt: skip
    assert reported_passes(answer, 100) == [Scan("take in", 100)]
    assert reported_passes({}, 100) == []


@pytest.mark.spark
def test_sparks_own_log_says_what_was_read(tmp_path: Path):
    """A program of its own: the session of the other tests has no log."""
    import subprocess
    import sys

    (tmp_path / "logs").mkdir()
    options = log_options(tmp_path / "logs")[1::2]
    program = f"""
from penstock.engines.spark.session import spark_session
config = dict(option.split("=", 1) for option in {options!r})
with spark_session("local[1]", config=config) as spark:
    spark.range(1000).write.parquet({str(tmp_path / "table")!r})
    table = spark.read.parquet({str(tmp_path / "table")!r})
    assert table.selectExpr("sum(id)").collect()[0][0] == 499500
    table.where("id < 10").collect()
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    log = read_event_logs(tmp_path / "logs")
    parquet = [scan.rows for scan in log.scans if scan.table.startswith("Scan parquet")]
    # Whole for the sum, and again for the filter, which Parquet's statistics do not help.
    assert parquet == [1000, 1000]
    assert log.jobs >= 3
    assert log.task_cpu_s > 0
