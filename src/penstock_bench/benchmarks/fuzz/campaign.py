"""Commands by the thousand, each judged; every failure is kept with what is needed to see it again.

Cases are numbered, and case and seed say all: how many run at a time, and in which order they
end, changes nothing in them.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, takewhile
from pathlib import Path

from penstock.report.provenance import commit_here
from penstock_bench.benchmarks.fuzz.drawing import FuzzCase, described, draw
from penstock_bench.benchmarks.fuzz.failures import Failures, read_case, write_case
from penstock_bench.benchmarks.fuzz.judge import HANG, Fault, judge
from penstock_bench.benchmarks.fuzz.ledger import FuzzTrial, Ledger
from penstock_bench.benchmarks.fuzz.minimise import minimise
from penstock_bench.benchmarks.fuzz.original_file import Files
from penstock_bench.benchmarks.fuzz.originals import sets_of_files
from penstock_bench.benchmarks.fuzz.server import (
    ENGINE,
    PLAIN,
    SIMULATING,
    CommandOutcome,
    Limits,
    Server,
    Way,
)
from penstock_bench.benchmarks.fuzz.verbs import SIMULATE, DrawableVerb
from penstock_bench.benchmarks.long_runs import say

#: One in so many is run as a process of its own, as users do.
_OWN_PROCESS_EVERY = 100
_WORD_EVERY_S = 15.0
_RANDOM_PROBLEMS = 20


def _cores() -> int:
    """Those that this process may use: ``taskset`` leaves the others alone."""
    of_ours = getattr(os, "sched_getaffinity", None)
    return len(of_ours(0)) if of_ours else os.cpu_count() or 1


@dataclass
class Campaign:
    """Runs cases in as many processes as there are cores for it, and Spark's in one more."""

    seed: int
    commands: int
    seconds: float | None
    failures: Failures
    #: Whether verbs that start Spark are among them.
    with_spark: bool = True
    random_problems: int = _RANDOM_PROBLEMS
    jobs: int = field(default_factory=_cores)
    ledger: Ledger = field(default_factory=Ledger)
    #: Of the tree that the commands are of.
    commit: str = field(default_factory=commit_here)
    interrupted: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _errors: list[BaseException] = field(default_factory=list)

    def run(self) -> Campaign:
        """Run all; Ctrl-C ends it, and what was found stays."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        if next(self._numbers(deadline), None) is None:
            return self
        say("making the files that all starts from")
        sets = list(sets_of_files(self.seed, self.random_problems))
        with tempfile.TemporaryDirectory(prefix="penstock-fuzz-") as place:
            work = _Work(self, sets, Path(place), self._numbers(deadline))
            threads = work.threads()
            for thread in threads:
                thread.start()
            try:
                self._wait(threads)
            except KeyboardInterrupt:
                self.interrupted = True
                say("ending; what was found is kept")
            self._ended.set()
            for thread in threads:
                thread.join()
        return self

    @property
    def error(self) -> BaseException | None:
        """What broke the campaign off, which is no failure of a command."""
        return self._errors[0] if self._errors else None

    def _wait(self, threads: list[threading.Thread]) -> None:
        next_word = time.monotonic() + _WORD_EVERY_S
        while any(thread.is_alive() for thread in threads) and not self._errors:
            for thread in threads:
                thread.join(timeout=0.2)
            if time.monotonic() >= next_word:
                next_word += _WORD_EVERY_S
                self._say_how_far()

    def _numbers(self, deadline: float | None) -> Iterator[int]:
        """What failed at another commit first, then what has never run."""
        repeated = (trial.number for trial in self.ledger.to_repeat(self.commit))
        undone = self.ledger.undone()
        if deadline is None:
            undone = takewhile(lambda number: number < self.commands, undone)
        for number in chain(repeated, undone):
            if deadline is not None and time.monotonic() >= deadline:
                return
            yield number

    def _say_how_far(self) -> None:
        found = self.failures.counts
        of = f" of {self.commands:,}" if self.seconds is None else ""
        done = len(self.ledger.latest)
        say(f"{done:,}{of} commands, now {found.total()} failures of {len(found)} kinds")

    # -- one case ------------------------------------------------------------------------------

    def try_case(self, server: Server, case: FuzzCase) -> None:
        limits = limits_of(case)
        own = case.number % _OWN_PROCESS_EVERY == 0 and server.way is Way.FORK
        outcome = server.run(case, limits, own_process=own)
        faults = judge(case, outcome, limits, server.place)
        if faults and faults[0].kind == HANG:
            # Once more: the computer may have had no time for it.
            outcome = server.run(case, limits, own_process=own)
            faults = judge(case, outcome, limits, server.place)
        place = self._keep(server, case, faults[0], outcome, limits) if faults else None
        with self._lock:
            self.ledger.add(self._trial(case, outcome, faults, place))

    def _trial(
        self, case: FuzzCase, outcome: CommandOutcome, faults: list[Fault], place: Path | None
    ) -> FuzzTrial:
        fault = faults[0] if faults else None
        return FuzzTrial(
            number=case.number,
            verb=case.verb.name,
            way=str(outcome.way),
            code=outcome.code,
            cpu_s=round(outcome.cpu_s, 3),
            memory_mb=round(outcome.memory_mb),
            commit=self.commit,
            has_plan=case.verb.name == "plan" and outcome.code == 0,
            fault=fault.kind if fault else "",
            signature=fault.signature if fault else "",
            place=str(place or ""),
        )

    def _keep(
        self, server: Server, case: FuzzCase, fault: Fault, outcome: CommandOutcome, limits: Limits
    ) -> Path | None:
        is_new = self.failures.is_new(case, fault)
        place = self.failures.keep(case, fault, outcome)
        if not (is_new and place is not None):
            return place
        say(f"{fault.kind}: {fault.seen[:160]}\n  seed {self.seed}, case {case.number}: "
            f"{described(case)[:300]}\n  {place}")  # fmt: skip
        if fault.kind == HANG or self._ended.is_set():
            return place  # too long to be run dozens of times more

        def still_fails(smaller: FuzzCase) -> bool:
            if self._ended.is_set():
                return False
            again = server.run(smaller, limits)
            return any(f.kind == fault.kind for f in judge(smaller, again, limits, server.place))

        smaller = minimise(case, still_fails, outcome.cpu_s)
        if smaller != case:
            write_case(place / "smaller", smaller, fault, server.run(smaller, limits), self.seed)
        return place

    def note_error(self, error: BaseException) -> None:
        self._errors.append(error)
        self._ended.set()

    @property
    def is_ended(self) -> bool:
        return self._ended.is_set()


def limits_of(case: FuzzCase) -> Limits:
    """What this command may take."""
    if case.starts_engine:
        return ENGINE
    simulates = case.verb.name in SIMULATE or "--simulate" in case.arguments
    return SIMULATING if simulates else PLAIN


class _Work:
    """Deals out cases to threads, each with a server of its own."""

    def __init__(
        self, campaign: Campaign, sets: list[Files], place: Path, numbers: Iterator[int]
    ) -> None:
        self.campaign, self.sets, self.place = campaign, sets, place
        self._numbers, self._lock = numbers, threading.Lock()
        # Spark is slow: what does not fit waits for it, and so do those who deal.
        self._for_spark: queue.Queue[FuzzCase | None] = queue.Queue()
        self._dealing = campaign.jobs
        # What failed is run again with the files that it failed with, whatever would be drawn now.
        self._kept = {t.number: Path(t.place) for t in campaign.ledger.trials if t.place}

    def threads(self) -> list[threading.Thread]:
        makers: list[Callable[[], None]] = [
            partial(self._plain, index) for index in range(self.campaign.jobs)
        ]
        if self.campaign.with_spark:
            makers.append(self._spark)
        return [threading.Thread(target=self._guarded, args=(maker,)) for maker in makers]

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.campaign.note_error(error)

    def _plain(self, index: int) -> None:
        try:
            with Server(self.place / f"fork-{index}", Way.FORK) as server:
                verbs = self._verbs(server)
                while (case := self._next(verbs)) is not None:
                    if case.starts_spark:
                        self._for_spark.put(case)
                    else:
                        self.campaign.try_case(server, case)
        finally:
            with self._lock:
                self._dealing -= 1
                if not self._dealing:
                    self._for_spark.put(None)

    def _verbs(self, server: Server) -> tuple[DrawableVerb, ...]:
        return tuple(v for v in server.verbs if self.campaign.with_spark or not v.starts_spark)

    def _next(self, verbs: tuple[DrawableVerb, ...]) -> FuzzCase | None:
        if self.campaign.is_ended:
            return None
        with self._lock:
            number = next(self._numbers, None)
        if number is None:
            return None
        kept = self._kept.get(number)
        if kept is not None and (case := read_case(kept, number, verbs)) is not None:
            return case
        return draw(self.campaign.seed, number, verbs, self.sets)

    def _spark(self) -> None:
        with Server(self.place / "spark", Way.SPARK) as server:
            while not self.campaign.is_ended:
                try:
                    case = self._for_spark.get(timeout=0.5)
                except queue.Empty:
                    continue
                if case is None:
                    return
                self.campaign.try_case(server, case)
