"""``tune``: the thesis' Tune Scheduling, with one of its four schedulers.

Muhammad 2023 (PhD thesis), section 3.1. *Tune Scheduling* takes the power of each node from the
Provenance Data, works out "the overall traffic ... based on inter-node, inter-slot, and
inter-executor traffic patterns" and, "considering the traffic pattern and the resources utilized",
whether the execution plan is to be amended. The plan is that of TOP, A3, BAN or Gr (``scheduler``),
made from the traffic that was measured since it looked last.

Where the thesis is silent: it looks every ``every_s``. Resources call for an amendment when a
machine in use is over ``high`` of its CPU, or all of them together under ``low``; traffic does when
a new plan would take ``gain`` of all traffic off the way between nodes, where one between slots of
a node counts a tenth of that, one between executors of a slot nothing. Its schedulers place and do
not count: instances are as the topology has them, else as ``hetero`` fills the cluster. Workers,
where the topology does not say how many, are the fewest at which the cost model sees no machine
over ``high`` at the rate that was measured. Cost: some plans by the scheduler at each amendment, by
bisection; one at a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from penstock.control.decision import STAY, Proposal
from penstock.control.observation import Observation
from penstock.control.policy import Setting
from penstock.control.provenance import ProvenanceData
from penstock.errors import InputError
from penstock.evaluate.network import traffic
from penstock.evaluate.rates import instance_rates
from penstock.model.arrays import FloatVector
from penstock.model.cluster import Hop
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.profile import StreamMeasure
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.schedulers.a3 import A3Scheduler
from penstock.schedulers.ban import BanScheduler
from penstock.schedulers.base import Budget, Scheduler
from penstock.schedulers.gr import GrScheduler
from penstock.schedulers.hetero import HeteroScheduler
from penstock.schedulers.restricted import Restricted
from penstock.schedulers.top import TopScheduler

SCHEDULERS: dict[str, type[Scheduler]] = {
    "top": TopScheduler,
    "a3": A3Scheduler,
    "ban": BanScheduler,
    "gr": GrScheduler,
}
#: What a tuple between slots of one node counts, where one between nodes counts 1.
_BETWEEN_SLOTS = 0.1


@dataclass(frozen=True)
class TuneMemory:
    """Means since it looked last, and the traffic log of before."""

    looked_s: float = float("-inf")
    samples: int = 0
    offered: float = 0.0
    cpu: FloatVector | None = None
    streams: FloatVector | None = None
    #: Instances of each component, once they are known.
    counts: tuple[int, ...] = ()
    logged: FloatVector | None = None


@dataclass(frozen=True, slots=True)
class TunePolicy:
    """Re-adjusts the thesis' plans when traffic or resources call for it."""

    name: ClassVar[str] = "tune"
    summary: ClassVar[str] = "the thesis' Tune Scheduling: TOP, A3, BAN or Gr from measured traffic"
    paper: ClassVar[str] = "Muhammad 2023 (thesis), section 3.1"

    scheduler: str = field(default="a3", metadata={"help": "top, a3, ban or gr"})
    every_s: float = field(default=300.0, metadata={"help": "seconds between two looks"})
    high: float = field(default=0.8, metadata={"help": "CPU of a machine that is too much"})
    low: float = field(default=0.4, metadata={"help": "mean CPU in use that is too little"})
    gain: float = field(
        default=0.1, metadata={"help": "part of all traffic that a new plan must take off the net"}
    )

    def __post_init__(self) -> None:
        if self.scheduler not in SCHEDULERS:
            known = ", ".join(SCHEDULERS)
            raise InputError(f'tune: scheduler must be one of {known}, not "{self.scheduler}"')

    def start(self) -> TuneMemory:
        return TuneMemory()

    def recalled(self, past: ProvenanceData, setting: Setting) -> TuneMemory:
        """Begin with the traffic log of an earlier run."""
        del setting
        return TuneMemory(logged=past.stream_per_s)

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """At each look: does traffic, or do resources, call for an amendment?"""
        assert isinstance(memory, TuneMemory)
        if not (seen.is_known and seen.settled):
            return STAY, memory
        memory = _noted(seen, memory)
        if memory.looked_s == float("-inf"):
            counts = _counts(setting.problem)
            return STAY, replace(memory, looked_s=seen.time_s, counts=counts)
        if seen.time_s - memory.looked_s < self.every_s:
            return STAY, memory
        begun = TuneMemory(seen.time_s, counts=memory.counts, logged=_logged(memory))
        return self._looked(seen, memory, setting), begun

    def _looked(self, seen: Observation, memory: TuneMemory, setting: Setting) -> Proposal:
        rate = memory.offered / memory.samples
        problem = _measured(setting.problem.with_counts(memory.counts), _logged(memory))
        problem = _with_traffic(problem, seen.traffic)
        busiest, mean = _in_use(seen, memory)
        evidence: tuple[tuple[str, float], ...] = (("offered", rate), ("busiest CPU", busiest))
        planner = setting.planner
        if busiest > self.high or mean < self.low:
            plan = self._plan(problem, planner, seen, rate)
            more = plan is not None and setting.carries_per_s(plan) > setting.carries_per_s(
                seen.placement
            )
            if plan is None or (busiest > self.high and not more):
                return Proposal("no plan of the scheduler is better", evidence=evidence)
            fewer = len(plan.machines_used) - len(seen.placement.machines_used)
            if busiest > self.high or fewer < 0:
                reason = "a machine has too much to do" if busiest > self.high else "little is used"
                return Proposal(reason, placement=plan, evidence=evidence)
        # The same workers, grouped by the traffic of now.
        plan = self._solve(problem, seen, len(seen.placement.workers))
        if plan is None:
            return Proposal("no plan of the scheduler exists", evidence=evidence)
        before, after = (_on_the_way(setting.problem, p) for p in (seen.placement, plan))
        evidence = (*evidence, ("traffic on the way", before), ("with a new plan", after))
        load = planner.machine_load(plan).cpu(rate / planner.unit)
        if before - after < self.gain or float(load.max()) > self.high:
            return Proposal("traffic is where it should be", evidence=evidence)
        return Proposal(
            "less traffic between nodes", placement=plan, evidence=evidence, beyond_rate=True
        )

    def _plan(
        self, problem: Problem, planner: CapacityPlanner, seen: Observation, rate: float
    ) -> Placement | None:
        """The fewest workers at which no machine is over ``high``, else the least loaded tried."""
        asked = [t.workers for t in problem.topologies]
        if all(asked):
            return self._solve(problem, seen, 0)
        slots = problem.cluster.per_type("slots")[problem.cluster.type_of][seen.alive]
        low, high = 1, int(min(slots.sum(), sum(problem.given_counts or ())))
        best, least = None, float("inf")
        fewest = None
        while low <= high:
            middle = (low + high) // 2
            plan = self._solve(problem, seen, middle)
            busiest = float("inf")
            if plan is not None:
                busiest = float(planner.machine_load(plan).cpu(rate / planner.unit).max())
            if busiest < least:
                best, least = plan, busiest
            if busiest <= self.high:
                fewest, high = plan, middle - 1
            else:
                low = middle + 1
        return fewest or best

    def _solve(self, problem: Problem, seen: Observation, workers: int) -> Placement | None:
        """The scheduler's plan on the machines that are there."""
        part = Restricted.to(problem, np.flatnonzero(seen.alive).tolist())
        topologies = tuple(
            replace(t, workers=t.workers or max(1, workers)) for t in problem.topologies
        )
        asked = replace(part.problem, topologies=topologies)
        solver = SCHEDULERS[self.scheduler]()
        outcome = solver.solve(asked, Budget(), np.random.default_rng(0))
        whole = outcome.placement is not None and not outcome.shortfalls
        return part.back(outcome.placement) if whole and outcome.placement is not None else None


def _noted(seen: Observation, memory: TuneMemory) -> TuneMemory:
    """One more sample in the means."""

    def added(total: FloatVector | None, now: FloatVector | None) -> FloatVector | None:
        return total if now is None else now if total is None else total + now

    return replace(
        memory,
        samples=memory.samples + 1,
        offered=memory.offered + seen.offered,
        cpu=added(memory.cpu, seen.cpu),
        streams=added(memory.streams, seen.stream_per_s),
    )


def _logged(memory: TuneMemory) -> FloatVector | None:
    """The traffic log: what was measured last."""
    return memory.logged if memory.streams is None else memory.streams / memory.samples


def _in_use(seen: Observation, memory: TuneMemory) -> tuple[float, float]:
    """CPU of the busiest machine in use and of all in use; of nobody, where it is not known."""
    if memory.cpu is None:
        return 0.0, 1.0
    used = memory.cpu[seen.placement.machines_used] / memory.samples
    return float(used.max()), float(used.mean())


def _counts(problem: Problem) -> tuple[int, ...]:
    """As the topology has them, else as ``hetero`` fills the cluster."""
    asked: Sequence[int | None] = problem.counts_asked
    if all(count is not None for count in asked):
        return tuple(count or 1 for count in asked)
    outcome = HeteroScheduler().solve(problem, Budget(), np.random.default_rng(0))
    if outcome.placement is None:
        raise InputError("tune: hetero has no plan to take instance counts from")
    return tuple(outcome.placement.counts(len(problem.components)).tolist())


def _measured(problem: Problem, streams: FloatVector | None) -> Problem:
    """The problem with the traffic log in place of the rate model's traffic."""
    if streams is None or problem.profile is None:
        return problem
    known = {(m.topology, m.source, m.target, m.name): m for m in problem.profile.streams}
    for stream, rate in zip(problem.streams, streams.tolist(), strict=True):
        topology = problem.topologies[int(problem.topology_of[stream.source])].name
        said = stream.declared
        ends = (said.source, said.target, said.name)
        measure = known.get((topology, *ends)) or known.get(("", *ends))
        measure = measure or StreamMeasure(*ends)
        known[topology, *ends] = replace(measure, topology=topology, tuples_per_s=rate)
    profile = replace(problem.profile, streams=tuple(known.values()))
    return replace(problem, profile=profile)


def _with_traffic(problem: Problem, counted: Sequence[InstanceTraffic]) -> Problem:
    """The problem with the traffic between executors as it is now, where it is counted."""
    if not counted or problem.profile is None:
        return problem
    return replace(problem, profile=replace(problem.profile, traffic=tuple(counted)))


def _on_the_way(problem: Problem, placement: Placement) -> float:
    """Part of all tuples that go from node to node; those from slot to slot count a tenth."""
    travels = traffic(problem, placement, instance_rates(problem, placement)).tuples
    total = float(travels.sum())
    if total <= 0:
        return 0.0
    between_nodes = float(travels[Hop.SAME_RACK :].sum())
    return (between_nodes + _BETWEEN_SLOTS * float(travels[Hop.SAME_MACHINE])) / total
