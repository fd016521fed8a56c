"""Rehearsals that several figures are read from, each run once.

The setting: Diamond on ``nasiri-large`` with shares, loads scaled so that their highest five
minutes are 70 % of the bound, a random machine in use lost every 45 minutes and back after 10, the
95th percentile within 5 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from statistics import mean

import numpy as np

from penstock import app
from penstock.app.rehearsal import RehearsalOptions, recorded_load
from penstock.control.policies import registry
from penstock.control.recorded_load import RecordedLoad
from penstock.control.rehearsal import RehearsalSetting, rehearse
from penstock.control.rehearsed_engine import FaultPlan
from penstock.control.scores import Score
from penstock.model.watch_rules import FREE, WatchRules
from penstock.planning.capacity_plans import CapacityPlanner
from penstock_bench.benchmarks.control.clairvoyant import Clairvoyant, Floor
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.data import load_file

#: Every load that is in the setting.
LOADS = ("ads", "wiki_de", "taxi", "alibaba", "avazu", "iot")
#: A load's part of the time that may be over the target, and most changes a day (16 in 18 hours).
OVER_TARGET, CHANGES_A_DAY = 0.01, 16 / 0.75
PEERS = ("static", "hpa", "ds2", "dhalion", "flink", "tune", "lcstream")


@cache
def planner() -> CapacityPlanner:
    """Plans are kept over all rehearsals of a run."""
    return CapacityPlanner(app.problem("diamond", "nasiri-large", weighted=True))


@cache
def load(name: str, days: float | None) -> RecordedLoad:
    """A recorded load; of ``ads``, medians over five minutes are what was offered."""
    options = RehearsalOptions(median_s=300.0, days=days)
    return recorded_load(load_file(name), options, planner().bound_per_s)


@cache
def score(name: str, policy: str, seed: int, days: float | None) -> Score:
    """One rehearsal; the peers bring a tempo of their own and are free of ours."""
    rules = WatchRules() if policy == "penstock" else FREE
    setting = RehearsalSetting(rules, faults=FaultPlan())
    chosen = registry.configured(policy, {})
    return rehearse(load(name, days), chosen, planner(), setting, seed).score


def scores(name: str, policy: str, seeds: int, days: float | None) -> list[Score]:
    return [score(name, policy, seed, days) for seed in range(seeds)]


def regret(
    repeats: int, load: str, policy: str = "penstock", seeds: int = 1, days: float | None = None
) -> Iterator[float]:
    """Machine-hours above the least, in percent."""
    del repeats  # chance is in the seeds
    yield from (100 * s.regret.total for s in scores(load, policy, seeds, days))


@cache
def floor(name: str, days: float | None, changes_a_day: float | None = CHANGES_A_DAY) -> Floor:
    """What no policy within the limits can stay below, even one that knows the future."""
    known = Clairvoyant(load(name, days), planner())
    most = np.inf if changes_a_day is None else changes_a_day * known.hours / 24.0
    return known.floor(OVER_TARGET, most)


def floor_regret(
    repeats: int, load: str, days: float | None = None, changes_a_day: float | None = CHANGES_A_DAY
) -> Iterator[float]:
    """Regret that no policy within the limits can stay below, in percent."""
    for _ in range(repeats):
        yield 100 * floor(load, days, changes_a_day).regret


def mean_regret(repeats: int, seeds: int = 1, days: float | None = None) -> Iterator[float]:
    """The mean over the loads."""
    del repeats
    yield mean(
        100 * s.regret.total for name in LOADS for s in scores(name, "penstock", seeds, days)
    )


def over_target(
    repeats: int, load: str, policy: str = "penstock", seeds: int = 1, days: float | None = None
) -> Iterator[float]:
    """Percent of the time over the target, without the 120 s after a machine was lost."""
    del repeats
    yield from (100 * s.over_target_own for s in scores(load, policy, seeds, days))


def changes(
    repeats: int, load: str, policy: str = "penstock", seeds: int = 1, days: float | None = None
) -> Iterator[float]:
    del repeats
    yield from (float(s.changes) for s in scores(load, policy, seeds, days))


def changes_over_peer(
    repeats: int, load: str, peer: str, seeds: int = 1, days: float | None = None
) -> Iterator[float]:
    """Our changes as a part of a peer's."""
    del repeats
    for seed in range(seeds):
        ours, theirs = (score(load, p, seed, days).changes for p in ("penstock", peer))
        yield ours / max(theirs, 1)


def hours_over_best_peer(
    repeats: int, load: str, seeds: int = 1, days: float | None = None
) -> Iterator[float]:
    """Our machine-hours over the fewest of those peers that are over the target as rarely."""
    del repeats
    ours = scores(load, "penstock", seeds, days)
    limit = mean(s.over_target_own for s in ours)
    hours = mean(s.machine_hours for s in ours)
    peers = [scores(load, peer, seeds, days) for peer in PEERS]
    fair = [p for p in peers if mean(s.over_target_own for s in p) <= max(limit, 0.01)]
    yield hours / min((mean(s.machine_hours for s in p) for p in fair), default=np.inf)


def side_by_side(load: str, seeds: int = 1, days: float | None = None) -> FigureTable:
    """Every policy on one load, means over the seeds."""
    rows = []
    for policy in ("penstock", *PEERS):
        found = scores(load, policy, seeds, days)
        rows.append(
            [
                policy,
                f"{mean(s.mean_machines for s in found):.1f}",
                *(
                    f"{100 * mean(getattr(s.regret, part) for s in found):.1f} %"
                    for part in ("total", "holding", "forecast", "plans", "pauses")
                ),
                f"{100 * mean(s.over_target for s in found):.2f} %",
                f"{100 * mean(s.over_target_own for s in found):.2f} %",
                f"{mean(s.changes for s in found):.0f}",
                f"{mean(s.fault_changes for s in found):.0f}",
                f"{mean(s.moves for s in found):.0f}",
            ]
        )
    least = floor(load, days)
    hours = scores(load, PEERS[0], seeds, days)[0].hours
    rows.append(
        [
            "floor, the future known",
            f"{least.schedule.machine_hours / hours:.1f}",
            f"{100 * least.regret:.1f} %",
            *(["–"] * 5),
            f"{100 * least.schedule.over_s / 3600.0 / hours:.2f} %",
            f"{least.schedule.changes}",
            *(["–"] * 2),
        ]
    )
    columns = [
        "policy", "mean machines", "regret", "of it holding", "forecast", "plans", "pauses",
        "over target", "own", "changes", "by faults", "moves",
    ]  # fmt: skip
    length = "" if days is None else f", the first {days:g} days"
    return FigureTable(f"{load}{length}, {seeds} seeds", columns, rows)
