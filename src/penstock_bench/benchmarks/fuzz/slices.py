"""Long counts in pieces: each is written down once it is done, and the next run goes on there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from penstock.report.provenance import commit_here
from penstock_bench.benchmarks.fuzz.ledger import Ledger, LedgerSlice
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.benchmarks.suite import FigureTable

#: Failures, and what was done so far.
FOLDER = Path("fuzz-failures")
SECONDS_PER_HOUR = 3600.0
#: Looks at so many from a number on; how many faults there are.
Look = Callable[[int, int], int]


def ledger_of(seed: int, *, is_kept: bool) -> Ledger:
    """Of this seed; one that is not kept starts anew each time."""
    return Ledger.open(FOLDER / f"done-seed-{seed}.jsonl") if is_kept else Ledger()


def look_at_all(
    ledger: Ledger, what: str, numbers: range, size: int, look: Look, hours: float | None
) -> list[LedgerSlice]:
    """The newest slice of each piece of these numbers, as far as time allows.

    What is done is not done again, unless it had faults that may be mended by now.
    """
    commit = commit_here()
    began = time.monotonic()
    newest = {(s.begin, s.size): s for s in ledger.slices if s.what == what}
    found: list[LedgerSlice] = []
    for begin in range(numbers.start, numbers.stop, size):
        number = min(size, numbers.stop - begin)
        done = newest.get((begin, number))
        is_over = hours is not None and time.monotonic() - began >= SECONDS_PER_HOUR * hours
        if not is_over and (done is None or done.may_be_mended(commit)):
            done = LedgerSlice(what, begin, number, look(begin, number), commit)
            ledger.add(done)
            say(f"{what}: {begin + number - numbers.start:,} of {len(numbers):,}")
        found += [done] if done is not None else []
    return found


def slices_by_commit(title: str, slices: list[LedgerSlice]) -> FigureTable:
    """At which commits they were looked at, and what was wrong there."""
    commits = dict.fromkeys(one.commit for one in slices)
    rows = []
    for commit in commits:
        some = [one for one in slices if one.commit == commit]
        rows.append([commit, f"{_size(some):,}", f"{sum(one.faults for one in some):,}"])
    return FigureTable(title, ["commit", "looked at", "faults"], rows)


def _size(slices: list[LedgerSlice]) -> int:
    return sum(one.size for one in slices)
