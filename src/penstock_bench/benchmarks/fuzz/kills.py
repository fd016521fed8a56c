"""kill -9 at random moments, and starting again: is anything lost, or there twice?

Driver and Java are mostly killed together, the worst that can happen. What is held against what
are the tables (or words, or cells) of a run that nobody disturbed, row by row.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType

import numpy as np

from penstock.errors import PenstockError
from penstock_bench.benchmarks.fuzz.ledger import LedgerSlice
from penstock_bench.benchmarks.fuzz.slices import ledger_of, look_at_all, slices_by_commit
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.benchmarks.pipeline import (
    deliver,
    different_rows,
    run_profile,
    small_recording,
)
from penstock_bench.benchmarks.process_tree import kill_tree
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.synthetic import write_json_lines

_STARTS_WITHIN_S = 180.0
_LOOKS_EVERY_S = 0.02
#: Part of the kills that come while the program still starts.
_EARLY = 0.1
#: Part of them that hit the driver alone: Java ends by itself, while the next start is under way.
_DRIVER_ALONE = 0.3
_WINDOWS_PER_FILE = 8
#: Java that starts in haste, and few tasks: a kill is about state, not about speed.
_QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
_QUICK_SPARK = ["--master", "local[2]", "--config", "spark.sql.shuffle.partitions=2"]
#: Said by a follower once it follows, by each batch at its beginning, and at its end.
_FOLLOWS, _IS_BEGUN, _IS_DONE = "following;", "taking in batch", " costs known"


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

    @property
    def said(self) -> str:
        return self.words.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str) -> None:
        """Until it says this; an error where it ends first."""
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while text not in (said := self.said):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                last = " / ".join(said.splitlines()[-3:])
                raise PenstockError(f'did not get to "{text}": {last}')
            time.sleep(_LOOKS_EVERY_S)

    def __enter__(self) -> _Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Whoever ends this suite leaves nobody following."""
        self.kill()

    def kill(self) -> None:
        kill_tree(self.process)


# -- profile --follow ------------------------------------------------------------------------------


#: Kills of one store, after which it is held against an undisturbed one.
_KILLS_PER_STORE = 10


@lru_cache(maxsize=2)
def _killed_stores(kills: int, seed: int, hours: float | None, is_kept: bool) -> list[LedgerSlice]:
    """Stores with ten kills each.

    A file arrives before every start; the kill hits a random moment of the start or of the work on
    that file, from the first look to a little after the tables are whole.
    """

    def look(begin: int, number: int) -> int:
        rng = np.random.default_rng([seed, begin])
        return _store_differs(number, number, seed + begin, rng, _strike_anywhere, _FOLLOWS)

    ledger = ledger_of(seed, is_kept=is_kept)
    return look_at_all(ledger, "kills", range(kills), _KILLS_PER_STORE, look, hours)


def kills_by_commit(
    kills: int, seed: int, hours: float | None = None, is_kept: bool = False
) -> FigureTable:
    """How many kills there were, and at which commits."""
    found = _killed_stores(kills, seed, hours, is_kept)
    return slices_by_commit(f"Kills of a following pipeline, seed {seed}; rows that differ", found)


def kills_done(
    kills: int, seed: int, hours: float | None = None, is_kept: bool = False, repeats: int = 1
) -> Iterator[float]:
    """How many kills of a following pipeline there were."""
    for _ in range(repeats):
        yield float(sum(one.size for one in _killed_stores(kills, seed, hours, is_kept)))


def killed_pipeline(
    kills: int, seed: int, hours: float | None = None, is_kept: bool = False, repeats: int = 1
) -> Iterator[float]:
    """Rows by which the tables of killed followers differ from those of undisturbed ones."""
    for _ in range(repeats):
        yield float(sum(one.faults for one in _killed_stores(kills, seed, hours, is_kept)))


def killed_in_batches(kills: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """The same, where every kill that counts hit the middle of a batch.

    That is between its first word and its last; one that came too late is made up for, and the next
    ones come sooner.
    """
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        yield float(_store_differs(kills, 2 * kills + 2, seed, rng, _strike_within, _IS_BEGUN))


#: Kills a follower that has just been started, within about so many seconds of work; whether it
#: was hit as it should be.
_Strike = Callable[[_Running, float, np.random.Generator], bool]


def _strike_anywhere(running: _Running, work_s: float, rng: np.random.Generator) -> bool:
    if rng.random() < _EARLY:
        time.sleep(float(rng.uniform(0, work_s)))
    else:
        running.wait_for(_FOLLOWS)
        time.sleep(float(rng.uniform(0, 1.2 * work_s)))
    if rng.random() < _DRIVER_ALONE:
        running.process.kill()
        running.process.wait()
    else:
        running.kill()
    return True


def _strike_within(running: _Running, work_s: float, rng: np.random.Generator) -> bool:
    running.wait_for(_IS_BEGUN)
    time.sleep(float(rng.uniform(0, work_s)))
    running.kill()
    # A follower that was killed before finishes what it had begun then, and says so first.
    return _IS_DONE not in running.said.rpartition(_IS_BEGUN)[2]


def _store_differs(
    kills: int, most: int, seed: int, rng: np.random.Generator, strike: _Strike, since: str
) -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        return _pipeline_after_kills(Path(place), kills, most, seed, rng, strike, since)


def _pipeline_after_kills(
    place: Path,
    kills: int,
    most: int,
    seed: int,
    rng: np.random.Generator,
    strike: _Strike,
    since: str,
) -> int:
    """Rows that differ after so many good hits, out of at most so many."""
    ready, arriving, store = place / "ready", place / "arriving", place / "tables"
    arriving.mkdir()
    recording = small_recording(_WINDOWS_PER_FILE * (most + 2), seed)
    first, *files, last = write_json_lines(recording, ready, rng, files=most + 2).paths
    deliver(first, arriving)
    work_s = _undisturbed_batch_s(arriving, store, place / "said.txt", since)
    hits = 0
    for path in files:
        deliver(path, arriving)
        with _Running.start(_follow(arriving, store), place / "said.txt") as running:
            is_hit = strike(running, work_s, rng)
        hits += is_hit
        work_s *= 1.0 if is_hit else 0.5
        if hits % 10 == 0:
            say(f"killed {hits} of {kills} times")
        if hits == kills:
            break
    else:
        raise PenstockError(f"only {hits} of {most} kills hit a batch")
    deliver(last, arriving)
    run_profile(arriving, "--store", str(store), "--partial", *_QUICK_SPARK)
    undisturbed = place / "undisturbed"
    run_profile(arriving, "--store", str(undisturbed), "--partial", *_QUICK_SPARK)
    return different_rows(store, undisturbed)


def _follow(folder: Path, store: Path) -> list[str]:
    where = ["--follow", "--every", "0.5", "--store", str(store)]
    return ["profile", str(folder), *where, *_QUICK_SPARK]


def _undisturbed_batch_s(folder: Path, store: Path, words: Path, since: str) -> float:
    """How long a follower works on a file, from a word on: moments of kills are drawn from it."""
    with _Running.start(_follow(folder, store), words) as running:
        running.wait_for(since)
        began = time.monotonic()
        running.wait_for(_IS_DONE)
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
                with _Running.start(_sweep(suite, folder / "killed"), words):
                    time.sleep(float(rng.uniform(0.3, 0.9)) * took)
            _sweep_s(suite, folder / "killed", words)
            one, other = _rows(folder / "killed"), _rows(folder / "undisturbed")
            yield float(((one - other) + (other - one)).total())


def _sweep(suite: Path, out: Path) -> list[str]:
    return ["sweep", str(suite), "--out", str(out), "--master", "local[2]"]


def _sweep_s(suite: Path, out: Path, words: Path) -> float:
    """Run a sweep to its end; how long it took."""
    began = time.monotonic()
    with _Running.start(_sweep(suite, out), words) as running:
        if running.process.wait() != 0:
            last = words.read_text(encoding="utf-8", errors="replace")[-400:]
            raise PenstockError(f"a sweep ended with {running.process.returncode}: {last}")
    return time.monotonic() - began


def _rows(out: Path) -> Counter[str]:
    import pyarrow.parquet as pq

    return Counter(repr(row) for row in pq.read_table(out / "results.parquet").to_pylist())
