"""Policies rehearsed on recorded loads, kept as they finish, so that a killed run goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from penstock import __version__
from penstock.app.inputs import Source
from penstock.app.journal import Journal
from penstock.app.rehearsal_store import RehearsalStore
from penstock.control.policies import registry
from penstock.control.recorded_load import RecordedLoad
from penstock.control.rehearsal import RehearsalResult, RehearsalSetting
from penstock.control.rehearsal import rehearse as rehearse_once
from penstock.control.rehearsed_engine import FaultPlan, SlowPlan
from penstock.control.scores import RegretParts, RehearsalSeries, Score
from penstock.engines.spark.session import spark_session
from penstock.engines.spark.sweep_job import Finished, run_tasks
from penstock.errors import Finding, InputError, PenstockError
from penstock.files.cluster_file import cluster_to_dict
from penstock.files.load_file import read_load
from penstock.files.profile_file import profile_to_dict
from penstock.files.store import load as load_file
from penstock.files.topology_file import topology_to_dict
from penstock.files.watch_file import watch_to_dict
from penstock.files.writer import to_json, to_yaml
from penstock.model.arrays import frozen
from penstock.model.problem import Problem
from penstock.model.watch_rules import FREE, WatchSetting
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.simulate.interval import EnginePauses

#: Of several policies, those over the target for less than this part of the time are compared.
FINE_OVER_TARGET = 0.01
#: Our own policy is rehearsed under the rules; the peers bring a tempo of their own.
_UNDER_RULES = frozenset({"penstock"})
#: Takes the key of a cell, what is kept of it, and its journal.
Keep = Callable[[str, dict[str, Any], bytes], None]


@dataclass(frozen=True)
class RehearsalOptions:
    """What is rehearsed beside the loads."""

    policies: tuple[str, ...] = field(default_factory=lambda: tuple(registry.POLICIES.usable()))
    seeds: int = 1
    #: The highest rate of each load, as a part of what the cluster carries at most.
    highest: float | None = 0.7
    #: A random machine in use is lost every so many seconds, and back after so many.
    faults: FaultPlan | None = None
    #: A random machine in use runs slowly every so many seconds.
    slow: SlowPlan | None = None
    #: Medians over so many seconds are the offered rate.
    median_s: float | None = None
    days: float | None = None
    pauses: EnginePauses = field(default_factory=EnginePauses)
    watch: WatchSetting = field(default_factory=WatchSetting)
    #: Rules for every policy, and not for our own alone.
    rules_for_all: bool = False


@dataclass(frozen=True)
class RehearsedPolicy:
    """One cell of the table: its score and what happened over time."""

    score: Score
    series: RehearsalSeries


@dataclass(frozen=True)
class Rehearsal:
    """All that was rehearsed, in the order of loads, policies and seeds."""

    problem: Problem
    options: RehearsalOptions
    rows: tuple[RehearsedPolicy, ...]
    was_stopped: bool = False

    @property
    def best(self) -> str | None:
        """The policy with the fewest machine-hours of those that are rarely over the target."""
        policies = list(dict.fromkeys(row.score.policy for row in self.rows))
        ranks = []
        for place, policy in enumerate(policies):
            mine = [row.score for row in self.rows if row.score.policy == policy]
            worst = max(score.over_target_own for score in mine)
            hours = sum(score.machine_hours for score in mine)
            ranks.append((max(worst, FINE_OVER_TARGET), hours, place))
        return policies[min(ranks)[2]] if ranks else None

    @property
    def best_watch(self) -> WatchSetting:
        """The ``watch.yaml`` that did best."""
        watch, best = self.options.watch, self.best or self.options.watch.policy
        if best == watch.policy:
            return watch
        rules = watch.rules if best in _UNDER_RULES or self.options.rules_for_all else FREE
        return WatchSetting(best, {}, replace(rules, latency_target_s=watch.rules.latency_target_s))


def recorded_load(source: Path, options: RehearsalOptions, bound_per_s: float) -> RecordedLoad:
    """A load from a file, cut and scaled as asked."""
    rates, step_s = read_load(source)
    load = RecordedLoad(
        source.stem.removesuffix("-5min").removesuffix("-1s"), frozen(rates), step_s
    )
    if options.median_s is not None and options.median_s > step_s:
        load = load.medians(options.median_s)
    if options.days is not None:
        load = load.first(options.days * 86_400.0)
    if not load.rate_per_s.max() > 0:
        message = "no rate is above zero in what is left of it by --days and --median"
        raise InputError(Finding(message, str(source)))
    return load if options.highest is None else load.with_highest(options.highest * bound_per_s)


def watch_setting(source: WatchSetting | Source | None) -> WatchSetting:
    """A ``watch.yaml``, or what holds without one."""
    if source is None or isinstance(source, WatchSetting):
        return source or WatchSetting()
    loaded = load_file(source)
    if not isinstance(loaded, WatchSetting):
        kind = type(loaded).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not watch rules", str(source)[:200]))
    return loaded


def rehearse(
    problem: Problem,
    loads: Sequence[RecordedLoad | Path],
    options: RehearsalOptions | None = None,
    *,
    out: Path | None = None,
    planner: CapacityPlanner | None = None,
    master: str | None = None,
    progress: Callable[[Score, bool], None] = lambda _score, _was_kept: None,
    stop: Callable[[], bool] = lambda: False,
) -> Rehearsal:
    """Every policy on every load with every seed; what ``out`` has already is not run again.

    With a ``master`` each is a task of Spark, with the same results.
    """
    options = options or RehearsalOptions()
    planner = planner or CapacityPlanner(problem)
    store = None if out is None else RehearsalStore(out)
    recorded = [
        one if isinstance(one, RecordedLoad) else recorded_load(one, options, planner.bound_per_s)
        for one in loads
    ]
    cells = [
        RehearsalCell(load, name, seed, options, planner)
        for load in recorded
        for name in options.policies
        for seed in range(options.seeds)
    ]
    finished = {} if store is None else {c.key: row for c in cells if (row := store.read(c.key))}
    for cell in cells:
        if cell.key in finished:
            progress(_row(finished[cell.key]).score, True)

    def keep(key: str, row: dict[str, Any], journal: bytes) -> None:
        if store:
            store.keep(key, row, journal)
        finished[key] = row
        progress(_row(row).score, False)

    left = [cell for cell in cells if cell.key not in finished]
    if master is None:
        was_stopped = _run_here(left, keep, stop)
    else:
        was_stopped = _run_on_spark(master, left, keep)
    rows = tuple(_row(finished[cell.key]) for cell in cells if cell.key in finished)
    rehearsal = Rehearsal(problem, options, rows, was_stopped)
    if store and rows and not was_stopped:
        store.write_watch(watch_text(rehearsal.best_watch))
    return rehearsal


@dataclass(frozen=True)
class RehearsalCell:
    """One policy on one load with one seed, complete: it can be sent anywhere."""

    load: RecordedLoad
    policy: str
    seed: int
    options: RehearsalOptions
    planner: CapacityPlanner

    @cached_property
    def key(self) -> str:
        """What a rehearsal is, as a name: other rules, other machines or another version differ."""
        problem, load, options = self.planner.problem, self.load, self.options
        content = {
            "version": __version__,
            "topologies": [topology_to_dict(t) for t in problem.topologies],
            "cluster": cluster_to_dict(problem.cluster),
            "profile": profile_to_dict(problem.profile) if problem.profile else None,
            "weighted": problem.weighted,
            "load": [load.name, load.step_s, hashlib.sha256(load.rate_per_s.tobytes()).hexdigest()],
            "policy": self.policy,
            "seed": self.seed,
            "faults": asdict(options.faults) if options.faults else None,
            "slow": asdict(options.slow) if options.slow else None,
            "pauses": asdict(options.pauses),
            "watch": watch_to_dict(options.watch),
            "rules_for_all": options.rules_for_all,
        }
        return hashlib.sha256(to_json(content).encode()).hexdigest()[:24]


def _run_here(cells: Sequence[RehearsalCell], keep: Keep, stop: Callable[[], bool]) -> bool:
    """Whether it was stopped before the last one."""
    for cell in cells:
        if stop():
            return True
        keep(cell.key, *_run(cell))
    return False


def _run_on_spark(master: str, cells: Sequence[RehearsalCell], keep: Keep) -> bool:
    """A task for each; the driver keeps each result as it comes."""
    if not cells:
        return False
    failures: list[str] = []

    def arrived(finished: Finished) -> None:
        row = finished["row"]
        if row["error"]:
            failures.append(row["error"])
        else:
            keep(finished["key"], row["kept"], row["journal"])

    try:
        with spark_session(master) as spark:
            run_tasks(spark, [(cell.key, cell) for cell in cells], _task, arrived)
    except KeyboardInterrupt:
        return True
    if failures:
        raise PenstockError(f"{len(failures)} rehearsals failed, the first with {failures[0]}")
    return False


def _task(cell: RehearsalCell) -> dict[str, Any]:
    kept, journal = _run(cell)
    return {"kept": kept, "journal": journal}


def watch_text(watch: WatchSetting) -> str:
    """A ``watch.yaml``."""
    return to_yaml(watch_to_dict(watch))


def _run(cell: RehearsalCell) -> tuple[dict[str, Any], bytes]:
    """One rehearsal as what is kept of it, and its journal."""
    name, options = cell.policy, cell.options
    watch = options.watch
    parameters = watch.parameters if name == watch.policy else {}
    policy = registry.configured(name, parameters)
    under_rules = options.rules_for_all or name in _UNDER_RULES
    rules = watch.rules
    if not under_rules:
        rules = replace(
            FREE, latency_target_s=rules.latency_target_s, pause_s=rules.pause_s
        )  # fmt: skip
    setting = RehearsalSetting(rules, options.pauses, options.faults, options.slow)
    with Journal(cell.planner.problem) as journal:
        result = rehearse_once(cell.load, policy, cell.planner, setting, cell.seed, journal.turn)
        return _kept(result), journal.content()


def _plain(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None


def _kept(result: RehearsalResult) -> dict[str, Any]:
    series = {
        name: [_plain(v) for v in getattr(result.series, name).tolist()]
        for name in RehearsalSeries.__dataclass_fields__
    }
    return {"score": asdict(result.score), "series": series}


def _row(kept: Mapping[str, Any]) -> RehearsedPolicy:
    score = dict(kept["score"])
    score["regret"] = RegretParts(**score["regret"])
    series = {
        name: frozen(np.array([np.nan if v is None else v for v in values], dtype=np.float64))
        for name, values in kept["series"].items()
    }
    return RehearsedPolicy(Score(**score), RehearsalSeries(**series))
