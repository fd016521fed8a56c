"""How fast the telemetry pipeline is: seconds, passes, jobs, core-seconds, and beside DuckDB.

Every figure is of ``penstock profile`` as a user runs it, from the start of the command to the
profile. DuckDB reads the same files in a process of its own, so that both start cold.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock_bench.benchmarks.event_log import (
    EventLog,
    Scan,
    log_options,
    read_event_logs,
    reported_passes,
)
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.process_cpu import cpu_of_session
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.benchmarks.volumes import VolumeSize, first_half, volume

#: What the driver may use, everywhere.
MEMORY = ("--driver-memory", "4g")


class SpeedNotMeasured(PenstockError):
    """A program that the benchmark started ended badly."""


@dataclass(frozen=True)
class ProgramRun:
    """One program from its start to its end."""

    seconds: float
    cpu_s: float
    answer: dict[str, Any]


@dataclass(frozen=True)
class Beside:
    """The pipeline and its peer on the same files, one after the other."""

    pipeline: ProgramRun
    aggregations: ProgramRun
    whole_job: ProgramRun


# -- programs --------------------------------------------------------------------------------------


def run_program(command: Sequence[str]) -> ProgramRun:
    """Run a program that prints JSON, in a session of its own."""
    began = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        with cpu_of_session(process.pid) as cpu:
            out, err = process.communicate()
        seconds = time.monotonic() - began
    if process.returncode != 0:
        what = " ".join(command[1:5])
        raise SpeedNotMeasured(f"{what} … ended with {process.returncode}: {err[-800:]}")
    return ProgramRun(seconds, cpu.seconds(), json.loads(out))


def profile(folder: Path, *options: str) -> ProgramRun:
    """``penstock profile`` into a store that goes afterwards, as the tables of a first run."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "penstock", "profile", str(folder), "--json", "--partial"]
        return run_program([*command, "--store", f"{place}/tables", *options])


def _peer(what: str, folder: Path) -> ProgramRun:
    with tempfile.TemporaryDirectory() as place:
        module = "penstock_bench.benchmarks.peer"
        return run_program([sys.executable, "-m", module, what, str(folder), f"{place}/tables"])


@made_once
def beside(size: VolumeSize, repeats: int) -> tuple[Beside, ...]:
    """In turn, so that a machine that becomes slower meanwhile favours nobody."""
    return tuple(_side_by_side(volume(size), number, repeats) for number in range(repeats))


def _side_by_side(folder: Path, number: int, repeats: int) -> Beside:
    return Beside(
        _told("penstock profile", profile(folder, *MEMORY), number, repeats),
        _told("DuckDB's aggregations", _peer("aggregations", folder), number, repeats),
        _told("DuckDB's whole job", _peer("whole-job", folder), number, repeats),
    )


def _told(what: str, run: ProgramRun, number: int, repeats: int) -> ProgramRun:
    say(f"{what}, {number + 1} of {repeats}: {run.seconds:.1f} s, {run.cpu_s:.0f} s of CPU")
    return run


def profiled(size: VolumeSize, repeats: int, *, peers: bool) -> tuple[ProgramRun, ...]:
    """The pipeline alone; ``peers`` for the runs that were made beside it, which are as good."""
    if peers:
        return tuple(runs.pipeline for runs in beside(size, repeats))
    return _profiled(volume(size), repeats)


@made_once
def _profiled(folder: Path, repeats: int) -> tuple[ProgramRun, ...]:
    return tuple(
        _told("penstock profile", profile(folder, *MEMORY), number, repeats)
        for number in range(repeats)
    )


@made_once
def _logged(size: VolumeSize) -> tuple[EventLog, list[Scan]]:
    """What Spark says it did, and the passes that only the pipeline knows of."""
    with tempfile.TemporaryDirectory() as place:
        run = profile(volume(size), *MEMORY, *log_options(Path(place)))
        return read_event_logs(Path(place)), reported_passes(run.answer, size.records)


def seconds_of_steps(run: ProgramRun) -> float:
    """From the first record to the profile, without the start of Spark."""
    return float(sum(line["seconds"] for line in run.answer["timings"]))


# -- figures ---------------------------------------------------------------------------------------


def start_to_profile(
    records: int, components: int, types: int, *, peers: bool = False, repeats: int = 1
) -> Iterator[float]:
    """Seconds from the start of the command to the profile."""
    for run in profiled(VolumeSize(records, components, types), repeats, peers=peers):
        yield run.seconds


def demo_seconds(repeats: int = 1) -> Iterator[float]:
    """Seconds of ``penstock demo``, which is ``make demo`` once everything is set up."""
    for number in range(repeats):
        with tempfile.TemporaryDirectory() as place:
            began = time.monotonic()
            command = [sys.executable, "-m", "penstock", "demo", "--out", f"{place}/out"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            seconds = time.monotonic() - began
        if done.returncode != 0:
            raise SpeedNotMeasured(f"penstock demo ended: {done.stderr[-800:]}")
        say(f"penstock demo, {number + 1} of {repeats}: {seconds:.0f} s")
        yield seconds


def over_aggregations(
    records: int, components: int, types: int, repeats: int = 1
) -> Iterator[float]:
    """Times DuckDB's bare aggregations, which check, clean, fit and keep nothing."""
    for run in beside(VolumeSize(records, components, types), repeats):
        yield run.pipeline.seconds / run.aggregations.seconds


def over_whole_job(records: int, components: int, types: int, repeats: int = 1) -> Iterator[float]:
    """Times DuckDB doing the same: tables, quarantine, fits."""
    for run in beside(VolumeSize(records, components, types), repeats):
        yield run.pipeline.seconds / run.whole_job.seconds


def twice_the_samples(
    records: int, components: int, types: int, repeats: int = 1
) -> Iterator[float]:
    """How many times as long twice the samples take."""
    size = VolumeSize(records, components, types)
    whole = profiled(size, repeats, peers=True)
    half = _profiled(first_half(size), repeats)
    for one, two in zip(half, whole, strict=True):
        yield two.seconds / one.seconds


def core_seconds_per_million(
    records: int, more: int, components: int, types: int, repeats: int = 1
) -> Iterator[float]:
    """CPU of everything that runs, for each further million of records."""
    few = profiled(VolumeSize(records, components, types), repeats, peers=True)
    many = profiled(VolumeSize(more, components, types), repeats, peers=True)
    for one, two in zip(few, many, strict=True):
        yield (two.cpu_s - one.cpu_s) / (more - records) * 1e6


def passes(records: int, components: int, types: int, repeats: int = 1) -> Iterator[float]:
    """Scans of a table with at least half as many rows as there are samples."""
    del repeats  # the same every time
    log, reported = _logged(VolumeSize(records, components, types))
    yield float(len(log.passes(records)) + len(reported))


def jobs(records: int, components: int, types: int, repeats: int = 1) -> Iterator[float]:
    """Spark jobs from the first file to the profile."""
    del repeats
    yield float(_logged(VolumeSize(records, components, types))[0].jobs)


def peer_table(records: int, components: int, types: int, repeats: int = 1) -> FigureTable:
    """Medians of the pipeline and of both forms of its peer."""
    runs = beside(VolumeSize(records, components, types), repeats)
    pipeline = statistics.median(run.pipeline.seconds for run in runs)
    rows = []
    for name, found in (
        ("penstock profile", [run.pipeline for run in runs]),
        ("DuckDB, the whole job", [run.whole_job for run in runs]),
        ("DuckDB, its aggregations alone", [run.aggregations for run in runs]),
    ):
        seconds = statistics.median(run.seconds for run in found)
        cpu = statistics.median(run.cpu_s for run in found)
        rows.append([name, f"{seconds:.1f} s", f"{cpu:.1f} s", f"{pipeline / seconds:.2f}"])
    title = f"{records:,} samples of {components} components × {types} machine types"
    return FigureTable(title, ["program", "time", "CPU", "pipeline over it"], rows)


def pass_table(records: int, components: int, types: int) -> FigureTable:
    """Which tables were read whole, and by whom it was told."""
    log, reported = _logged(VolumeSize(records, components, types))
    rows = [[scan.table, f"{scan.rows:,}", "event log"] for scan in log.passes(records)]
    rows += [[scan.table, f"{scan.rows:,}", "the pipeline"] for scan in reported]
    title = f"Passes over {records:,} samples; {log.jobs} jobs, {log.task_cpu_s:.0f} s CPU in tasks"
    return FigureTable(title, ["table", "rows", "told by"], rows)
