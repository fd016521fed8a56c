"""What Spark did, from its event log: jobs, and how often each table was read.

A *scan* is one run of a plan's leaf that reads rows, by the stage that ran it: a plan that runs
twice reads twice. A *pass* is a scan of at least half as many rows as there are samples. Tasks in
Python that open files themselves are not seen by Spark; the pipeline reports those in its answer.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import Finding, InputError

_ROWS = "number of output rows"
#: What leaves that read rows are called: files, caches, other engines' tables, frames from outside.
_SCANS = ("Scan ", "BatchScan", "InMemoryTableScan", "MicroBatchScan")
#: A frame of a few results that the driver made.
_NOT_A_TABLE = ("Scan OneRowRelation",)
#: What makes Spark write a log that is read here.
LOG_SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


@dataclass(frozen=True)
class Scan:
    """Rows that one stage read from one table."""

    table: str
    rows: int


@dataclass(frozen=True)
class EventLog:
    """Of one or more runs."""

    jobs: int
    #: In the order of the stages.
    scans: tuple[Scan, ...]
    #: CPU seconds of all tasks; what the driver plans is not in them.
    task_cpu_s: float

    def passes(self, samples: int) -> list[Scan]:
        """Scans of at least half as many rows as there are samples."""
        return [scan for scan in self.scans if 2 * scan.rows >= samples]


def log_options(folder: Path) -> list[str]:
    """Options of a command that runs Spark, so that it leaves its log in a folder that is there."""
    settings = {**LOG_SETTINGS, "spark.eventLog.dir": folder.as_uri()}
    return [part for name, value in settings.items() for part in ("--config", f"{name}={value}")]


def read_event_logs(folder: Path) -> EventLog:
    """The logs that Spark left in a folder, rolled or not."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and _is_log(p))
    if not files:
        raise InputError(Finding("holds no event log of Spark", str(folder)))
    return event_log_of(event for path in files for event in _events(path))


def _is_log(path: Path) -> bool:
    # Beside them stand an empty appstatus_… and checksums.
    return not path.name.startswith((".", "appstatus"))


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a file; the last line of a log that is being written may be half of one."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                if line.endswith("\n"):
                    raise InputError(Finding("is no event log of Spark", str(path))) from None
                continue
            if isinstance(event, dict):
                yield event


def event_log_of(events: Iterable[Mapping[str, Any]]) -> EventLog:
    """The figures of a stream of events."""
    jobs, cpu_ns = 0, 0
    scanned: dict[tuple[str, int], str] = {}
    updates: dict[tuple[str, int, int], int] = defaultdict(int)
    application = ""
    for event in events:
        kind = str(event.get("Event", "")).rpartition(".")[2]
        match kind:
            case "SparkListenerApplicationStart":
                application = str(event.get("App ID", ""))
            case "SparkListenerJobStart":
                jobs += 1
            case "SparkListenerSQLExecutionStart" | "SparkListenerSQLAdaptiveExecutionUpdate":
                for number, table in _scans_of(event["sparkPlanInfo"]):
                    scanned[application, number] = table
            case "SparkListenerTaskEnd":
                cpu_ns += (event.get("Task Metrics") or {}).get("Executor CPU Time", 0)
                for number, rows in _rows_of(event):
                    updates[application, event["Stage ID"], number] += rows
    scans = (
        Scan(scanned[app, number], rows)
        for (app, _, number), rows in sorted(updates.items())
        if (app, number) in scanned
    )
    return EventLog(jobs, tuple(scans), cpu_ns / 1e9)


def _scans_of(plan: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Of a plan's leaves that read, the number of their count of rows and their name."""
    name = str(plan.get("nodeName", "")).strip()
    if name.startswith(_SCANS) and name not in _NOT_A_TABLE:
        for metric in plan.get("metrics", ()):
            if metric["name"] == _ROWS:
                yield int(metric["accumulatorId"]), name
    # A scan of a cache has the plan that filled it inside; that one ran only once, with its stage.
    for child in plan.get("children", ()):
        yield from _scans_of(child)


def _rows_of(event: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for value in (event.get("Task Info") or {}).get("Accumulables", ()):
        if value.get("Name") == _ROWS and "Update" in value:
            yield int(value["ID"]), int(value["Update"])


def reported_passes(answer: Mapping[str, Any], samples: int) -> list[Scan]:
    """Passes that the pipeline's own tasks made, as its answer tells them among its timings."""
    lines = answer.get("timings") or ()
    passes = [line for line in lines if isinstance(line, Mapping) and "pass" in line]
    scans = (Scan(str(line["pass"]), int(line["rows"])) for line in passes)
    return [scan for scan in scans if 2 * scan.rows >= samples]
