"""The pipeline on standalone workers: are the tables the same, and what do more workers bring.

Workers and the driver share one computer here, so that each is held to a part of its own by a
control group: where two workers and the driver can have a core each, to a core; on two cores, to
0.4 of one, and four workers are measured against two.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from penstock.engines.lab.groups import ControlGroup, ControlGroups
from penstock.engines.lab.lab import NO_GROUPS
from penstock.engines.spark.standalone import standalone_cluster
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.pipeline import different_rows, run_profile
from penstock_bench.benchmarks.pipeline_speed import (
    ProgramRun,
    run_program,
    seconds_of_steps,
)
from penstock_bench.benchmarks.suite import FigureTable, NotMeasurableHere
from penstock_bench.benchmarks.volumes import VolumeSize, volume

_WORKER_MB = 1800
#: For a few cores; Spark's 200 is for hundreds.
_FEW_PARTITIONS = ("--config", "spark.sql.shuffle.partitions=4")


@dataclass(frozen=True)
class WorkerSplit:
    """How many workers are measured against how many, and what each and the driver may use."""

    few: int
    many: int
    #: Hundredths of a core.
    points: float

    @classmethod
    def of(cls, cores: int) -> WorkerSplit:
        return cls(1, 2, 100.0) if cores > 2 else cls(2, 4, 40.0)


@dataclass(frozen=True)
class WorkerScaling:
    """The same work by few workers and by twice as many."""

    few: ProgramRun
    many: ProgramRun


# -- the same tables -------------------------------------------------------------------------------


def cluster_differences(
    records: int, components: int, types: int, repeats: int = 1
) -> Iterator[float]:
    """Rows of the tables made by two workers that local Spark does not make."""
    folder = volume(VolumeSize(records, components, types))
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as place:
            here, there = Path(place) / "local", Path(place) / "cluster"
            with standalone_cluster(2, memory_mb=_WORKER_MB) as cluster:
                profile_on(cluster.master, folder, there)
            run_profile(folder, "--store", str(here), "--partial")
            yield float(different_rows(here, there))


def profile_on(master: str, folder: Path, store: Path) -> None:
    """The profile by a cluster, its tables in a store."""
    where = ("--store", str(store), "--partial", "--master", master)
    run_profile(folder, *where, *_FEW_PARTITIONS)


# -- more workers ----------------------------------------------------------------------------------


@made_once
def _scaled(size: VolumeSize, repeats: int) -> tuple[WorkerScaling, ...]:
    groups = ControlGroups.find()
    if groups is None:
        raise NotMeasurableHere(f"workers cannot be held to cores of their own: {NO_GROUPS}")
    groups.clean_up()
    split, folder = WorkerSplit.of(len(os.sched_getaffinity(0))), volume(size)
    return tuple(
        WorkerScaling(
            _run_with(groups, split.few, split.points, folder),
            _run_with(groups, split.many, split.points, folder),
        )
        for _ in range(repeats)
    )


def _run_with(groups: ControlGroups, workers: int, points: float, folder: Path) -> ProgramRun:
    """The profile by so many workers, each and the driver in a control group of its own."""
    with ExitStack() as stack:

        def group(name: str) -> ControlGroup:
            made = groups.make(f"scale-{os.getpid()}-{name}")
            stack.callback(made.remove)
            made.limit(points)
            return made

        driver = group("driver")
        held = [group(f"worker{number}") for number in range(workers)]
        place = stack.enter_context(tempfile.TemporaryDirectory())
        cluster = stack.enter_context(
            standalone_cluster(workers, memory_mb=_WORKER_MB, groups=held)
        )
        command = [
            sys.executable, "-m", "penstock", "profile", str(folder), "--json", "--partial",
            "--store", f"{place}/tables", "--master", cluster.master, *_FEW_PARTITIONS,
        ]  # fmt: skip
        run = run_program(["/bin/sh", "-c", f"{driver.joining} && exec {shlex.join(command)}"])
        used = sum(one.cpu_s() for one in held)
    say(
        f"{workers} workers of {points / 100:g} core: {run.seconds:.0f} s, without Spark's start "
        f"{seconds_of_steps(run):.0f} s; {used:.0f} s of CPU in workers"
    )
    return run


def worker_gain(records: int, components: int, types: int, repeats: int = 1) -> Iterator[float]:
    """Time with few workers over time with twice as many, from the start of the command."""
    for runs in _scaled(VolumeSize(records, components, types), repeats):
        yield runs.few.seconds / runs.many.seconds


def worker_gain_at_work(
    records: int, components: int, types: int, repeats: int = 1
) -> Iterator[float]:
    """The same from the first record on, when Spark has started."""
    for runs in _scaled(VolumeSize(records, components, types), repeats):
        yield seconds_of_steps(runs.few) / seconds_of_steps(runs.many)


def worker_table(records: int, components: int, types: int, repeats: int = 1) -> FigureTable:
    """Both numbers of workers, step by step, in the run that took the median time."""
    split = WorkerSplit.of(len(os.sched_getaffinity(0)))
    scaled = _scaled(VolumeSize(records, components, types), repeats)
    runs = sorted(scaled, key=lambda run: run.few.seconds / run.many.seconds)[len(scaled) // 2]
    rows = []
    many = {line["pass"]: line["seconds"] for line in runs.many.answer["timings"]}
    for line in runs.few.answer["timings"]:
        more = many.get(line["pass"], 0.0)
        rows.append([line["pass"], f"{line['seconds']:.1f} s", f"{more:.1f} s"])
    rows.append(["start to profile", f"{runs.few.seconds:.1f} s", f"{runs.many.seconds:.1f} s"])
    title = (
        f"Standalone workers of {split.points / 100:g} core each, as the driver; "
        f"{records:,} samples"
    )
    return FigureTable(title, ["step", f"{split.few} workers", f"{split.many} workers"], rows)
