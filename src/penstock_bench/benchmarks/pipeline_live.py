"""The pipeline while it follows: from a file's arrival to the profile, and what a batch costs.

A follower of a folder with a history gets a file every few seconds, whether it keeps up or not. A
file is in the profile when the profile says that it was made of so many records.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.pipeline_speed import MEMORY, SpeedNotMeasured, run_program
from penstock_bench.benchmarks.process_cpu import SessionCpu, cpu_of_session
from penstock_bench.benchmarks.recordings import write_volume
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.benchmarks.volumes import VolumeSize, link, newest, rows_in

#: What follows; a test has another program do it, which needs no Spark.
PROGRAM = (sys.executable, "-m", "penstock", "profile")
#: A follower that says nothing for so long is given up.
_PATIENCE_S = 1800.0
_LOOK_EVERY_S = 0.05
#: Files from one word on stderr to the next.
_TOLD_EVERY = 10
_RECORDS = re.compile(r"telemetry, ([\d,]+) records")


@dataclass(frozen=True)
class Following:
    """What is followed: a history, then file after file."""

    #: Records of a recording, and how many of its newest are the history.
    recorded: int
    history: int
    batches: int
    file_records: int
    every_s: float
    components: int
    types: int


@dataclass
class LiveRun:
    """One follower from its first file to its last."""

    #: From a file's arrival to the first profile that has it, in the order of the files.
    delays_s: list[float] = field(default_factory=list)
    #: CPU of everything that runs, from one refresh to the next.
    batch_cpu_s: list[float] = field(default_factory=list)

    @property
    def p95_s(self) -> float:
        return float(np.quantile(self.delays_s, 0.95))


@made_once
def _followed(following: Following) -> LiveRun:
    with tempfile.TemporaryDirectory(prefix="penstock-live-") as name:
        place = Path(name)
        arriving = place / "arriving"
        size = VolumeSize(following.recorded, following.components, following.types)
        link(newest(size, following.history), arriving)
        known = sum(rows_in(path) for path in arriving.iterdir())
        # The follower's first file, which it is warmed up with, is not counted.
        first, *files = _later_files(following, place / "ready")
        command = [*PROGRAM, str(arriving), "--store", str(place / "tables"), "--partial", *MEMORY]
        if known:
            say(f"taking in the {known:,} samples that are there before")
            run_program([*command, "--json"])
        out = place / "profile.json"
        with (
            _running([*command, "--follow", "--every", "1", "--out", str(out)], place) as process,
            cpu_of_session(process.pid) as cpu,
        ):
            watch = _DeliveryWatch(process, cpu, out, known)
            watch.deliver(first, arriving)
            watch.wait()
            watch.run = LiveRun()
            watch.last_cpu_s = cpu.seconds()
            for number, path in enumerate(files, start=1):
                due = time.monotonic() + following.every_s
                watch.deliver(path, arriving)
                watch.look_until(due)
                if number % _TOLD_EVERY == 0:
                    say(f"{number} of {len(files)} files")
            watch.wait()
        return watch.run


def _later_files(following: Following, folder: Path) -> list[Path]:
    """What comes after the history, in files of about so many records, in the order of time."""
    files = following.batches + 1
    write_volume(
        folder, files * following.file_records, following.components, following.types,
        files=files, after=following.recorded, prefix="later",
    )  # fmt: skip
    return sorted(folder.iterdir())


@contextmanager
def _running(command: list[str], place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A follower that is told to stop when the block ends."""
    with (place / "follower.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@dataclass
class _DeliveryWatch:
    """Files that were delivered, and which of them the profile has."""

    process: subprocess.Popen[bytes]
    cpu: SessionCpu
    out: Path
    #: Records delivered so far.
    known: int
    run: LiveRun = field(default_factory=LiveRun)
    last_cpu_s: float = 0.0
    #: When each file came that is not in the profile yet, and the records there were then.
    waiting: list[tuple[float, int]] = field(default_factory=list)
    _seen: int = -1

    def deliver(self, path: Path, folder: Path) -> None:
        """Whole or not at all, as writers should."""
        self.known += rows_in(path)
        path.rename(folder / path.name)
        self.waiting.append((time.monotonic(), self.known))

    def wait(self) -> None:
        """Until all that was delivered is in the profile."""
        limit = time.monotonic() + _PATIENCE_S
        while self.waiting:
            if time.monotonic() > limit:
                raise SpeedNotMeasured(f"the follower took more than {_PATIENCE_S:.0f} s")
            self._look()

    def look_until(self, moment: float) -> None:
        while time.monotonic() < moment:
            self._look()

    def _look(self) -> None:
        time.sleep(_LOOK_EVERY_S)
        if self.process.poll() is not None:
            raise SpeedNotMeasured(f"the follower ended with {self.process.returncode}")
        records = self._records_in_profile()
        if records == self._seen:
            return
        self._seen, now = records, time.monotonic()
        while self.waiting and self.waiting[0][1] <= records:
            self.run.delays_s.append(now - self.waiting.pop(0)[0])
        used = self.cpu.seconds()
        self.run.batch_cpu_s.append(used - self.last_cpu_s)
        self.last_cpu_s = used

    def _records_in_profile(self) -> int:
        try:
            source = json.loads(self.out.read_text())["source"]
        except (FileNotFoundError, ValueError):
            return self._seen
        match = _RECORDS.search(source)
        return int(match[1].replace(",", "")) if match else self._seen


# -- figures ---------------------------------------------------------------------------------------


def arrival_to_profile_p95(
    history: int,
    batches: int,
    file_records: int,
    every_s: float,
    components: int,
    types: int,
    repeats: int = 1,
) -> Iterator[float]:
    """Seconds within which 95 of 100 files are in the profile."""
    del repeats
    following = Following(history, history, batches, file_records, every_s, components, types)
    yield _followed(following).p95_s


def batch_cost_over_small_store(
    history: int,
    small_history: int,
    batches: int,
    file_records: int,
    every_s: float,
    components: int,
    types: int,
    repeats: int = 1,
) -> Iterator[float]:
    """Core-seconds of a batch with much in the store over those with little, both medians."""
    del repeats
    much, little = (
        _followed(Following(history, n, batches, file_records, every_s, components, types))
        for n in (history, small_history)
    )
    yield float(np.median(much.batch_cpu_s) / np.median(little.batch_cpu_s))


def live_table(
    history: int,
    small_history: int,
    batches: int,
    file_records: int,
    every_s: float,
    components: int,
    types: int,
) -> FigureTable:
    """Both stores side by side."""
    rows = []
    for records in (small_history, history):
        run = _followed(
            Following(history, records, batches, file_records, every_s, components, types)
        )
        rows.append(
            [f"{records:,}", f"{np.median(run.delays_s):.1f} s", f"{run.p95_s:.1f} s",
             f"{np.median(run.batch_cpu_s):.1f} s"]
        )  # fmt: skip
    title = f"{file_records:,} samples a file, every {every_s:g} s, {batches} files"
    columns = ["samples in the store", "arrival to profile", "p95", "CPU of a batch"]
    return FigureTable(title, columns, rows)
