"""Storm on unlike machines: what each scheduler's plan carries, beside what was predicted.

For each topology: costs are measured at three rates on an even placement, the pipeline makes a
profile of them, every scheduler plans from it, and each plan is flooded with tuples.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from penstock import api
from penstock.bench.suite import Table
from penstock.change.in_force import plan_in_force
from penstock.engines.lab.cluster import with_own_use
from penstock.engines.lab.lab import lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.storm.bridge import open_bridge
from penstock.engines.storm.lab import start_lab
from penstock.engines.storm.trial import FLOOD_PER_S, Trial, Watched, write_lines
from penstock.errors import PenstockError
from penstock.evaluate.predict import predict
from penstock.model.cluster import Cluster
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Kind, Topology
from penstock.telemetry.clean import Settings
from penstock.telemetry.session import spark_session

#: After the machines are held to their points: what was under way, and compilers that still work.
_LEFT_OUT_S = 15.0
_LOOK_S = 40.0
#: Parts of what the even placement can carry at which costs are measured, each for so long. Up and
#: down: while Java still warms up, everything becomes cheaper with time.
_LEVELS, _LEVEL_S = (0.5, 0.25, 0.75, 0.25, 0.75, 0.5), 25.0
_SETTLES_S = 3.0

DEFAULT, DEFAULT_EVEN = "Storm's default", "Storm's default, even shuffle"
WEIGHTED = "penstock, weighted"
PENSTOCK = "penstock"
_OTHERS = ("hetero", "rstorm")


@dataclass(frozen=True)
class Tried:
    """A placement that was flooded."""

    predicted_per_s: float
    predicted_points: Mapping[str, float]
    windows: tuple[Watched, ...]

    @property
    def rate_per_s(self) -> float:
        return statistics.fmean(w.rate_per_s for w in self.windows)

    @property
    def points(self) -> dict[str, float]:
        names = self.windows[0].machine_points
        return {m: statistics.fmean(w.machine_points[m] for w in self.windows) for m in names}

    @property
    def cpu_errors(self) -> list[float]:
        """Of the machines in use, as parts of what was measured."""
        used = self.points
        return [abs(points / used[m] - 1) for m, points in self.predicted_points.items()]


@dataclass(frozen=True)
class Compared:
    """One topology on one lab, placed by several."""

    tried: Mapping[str, Tried]
    bound_per_s: float


def _say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()


@contextmanager
def trial_of(topology: str, machines: str) -> Iterator[Trial]:
    """A lab of its own for a topology; nothing is left of it."""
    with lab_of("bench-storm", parse_machines(machines)) as lab:
        conf = Path(start_lab(lab)).parent
        with open_bridge(conf_dir=conf) as bridge:
            yield Trial(lab, bridge, topology, _spouts(topology))


def _spouts(topology: str) -> tuple[str, ...]:
    from penstock.examples import load_topology

    return tuple(c.name for c in load_topology(topology).components if c.kind is Kind.SPOUT)


def _components(topology: str) -> tuple[str, ...]:
    from penstock.examples import load_topology

    return tuple(c.name for c in load_topology(topology).components if c.kind is not Kind.ACKER)


def _compared(topology: str, machines: str, seconds: float, windows: int) -> Compared:
    found = _tried(topology, machines, seconds, windows)
    if isinstance(found, PenstockError):
        raise found
    return found


@lru_cache(maxsize=4)
def _tried(topology: str, machines: str, seconds: float, windows: int) -> Compared | PenstockError:
    """The comparison, or why there is none: a failure that took minutes is not tried again."""
    try:
        with trial_of(topology, machines) as trial:
            return _Comparison(trial, seconds, windows).run()
    except PenstockError as error:
        return error


@dataclass
class _Comparison:
    trial: Trial
    seconds: float
    windows: int

    def run(self) -> Compared:
        trial = self.trial
        each = dict.fromkeys(_components(trial.shape), len(trial.lab.machines))
        trial.submit(each)
        profile, own = self._measure()
        cluster = with_own_use(trial.snapshot().cluster, own)
        problem = _problem(trial.snapshot(), cluster, profile, weighted=False)
        tried = {}
        counts: dict[str, int] = {}
        for scheduler in (*_OTHERS, PENSTOCK):
            plan = _plan(problem, scheduler)
            if scheduler == "hetero":
                counts = _counts(plan)
            trial.place(plan)
            tried[scheduler] = self._flood(scheduler, plan)
        trial.kill()
        for name, load_aware in ((DEFAULT_EVEN, False), (DEFAULT, True)):
            trial.submit(counts, load_aware=load_aware)
            snapshot = replace(trial.snapshot(), cluster=cluster)
            tried[name] = self._flood(name, plan_in_force(snapshot, profile))
            trial.kill()
        trial.submit(counts, weighted=True)
        plan = _plan(_problem(trial.snapshot(), cluster, profile, weighted=True), scheduler)
        trial.place(plan)
        tried[WEIGHTED] = self._flood(WEIGHTED, plan)
        trial.kill()
        return Compared(tried, api.upper_bound(problem).scale)

    def _flood(self, name: str, plan: Plan) -> Tried:
        self.trial.feed(FLOOD_PER_S)
        self.trial.warm_up(_LEFT_OUT_S)
        predicted, _ = predict(plan.problem, plan.placement)
        seen = tuple(self.trial.watch(self.seconds) for _ in range(self.windows))
        assert predicted.scale is not None
        tried = Tried(
            predicted.scale, {load.machine: load.cpu_points for load in predicted.machines}, seen
        )
        rates = ", ".join(f"{w.rate_per_s:.1f}" for w in seen)
        _say(f"{name}: {rates} tuples/s, predicted {tried.predicted_per_s:.1f}")
        return tried

    def _measure(self) -> tuple[Profile, dict[str, float]]:
        """Costs at several rates, and what each machine uses beside its workers."""
        trial = self.trial
        trial.place(_one_of_each_everywhere(trial.snapshot()))
        trial.feed(FLOOD_PER_S)
        trial.warm_up(_LEFT_OUT_S)
        most = trial.watch(_LOOK_S).rate_per_s
        seen = []
        for level in _LEVELS:
            trial.feed(level * most)
            time.sleep(_SETTLES_S)
            seen.append(trial.watch(_LEVEL_S))
        with tempfile.TemporaryDirectory() as folder:
            write_lines(seen, Path(folder))
            profile = _profile(folder)
        own = {
            m: statistics.fmean(w.machine_points[m] - w.worker_points[m] for w in seen)
            for m in seen[0].worker_points
        }
        _say(f"the even placement carries {most:.1f} tuples/s; machines use {own} beside workers")
        return profile, own


def _profile(folder: str) -> Profile:
    from penstock.telemetry.pipeline import build_profile
    from penstock.telemetry.source import open_source

    with spark_session(short=True) as spark:
        found = build_profile(spark, open_source(spark, folder), settings=Settings(warm_up_s=0.0))
    missing = [f for f in found.findings.fits if f.not_ready]
    if found.profile is None or missing:
        why = "; ".join(f"{f.component} on {f.machine_type}: {f.not_ready}" for f in missing)
        raise PenstockError(f"not all costs could be measured: {why}")
    return found.profile


def _problem(snapshot: Snapshot, cluster: Cluster, profile: Profile, *, weighted: bool) -> Problem:
    """What runs, free to be planned: counts and CPU requests are the schedulers' to choose."""
    return build([_free(t) for t in snapshot.topologies], cluster, profile, weighted=weighted)


def _free(topology: Topology) -> Topology:
    components = tuple(replace(c, instances=None, cpu_points=None) for c in topology.components)
    return replace(topology, components=components)


def _plan(problem: Problem, scheduler: str) -> Plan:
    made = api.plan(problem, scheduler).plan
    if made is None:
        raise PenstockError(f"{scheduler} found no plan for the lab")
    return made


def _counts(plan: Plan) -> dict[str, int]:
    counts = plan.placement.counts(len(plan.problem.components))
    return {
        component.name: int(count)
        for component, count in zip(plan.problem.components, counts, strict=True)
        if component.kind is not Kind.ACKER
    }


def _one_of_each_everywhere(snapshot: Snapshot) -> Plan:
    problem = build(snapshot.topologies, snapshot.cluster)
    components, machines = len(problem.components), len(problem.cluster.machines)
    placement = Placement.of(
        np.repeat(np.arange(components), machines), np.tile(np.arange(machines), components)
    )
    predicted, _ = predict(problem, placement)
    return Plan(problem, placement, "even", predicted=predicted)


# -- tables and goals ------------------------------------------------------------------------------


def beside_each_other(topology: str, machines: str, seconds: float, windows: int) -> Table:
    found = _compared(topology, machines, seconds, windows)
    base = found.tried[DEFAULT].rate_per_s
    names = [machine.name for machine in parse_machines(machines)]
    rows = []
    for name, tried in found.tried.items():
        rates = [w.rate_per_s for w in tried.windows]
        points = (f"{tried.points[m]:.1f} ({tried.predicted_points.get(m, 0):.1f})" for m in names)
        rows.append(
            [
                name, f"{tried.rate_per_s:.1f}", f"{min(rates):.1f} … {max(rates):.1f}",
                f"{tried.predicted_per_s:.1f}", f"{tried.rate_per_s / base:.2f}", *points,
            ]
        )  # fmt: skip
    return Table(
        f"{topology} on machines of {machines} points (no plan can exceed "
        f"{found.bound_per_s:.1f} tuples/s)",
        ["", "tuples/s", "spread", "predicted", "over default", *(f"{m} (pred.)" for m in names)],
        rows,
    )


def gain_over_default(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """The better of Penstock's two over the better of Storm's two."""
    for _ in range(repeats):
        tried = _compared(topology, machines, seconds, windows).tried
        best = max(tried[name].rate_per_s for name in (PENSTOCK, WEIGHTED))
        yield best / max(tried[name].rate_per_s for name in (DEFAULT, DEFAULT_EVEN))


def over_every_other(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """Penstock, with the shuffle that the others have, over the best of them."""
    for _ in range(repeats):
        tried = _compared(topology, machines, seconds, windows).tried
        others = (DEFAULT, DEFAULT_EVEN, *_OTHERS)
        yield tried[PENSTOCK].rate_per_s / max(tried[name].rate_per_s for name in others)


def throughput_error(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """Of Penstock's two plans, the larger difference between predicted and measured, in %."""
    for _ in range(repeats):
        tried = _compared(topology, machines, seconds, windows).tried
        yield 100 * max(
            abs(tried[name].predicted_per_s / tried[name].rate_per_s - 1)
            for name in (PENSTOCK, WEIGHTED)
        )


def cpu_error(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """Median over the machines of Penstock's two plans of the error of the CPU, in %."""
    for _ in range(repeats):
        tried = _compared(topology, machines, seconds, windows).tried
        yield 100 * statistics.median(
            error for name in (PENSTOCK, WEIGHTED) for error in tried[name].cpu_errors
        )
