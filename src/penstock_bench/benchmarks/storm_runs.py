"""One topology on a lab of Storm, placed by one scheduler after the other.

Costs are measured at several rates, with everything in one worker and with everything on every
machine, in proportion to its points: so the pipeline can tell what it costs to move a tuple from
worker to worker, and no machine is nearly idle meanwhile. Every scheduler plans from the profile,
and each plan is flooded with tuples.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from penstock import app
from penstock.change.in_force import plan_in_force
from penstock.engines.lab.cluster import with_own_use
from penstock.engines.lab.cpu_keepalive import cpu_keepalive
from penstock.engines.lab.lab import lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.lab.pace import PaceMeter, pace_measured
from penstock.engines.lab.profile import profile_of
from penstock.engines.storm.bridge import open_bridge
from penstock.engines.storm.lab import start_lab
from penstock.engines.storm.trial import FLOOD_PER_S, Trial, Watched, write_lines
from penstock.errors import PenstockError
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.predict import predict
from penstock.files.examples import load_topology
from penstock.model.cluster import Cluster
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Kind, Topology
from penstock_bench.benchmarks.long_runs import made_once, say

#: After the machines are held to their points: what was under way, and compilers that still work.
_LEFT_OUT_S = 8.0
_LOOK_S = 25.0
#: Parts of what can be carried at which costs are measured, each for so long: in one worker, then
#: on all machines (of what they would carry if nothing crossed). Below the flood but not far below:
#: the less there is to do, the more often an executor wakes up for a single tuple. Up and down:
#: while Java warms up, everything becomes cheaper with time.
_LEVELS_NEAR, _LEVELS, _LEVEL_S = (0.9, 0.6), (0.75, 0.6, 0.88, 0.6), 25.0
#: What was under way when the rate fell has to drain.
_SETTLES_S = 6.0

DEFAULT = "Storm's default"
WEIGHTED = "penstock, weighted"
PENSTOCK = "penstock"
OTHERS = ("hetero", "rstorm")
#: The others' plan that comes closest to Penstock's, by prediction and by what was measured.
_NEXT_BEST = "hetero"


@dataclass(frozen=True)
class Tried:
    """A placement that was flooded."""

    predicted_per_s: float
    predicted_points: Mapping[str, float]
    windows: tuple[Watched, ...]
    #: CPU that the same work took meanwhile, over what it took while costs were measured.
    pace: float

    def and_then(self, later: Tried) -> Tried:
        """The same placement flooded at two times."""
        parts = len(self.windows), len(later.windows)
        pace = statistics.fmean((self.pace, later.pace), parts)
        return replace(self, windows=(*self.windows, *later.windows), pace=pace)

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
class StormComparison:
    """One topology on one lab, placed by several."""

    tried: Mapping[str, Tried]
    bound_per_s: float


@contextmanager
def trial_of(topology: str, machines: str) -> Iterator[Trial]:
    """A lab of its own for a topology; nothing is left of it."""
    with lab_of("bench-storm", parse_machines(machines)) as lab:
        conf = Path(start_lab(lab)).parent
        with open_bridge(conf_dir=conf) as bridge:
            yield Trial(lab, bridge, topology, _names(topology, Kind.SPOUT))


def _names(topology: str, *kinds: Kind) -> tuple[str, ...]:
    return tuple(c.name for c in load_topology(topology).components if c.kind in kinds)


@made_once
def compared(topology: str, machines: str, seconds: float, windows: int) -> StormComparison:
    """Measured, planned and flooded; takes a quarter of an hour."""
    with trial_of(topology, machines) as trial, cpu_keepalive(), pace_measured() as meter:
        return _Comparison(trial, seconds, windows, meter).run()


def measured_costs(trial: Trial, meter: PaceMeter) -> tuple[Profile, dict[str, float]]:
    """Costs at several rates, and what each machine uses beside its workers.

    The topology goes on running, with everything on every machine.
    """
    return _Comparison(trial, 0.0, 0, meter)._measure()


@dataclass
class _Comparison:
    trial: Trial
    seconds: float
    windows: int
    meter: PaceMeter
    _pace_of_costs: float = 1.0

    def run(self) -> StormComparison:
        trial = self.trial
        profile, own = self._measure()
        cluster = with_own_use(trial.snapshot().cluster, own)
        problem = _problem(trial.snapshot(), cluster, profile, weighted=False)
        plans = {scheduler: _plan(problem, scheduler) for scheduler in (*OTHERS, PENSTOCK)}
        counts = _counts(plans[_NEXT_BEST])
        tried: dict[str, Tried] = {}
        for scheduler, windows in _turns(self.windows):
            trial.place(plans[scheduler])
            seen = self._flood(scheduler, plans[scheduler], windows)
            tried[scheduler] = tried[scheduler].and_then(seen) if scheduler in tried else seen
        trial.kill()
        # Also its shuffle is Storm's own, which sends less to those that lag.
        trial.submit(counts, load_aware=True)
        snapshot = replace(trial.snapshot(), cluster=cluster)
        tried[DEFAULT] = self._flood(DEFAULT, plan_in_force(snapshot, profile), self.windows)
        trial.kill()
        trial.submit(counts, weighted=True)
        plan = _plan(_problem(trial.snapshot(), cluster, profile, weighted=True), PENSTOCK)
        trial.place(plan)
        tried[WEIGHTED] = self._flood(WEIGHTED, plan, self.windows)
        trial.kill()
        return StormComparison(tried, upper_bound(problem).scale)

    def _flood(self, name: str, plan: Plan, windows: int) -> Tried:
        self.trial.feed(FLOOD_PER_S)
        self.trial.warm_up(_LEFT_OUT_S)
        predicted, _ = predict(plan.problem, plan.placement)
        seen = [self.trial.watch(self.seconds) for _ in range(windows)]
        assert predicted.scale is not None
        tried = Tried(
            predicted.scale,
            {load.machine: load.cpu_points for load in predicted.machines},
            tuple(seen),
            statistics.fmean(map(self._pace, seen)) / self._pace_of_costs,
        )
        rates = ", ".join(f"{w.rate_per_s:.1f}" for w in seen)
        say(f"{name}: {rates} tuples/s, predicted {tried.predicted_per_s:.1f} ({tried.pace:.2f})")
        return tried

    def _pace(self, seen: Watched) -> float:
        return self.meter.usual_s(seen.began, seen.ended)

    def _measure(self) -> tuple[Profile, dict[str, float]]:
        """Costs at several rates, and what each machine uses beside its workers.

        The topology goes on running, with everything on every machine.
        """
        trial = self.trial
        components = _names(trial.shape, Kind.SPOUT, Kind.BOLT)
        trial.submit(dict.fromkeys(components, 1))
        points = [machine.points for machine in trial.lab.machines]
        largest = points.index(max(points))
        trial.place(_all_on(trial.snapshot(), [largest]))
        trial.feed(FLOOD_PER_S)
        trial.warm_up(_LEFT_OUT_S)
        most = trial.watch(_LOOK_S).rate_per_s
        near = self._at(most, _LEVELS_NEAR)
        trial.kill()
        # A submission of its own: the pipeline takes who runs where for the same in each.
        everywhere, together = _in_proportion(points)
        trial.submit(dict.fromkeys(components, len(everywhere)))
        trial.place(_all_on(trial.snapshot(), everywhere))
        trial.feed(together * most)
        trial.warm_up(_LEFT_OUT_S)
        seen = self._at(together * most, _LEVELS)
        self._pace_of_costs = statistics.fmean(map(self._pace, seen))
        with tempfile.TemporaryDirectory() as folder:
            write_lines([*near, *seen], Path(folder))
            profile = profile_of(Path(folder))
        own = {
            m: statistics.fmean(w.machine_points[m] - w.worker_points[m] for w in seen)
            for m in seen[0].worker_points
        }
        say(f"one machine carries {most:.1f} tuples/s; machines use {_told(own)} beside workers")
        every, crossing = (
            _told({worker.machine_type: getattr(worker, cost) for worker in profile.workers})
            for cost in ("e", "e_remote")
        )
        say(f"a tuple costs a worker {every} points, one that crosses {crossing} more")
        return profile, own

    def _at(self, most: float, levels: Sequence[float]) -> list[Watched]:
        """What is seen at these parts of the most."""
        seen = []
        for level in levels:
            self.trial.feed(level * most)
            time.sleep(_SETTLES_S)
            seen.append(self.trial.watch(_LEVEL_S))
        return seen


def _turns(windows: int) -> Iterator[tuple[str, int]]:
    """Who is flooded after whom, for how many windows.

    The computer becomes faster and slower by itself, so the two that are close are flooded in turns
    such that a steady drift hits both alike.
    """
    yield from ((other, windows) for other in OTHERS if other != _NEXT_BEST)
    yield _NEXT_BEST, windows - windows // 2
    yield PENSTOCK, windows
    if windows > 1:
        yield _NEXT_BEST, windows // 2


def _in_proportion(points: Sequence[float]) -> tuple[list[int], float]:
    """Machines, each as often as its points say; and what that carries, in what the largest does.

    Every instance gets the same: the machine with the fewest points for each is full first.
    """
    times = [round(each / min(points)) for each in points]
    carries = min(each / n for each, n in zip(points, times, strict=True)) * sum(times)
    return [m for m, n in enumerate(times) for _ in range(n)], carries / max(points)


def _told(points: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.4g} ({name})" for name, value in points.items())


def _problem(snapshot: Snapshot, cluster: Cluster, profile: Profile, *, weighted: bool) -> Problem:
    """What runs, free to be planned: counts and CPU requests are the schedulers' to choose."""
    return build([_free(t) for t in snapshot.topologies], cluster, profile, weighted=weighted)


def _free(topology: Topology) -> Topology:
    components = tuple(replace(c, instances=None, cpu_points=None) for c in topology.components)
    return replace(topology, components=components)


def _plan(problem: Problem, scheduler: str) -> Plan:
    plan = app.plan(problem, scheduler).plan
    if plan is None:
        raise PenstockError(f"{scheduler} found no plan for the lab")
    return plan


def _counts(plan: Plan) -> dict[str, int]:
    counts = plan.placement.counts(len(plan.problem.components))
    return {
        component.name: int(count)
        for component, count in zip(plan.problem.components, counts, strict=True)
        if component.kind is not Kind.ACKER
    }


def _all_on(snapshot: Snapshot, machines: Sequence[int]) -> Plan:
    """An instance of everything on each of these, one acker on each machine among them."""
    problem = build(snapshot.topologies, snapshot.cluster)
    rows = [
        (c, machine)
        for c, component in enumerate(problem.components)
        for machine in (dict.fromkeys(machines) if component.kind is Kind.ACKER else machines)
    ]
    placement = Placement.of(*map(list, zip(*rows, strict=True)))
    predicted, _ = predict(problem, placement)
    return Plan(problem, placement, "even", predicted=predicted)
