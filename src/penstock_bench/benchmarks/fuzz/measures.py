"""What the suite measures of commands: how many ran, where, at which cost, and what failed.

All figures are of the ledger of a seed, to which each run adds: a campaign goes on where the one
before it ended. One without a ledger (``--quick``) starts anew each time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache

from penstock_bench.benchmarks.fuzz.campaign import Campaign
from penstock_bench.benchmarks.fuzz.failures import Failures
from penstock_bench.benchmarks.fuzz.ledger import FuzzTrial, Ledger, by_commit
from penstock_bench.benchmarks.fuzz.slices import FOLDER, SECONDS_PER_HOUR, ledger_of
from penstock_bench.benchmarks.suite import FigureTable


@lru_cache(maxsize=2)
def _campaign(commands: int, seed: int, hours: float | None, is_kept: bool) -> Campaign:
    failures = Failures(FOLDER, seed)
    seconds = None if hours is None else SECONDS_PER_HOUR * hours
    return Campaign(
        seed, commands, seconds, failures, ledger=ledger_of(seed, is_kept=is_kept)
    ).run()


def _ended(commands: int, seed: int, hours: float | None, is_kept: bool) -> Campaign:
    """The campaign; Ctrl-C ends the suite once there is a table of what ran."""
    campaign = _campaign(commands, seed, hours, is_kept)
    if campaign.interrupted:
        raise KeyboardInterrupt
    if campaign.error is not None:
        raise campaign.error
    return campaign


def commands_run(
    commands: int, seed: int, hours: float | None = None, is_kept: bool = False
) -> FigureTable:
    """How many commands ran in which way, and the most that one of them took."""
    campaign = _campaign(commands, seed, hours, is_kept)
    trials = campaign.ledger.latest.values()
    rows = []
    for way in sorted({trial.way for trial in trials}):
        some = [trial for trial in trials if trial.way == way]
        codes = Counter(trial.code for trial in some)
        rows.append(
            [
                way,
                f"{len(some):,}",
                str(len({trial.verb for trial in some})),
                ", ".join(f"{code}: {n:,}" for code, n in sorted(codes.items())),
                f"{max(trial.cpu_s for trial in some):.1f} s",
                f"{max(trial.memory_mb for trial in some):,.0f} MB",
            ]
        )
    columns = ["run as", "commands", "verbs", "by exit code", "most CPU", "most memory"]
    cut = ", interrupted" if campaign.interrupted else ""
    cut = f", broken off: {campaign.error}" if campaign.error is not None else cut
    plans = sum(trial.has_plan for trial in trials)
    title = f"{len(trials):,} commands from seed {seed}{cut}; {plans:,} plans checked"
    return FigureTable(title, columns, rows)


def commands_by_commit(
    commands: int, seed: int, hours: float | None = None, is_kept: bool = False
) -> FigureTable:
    """At which commits they ran; a failure that ends well now was run again later."""
    ledger = _ended(commands, seed, hours, is_kept).ledger
    latest = ledger.latest
    rows = []
    for commit, trials in by_commit(ledger.trials).items():
        failed = {trial.number for trial in trials if trial.fault}
        left = sum(1 for number in failed if latest[number].fault)
        rows.append([commit, f"{len(trials):,}", f"{len(failed):,}", f"{left:,}"])
    return FigureTable("By commit", ["commit", "commands", "failed", "fail still"], rows)


def commands_by_verb(
    commands: int, seed: int, hours: float | None = None, is_kept: bool = False
) -> FigureTable:
    """Which part of the commands each verb was, and of the CPU that all took."""
    by_verb: dict[str, list[FuzzTrial]] = defaultdict(list)
    trials = _ended(commands, seed, hours, is_kept).ledger.latest.values()
    for trial in trials:
        by_verb[trial.verb].append(trial)
    all_s = sum(trial.cpu_s for trial in trials) or 1.0
    rows = []
    for verb, some in sorted(by_verb.items(), key=lambda item: (-len(item[1]), item[0])):
        cpu_s = sum(trial.cpu_s for trial in some)
        parts = (
            f"{len(some) / len(trials):.1%}",
            f"{cpu_s / len(some):.2f} s",
            f"{cpu_s / all_s:.1%}",
        )
        rows.append([verb, f"{len(some):,}", *parts])
    columns = ["verb", "commands", "of all commands", "CPU, mean", "of all CPU"]
    return FigureTable(f"By verb; {all_s:,.0f} s of CPU", columns, rows)


def failures_of_commands(
    commands: int, seed: int, hours: float | None = None, is_kept: bool = False
) -> FigureTable:
    """Failures by what they look like, with the folder of the first of each."""
    failed = _failed(_ended(commands, seed, hours, is_kept).ledger)
    alike: dict[str, list[FuzzTrial]] = defaultdict(list)
    for trial in failed:
        alike[f"{trial.verb}: {trial.signature}"].append(trial)
    rows = [
        [signature, str(len(some)), next((t.place for t in some if t.place), "–")]
        for signature, some in sorted(alike.items(), key=lambda item: -len(item[1]))
    ]
    return FigureTable("Failures", ["what", "times", "kept in"], rows)


def failures(
    commands: int,
    seed: int,
    kinds: str = "",
    hours: float | None = None,
    is_kept: bool = False,
    repeats: int = 1,
) -> Iterator[float]:
    """Commands that failed, or failed in a way that has one of these words in it."""
    for _ in range(repeats):
        failed = _failed(_ended(commands, seed, hours, is_kept).ledger)
        words = kinds.split(",")
        yield float(sum(any(word in trial.fault for word in words) for trial in failed))


def commands_done(
    commands: int, seed: int, hours: float | None = None, is_kept: bool = False, repeats: int = 1
) -> Iterator[float]:
    """How many commands have run so far, each counted once."""
    for _ in range(repeats):
        yield float(len(_ended(commands, seed, hours, is_kept).ledger.latest))


def _failed(ledger: Ledger) -> list[FuzzTrial]:
    return [trial for trial in ledger.latest.values() if trial.fault]
