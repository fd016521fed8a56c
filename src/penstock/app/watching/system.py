"""What is watched, as a problem: everything that was ever seen there keeps its place in it.

Machines that are away stay in the problem, so that the loop knows them when they come back. Only a
machine that is new, another submission of a topology, other costs or another mix of rates make
another problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.app.clusters import narrowed
from penstock.app.problems import problem as problem_of
from penstock.engines.base import Engine, Say
from penstock.engines.reading import Reading
from penstock.errors import InputError
from penstock.model.cluster import Cluster
from penstock.model.problem import Problem
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Topology
from penstock.planning.capacity_plans import CapacityPlanner

#: Parts of several topologies in all that is offered may move by so much before plans are made for
#: other parts.
_SAME_MIX = 0.1

#: What makes plans of a problem; a test may want fewer of them.
MakePlanner = Callable[[Problem], CapacityPlanner]


@dataclass(frozen=True)
class WatchedSystem:
    """What is watched. One that did not change is the same object."""

    problem: Problem
    planner: CapacityPlanner
    profile: Profile
    #: The engine's name of each topology's submission.
    runs: Mapping[str, str]
    #: Each topology's part of what is offered, as plans are made for it.
    mix: Mapping[str, float]

    @property
    def topologies(self) -> frozenset[str]:
        return frozenset(self.runs)


@dataclass(frozen=True)
class SystemMaker:
    """Makes what is watched from what is read."""

    engine: Engine
    #: Names of the topologies that are planned, all if none is named.
    names: Sequence[str] = ()
    weighted: bool = False
    headroom: float | None = None
    planner: MakePlanner = CapacityPlanner
    say: Say = lambda _text: None

    def system(
        self, reading: Reading, profile: Profile, before: WatchedSystem | None
    ) -> WatchedSystem:
        """The one from before, unless something is another. Raises where nothing can be planned."""
        snapshot = reading.snapshot
        runs = self._runs(snapshot, before)
        mix = self._mix(reading, runs, before)
        if before is not None and self._is_same(before, snapshot, profile, runs, mix):
            return before
        cluster = snapshot.cluster if before is None else _all_machines(before, snapshot.cluster)
        chosen = narrowed(
            self.engine, replace(snapshot, cluster=cluster), self._known(snapshot, runs), profile,
            self.say,
        )  # fmt: skip
        topologies = [
            _offered(t, mix) for t in (*chosen.topologies, *_away(before, snapshot, runs))
        ]
        problem = problem_of(
            topologies, cluster, profile, weighted=self.weighted, headroom=self.headroom,
            engine=self.engine,
        )  # fmt: skip
        if not problem.has_rates:
            raise InputError("the loop needs the costs of all components: give a profile")
        return WatchedSystem(problem, self.planner(problem), profile, runs, mix)

    def _runs(self, snapshot: Snapshot, before: WatchedSystem | None) -> dict[str, str]:
        """What runs of what is watched; what only lacks a place for now is still watched."""
        there = {d.topology: d.id for d in snapshot.deployed}
        away = {} if before is None else before.runs
        runs = {name: run for name, run in away.items() if name in snapshot.left_out} | there
        if not self.names:
            chosen = runs
        else:
            chosen = {name: run for name, run in runs.items() if name in self.names}
        if not chosen:
            asked = ", ".join(self.names) or "a topology"
            raise InputError(f"waiting for {asked} to run")
        return dict(sorted(chosen.items()))

    @staticmethod
    def _known(snapshot: Snapshot, runs: Mapping[str, str]) -> list[str]:
        return [t.name for t in snapshot.topologies if t.name in runs]

    @staticmethod
    def _mix(
        reading: Reading, runs: Mapping[str, str], before: WatchedSystem | None
    ) -> dict[str, float]:
        """Parts of what is offered; as before while they are alike, or while they are not known."""
        equal = dict.fromkeys(runs, 1.0 / len(runs))
        held = dict(before.mix) if before is not None and {*before.mix} == {*runs} else equal
        offered = [reading.topologies[n].offered_per_s for n in runs if n in reading.topologies]
        total = sum(offered)
        if len(runs) < 2 or len(offered) < len(runs) or not total > 0.0:
            return held
        now = {name: rate / total for name, rate in zip(runs, offered, strict=True)}
        return held if all(abs(now[n] - held[n]) <= _SAME_MIX for n in runs) else now

    @staticmethod
    def _is_same(
        before: WatchedSystem,
        snapshot: Snapshot,
        profile: Profile,
        runs: Mapping[str, str],
        mix: Mapping[str, float],
    ) -> bool:
        known = {m.name: m.type for m in before.problem.cluster.machines}
        kinds = {t.name: t for t in before.problem.cluster.types}
        there = {t.name: t for t in snapshot.cluster.types}
        same_machines = all(
            known.get(m.name) == m.type and kinds[m.type] == there[m.type]
            for m in snapshot.cluster.machines
        )
        same = before.runs == runs and before.profile is profile and before.mix == mix
        return same and same_machines


def _all_machines(before: WatchedSystem, now: Cluster) -> Cluster:
    """Those that are there as they are now, those that are away as they were; the new ones last."""
    newest = {m.name: m for m in now.machines}
    known = before.problem.cluster
    machines = [newest.pop(m.name, m) for m in known.machines]
    kinds = {t.name: t for t in (*known.types, *now.types)}
    used = {m.type for m in (*machines, *newest.values())}
    return replace(
        now,
        types=tuple(kind for name, kind in kinds.items() if name in used),
        machines=(*machines, *newest.values()),
    )


def _away(
    before: WatchedSystem | None, snapshot: Snapshot, runs: Mapping[str, str]
) -> list[Topology]:
    there = {t.name for t in snapshot.topologies}
    known = () if before is None else before.problem.topologies
    return [t for t in known if t.name in runs and t.name not in there]


def _offered(topology: Topology, mix: Mapping[str, float]) -> Topology:
    """With its part of all rates, where there are several; together they are as many as 1 each."""
    if len(mix) < 2:
        return topology
    return replace(topology, demand_per_s=max(mix[topology.name], 1e-6) * len(mix))
