"""Spark, killed: is every word counted once, and what is left when a machine is lost?"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.engines.base import Batch
from penstock.engines.lab.lab import lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.spark.closed_loop_demo import ClosedLoop
from penstock.engines.spark.commits import Commits
from penstock.engines.spark.deployment import PlaceBy
from penstock.engines.spark.losses import part_left, without_machines
from penstock.engines.spark.memory import STATE_FILES
from penstock.engines.spark.planned import PlanInForce, PlannedRun
from penstock.engines.spark.sources import FileSource, RateSource, Source
from penstock.errors import PenstockError
from penstock.files.store import save
from penstock.model.plan import Plan
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.benchmarks.process_tree import kill_tree
from penstock_bench.benchmarks.spark import BATCH_S, closed_loop_of

_STARTS_WITHIN_S = 120.0


# -- whether it is exact ---------------------------------------------------------------------------


def wrong_words(
    inputs: int, kills: int, files: int, seed: int, repeats: int = 1
) -> Iterator[float]:
    """Words whose count is not that of a plain count, over runs killed in the middle."""
    for _ in range(repeats):
        yield float(sum(_wrong_after_kills(kills, files, seed + i) for i in range(inputs)))


def _wrong_after_kills(kills: int, files: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    # A run that failed may still write there, and why it did is what counts.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder, out = Path(place) / "in", Path(place) / "run"
        truth = _write_sentences(folder, files, rng)
        command = [sys.executable, "-m", "penstock", "run", "--example", "wordcount", "--files",
                   str(folder), "--out", str(out), "--master", "local[2]"]  # fmt: skip
        for number in range(1, kills + 1):
            at_least = number * files // (kills + 2)
            _run_until(command, out, at_least, float(rng.uniform(0, 1.5)), kill=True)
        _run_until(command, out, files - 1, 0.0, kill=False)
        wrong = _differences(truth, _counted(out))
        say(f"input {seed}: {len(truth)} words, {wrong} counted wrongly")
        return wrong


def _run_until(command: list[str], out: Path, batch: int, more_s: float, *, kill: bool) -> None:
    """Run until this batch is whole and a little longer; then -9, or Ctrl-C."""
    output = out.with_name("said.txt")
    with output.open("w", encoding="utf-8") as words:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=words, start_new_session=True
        )
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while Commits(out).last < batch:
        if process.poll() is not None or time.monotonic() > deadline:
            kill_tree(process)
            last = " / ".join(output.read_text(encoding="utf-8").splitlines()[-3:])
            raise PenstockError(f"the run did not get to batch {batch}: {last}")
        time.sleep(0.05)
    time.sleep(more_s)
    if kill:
        kill_tree(process)
    else:
        process.send_signal(signal.SIGINT)
    process.wait()


def _write_sentences(folder: Path, files: int, rng: np.random.Generator) -> Counter[str]:
    """Files of random sentences, words as frequent as in a language; how often each is there."""
    folder.mkdir()
    total: Counter[str] = Counter()
    for number in range(files):
        ranks = np.minimum(rng.zipf(1.3, size=int(rng.integers(2000, 20_000))), 5000)
        words = [f"w{rank}" for rank in ranks.tolist()]
        total.update(words)
        lines = [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)]
        (folder / f"{number:04d}.txt").write_text("\n".join(lines), encoding="utf-8")
    return total


def _counted(out: Path) -> Counter[str]:
    """What the newest whole batch knows of every word."""
    import pyarrow.parquet as pq

    commits = Commits(out)
    facts = json.loads(json.dumps(commits.facts(commits.last)))
    counts: Counter[str] = Counter()
    for file in facts[STATE_FILES]["count"]["files"].values():
        rows = pq.ParquetFile(file).read().to_pydict()
        for word, count in zip(rows["word"], rows["count"], strict=True):
            counts[word] += count
    return counts


def _differences(truth: Counter[str], counts: Counter[str]) -> int:
    return sum(truth[word] != counts[word] for word in truth.keys() | counts.keys())


# -- when a machine is lost ------------------------------------------------------------------------


@dataclass
class _Killing:
    """A run under a plan whose slowest machine is killed after so many batches."""

    killed_after: int
    batches: list[Batch]
    said: list[str]

    def run(self, loop: ClosedLoop, plan: Plan, source: Source, until: int) -> None:
        path = loop.folder / "plan.json"
        save(plan, path)
        worker = loop.lab.daemons.running[-1]

        def see(batch: Batch) -> None:
            self.batches.append(batch)
            if len(self.batches) == self.killed_after:
                os.killpg(worker.process.pid, signal.SIGKILL)

        in_force = PlanInForce(path, loop.topology, PlaceBy.TYPE, self.said.append)
        PlannedRun(
            loop.master, loop.topology, loop.code, source, loop.folder / "run", in_force,
            see, self.said.append,
        ).run(lambda: len(self.batches) >= until)  # fmt: skip


def wrong_words_without_a_machine(
    machines: str, files: int, killed_after: int, seed: int, repeats: int = 1
) -> Iterator[float]:
    """Words counted wrongly when a machine is killed in the middle of a run under a plan."""
    for _ in range(repeats):
        lab_machines = parse_machines(machines)
        with tempfile.TemporaryDirectory() as place, lab_of("bench", lab_machines) as lab:
            loop = closed_loop_of(lab, "wordcount", Path(place))
            folder = Path(place) / "in"
            truth = _write_sentences(folder, files, np.random.default_rng(seed))
            killing = _Killing(killed_after, [], [])
            killing.run(loop, _first_plan(loop), FileSource(folder, 1), files)
            if not any(text.startswith("lost ") for text in killing.said):
                raise PenstockError("the loss of a machine went unnoticed")
            yield float(_differences(truth, _counted(loop.folder / "run")))


def _first_plan(loop: ClosedLoop) -> Plan:
    """A plan from a short measurement."""
    with loop.alone() as spark:
        cost = loop.cpu_s_per_tuple(spark)
    profile, _other = loop.costs(cost)
    return loop.plan(profile)


def rate_left_over_predicted(
    machines: str, topology: str, batches: int, repeats: int = 1
) -> Iterator[float]:
    """Rate after a machine was killed over the rate before, as a part of what the plan says.

    The machine is killed after so many batches and the run ends after as many more; the last four
    before and at the end are looked at, when limits are on and everything is warm.
    """
    for _ in range(repeats):
        lab_machines = parse_machines(machines)
        with tempfile.TemporaryDirectory() as place, lab_of("bench", lab_machines) as lab:
            loop = closed_loop_of(lab, topology, Path(place))
            plan = _first_plan(loop)
            scale = plan.predicted.scale
            assert scale is not None  # the plan has rates
            source = RateSource(round(BATCH_S * scale))
            killing = _Killing(batches, [], [])
            killing.run(loop, plan, source, 2 * batches)
        before = statistics.median(b.seconds for b in killing.batches[batches - 4 : batches])
        after = statistics.median(b.seconds for b in killing.batches[-4:])
        left = without_machines(plan, {lab_machines[-1].name})
        yield before / after / part_left(plan, left)
