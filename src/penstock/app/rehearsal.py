"""Policies rehearsed on recorded loads, kept as they finish, so that a killed run goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock import __version__
from penstock.app.inputs import Source
from penstock.app.rehearsal_store import RehearsalStore
from penstock.control.decision import Decision
from penstock.control.observation import Observation
from penstock.control.policies import registry
from penstock.control.recorded_load import RecordedLoad
from penstock.control.rehearsal import RehearsalResult, RehearsalSetting
from penstock.control.rehearsal import rehearse as rehearse_once
from penstock.control.rehearsed_engine import FaultPlan
from penstock.control.scores import RegretParts, RehearsalSeries, Score
from penstock.errors import Finding, InputError
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


@dataclass(frozen=True)
class RehearsalOptions:
    """What is rehearsed beside the loads."""

    policies: tuple[str, ...] = ("penstock", "static", "hpa", "ds2", "dhalion", "flink")
    seeds: int = 1
    #: The highest rate of each load, as a part of what the cluster carries at most.
    highest: float | None = 0.7
    #: A random machine in use is lost every so many seconds, and back after so many.
    faults: FaultPlan | None = None
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
        found = []
        for policy in policies:
            mine = [row.score for row in self.rows if row.score.policy == policy]
            worst = max(score.over_target_own for score in mine)
            hours = sum(score.machine_hours for score in mine)
            found.append((max(worst, FINE_OVER_TARGET), hours, policy))
        return min(found)[2] if found else None

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
    progress: Callable[[Score, bool], None] = lambda _score, _was_kept: None,
    stop: Callable[[], bool] = lambda: False,
) -> Rehearsal:
    """Every policy on every load with every seed; what ``out`` has already is not run again."""
    options = options or RehearsalOptions()
    planner = planner or CapacityPlanner(problem)
    store = None if out is None else RehearsalStore(out)
    found = [
        one if isinstance(one, RecordedLoad) else recorded_load(one, options, planner.bound_per_s)
        for one in loads
    ]
    rows: list[RehearsedPolicy] = []
    for load in found:
        for name in options.policies:
            for seed in range(options.seeds):
                key = _key(problem, load, name, seed, options)
                kept = store.read(key) if store else None
                if kept is None:
                    if stop():
                        return Rehearsal(problem, options, tuple(rows), was_stopped=True)
                    kept, journal = _run(load, name, seed, options, planner)
                    if store:
                        store.keep(key, kept, journal)
                    progress(_row(kept).score, False)
                else:
                    progress(_row(kept).score, True)
                rows.append(_row(kept))
    rehearsal = Rehearsal(problem, options, tuple(rows))
    if store and rows:
        store.write_watch(watch_text(rehearsal.best_watch))
    return rehearsal


def watch_text(watch: WatchSetting) -> str:
    """A ``watch.yaml``."""
    return to_yaml(watch_to_dict(watch))


def _run(
    load: RecordedLoad, name: str, seed: int, options: RehearsalOptions, planner: CapacityPlanner
) -> tuple[dict[str, Any], str]:
    """One rehearsal as what is kept of it, and its journal, a line for each decision."""
    watch = options.watch
    parameters = watch.parameters if name == watch.policy else {}
    policy = registry.configured(name, parameters)
    under_rules = options.rules_for_all or name in _UNDER_RULES
    rules = watch.rules
    if not under_rules:
        rules = replace(
            FREE, latency_target_s=rules.latency_target_s, pause_s=rules.pause_s
        )  # fmt: skip
    setting = RehearsalSetting(rules, options.pauses, options.faults)
    lines: list[str] = []

    def journal(seen: Observation, decision: Decision) -> None:
        lines.append(json.dumps(journal_line(seen, decision), ensure_ascii=False))

    result = rehearse_once(load, policy, planner, setting, seed, journal)
    return _kept(result), "".join(f"{line}\n" for line in lines)


def journal_line(seen: Observation, decision: Decision) -> dict[str, object]:
    """A decision with what was seen, as the journal says it."""
    return {
        "time_s": round(decision.time_s, 3),
        "kind": decision.kind.value,
        "reason": decision.reason,
        "offered_per_s": _plain(seen.offered),
        "processed_per_s": _plain(seen.processed),
        "backlog": _plain(seen.waiting),
        "latency_s": _plain(max(seen.latency_s)),
        "evidence": {name: _plain(value) for name, value in decision.evidence},
        "rate_before_per_s": _plain(decision.rate_before_per_s),
        "rate_after_per_s": _plain(decision.rate_after_per_s),
        "machines": [decision.machines_before, decision.machines_after],
        "moves": decision.moves,
        "refused": [[r.what, r.rule, r.why] for r in decision.refused],
    }


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


def _key(
    problem: Problem, load: RecordedLoad, policy: str, seed: int, options: RehearsalOptions
) -> str:
    """What a rehearsal is, as a name: other rules, other machines or another version differ."""
    content = {
        "version": __version__,
        "topologies": [topology_to_dict(t) for t in problem.topologies],
        "cluster": cluster_to_dict(problem.cluster),
        "profile": profile_to_dict(problem.profile) if problem.profile else None,
        "weighted": problem.weighted,
        "load": [load.name, load.step_s, hashlib.sha256(load.rate_per_s.tobytes()).hexdigest()],
        "policy": policy,
        "seed": seed,
        "faults": asdict(options.faults) if options.faults else None,
        "pauses": asdict(options.pauses),
        "watch": watch_to_dict(options.watch),
        "rules_for_all": options.rules_for_all,
    }
    return hashlib.sha256(to_json(content).encode()).hexdigest()[:24]
