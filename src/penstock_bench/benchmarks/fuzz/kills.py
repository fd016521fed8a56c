"""kill -9 at random moments, and starting again: is anything lost, or there twice?

Driver and Java are killed together: the worst that can happen. What is held against what are the
tables (or words, or cells) of a run that nobody disturbed, row by row.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.errors import PenstockError
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.benchmarks.pipeline import _deliver, _profile, _small_recording, different_rows
from penstock_bench.synthetic import write_json_lines

_STARTS_WITHIN_S = 180.0
_LOOKS_EVERY_S = 0.02
#: Part of the kills that come while the program still starts.
_EARLY = 0.1
_WINDOWS_PER_FILE = 8
#: Java that starts in haste, and few tasks: a kill is about state, not about speed.
_QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
_QUICK_SPARK = ["--master", "local[2]", "--config", "spark.sql.shuffle.partitions=2"]
#: Said by a follower once it follows, and by each batch at its end.
_FOLLOWS, _IS_DONE = "following;", " costs known"


@dataclass
class _Running:
    """A command in a group of its own that can be killed with all it started."""

    process: subprocess.Popen[bytes]
    words: Path

    @classmethod
    def start(cls, arguments: list[str], words: Path) -> _Running:
        with words.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *arguments],
                stdout=subprocess.DEVNULL, stderr=stream, start_new_session=True,
                env=os.environ | _QUICK_JAVA,
            )  # fmt: skip
        return cls(process, words)

    def wait_for(self, text: str) -> None:
        """Until it says this; an error where it ends first."""
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while text not in (said := self.words.read_text(encoding="utf-8", errors="replace")):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                last = " / ".join(said.splitlines()[-3:])
                raise PenstockError(f'did not get to "{text}": {last}')
            time.sleep(_LOOKS_EVERY_S)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


# -- profile --follow ------------------------------------------------------------------------------


def killed_pipeline(kills: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Rows by which the tables of a follower killed so often differ from an undisturbed one's.

    A file arrives before every start; the kill hits a random moment of the start or of the work on
    that file, from the first look to a little after the tables are whole.
    """
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            yield float(_pipeline_after_kills(Path(place), kills, seed, rng))


def _pipeline_after_kills(place: Path, kills: int, seed: int, rng: np.random.Generator) -> int:
    ready, arriving, store = place / "ready", place / "arriving", place / "tables"
    arriving.mkdir()
    recording = _small_recording(_WINDOWS_PER_FILE * (kills + 2), seed)
    written = write_json_lines(recording, ready, rng, files=kills + 2)
    _deliver(written.paths[0], arriving)
    work_s = _undisturbed_batch_s(arriving, store, place / "said.txt")
    for number, path in enumerate(written.paths[1:-1], start=1):
        _deliver(path, arriving)
        running = _Running.start(_follow(arriving, store), place / "said.txt")
        if rng.random() < _EARLY:
            time.sleep(float(rng.uniform(0, work_s)))
        else:
            running.wait_for(_FOLLOWS)
            time.sleep(float(rng.uniform(0, 1.2 * work_s)))
        running.kill()
        if number % 10 == 0:
            say(f"killed {number} of {kills} times")
    _deliver(written.paths[-1], arriving)
    _profile(arriving, "--store", str(store), "--partial", *_QUICK_SPARK)
    undisturbed = place / "undisturbed"
    _profile(arriving, "--store", str(undisturbed), "--partial", *_QUICK_SPARK)
    return different_rows(store, undisturbed)


def _follow(folder: Path, store: Path) -> list[str]:
    where = ["--follow", "--every", "0.5", "--store", str(store)]
    return ["profile", str(folder), *where, *_QUICK_SPARK]


def _undisturbed_batch_s(folder: Path, store: Path, words: Path) -> float:
    """How long a follower works on a file: the moments of kills are drawn from it."""
    running = _Running.start(_follow(folder, store), words)
    running.wait_for(_FOLLOWS)
    began = time.monotonic()
    running.wait_for(_IS_DONE)
    running.kill()
    return time.monotonic() - began


# -- sweep -----------------------------------------------------------------------------------------

_SUITE = """\
format: penstock/sweep
version: 1
name: killed
problems: [{topology: linear}, {topology: diamond}]
schedulers: [default, hetero, rstorm]
seeds: [0, 1, 2]
runs: 1
scenarios: [{load: 0.5, seconds: 5}, {load: 0.9, seconds: 5}]
"""


def killed_sweep(kills: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Rows by which a sweep killed so often and started again differs from an undisturbed one."""
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            folder = Path(place)
            suite, words = folder / "suite.yaml", folder / "said.txt"
            suite.write_text(_SUITE, encoding="utf-8")
            took = _sweep_s(suite, folder / "undisturbed", words)
            for _ in range(kills):
                running = _Running.start(_sweep(suite, folder / "killed"), words)
                time.sleep(float(rng.uniform(0.3, 0.9)) * took)
                running.kill()
            _sweep_s(suite, folder / "killed", words)
            one, other = _rows(folder / "killed"), _rows(folder / "undisturbed")
            yield float(((one - other) + (other - one)).total())


def _sweep(suite: Path, out: Path) -> list[str]:
    return ["sweep", str(suite), "--out", str(out), "--master", "local[2]"]


def _sweep_s(suite: Path, out: Path, words: Path) -> float:
    """Run a sweep to its end; how long it took."""
    began = time.monotonic()
    running = _Running.start(_sweep(suite, out), words)
    if running.process.wait() != 0:
        last = words.read_text(encoding="utf-8", errors="replace")[-400:]
        raise PenstockError(f"a sweep ended with {running.process.returncode}: {last}")
    return time.monotonic() - began


def _rows(out: Path) -> Counter[str]:
    import pyarrow.parquet as pq

    return Counter(repr(row) for row in pq.read_table(out / "results.parquet").to_pylist())
