"""The loop on a Spark of unlike machines: a stream under a plan, watched, with results counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.engines.lab.cpu_keepalive import cpu_keepalive
from penstock.engines.lab.lab import Lab, lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.rate_steps import write_rate_steps
from penstock.engines.spark.closed_loop_demo import ClosedLoop
from penstock.engines.spark.commits import Commits
from penstock.engines.spark.memory import STATE_FILES
from penstock.engines.spark.planning import SCHEDULER
from penstock.engines.spark.run_status import RunStatus, read_status
from penstock.engines.spark.runner import TAKEN
from penstock.errors import PenstockError
from penstock.files.store import save
from penstock.model.profile import Profile
from penstock.model.watch_rules import WatchRules
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.planning.stage_plans import planner_for
from penstock.simulate.interval import EnginePauses
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.spark import closed_loop_of
from penstock_bench.benchmarks.watch.live_log import LiveLog, logged
from penstock_bench.benchmarks.watch.loop_run import (
    LoopComparison,
    PolicyRun,
    changes_of,
    rehearsed,
    setting_for,
)
from penstock_bench.benchmarks.watch.stepped_load import SteppedLoad
from penstock_bench.benchmarks.watch.storm_loop import AT_FIRST, as_plan, wait_for
from penstock_bench.benchmarks.watch.watcher_process import WatcherSetup, watching

TOPOLOGY = "wordcount"
#: A batch is begun so often; a row waits for its own and while it is worked on.
BATCH_EVERY_S = 5.0
_MOST_S = 20.0
#: Rows wait for their batch, so the target is two of these and a little.
RULES = WatchRules(latency_target_s=3 * BATCH_EVERY_S, catching_up_s=BATCH_EVERY_S, pause_s=1.0)
#: A change stops nothing; a lost machine is noticed, and Spark's session begins anew.
PAUSES = EnginePauses(rebalance_s=1.0, notice_s=20.0, restart_s=20.0, loss_stops_all=True)
_STARTS_WITHIN_S, _ENDS_WITHIN_S, _DRAINS_WITHIN_S = 180.0, 60.0, 120.0
WARM_S = 60.0
_WORDS_AT_ONCE = 2_000_000


@dataclass
class SparkLoop:
    """One topology on one lab, its costs known."""

    loop: ClosedLoop
    profile: Profile
    planner: CapacityPlanner

    @property
    def lab(self) -> Lab:
        return self.loop.lab

    @property
    def folder(self) -> Path:
        return self.loop.folder / "run"

    @property
    def plan_file(self) -> Path:
        return self.loop.folder / "plan.json"

    def run(self, policy: str, load: SteppedLoad) -> PolicyRun:
        """The load from its first step to its end."""
        rates = self.loop.folder / "rates"
        everyone = np.ones(len(self.planner.problem.cluster.machines), dtype=np.bool_)
        first = self.planner.carrying(AT_FIRST * load.rates_per_s[0], everyone)
        assert first is not None  # it is below the bound
        save(as_plan(self.planner.problem, first.placement), self.plan_file)
        write_rate_steps(rates, [(time.time(), 0.0)])
        most = int(_MOST_S * max(load.rates_per_s))
        setup = self.setup(policy)
        with self.running(rates, most):
            self.wait_for_batches(2)
            self.lab.wait_until_limited(_STARTS_WITHIN_S)
            began_s = time.time() + WARM_S
            steps = [(began_s - WARM_S, load.rates_per_s[0]), *load.from_time(began_s)]
            offered = write_rate_steps(rates, steps)

            def look(now: float) -> tuple[float, float, frozenset[str]]:
                status = read_status(self.folder)
                used = (m for places in status.places.values() for m, _, _ in places)
                return offered.until(now), self.done(), frozenset(used)

            with logged(load, began_s, look) as log, watching(setup):
                lost = self._live_through(load, began_s, log)
            total = offered.until(time.time())
            with suppress(PenstockError):  # what is missing then is counted
                wait_for(lambda: self.done() >= int(total), _DRAINS_WITHIN_S, "the last row")
        wrong = self.wrong_words()
        run = PolicyRun(policy, log, changes_of(setup.proposals(), began_s), wrong, lost)
        say(
            f"{policy}: carried {100 * log.least_carried:.1f} % at least, waits "
            f"{log.longest_wait_s:.1f} s, {len(run.restarts)} changes, {wrong} words wrong"
        )
        return run

    def setup(self, policy: str) -> WatcherSetup:
        engine = ("--from", "spark", "--engine-option", f"run-folder={self.folder}")
        return WatcherSetup(
            self.loop.folder / f"watching-{policy}", setting_for(policy, RULES),
            self.profile, engine,
        )  # fmt: skip

    @contextmanager
    def running(self, rates: Path, most_rows: int) -> Iterator[subprocess.Popen[bytes]]:
        """``penstock run`` as a user starts it."""
        command = [
            sys.executable, "-m", "penstock", "run", "--example", TOPOLOGY, "--plan",
            str(self.plan_file), "--master", self.loop.master, "--place-by", "machine",
            "--rates", str(rates), "--rows", str(most_rows), "--every", f"{BATCH_EVERY_S:g}",
            "--out", str(self.folder),
        ]  # fmt: skip
        output = self.loop.folder / "run.log"
        with output.open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            yield process
            if process.poll() is not None:
                last = " / ".join(output.read_text(errors="replace").splitlines()[-3:])
                raise PenstockError(f"the run ended with {process.returncode}: {last}")
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def status(self) -> RunStatus:
        return read_status(self.folder)

    def wait_for_batches(self, number: int) -> None:
        def have_ended() -> bool:
            return Commits(self.folder).last + 1 >= number

        wait_for(have_ended, _STARTS_WITHIN_S, f"batch {number}")

    def done(self) -> float:
        """Rows in batches that count."""
        commits = Commits(self.folder)
        number = commits.last
        return float(str(commits.facts(number).get(TAKEN, 0))) if number >= 0 else 0.0

    def _live_through(self, load: SteppedLoad, began_s: float, log: LiveLog) -> str:
        lost = ""
        while (at_s := time.time() - began_s) < load.seconds:
            if load.kill_at_s is not None and at_s >= load.kill_at_s and not lost:
                used = [m for m in self.lab.machines if m.name in log.moments[-1].machines]
                lost = max(used, key=lambda m: m.points).name
                say(f"killing {lost} with what runs there")
                kill_worker(self.lab, lost)
            time.sleep(0.5)
        return lost

    def wrong_words(self) -> int:
        """Words whose count differs from that of the rows that were taken in."""
        truth, counted = Counter(self._words(int(self.done()))), Counter(self._counted())
        return sum(truth[word] != counted[word] for word in truth.keys() | counted.keys())

    def _words(self, rows: int) -> dict[str, int]:
        """How often each word is in the first so many rows, as the spout has them.

        Its own function makes a hundred thousand sentences a second, and millions a minute come.
        """
        spout = self.loop.code.works["spout"].function
        assert spout is not None
        known = spout.__globals__
        vocabulary, per_row = known["_VOCABULARY"], known["_WORDS_PER_SENTENCE"]
        counts = np.zeros(len(vocabulary), dtype=np.int64)
        for at in range(0, rows * per_row, _WORDS_AT_ONCE):
            places = np.arange(at, min(at + _WORDS_AT_ONCE, rows * per_row), dtype=np.int64)
            uniform = places * known["_GOLDEN"] % 1.0
            ranks = np.floor(len(vocabulary) ** uniform).astype(int) - 1
            counts += np.bincount(ranks, minlength=len(vocabulary))
        return {str(word): int(n) for word, n in zip(vocabulary, counts, strict=True) if n}

    def _counted(self) -> dict[str, int]:
        import pyarrow.parquet as pq

        commits = Commits(self.folder)
        facts = json.loads(json.dumps(commits.facts(commits.last)))
        counts: Counter[str] = Counter()
        for file in facts[STATE_FILES]["count"]["files"].values():
            rows = pq.ParquetFile(file).read().to_pydict()
            for word, count in zip(rows["word"], rows["count"], strict=True):
                counts[word] += count
        return counts


def kill_worker(lab: Lab, machine: str) -> None:
    """A machine with everything on it, also what its worker has started."""
    daemon = next(d for d in lab.daemons.running if d.name == machine)
    os.killpg(daemon.process.pid, signal.SIGKILL)
    group = lab.group(machine)
    for process in group.processes() if group else ():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@contextmanager
def spark_loop(machines: str) -> Iterator[SparkLoop]:
    """A lab of its own, with the topology's costs measured on it."""
    with (
        tempfile.TemporaryDirectory(prefix="penstock-watch-", ignore_cleanup_errors=True) as place,
        lab_of("bench-watch", parse_machines(machines)) as lab,
        cpu_keepalive(),
    ):
        loop = closed_loop_of(lab, TOPOLOGY, Path(place))
        with loop.alone() as spark:
            cost = loop.cpu_s_per_tuple(spark)
        profile, _other = loop.costs(cost)
        yield SparkLoop(loop, profile, planner_for(loop.problem(profile), SCHEDULER))


@made_once
def spark_compared(
    machines: str, factors: str, highest: float, step_s: float, first_s: float, policies: str
) -> LoopComparison:
    """Every policy through the same load, each on a lab of its own."""
    runs, rehearsals, bound = {}, {}, 0.0
    numbers = [float(f) for f in factors.split(",")]
    for name in policies.split(","):
        with spark_loop(machines) as loop:
            bound = loop.planner.bound_per_s
            base = highest * bound / max(numbers)
            load = SteppedLoad.of(base, numbers, step_s, first_s)
            say(f"×1 is {base:.0f} rows/s, the bound {bound:.0f}")
            rehearsals[name] = rehearsed(name, load, loop.planner, RULES, PAUSES)
            runs[name] = loop.run(name, load)
    return LoopComparison("Spark", bound, runs, rehearsals)
